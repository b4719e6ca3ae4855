// Between a model's parameters and the tensors of a file, which may have other names and other layouts. The
// maps themselves are elsewhere (models/pytorch.h); this is their common part.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nn/checkpoint/safetensors.h"
#include "nn/module.h"

namespace plaingrad::nn::checkpoint {

// A model's entries, in the order of visit; a tied weight has one under each of its names.
using StateDict = std::vector<StateEntry>;

// Part of a name -> what stands there instead. Of each rule the first occurrence counts.
using NameRules = std::vector<std::pair<std::string, std::string>>;
std::string replaced(std::string name, const NameRules& rules);

// A tied weight only under the first of its names, as transformers' save_pretrained writes it, for
// safetensors.torch.load_model. (load_state_dict needs every name.)
StateDict tied_once(StateDict state);

// Reads every entry, and returns the metadata. The file may lack some of the names of a tied weight; those
// that it has must hold the same bytes. Throws FileError that lists entries which are missing, superfluous,
// or of another shape; then nothing has changed. It also throws FileError if the system fails to read, after
// which some entries may have been read.
Metadata load(const SafeTensors& file, const StateDict& state);

// The same in pieces, for a model in several files: which tensor is whose, before a number is read; then
// read() of each. They are in the order of the files, and there is one for each weight. A complaint begins
// with `where`, and ends with `hint`.
struct Match {
    const StateEntry* entry = nullptr;
    const SafeTensors* file = nullptr;
    const Entry* there = nullptr;  // nullptr: no file has it

    void read() const;
};
std::vector<Match> match(std::span<const SafeTensors> files, const StateDict& state, const std::string& where,
                         const std::string& hint);

}  // namespace plaingrad::nn::checkpoint
