// Between a model's parameters and the tensors of a file, which may have other names and other layouts. The
// maps themselves are elsewhere (models/pytorch.h); this is their common part.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nn/checkpoint/safetensors.h"
#include "nn/module.h"

namespace plaingrad::nn::checkpoint {

// The name without the prefixes of torch.compile and DistributedDataParallel:
// "module._orig_mod.layers.0.weight".
std::string without_wrappers(std::string name);

// Maps a name in a file that no entry has to the name of its entry, where names vary; or to "" if it is to
// be ignored, such as a buffer without weights.
using Canonical = std::function<std::string(std::string name)>;

struct StateDict {
    std::vector<StateEntry> entries;
    Canonical canonical = without_wrappers;
};

// Part of a name -> what stands there instead. Of each rule the first occurrence counts.
using NameRules = std::vector<std::pair<std::string, std::string>>;
std::string replaced(std::string name, const NameRules& rules);

// For files whose names differ from those of the entries. A name that is an entry's is always this entry's:
// rules and ignore are for the others.
struct LoadOptions {
    NameRules rules = {};  // part of a name in the file -> of the entry's
    std::vector<std::string> ignore =
        {};  // endings of names that are skipped, e.g. of the buffer "pos_encoder.pe"
};
StateDict with_options(StateDict state, const LoadOptions& options);

struct SaveOptions {
    // Writes a tied weight only under the first of its names, as transformers' save_pretrained does, for
    // safetensors.torch.load_model. (load_state_dict needs every name.)
    bool tied_once = false;
};

// Writes every entry: a tied weight under each of its names, unless the options say otherwise.
void save(const std::string& path, const StateDict& state, const Metadata& metadata = {},
          const SaveOptions& options = {});

// Reads every entry, and returns the metadata. The file may lack some of the names of a tied weight; those
// that it has must hold the same bytes. Throws FileError that lists entries which are missing, superfluous,
// or of another shape; then nothing has changed. It also throws FileError if the system fails to read, after
// which some entries may have been read.
Metadata load(const std::string& path, const StateDict& state);
// The same for a file that is open.
void load(const SafeTensors& file, const StateDict& state);

// The same for a model in several files.
struct LoadCall {
    std::string where, hint;                                  // begin and end of a complaint
    std::function<void(const StateEntry& entry)> after = {};  // is told of each entry that has been read
};
void load(std::span<const SafeTensors> files, const StateDict& state, const LoadCall& call);
// As `load` complains about one file.
LoadCall call_of(const SafeTensors& file);

}  // namespace plaingrad::nn::checkpoint
