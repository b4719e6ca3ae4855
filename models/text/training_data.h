// What models are trained on. Parallel text: sentences in one language with their translations in another;
// how it is read and checked, and which pairs form a batch. And texts with masks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/base/random.h"
#include "autograd/tokens.h"
#include "models/text/lines.h"
#include "models/text/specials.h"

namespace plaingrad::models::text {

using autograd::Tokens;

// Some lines of a file: how many there are, and the number of the first one, from 1.
struct Lines {
    int64_t count = 0, first = 0;

    void add(int64_t line) { first = count++ == 0 ? line : first; }
};

struct SentencePair {
    std::string source, target;
    int64_t line = 0;  // in its file, from 1
};
struct ParallelText {
    std::string files;                     // for messages: "a.en, a.de"
    std::vector<SentencePair> pairs = {};  // in the order of their lines, with text on both sides
    Lines no_text = {}, no_source = {}, no_target = {};  // skipped: without text on both sides or one
    int64_t replaced = 0;                                // bytes that are not UTF-8, read as U+FFFD
};

// Of two files line i of one and line i of the other are a pair; of one file a line is source<TAB>target.
// Throws Error if a file cannot be read as text (see lines_of), if one has more lines, for a line with text
// but without exactly one tab, or if there is no pair with text on both sides.
ParallelText read_parallel(const std::vector<std::string>& files, InvalidUtf8 rule = InvalidUtf8::replace);

// The pairs of a text that was written by hand, `source<TAB>target` on every line. Throws Error also for a
// line with nothing on one side, and for what is not UTF-8.
std::vector<SentencePair> pairs_of(std::string_view text, const std::string& path);

// What may be wrong: "a.en, a.de: 7 pairs; duplicates of an earlier pair: 3 (first in line 2)". training: of
// validation data, what the model learns from; else null.
std::string check_data(const ParallelText& text, const ParallelText* training = nullptr);

// A short text that changes if any sentence changes (see text::fingerprint).
std::string fingerprint(const std::vector<SentencePair>& pairs);

// ---- batches

// A batch is a matrix, as wide as its longest sentence; shorter ones are padded. So pairs of similar length
// go together, and a batch has many short pairs or few long ones.
struct PairLength {
    int64_t source = 0, target = 0;  // in tokens, as the model reads them: <eos> included
};

struct BatchOptions {
    int64_t batch_tokens = 4096;  // largest rows x longest sentence, for either side, padding included
    uint64_t seed = 0;
    int64_t epoch = 0;
    int64_t bucket = 100'000;  // how many random pairs are sorted by length together
    bool shuffle = true;       // false, for validation: all pairs by length, the shortest first
};

// Returns all pairs once, as batches of their indices. The result depends only on the arguments, so batch i
// of an epoch is the same when a run is resumed. Throws Error if one pair has more than batch_tokens.
//
// As in fairseq (Ott et al. 2019, --max-tokens): pairs in random order are sorted by length, stably, and cut
// into batches, which are then shuffled. But fairseq sorts by source length, then by target length; we sort
// by the longer side first, which is what fills a batch. On Multi30k (words, batches of 4096), 3.5 % of all
// positions are padding instead of 5.8 %. Without sorting it is half of them.
std::vector<std::vector<int64_t>> make_batches(const std::vector<PairLength>& lengths,
                                               const BatchOptions& options);

// ---- for a masked language model
//
// A text with some tokens masked, and the tokens to predict. Devlin et al. 2019 (BERT), §3.1: of the
// positions that are selected, 80 % become the mask, 10 % a random id, and the rest stay as they are.

struct MaskingOptions {
    int32_t mask = kUnk;              // the id of the mask
    int32_t first_id = kFirstFreeId;  // ids from first_id to end_id, exclusive, may be selected, and may
    int32_t end_id = 0;               // replace others at random; end_id is usually the vocabulary's size
    double rate = 0.15;               // the share of positions that are selected
};

// What the model reads, and what it is to predict: `targets` has the original id at each selected position,
// and padding elsewhere, which the loss ignores. (If every selected token were masked, the model would learn
// nothing about the tokens that it sees: hence the random and the unchanged ones.)
struct MaskedTokens {
    Tokens ids, targets;  // (B, T)
};

// Whether a position is selected depends only on rng and the position; if none is, one is drawn. Padding and
// reserved ids are never selected. Throws Error for a mask that is the padding, for ids without padding or
// with padding that could be drawn, and if there is nothing to select.
MaskedTokens mask_tokens(const Tokens& ids, const MaskingOptions& options, const autograd::Rng& rng);

}  // namespace plaingrad::models::text
