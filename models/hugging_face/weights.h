// The weights of a folder: in which files they are, and which of our parameters each tensor is.
#pragma once

#include <string>
#include <vector>

#include "models/hugging_face/config.h"
#include "nn/checkpoint/state_dict.h"

namespace plaingrad::models::hugging_face {

// Of a file this one; of a folder model.safetensors, or, of a large model, several files, which
// model.safetensors.index.json lists; or, while a run has not ended, its best or its last checkpoint. Throws
// FileError if a folder lacks a file that its index names, or has no weights. Then it names what there is
// instead, and what to do: a folder of Hugging Face's cache, a link to nowhere, an adapter, weights in
// another format or under another name.
std::vector<std::string> weight_files(const std::string& path);

// ---- Tensors: their names, and which of our parameters each is. Reading and writing use the same table, the
// family's (families.cpp).

// For a name in a file: the one that is meant, as there are files with and without the prefix, and older ones
// have other names; or "" for a tensor that changes nothing, such as a buffer.
std::string canonical_name(const ConfigJson& config, std::string name);

// The entries of these parameters, for example of a LanguageModel; a tied weight has one under each of its
// names. Throws Error if they are not those that the table names: then the model computes something else. The
// names have a prefix (transformer.wte.weight), unless there is no head (wte.weight).
nn::checkpoint::StateDict state_dict(const ConfigJson& config,
                                     const std::vector<nn::NamedParameter>& parameters);

}  // namespace plaingrad::models::hugging_face
