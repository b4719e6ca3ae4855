// Saved models, ours and those of others (Hugging Face): one form of folder, and one way to open it.
//
//     const SavedModel gpt2("gpt2");                              // what its files say, checked
//     const auto model = load_model<LanguageModel>(gpt2);         // or load_model<LanguageModel>("gpt2")
//     const auto tokenizer = gpt2.tokenizer();                    // models/text/tokenizer.h
//     ...
//     save("mine", model, gpt2.config);    // in Python: GPT2LMHeadModel.from_pretrained("mine")
//     save("ours", model);                 // with PyTorch's names
//     write_text_files(read_text_files("gpt2"), "mine");  // the tokenizer
//
// A folder has config.json, the tokenizer if there is text, and model.safetensors, whose tensors bear the
// names of the family that config.json names: transformers' (models/hugging_face/families.cpp), or, if that
// is ours, PyTorch's (models/pytorch.h). The folder of a training run also has checkpoints, last.safetensors
// and best.safetensors, with the same names, and everything that training needs to resume.
//
// Which class of transformers is which of ours:
//
//     GPT2LMHeadModel, LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM    LanguageModel
//     GPT2Model and the like, whose output layer is the embedding                LanguageModel
//     BertForMaskedLM, BertForPreTraining                                        MaskedLanguageModel
//     BertForSequenceClassification                                              Classifier
//     BertModel                                                                  TextEncoder
//
// The weights of others are float32, float16 or bfloat16. Here they become Real.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/families/one_stack.h"
#include "models/families/transformer.h"
#include "models/hugging_face/config.h"
#include "models/pytorch.h"
#include "models/text/tokenizer.h"
#include "nn/checkpoint/safetensors.h"
#include "nn/training.h"

namespace plaingrad::models {

using hugging_face::ConfigJson;
using nn::checkpoint::check_file;

// A folder, or one of its safetensors files, opened: what it says, before a weight is read.
struct SavedModel {
    // Reads config.json and the headers of the weights: of a folder's model.safetensors, which a run writes
    // at its end, or of the files that its index lists, or else of the best or the last checkpoint. Throws
    // FileError, in one line that names the file, and the field, for what cannot be computed here: without
    // these files, with a configuration that is refused (models/hugging_face/config.h), or with fewer numbers
    // than it needs.
    explicit SavedModel(const std::string& path);

    bool is_ours() const { return config.is_ours(); }
    std::string file(const std::string& name) const { return nn::checkpoint::in_folder(folder, name); }
    // Throws FileError also for one whose ids do not fit the model, or that gives a single text token types
    // that the model lacks.
    text::Tokenizer tokenizer() const;

    // Throws FileError if the model is of another kind.
    void check_kind(Kind kind) const;
    // Reads the weights into a model of this configuration, which has these parameters; packed: see
    // OpenOptions.
    void read_weights(const std::vector<nn::NamedParameter>& all, bool packed) const;

    std::string folder;
    ConfigJson config = {};
    std::vector<nn::checkpoint::SafeTensors> files = {};  // of the weights
    std::string where;  // the file to name in complaints: the index, if there is one
};

// Whether a file was saved here. Throws FileError naming the file for one of another version.
bool is_saved_here(const nn::checkpoint::SafeTensors& file);

// A model whose matrices are not set: all of its weights will be read from a file.
template <nn::Module Model>
Model unset(Config config, const Rng& rng) {
    const nn::Init own = std::exchange(config.block.init, nn::Init::none);
    Model model(config, rng);
    model.config.block.init = own;
    return model;
}

// For the five models. Each tensor is copied once, from its file into its parameter, which had no initial
// values. Throws FileError if the model is of another kind, or cannot be read, or if tensors are missing,
// superfluous, or of other shapes. Memory is allocated for no more numbers than the files have.
template <nn::Module Model>
Model load_model(const SavedModel& saved, const OpenOptions& options = {}) {
    saved.check_kind(Model::kKind);
    Model model = unset<Model>(saved.config, options.rng);
    model.config.block.precision = options.precision.value_or(model.config.block.precision);
    const UsePrecision precision(model.config.block.precision);
    saved.read_weights(all_parameters(model), options.packed);
    return model;
}
template <nn::Module Model>
Model load_model(const std::string& path, const OpenOptions& options = {}) {
    return load_model<Model>(SavedModel(path), options);
}

// Makes the folder, and writes config.json and model.safetensors, in float32. config: the one that the model
// was loaded with, or hugging_face::config_of. The family, the special ids, the labels and the limits of
// positions come from it, everything else comes from the model. Throws Error for a model that computes what
// none of this family does, and FileError if a file cannot be written. The files that were there are then
// unchanged, unless the disk becomes full between the two.
void save(const std::string& folder, const std::vector<nn::NamedParameter>& all, const ConfigJson& config);
template <nn::Module Model>
void save(const std::string& folder, const Model& model, const ConfigJson& config) {
    save(folder, all_parameters(model), config_of(model.config, config));
}
template <nn::Module Model>
void save(const std::string& folder, const Model& model) {
    save(folder, model, hugging_face::config_of(model.config));
}

// The tensors of model.safetensors, to be written, beside this config.json.
StateDict saved_state(const std::vector<nn::NamedParameter>& all, const ConfigJson& config);

// What a folder has besides its weights and config.json, as names and contents: the tokenizer and
// generation_config.json; to be written into another folder. Older files of a tokenizer become a
// tokenizer.json.
using TextFiles = std::vector<std::pair<std::string, std::string>>;
TextFiles read_text_files(const std::string& folder);
void write_text_files(const TextFiles& files, const std::string& folder);

// Every file of weights that is written here: a model's state_dict; in a checkpoint also what training needs
// to resume. Replaces the file; if that fails, the old one is unchanged. Throws FileError naming the file and
// the cause.
void save_checkpoint(const std::string& path, const StateDict& state, Metadata extra = {},
                     const nn::Training* training = nullptr);

// Loads the weights of a checkpoint or a saved model into a model of the same configuration.
void load_weights(const std::string& path, const StateDict& state);

// Loads the training state of a checkpoint, for a Training of the model that was loaded from it. Throws
// FileError naming the file if it is not a checkpoint of such a model; then `training` is unchanged.
void load_training(const std::string& path, nn::Training& training);

}  // namespace plaingrad::models
