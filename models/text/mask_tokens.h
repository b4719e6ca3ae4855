// What a masked language model learns from: a text with some tokens masked, and which these were. Devlin et
// al. 2019 (BERT), §3.1.
#pragma once

#include "autograd/random.h"
#include "autograd/tokens.h"
#include "models/text/specials.h"

namespace plaingrad::models::text {

using autograd::Tokens;

struct MaskingOptions {
    int32_t mask = kUnk;              // the id that says "masked"
    int32_t first_id = kFirstFreeId;  // ids from first_id to end_id, exclusive, may be selected, and may
    int32_t end_id = 0;               // replace others at random; end_id is usually the vocabulary's size
    double rate = 0.15;               // the share of positions that are selected; of these
    double replaced = 0.8;            // so many become `mask`,
    double randomised = 0.1;          // so many a random id, and the rest stay as they are
};

// A text and what to predict of it: `targets` holds the original id where a position was selected, and
// elsewhere the padding of the text, which the loss ignores. (80 % masked alone would teach the model nothing
// about the words that are there: hence the random and the unchanged ones.)
struct MaskedTokens {
    Tokens ids, targets;  // (B, T)
};

// Whether a position is selected depends on rng and its place alone; if none is, one of them is drawn.
// Padding and reserved ids are never selected. Throws Error for rates outside of [0, 1], for ids without
// padding or padding that could be drawn, and if there is nothing to select.
MaskedTokens mask_tokens(const Tokens& ids, const MaskingOptions& options, const autograd::Rng& rng);

}  // namespace plaingrad::models::text
