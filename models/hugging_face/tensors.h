// The tensors of a model from Hugging Face: their names, and which of our parameters each is. Reading and
// writing use the same table.
//
// A matrix is (out, in), as in PyTorch's Linear, but in GPT-2 (in, out), as here: its authors' Conv1D is a
// transposed Linear. What is one matrix here (queries | keys | values; gate | up) is one in GPT-2, too, and
// several elsewhere.
#pragma once

#include "models/hugging_face/config.h"
#include "nn/checkpoint/state_dict.h"

namespace plaingrad::models::hugging_face {

// For a name in a file: the one that is meant, as there are files with and without the prefix,
// and older ones have other names; or "" for a tensor that changes nothing, such as a buffer.
std::string canonical_name(const ConfigJson& config, std::string name);

// The entries of these parameters, for example of a LanguageModel, for reading or for writing. Throws Error
// if they are not those that the table names: then the model computes something else. The names have a prefix
// (transformer.wte.weight), unless there is no head (wte.weight).
enum class Direction { reading, writing };
nn::checkpoint::StateDict state_dict(const ConfigJson& config,
                                     const std::vector<nn::NamedParameter>& parameters, Direction direction);

}  // namespace plaingrad::models::hugging_face
