// Configurations as text, for the metadata of a file.
#pragma once

#include "models/classifier.h"
#include "models/config.h"
#include "nn/checkpoint/header.h"

namespace plaingrad::kit {

using nn::checkpoint::Metadata;

// A key for each field, "config.d_model" -> "512".
Metadata to_metadata(const models::StackConfig& config);
Metadata to_metadata(const models::ClassifierConfig& config);
Metadata to_metadata(const models::TransformerConfig& config);

// And back; a field that is missing takes its default. Throws FileError naming `where`, the file, and the key
// if a value cannot be read, and Error for what check_config refuses.
void from_metadata(const Metadata& metadata, models::StackConfig& config, const std::string& where);
void from_metadata(const Metadata& metadata, models::ClassifierConfig& config, const std::string& where);
void from_metadata(const Metadata& metadata, models::TransformerConfig& config, const std::string& where);

}  // namespace plaingrad::kit
