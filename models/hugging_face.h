// Loads and saves the weights of GPT-2 and BERT under the names that they have at Hugging Face.
//
//     const LanguageModel model(gpt2(), Rng(0));
//     load_gpt2("gpt2/model.safetensors", model);    # GPT2LMHeadModel's, or GPT2Model's
//     save_bert("model.safetensors", masked_model);  # in Python: BertForMaskedLM(...).load_state_dict(...)
//
// Only names and layouts differ from those of models/pytorch.h: GPT-2 stores its matrices as (in, out), as we
// do; BERT as (out, in), with separate matrices for queries, keys and values.
#pragma once

#include "models/language_model.h"
#include "models/masked_language_model.h"
#include "models/pytorch.h"

namespace plaingrad::models {

// Of GPT2LMHeadModel; files may also have the names of GPT2Model. Throws Error for a model that computes
// something else than GPT-2.
StateDict gpt2_state_dict(const LanguageModel& model);

// Of BertForMaskedLM, or of BertForPreTraining without its second head. Throws Error for a model that
// computes something else than BERT. BERT adds a vector for "first sentence" or "second sentence" to each
// position: one entry holds the two, (2, d_model), which our model lacks.
StateDict bert_state_dict(const MaskedLanguageModel& model);

// The loaders return the metadata, and throw FileError as load_pytorch does. In a text of one sentence, BERT
// adds its vector for the first sentence to every position: load_bert adds it to the table of positions, and
// save_bert writes zeros for both vectors.
inline Metadata load_gpt2(const std::string& path, const LanguageModel& model) {
    return load(path, gpt2_state_dict(model));
}
Metadata load_bert(const std::string& path, const MaskedLanguageModel& model);
inline void save_gpt2(const std::string& path, const LanguageModel& model, const Metadata& metadata = {}) {
    save(path, gpt2_state_dict(model), metadata);
}
inline void save_bert(const std::string& path, const MaskedLanguageModel& model,
                      const Metadata& metadata = {}) {
    save(path, bert_state_dict(model), metadata);
}

}  // namespace plaingrad::models
