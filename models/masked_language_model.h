// The encoder-only masked language model: what stood here? Devlin et al. 2019 (BERT), §3.1.
#pragma once

#include "models/backbone.h"
#include "nn/linear.h"

namespace plaingrad::models {

struct MaskedLanguageModel {
    // rng: of the initial values, e.g. Rng(seed). Throws Error for a configuration that cannot be built.
    MaskedLanguageModel(const StackConfig& config, const Rng& rng);

    // ids (B, T), some of them masked -> logits (B, T, V); row t says what stands at position t, from all
    // positions. Padding is hidden as keys. Throws Error for a text without any token.
    Tensor operator()(const Tokens& ids, const Mode& mode, AttentionWeights* weights = nullptr) const;

    void visit(Visitor& v) const {
        v("backbone", backbone);
        v("transform", transform);
        v("norm", norm);
        v("output", output);
    }

    StackConfig config;
    Rng rng;
    Backbone backbone;
    nn::Linear transform;  // d_model -> d_model; BERT puts this, an activation and a norm before the output
    nn::Norm norm;
    OutputLayer output;
};

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
MaskedTokens mask_tokens(const Tokens& ids, const MaskingOptions& options, const Rng& rng);

}  // namespace plaingrad::models
