// Models of others: opens a folder as it comes from Hugging Face, and writes one.
//
//     const hugging_face::Folder folder("gpt2");
//     const auto model = load_hugging_face<LanguageModel>(folder);
//     const auto tokenizer = hugging_face::open_tokenizer(folder);  // models/text/tokenizer.h
//     ...
//     save_hugging_face("mine", model, folder.config);  // in Python: GPT2LMHeadModel.from_pretrained("mine")
//     hugging_face::write_text_files(hugging_face::read_text_files("gpt2"), "mine");  // the tokenizer
//
// Which class of transformers is which of ours:
//
//     GPT2LMHeadModel, LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM    LanguageModel
//     GPT2Model and the like, whose output layer is the embedding                LanguageModel
//     BertForMaskedLM, BertForPreTraining                                        MaskedLanguageModel
//     BertForSequenceClassification                                              Classifier
//     BertModel                                                                  TextEncoder
//
// The files' weights are float32, float16 or bfloat16. Here they become Real.
#pragma once

#include "models/classifier.h"
#include "models/hugging_face/folder.h"
#include "models/language_model.h"
#include "models/masked_language_model.h"
#include "models/saved.h"
#include "models/text/tokenizer.h"
#include "models/text_encoder.h"
#include "nn/checkpoint/state_dict.h"

namespace plaingrad::models {

// For the four classes above. Each tensor is copied once, from its file into its parameter, which had no
// initial values. Throws FileError if the folder has a model of another kind, or cannot be read.
template <nn::Module Model>
Model load_hugging_face(const hugging_face::Folder& folder, const OpenOptions& options = {});

// Makes the folder, and writes config.json and model.safetensors, in float32. config: the one that the model
// was loaded with, or hugging_face::config_of. The family, the special ids, the labels and the limits of
// positions come from it, everything else comes from the model. Throws Error for a model that computes what
// none of this family does, and FileError if a file cannot be written. The files that were there are then
// unchanged, unless the disk becomes full between the two.
template <nn::Module Model>
void save_hugging_face(const std::string& folder, const Model& model, const hugging_face::ConfigJson& config);

namespace hugging_face {

// The folder's tokenizer. Throws FileError also for one that has ids beyond the model's vocabulary, or that
// gives a single text token types that the model lacks.
text::Tokenizer open_tokenizer(const Folder& folder);

// What a folder has besides its model, its tokenizer and generation_config.json, as names and contents; to be
// written into another folder. Older files of a tokenizer become a tokenizer.json.
using TextFiles = std::vector<std::pair<std::string, std::string>>;
TextFiles read_text_files(const std::string& folder);
void write_text_files(const TextFiles& files, const std::string& folder);

}  // namespace hugging_face
}  // namespace plaingrad::models
