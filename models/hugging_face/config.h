// config.json: what a folder says about its model. One from Hugging Face is understood as transformers 5
// does; ours has the fields of Config, under "model_type": "plaingrad".
//
// Every key that changes what the model computes is honoured, or refused by name; a missing one has the value
// that transformers gives it. (The tables of all keys are in families.cpp.) A key that transformers does not
// know cannot change what it computes, and files have many of them: it is ignored, and named in `notes`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/config.h"

namespace plaingrad::models::hugging_face {

// A model as we describe it, and what config.json has besides. Its family's table reads into it and writes
// from it.
struct ConfigJson : Config {
    bool is_ours() const { return family == "plaingrad"; }

    std::string family = "plaingrad";  // "model_type". SmolLM and many others are llama
    // Without its output part, such as GPT2Model and BertModel: the tensors' names have no prefix.
    bool bare = false;
    bool names_class = false;  // or "architectures" is missing, and the class is the usual one
    // The file's own numbers, from which max_length follows; they are written back. max_positions: how many
    // positions GPT-2 or BERT has, which is max_length; how many the others were made for. window: how many
    // tokens back the layers of Mistral see; 0: all.
    int64_t max_positions = 0, window = 0;
    int32_t start = -1;                    // bos_token_id; -1: none, and specials.start is another
    std::vector<std::string> labels = {};  // of the classes, by their numbers
    bool lines = false;  // of a language model of ours: its texts are lines, each between <sos> and <eos>

    std::vector<std::string> notes = {};  // a line each: what was ignored, or limited, and why
};

// The name of the class in transformers: the first one that is this model; of one of ours its kind. Throws
// Error if there is none.
std::string_view architecture(const ConfigJson& config);

// Reads config.json. Throws FileError, in one line that names the file and the key.
ConfigJson read_config(const std::string& path);

// What config.json says of a model: all of it is the model's, but for the family, the special ids, the labels
// and the limits of positions, which are those of `given`. Throws Error, naming the field, for a model that
// computes what none of this family does: what config.json cannot say would be lost. (Left out are ids that
// are never generated, initial values, precision, and dropout where the family has none.)
ConfigJson config_of(const Config& model, const ConfigJson& given);
// The same for a new model, with its own ids, and labels as transformers counts them. Throws Error if there
// is no such family.
ConfigJson config_of(const Config& model, const std::string& family = "plaingrad");

// The whole text of config.json; for transformers 4.43 and later.
std::string written(const ConfigJson& config);

// The fields of a configuration as JSON, by name.
std::vector<std::pair<std::string, std::string>> fields_of(const Config& config);

}  // namespace plaingrad::models::hugging_face
