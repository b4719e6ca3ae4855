// The weights of a folder: in which files they are, and which of our parameters each tensor is.
#pragma once

#include <string>
#include <vector>

#include "models/hugging_face/config.h"
#include "nn/checkpoint/state_dict.h"

namespace plaingrad::models::hugging_face {

// model.safetensors, or, of a large model, several files, which model.safetensors.index.json lists; or, while
// a run has not ended, its best or its last checkpoint.
struct WeightFiles {
    std::vector<std::string> paths;
    std::string index = {};  // the path of the list, if there is one
};

// Throws FileError if the folder has no weights, or only others (see refuse_others), or lacks a file that its
// index names.
WeightFiles weight_files(const std::string& folder);

// For a folder without a model that is read: throws FileError naming what there is instead, and what to do: a
// folder of Hugging Face's cache, a link to nowhere, an adapter, weights in another format or under another
// name. Returns if there is nothing of the kind.
void refuse_others(const std::string& folder);

// ---- Tensors: their names, and which of our parameters each is. Reading and writing use the same table, the
// family's (families.cpp).

// For a name in a file: the one that is meant, as there are files with and without the prefix, and older ones
// have other names; or "" for a tensor that changes nothing, such as a buffer.
std::string canonical_name(const ConfigJson& config, std::string name);

// The entries of these parameters, for example of a LanguageModel, for reading or for writing. Throws Error
// if they are not those that the table names: then the model computes something else. The names have a prefix
// (transformer.wte.weight), unless there is no head (wte.weight).
enum class Direction { reading, writing };
nn::checkpoint::StateDict state_dict(const ConfigJson& config,
                                     const std::vector<nn::NamedParameter>& parameters, Direction direction);

}  // namespace plaingrad::models::hugging_face
