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

// And back. Throws Error naming the key if one is missing or cannot be read, or for what check_config refuses.
void from_metadata(const Metadata& metadata, models::StackConfig& config);
void from_metadata(const Metadata& metadata, models::ClassifierConfig& config);
void from_metadata(const Metadata& metadata, models::TransformerConfig& config);

}  // namespace plaingrad::kit
