// A training run of the translator.
#pragma once

#include "apps/programs/translate/data.h"
#include "apps/programs/translate/options.h"
#include "models/run_folder.h"

namespace plaingrad::translate {

// Trains `model` from where the run in the folder stands, and ends with what is kept of it in
// model.safetensors: the average of its last epochs, or the model of the best validation. Says what it takes,
// and how good it is. `validation` may be null.
void train(const models::Transformer& model, const Codec& codec, const Corpus& corpus,
           const Corpus* validation, const Settings& s, const models::RunFolder& folder);

}  // namespace plaingrad::translate
