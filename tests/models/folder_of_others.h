// A folder as from Hugging Face, small enough for tests: random weights, and a golden tokenizer.
#pragma once

#include "models/saved.h"
#include "tests/folder.h"
#include "tests/models/small.h"

namespace plaingrad::tests {

struct Sizes {
    int64_t vocabulary = 0;  // 0: as many as the tokenizer has
    int64_t d_model = 24;
};

// family: gpt2 or llama2, as the tokenizers of tests/golden/tokenizers are called. Returns the model.
inline models::LanguageModel write_folder(const std::string& path, const std::string& family = "gpt2",
                                          const Sizes& sizes = {}) {
    const bool llama = family != "gpt2";
    const std::string json = content("tests/golden/tokenizers/" + family + "/tokenizer.json");
    const int64_t vocabulary = sizes.vocabulary > 0 ? sizes.vocabulary : llama ? 900 : 501;
    models::Config s =
        sized(llama ? models::llama() : models::gpt2(), {vocabulary, 24, sizes.d_model, 4, 40});
    s.block.n_kv_heads = llama ? 2 : 0;
    s.block.head_dim = 0;
    s.specials = {
        .start = llama ? 1 : 500, .ends = {llama ? 2 : 500}, .pad = models::Tokens::kNoPadding, .never = {}};
    models::LanguageModel model(s, models::Rng(1));
    stir(model);
    save(path, model, models::hugging_face::config_of(s, llama ? "llama" : "gpt2"));
    put(path + "/tokenizer.json", json);
    return model;
}
inline models::LanguageModel write_folder(const Folder& folder, const std::string& family = "gpt2",
                                          const Sizes& sizes = {}) {
    return write_folder(folder.path, family, sizes);
}

// A BERT with a vocabulary of words, ids 0 to 4 being those of BERT's special tokens. Returns the model, a
// Classifier with three classes, a MaskedLanguageModel or a TextEncoder.
inline const std::string kBertWords =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\na\nday\nnight\nlovely\nawful\n##ly\n.\n";
template <class Model>
Model write_bert(const std::string& path, const std::string& words = kBertWords) {
    models::Config s = sized(models::bert(), {15, 12, 24, 4, 40});  // two ids more than there are words
    s.specials = {.start = 0, .ends = {}, .pad = 0, .never = {}};
    Model model(models::with_classes(s, 3, models::Pooling::pooler), models::Rng(1));
    stir(model);
    models::hugging_face::ConfigJson c = models::hugging_face::config_of(model.config, "bert");
    if (model.config.kind == models::Kind::classifier)
        c.labels = {"sad", "glad", "in between"};
    save(path, model, c);
    put(path + "/vocab.txt", words);
    return model;
}
template <class Model>
Model write_bert(const Folder& folder, const std::string& words = kBertWords) {
    return write_bert<Model>(folder.path, words);
}

}  // namespace plaingrad::tests
