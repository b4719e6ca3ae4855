// The tensors of a model from Hugging Face: their names, their shapes, and which of our parameters each is.
// They follow from the configuration, so a file can be compared with it before a model is built. Reading and
// writing use the same table.
//
// A matrix is (out, in), as in PyTorch's Linear, but in GPT-2 (in, out), as here: its authors' Conv1D is a
// transposed Linear. What is one matrix here (queries | keys | values; gate | up) is one in GPT-2, too, and
// several elsewhere.
#pragma once

#include "models/hugging_face/config.h"
#include "nn/checkpoint/state_dict.h"

namespace plaingrad::models::hugging_face {

struct FileTensor {
    enum class Use {
        read_and_written,
        read,     // a second name of a tied weight: a file may lack it, and transformers does not write it
        written,  // transformers wants it, but does not use it
    };

    std::string name;
    std::vector<int64_t> shape;       // in the file
    std::string parameter;            // ours: "backbone.encoder.layers.0.norm1.gain"
    bool transposed = false;          // (out, in) there, (in, out) here
    int64_t first = 0, columns = -1;  // of the parameter's last dimension; -1: all
    Use use = Use::read_and_written;
};

// The names have a prefix (transformer.wte.weight), unless there is no head (wte.weight).
std::vector<FileTensor> tensors(const ConfigJson& config);

// For a name that is not among them: the one that is meant, as there are files with and without the prefix,
// and older ones have other names; or "" for a tensor that changes nothing, such as a buffer.
std::string canonical_name(const ConfigJson& config, std::string name);

// The entries of these parameters, for example of a LanguageModel, for reading or for writing. Throws Error
// if they are not those that the table names: then the model computes something else.
enum class Direction { reading, writing };
nn::checkpoint::StateDict state_dict(const ConfigJson& config,
                                     const std::vector<nn::NamedParameter>& parameters, Direction direction);

}  // namespace plaingrad::models::hugging_face
