// Where the weights of a folder are: in model.safetensors, or, for a large model, in several files, which
// model.safetensors.index.json lists; or, while a run has not ended, in its best or its last checkpoint.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nn/checkpoint/safetensors.h"

namespace plaingrad::models::hugging_face {

struct WeightFiles {
    std::vector<std::string> paths;
    // By the index: the file of each tensor, as a position in `paths`. Empty if there is no index.
    std::map<std::string, std::size_t, std::less<>> file_of = {};
    std::string index = {};  // its path
};

// Throws FileError if the folder has no weights, or only others (see refuse_others), or lacks a file that its
// index names.
WeightFiles weight_files(const std::string& folder);

// For a folder without a model that is read: throws FileError naming what there is instead, and what to do: a
// folder of Hugging Face's cache, a link to nowhere, an adapter, weights in another format or under another
// name. Returns if there is nothing of the kind.
void refuse_others(const std::string& folder);

// Throws FileError unless the file has the tensors that the index says it has, and no other.
void check_listed(const WeightFiles& files, std::size_t file,
                  const std::vector<nn::checkpoint::Entry>& entries);

}  // namespace plaingrad::models::hugging_face
