// The small models of the golden files, in the same sizes as in make_golden.py.
#pragma once

#include "models/hugging_face/weights.h"
#include "models/saved.h"
#include "tests/models/small.h"

namespace plaingrad::tests {

// PAPER there: post-norm, sinusoids, one matrix for all.
inline models::Config small_tied() {
    models::Config c = sized(models::preset("paper"), {.max_length = 9, .layers = 1});
    c.block.dropout = {};
    c.block.output_bias = false;
    return c;
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
    models::Config c = sized({.kind = models::Kind::causal}, {.max_length = 9});
    c.specials.never = {models::kPad, models::kSos, models::kUnk};
    c.block.activation = nn::Activation::gelu;
    c.block.positions = nn::Positions::learned;
    return c;
}

inline models::Config small_gpt2() {
    models::Config c = small_language_model();
    c.block.activation = nn::Activation::gelu_tanh;
    c.block.norm = models::NormPlacement::pre;
    c.final_norm = c.tied = true;
    c.block.scale_embeddings = c.block.output_bias = false;
    return c;
}

inline models::Config small_bert() {
    models::Config c = small_language_model();
    c.block.norm_eps = models::Real(1e-12);
    c.block.scale_embeddings = false;
    c.embedding_norm = c.tied = true;
    c.token_types = 2;
    return c;
}

// LLAMA there.
inline models::Config small_llama() {
    models::Config c = sized(models::llama(), {.max_length = 9, .n_heads = 4});
    c.specials = small_language_model().specials;
    c.tied = false;
    c.block.n_kv_heads = 2;
    c.block.head_dim = 6;
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

// Under their names in transformers.
template <class Model>
nn::checkpoint::StateDict state_dict_in_transformers(const Model& model, const std::string& family) {
    return models::hugging_face::state_dict(models::hugging_face::config_of(model.config, family),
                                            nn::all_parameters(model));
}
template <class Model>
void load_from_transformers(const std::string& path, const Model& model, const std::string& family) {
    nn::checkpoint::SafeTensors file = nn::checkpoint::read(path);
    const auto config = models::hugging_face::config_of(model.config, family);
    file.rename([&](const std::string& name) { return canonical_name(config, name); });
    load(file, state_dict_in_transformers(model, family));
}

}  // namespace plaingrad::tests
