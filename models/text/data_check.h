// Checks parallel text before training: what may be wrong with it, and in which lines.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/text/batches.h"
#include "models/text/parallel.h"

namespace plaingrad::models::text {

// A character of the validation data that does not occur on the same side of the training data.
struct UnseenCharacter {
    std::string character;
    int64_t times = 0, line = 0;  // how often it occurs, and its first line
};
using UnseenCharacters = std::map<uint32_t, UnseenCharacter>;  // by code point

inline constexpr int64_t kUneven = 9;  // as in Moses' clean-corpus-n.perl

struct CorpusCheck {
    std::string files;
    std::vector<PairLength> lengths = {};    // of all pairs, in words
    LineList no_text, no_source, no_target;  // skipped when reading
    int64_t replaced = 0;                    // bytes that are not UTF-8, read as U+FFFD
    LineList not_utf8 = {};                  // lines with U+FFFD, if any byte was replaced
    LineList uneven = {};      // one side has more than kUneven times as many words as the other
    LineList duplicates = {};  // an earlier line has the same pair
    LineList pairs_learned = {}, sources_learned = {};  // of validation: also in the training data
    UnseenCharacters unseen_source = {}, unseen_target = {};
};

struct DataCheck {
    CorpusCheck training;
    std::optional<CorpusCheck> validation = {};
};

// validation may be null.
DataCheck check_data(const ParallelText& training, const ParallelText* validation);

}  // namespace plaingrad::models::text
