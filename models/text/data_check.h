// A look at parallel text before anything is learned from it: what is wrong with it, and in which lines.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/text/batches.h"
#include "models/text/parallel.h"

namespace plaingrad::models::text {

// A character of the validation data that the training data never has on that side.
struct UnseenCharacter {
    std::string character;
    int64_t times = 0, line = 0;  // the first line
};
using UnseenCharacters = std::map<uint32_t, UnseenCharacter>;  // by code point

struct CorpusCheck {
    std::string files;
    std::vector<PairLength> lengths = {};    // of all pairs
    LineList no_text, no_source, no_target;  // passed over in reading
    int64_t replaced = 0;                    // bytes that are not UTF-8, read as U+FFFD
    LineList not_utf8 = {};                  // with U+FFFD, if any were
    LineList too_long = {};                  // on either side
    LineList uneven = {};                    // one side more than kUneven times as long as the other
    LineList duplicates = {};                // an earlier line has the same pair
    LineList pairs_learned = {}, sources_learned = {};  // of validation: training has them too
    UnseenCharacters unseen_source = {}, unseen_target = {};
};

// Lengths are in words unless a function says otherwise; `unit` is what it counts. longest: what is longer on
// either side is too long; 0: nothing is.
struct CheckOptions {
    int64_t longest = 0;
    std::string unit = "words";
    std::function<PairLength(const SentencePair&)> length = {};
};

struct DataCheck {
    static constexpr int64_t kUneven = 9;  // as Moses has it in clean-corpus-n.perl

    CheckOptions options;
    CorpusCheck training;
    std::optional<CorpusCheck> validation = {};

    // In short: a line for each corpus, with what was found. Else all that was looked for, and how long the
    // sentences of the training data are, as a picture.
    void print(std::ostream& out, bool in_short) const;
};

// validation may be null.
DataCheck check_data(const ParallelText& training, const ParallelText* validation,
                     const CheckOptions& options = {});

}  // namespace plaingrad::models::text
