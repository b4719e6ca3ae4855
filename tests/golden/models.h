// The small models of the golden files, in the same sizes as in make_golden.py.
#pragma once

#include "models/families/one_stack.h"
#include "models/families/transformer.h"
#include "models/hugging_face/weights.h"
#include "models/presets.h"
#include "models/saved.h"

namespace plaingrad::tests {

// PAPER there: post-norm, sinusoids, one matrix for all.
inline models::Config small_tied() {
    return {.src_vocabulary = 11,
            .vocabulary = 11,
            .max_length = 9,
            .n_layers = 1,
            .n_decoder_layers = 1,
            .embeddings_tied = true,
            .tied = true,
            .block = {.d_model = 12, .n_heads = 3, .d_ff = 20, .output_bias = false}};
}

inline models::Config small_prenorm() {
    models::Config c = small_tied();
    c.block.activation = nn::Activation::gelu;
    c.block.norm = models::NormPlacement::pre;
    c.final_norm = true;
    c.block.positions = nn::Positions::learned;
    c.block.scale_embeddings = false;
    c.embeddings_tied = c.tied = false;
    c.block.output_bias = true;
    return c;
}

// LM there.
inline models::Config small_language_model() {
    return {.vocabulary = 11,
            .max_length = 9,
            .specials = {.never = {models::kPad, models::kSos, models::kUnk}},
            .n_layers = 2,
            .block = {.d_model = 12,
                      .n_heads = 3,
                      .d_ff = 20,
                      .activation = nn::Activation::gelu,
                      .positions = nn::Positions::learned}};
}

inline models::Config small_gpt2() {
    models::Config c = small_language_model();
    c.block.activation = nn::Activation::gelu_tanh;
    c.block.norm = models::NormPlacement::pre;
    c.final_norm = true;
    c.block.scale_embeddings = false;
    c.tied = true;
    c.block.output_bias = false;
    return c;
}

inline models::Config small_bert() {
    models::Config c = small_language_model();
    c.block.norm_eps = models::Real(1e-12);
    c.block.scale_embeddings = false;
    c.embedding_norm = true;
    c.tied = true;
    c.token_types = 2;
    return c;
}

// torch.nn.Transformer has neither embeddings nor output layer: encoder.layers.0..., decoder.norm.weight.
struct Stacks {
    const models::Encoder& encoder;
    const models::Decoder& decoder;
    void visit(nn::Visitor& v) const {
        v("encoder", encoder);
        v("decoder", decoder);
    }
};

// Under their names in transformers.
template <class Model>
nn::checkpoint::StateDict state_dict_in_transformers(const Model& model, const std::string& family) {
    return models::hugging_face::state_dict(models::hugging_face::config_of(model.config, family),
                                            nn::all_parameters(model));
}
inline nn::checkpoint::StateDict gpt2_state_dict(const models::LanguageModel& model) {
    return state_dict_in_transformers(model, "gpt2");
}
inline nn::checkpoint::StateDict bert_state_dict(const models::MaskedLanguageModel& model) {
    return state_dict_in_transformers(model, "bert");
}
template <class Model>
void load_from_transformers(const std::string& path, const Model& model, const std::string& family) {
    nn::checkpoint::SafeTensors file = nn::checkpoint::read(path);
    const auto config = models::hugging_face::config_of(model.config, family);
    file.rename([&](const std::string& name) { return canonical_name(config, name); });
    load(file, state_dict_in_transformers(model, family));
}
inline void load_gpt2(const std::string& path, const models::LanguageModel& model) {
    load_from_transformers(path, model, "gpt2");
}
inline void load_bert(const std::string& path, const models::MaskedLanguageModel& model) {
    load_from_transformers(path, model, "bert");
}

// LLAMA there.
inline models::Config small_llama() {
    models::Config c = models::llama();
    c.vocabulary = 11;
    c.max_length = 9;
    c.specials = {.never = {models::kPad, models::kSos, models::kUnk}};
    c.n_layers = 2;
    c.tied = false;
    c.block.d_model = 12;
    c.block.n_heads = 4;
    c.block.n_kv_heads = 2;
    c.block.head_dim = 6;
    c.block.d_ff = 20;
    c.block.rotary.base = 10000;
    c.block.rotary.factor = 8;
    c.block.rotary.original_length = 64;
    return c;
}

inline models::Config small_classifier(models::Pooling pooling) {
    models::Config c = small_language_model();
    c.n_layers = 1;
    return models::with_classes(c, 3, pooling);
}

}  // namespace plaingrad::tests
