// The smallest models of each kind, which fuzz targets read from files of three thousand bytes.
#pragma once

#include <string>

#include "models/presets.h"
#include "models/saved.h"
#include "tests/folder.h"

namespace plaingrad::fuzz {

inline models::Config small_stack(models::Config c) {
    c.vocabulary = 5, c.max_length = 3, c.n_layers = 1;
    c.block.d_model = 4, c.block.n_heads = 2, c.block.d_ff = 6;
    c.block.n_kv_heads = 0, c.block.head_dim = 0;
    c.specials = {.start = 1, .ends = {2}, .pad = 0, .never = {}};
    return c;
}
inline models::LanguageModel small_language_model() {
    return {small_stack(models::llama()), autograd::Rng(1)};
}
inline models::MaskedLanguageModel small_masked_language_model() {
    return {small_stack(models::bert()), autograd::Rng(1)};
}
inline models::Classifier small_classifier() {
    return {models::with_classes(small_stack(models::bert()), 2, models::Pooling::pooler), autograd::Rng(1)};
}
inline models::Transformer small_transformer() {
    models::Config c;
    c.src_vocabulary = c.vocabulary = 5, c.max_length = 3;
    c.n_layers = c.n_decoder_layers = 1;
    c.block = small_stack({}).block;
    return {c, autograd::Rng(1)};
}

// The bytes of its checkpoint.
template <class Model>
std::string saved(const Model& model, const models::Metadata& extra = {},
                  const nn::Training* training = nullptr) {
    const tests::Folder folder;
    models::save_checkpoint(folder / "f", models::state_dict(model), extra, training);
    return tests::content(folder / "f");
}

}  // namespace plaingrad::fuzz
