// Training data for a masked language model: a text with some tokens masked, and the tokens to predict.
// Devlin et al. 2019 (BERT), §3.1.
#pragma once

#include "autograd/base/random.h"
#include "autograd/tokens.h"
#include "models/text/specials.h"

namespace plaingrad::models::text {

using autograd::Tokens;

struct MaskingOptions {
    int32_t mask = kUnk;              // the id of the mask
    int32_t first_id = kFirstFreeId;  // ids from first_id to end_id, exclusive, may be selected, and may
    int32_t end_id = 0;               // replace others at random; end_id is usually the vocabulary's size
    double rate = 0.15;               // the share of positions that are selected; of these,
    double replaced = 0.8;            // this share becomes `mask`,
    double randomised = 0.1;          // this share a random id, and the rest stay as they are
};

// What the model reads, and what it is to predict: `targets` has the original id at each selected position,
// and padding elsewhere, which the loss ignores. (If every selected token were masked, the model would learn
// nothing about the tokens that it sees: hence the random and the unchanged ones.)
struct MaskedTokens {
    Tokens ids, targets;  // (B, T)
};

// Whether a position is selected depends only on rng and the position; if none is, one is drawn. Padding and
// reserved ids are never selected. Throws Error for rates outside [0, 1], for a mask that is the padding, for
// ids without padding or with padding that could be drawn, and if there is nothing to select.
MaskedTokens mask_tokens(const Tokens& ids, const MaskingOptions& options, const autograd::Rng& rng);

}  // namespace plaingrad::models::text
