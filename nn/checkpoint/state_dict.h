// Between a model's parameters and the tensors of a file, which may have other names and other layouts. The
// maps themselves are elsewhere (models/pytorch.h): here is what all of them need.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nn/checkpoint/safetensors.h"
#include "nn/module.h"

namespace plaingrad::nn::checkpoint {

// One tensor of a file: one of ours, transposed or not, or some of its columns. (Ours are (in, out),
// PyTorch's are (out, in); and BERT has queries, keys and values apart, which here are columns of one
// matrix.)
struct StateEntry {
    std::string name;
    Tensor tensor;  // a handle: reading a file writes into it
    bool transposed = false;
    int64_t first = 0, columns = -1;  // of the last dimension; -1: all
};

// Without what torch.compile and DistributedDataParallel put into names: "module._orig_mod.layers.0.weight".
std::string without_wrappers(std::string name);

struct StateDict {
    std::vector<StateEntry> entries;
    // For a name in a file that none of the entries has: the entry's name that it stands for, where names
    // vary; "" is passed over, as a buffer that holds no weights.
    std::function<std::string(std::string name)> canonical = without_wrappers;
};

// Part of a name -> what stands there instead. Of each rule the first occurrence counts.
using NameRules = std::vector<std::pair<std::string, std::string>>;
std::string replaced(std::string name, const NameRules& rules);

// For files whose names differ from those of the entries.
struct LoadOptions {
    NameRules rules = {};  // part of a name in the file -> of the entry's
    std::vector<std::string> ignore =
        {};  // endings of names that are skipped, e.g. of the buffer "pos_encoder.pe"
};
StateDict with_options(StateDict state, const LoadOptions& options);

struct SaveOptions {
    // A tied weight under the first of its names alone, as transformers' save_pretrained has it: for
    // safetensors.torch.load_model. (load_state_dict wants every name.)
    bool tied_once = false;
};

// What stands in the file: a new tensor, without a graph.
Tensor packed(const StateEntry& entry);

// Writes every entry, and so a tied weight under each of its names unless the options say otherwise.
void save(const std::string& path, const StateDict& state, const Metadata& metadata = {},
          const SaveOptions& options = {});

// Reads every entry, and gives back the metadata. Of the names of one tied weight some may be missing from
// the file; those that are there must hold the same bytes. Throws FileError that lists what is missing, what
// is too much, and what has another shape; then nothing was changed.
Metadata load(const std::string& path, const StateDict& state);
// The same of a file that was read before.
void load(const SafeTensors& file, const StateDict& state);

}  // namespace plaingrad::nn::checkpoint
