// Finds, for each tensor that a model expects, the file that holds it and its name there. Names and shapes
// are compared before a number is read: a file that does not fit changes nothing, and its complaint names
// everything that does not.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nn/checkpoint/safetensors.h"

namespace plaingrad::nn::checkpoint {

struct Expected {
    std::string name;
    std::vector<int64_t> shape;  // in the file
    std::size_t weight;          // a number: equal for the names of one tied weight
};

// Maps a name in a file that no expected tensor has to the name of one, where names vary; or to "" if it is
// to be ignored.
using Canonical = std::function<std::string(std::string name)>;

struct Found {
    const SafeTensors* file = nullptr;  // nullptr: no file has it
    const Entry* entry = nullptr;
};
struct Matches {
    std::vector<Found> found;          // of each expected tensor
    std::vector<std::string> ignored;  // names in the files
};

// Files may lack some of the names of a tied weight. Throws FileError, beginning with `where` and ending with
// `hint`, that lists tensors which are missing, superfluous, of another shape, or no floating-point numbers.
// The result points into `files`.
Matches match(std::span<const SafeTensors> files, const std::vector<Expected>& expected,
              const Canonical& canonical, const std::string& where, const std::string& hint);

}  // namespace plaingrad::nn::checkpoint
