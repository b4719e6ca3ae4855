// Between a model's parameters and the tensors of a file, which may have other names and other layouts. The maps
// themselves are elsewhere (models/pytorch.h): here is what all of them need.
#pragma once

#include <string>
#include <vector>

#include "nn/checkpoint/safetensors.h"
#include "nn/module.h"

namespace plaingrad::nn::checkpoint {

// One tensor of a file: one of ours, transposed or not, or some of its columns. (Ours are (in, out), PyTorch's
// are (out, in); and BERT has queries, keys and values apart, which here are columns of one matrix.)
struct StateEntry {
    std::string name;
    Tensor tensor;  // a handle: reading a file writes into it
    bool transposed = false;
    int64_t first = 0, columns = -1;  // of the last dimension; -1: all
};

struct StateDict {
    std::vector<StateEntry> entries;
    // The entry that a name in a file stands for, where names vary; "" is passed over, as a buffer of no weights.
    std::string (*canonical)(std::string name) = [](std::string name) { return name; };
};

// What stands in the file: a new tensor, without a graph.
Tensor packed(const StateEntry& entry);

// Writes every entry, and so a tied weight under each of its names.
void save(const std::string& path, const StateDict& state, const Metadata& metadata = {});

// Reads every entry, and gives back the metadata. Of the names of one tied weight some may be missing from the file;
// those that are there must hold the same numbers. Throws FileError that lists what is missing, what is too much, and
// what has another shape; then nothing was changed.
Metadata load(const std::string& path, const StateDict& state);
// The same of a file that was read before.
void load(const SafeTensors& file, const StateDict& state);

}  // namespace plaingrad::nn::checkpoint
