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

#include "models/decoding/decoding.h"
#include "models/families/embedding.h"
#include "models/families/encoder.h"
#include "nn/linear.h"

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

// What all of them are made of. rng: of the initial values, e.g. Rng(seed). Throws Error for a configuration
// that cannot be built.
//
// ids (B, T). types (B, T), for a model with token types (config.token_types): 0 or 1 for each token, of the
// first or the second text of a pair; Tokens(): all are 0. Padding is hidden as keys, and a text without any
// token throws Error.
struct OneStack {
    OneStack(const Config& c, Kind kind, const Rng& rng_)
        : config(check_config(c.as(kind))), rng(rng_), backbone(c, rng_.fork("backbone")) {}

    Config config;
    Rng rng;
    Backbone backbone;
};

// ---- Decoder-only: predicts the next token. Radford et al. 2018, 2019 (GPT, GPT-2).

struct LanguageModel : OneStack {
    static constexpr Kind kKind = Kind::causal;
    LanguageModel(const Config& config, const Rng& rng);

    // ids (B, T) -> logits (B, T, V); row t predicts what follows position t, from positions 0 .. t.
    // Throws Error for an id outside the vocabulary, or if T is over max_length.
    Tensor operator()(const Tokens& ids, const Mode& mode) const;

    // cross_entropy((*this)(ids, mode), targets, options), but never with all logits in memory at once.
    Tensor loss(const Tokens& ids, const Tokens& targets, const Mode& mode,
                const CrossEntropyOptions& options = {}) const;

    // Starts generation from these prompts (B, T), all of one length (models/decoding/decoding.h).
    std::unique_ptr<Stepper> start(const Tokens& prompts) const;

    void visit(Visitor& v) const {
        v("backbone", backbone);
        v("output", output);
    }

    OutputLayer output;
};

// ---- Encoder-only: predicts tokens that are masked. Devlin et al. 2019 (BERT), §3.1.

struct MaskedLanguageModel : OneStack {
    static constexpr Kind kKind = Kind::masked;
    MaskedLanguageModel(const Config& config, const Rng& rng);

    // ids (B, T), some of them masked -> logits (B, T, V); row t predicts the token at position t, from all
    // positions.
    Tensor operator()(const Tokens& ids, const Mode& mode, const Tokens& types = {}) const;

    // Only n rows of these logits, the same bit for bit: places, b*T + t each -> (n, V). Throws Error for a
    // place that is not there.
    Tensor logits_at(const Tokens& ids, const std::vector<int32_t>& places, const Mode& mode) const;

    // cross_entropy((*this)(ids, mode), targets), targets (B, T) with padding where nothing is predicted (see
    // text::mask_tokens). Computes logits only where something is, and never has all of these in memory.
    Tensor loss(const Tokens& ids, const Tokens& targets, const Mode& mode) const;

    void visit(Visitor& v) const {
        v("backbone", backbone);
        v("transform", transform);
        v("norm", norm);
        v("output", output);
    }

    nn::Linear transform;  // d_model -> d_model; BERT puts this, an activation and a norm before the output
    nn::Norm norm;
    OutputLayer output;

private:
    // What the output layer reads: x (..., d_model) -> (..., d_model), and for these places (1, n, d_model).
    Tensor transformed(const Tensor& x) const;
    Tensor transformed_at(const Tokens& ids, const std::vector<int32_t>& places, const Mode& mode) const;
};

// ---- Encoder-only: which class does a text belong to?

// A configuration with an answer on top of its layers.
inline Config with_classes(Config c, int64_t classes, Pooling pooling = Pooling::mean,
                           Real pooled_dropout = -1) {
    c.kind = Kind::classifier;
    c.classes = classes;
    c.pooling = pooling;
    c.pooled_dropout = pooled_dropout;
    return c;
}

struct Classifier : OneStack {
    static constexpr Kind kKind = Kind::classifier;
    // Throws Error also for fewer than two classes.
    Classifier(const Config& config, const Rng& rng);

    // ids (B, T) -> logits (B, classes).
    Tensor operator()(const Tokens& ids, const Mode& mode, const Tokens& types = {}) const;

    void visit(Visitor& v) const {
        v("backbone", backbone);
        if (pooler)
            v("pooler", *pooler);
        v("output", output);
    }

    std::optional<nn::Linear> pooler;  // d_model -> d_model
    nn::Dropout dropout;               // of the pooled vector
    nn::Linear output;                 // d_model -> classes
};

// ---- Encoder-only, without an output layer: the vectors of a text, for other programs.

struct TextEncoder : OneStack {
    static constexpr Kind kKind = Kind::encoder;
    TextEncoder(const Config& config, const Rng& rng);

    // ids (B, T) -> (B, T, d_model).
    Tensor operator()(const Tokens& ids, const Mode& mode, const Tokens& types = {}) const;

    // One vector for the whole text: x (B, T, d_model), what operator() returned -> (B, d_model), the first
    // position's through a linear layer and tanh. BERT's first token, [CLS], is there for this: the pooler
    // was trained to say whether two texts follow each other. To compare texts, the mean of all positions is
    // often better.
    Tensor pooled(const Tensor& x) const;

    void visit(Visitor& v) const {
        v("backbone", backbone);
        v("pooler", pooler);
    }

    nn::Linear pooler;  // d_model -> d_model
};

}  // namespace plaingrad::models
