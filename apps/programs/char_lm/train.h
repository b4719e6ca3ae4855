// Training on texts.
#pragma once

#include "apps/programs/char_lm/data.h"
#include "apps/programs/char_lm/options.h"

namespace plaingrad::char_lm {

// Trains a model on the files and prints its validation loss. Without a folder to keep it in, also prints a
// sample.
void learn(const std::vector<File>& files, const Settings& s, const models::RunFolder& folder);

}  // namespace plaingrad::char_lm
