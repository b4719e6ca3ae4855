// Trains a masked language model on texts, further or from nothing.
#pragma once

#include "apps/kit/text_training.h"

namespace plaingrad::fill {

// The rows. They set `s`, whose defaults are those of fill.
void add_train_options(kit::Options& options, kit::TextTraining& s);

// `fill train`: writes the result into the run's folder, as one from Hugging Face.
void train_command(kit::Options& options);

}  // namespace plaingrad::fill
