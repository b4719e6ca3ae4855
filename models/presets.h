// The ways in which the tutorials of this field build the Transformer, each as one configuration value.
//
// Where they differ: positions, scaling, which matrices are shared, where dropout stands, which layers have a
// bias, and where the norm is placed. Vocabularies are set to the tutorial's, or left 0 for the data to
// decide.
#pragma once

#include <string_view>
#include <vector>

#include "models/config.h"

namespace models {

struct Preset {
    std::string_view name;
    std::string_view summary;  // one line
    TransformerConfig config;
};

const std::vector<Preset>& presets();
std::vector<std::string> preset_names();

// Throws Error listing the names if there is none of this name.
const TransformerConfig& preset(std::string_view name);

}  // namespace models
