// What the models with one stack have in common: token ids in, a vector for each position out. They have one
// text only, of length T, which is S in the encoder's comments.
//
//     LanguageModel        a causal mask, and the output layer: decoder-only, as GPT
//     MaskedLanguageModel  no mask but padding, and the output layer: encoder-only, as BERT
//     Classifier           no mask but padding, and one answer for the whole text: encoder-only
//     TextEncoder          no mask but padding, and no output layer: the vectors themselves
//
// They differ in the mask and the output. With a causal mask a position is computed from itself and those
// before it, so it can predict the next token, and its vectors stay valid as the text grows: they are cached,
// and the model can generate text. Without a causal mask each position sees both sides. That is better for
// judging a complete text, but one more token changes every vector, and nothing can be cached.
//
// The stack is an `Encoder` even in a decoder-only model: without a source there is no cross-attention, and
// self-attention plus feed-forward is an encoder layer. Only the causal mask makes it a decoder.
#pragma once

#include "models/families/embedding.h"
#include "models/families/encoder.h"

namespace plaingrad::models {

struct Backbone {
    Backbone(const Config& c, const Rng& rng)
        : embedding(c, c.vocabulary, rng.fork("embedding")), encoder(c, rng.fork("encoder")) {}

    // ids (B, T) -> (B, T, d_model). types: see InputEmbedding.
    Tensor operator()(const Tokens& ids, const Mask& mask, const Mode& mode, const Tokens& types = {}) const {
        const Tensor x = embedding(ids, mode, 0, types);  // (B, T, d_model)
        return encoder(x, {.mask = mask, .mode = mode});  // (B, T, d_model)
    }
    void visit(Visitor& v) const {
        v("embedding", embedding);
        v("encoder", encoder);
    }

    InputEmbedding embedding;
    Encoder encoder;
};

}  // namespace plaingrad::models
