// The smallest models of each kind, which fuzz targets read from files of three thousand bytes.
#pragma once

#include "models/saved.h"
#include "tests/folder.h"
#include "tests/models/small.h"

namespace plaingrad::fuzz {

inline models::Config small_stack(models::Config c) {
    c = tests::sized(c, {5, 3, 4, 2, 6, 1});
    c.block.n_kv_heads = c.block.head_dim = 0;
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
    return {tests::sized({}, {5, 3, 4, 2, 6, 1}), autograd::Rng(1)};
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
