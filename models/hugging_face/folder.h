// A folder from Hugging Face, opened: what it says, checked, before a weight is read.
#pragma once

#include <string>
#include <vector>

#include "models/hugging_face/config.h"
#include "nn/checkpoint/safetensors.h"

namespace plaingrad::models::hugging_face {

struct Folder {
    // Reads config.json and the headers of the weights. Throws FileError, in one line that names the file,
    // and the field or the tensors, for a folder whose model cannot be computed here: one without these
    // files, with a configuration that is refused (see config.h), with tensors that are missing or
    // superfluous, or whose shapes do not match the configuration.
    explicit Folder(const std::string& path);

    std::string file(const std::string& name) const { return nn::checkpoint::in_folder(path, name); }

    std::string path;
    ConfigJson config;
    std::vector<nn::checkpoint::SafeTensors> files = {};  // of the weights
    std::string where;               // the file to name in complaints: the index, if there is one
    std::vector<std::string> notes;  // what was ignored or limited, and why, a line each
};

}  // namespace plaingrad::models::hugging_face
