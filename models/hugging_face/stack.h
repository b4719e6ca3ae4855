// From what config.json says to our configuration of a stack of layers, and back.
#pragma once

#include "models/hugging_face/config.h"

namespace plaingrad::models::hugging_face {

// (The number of a classifier's classes is not part of it.)
StackConfig stack(const Config& config);

// What is in a StackConfig only (ids that are never generated, initial values, precision) is left out, and so
// is dropout where the family has none. Throws Error, naming the field, for a stack that computes what no
// model of this family does.
Config config_of(const StackConfig& stack, Family family, Head head);

}  // namespace plaingrad::models::hugging_face
