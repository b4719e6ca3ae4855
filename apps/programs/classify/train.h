// Training a classifier on labelled texts.
#pragma once

#include "apps/programs/classify/data.h"
#include "apps/programs/classify/options.h"
#include "models/labeller.h"

namespace plaingrad::classify {

// An untrained one, with a vocabulary made from the training texts. Prints its size, and that of the data, on
// standard error.
models::Labeller new_labeller(const Corpus& corpus, const std::vector<std::string>& labels,
                              const Settings& s);

// Returns whether the run has come to its end.
bool train(const models::Labeller& l, const Corpus& corpus, const Settings& s,
           const models::RunFolder& folder);

}  // namespace plaingrad::classify
