// What classify learns from when it is given no file: what is asked of an assistant, as templates of
// sentences. The held-out ones are worded otherwise, and no slot is filled there as it was in training.
#pragma once

#include "apps/programs/classify/data.h"

namespace plaingrad::classify {

Corpus built_in_corpus(const autograd::Rng& rng);
std::vector<std::string> built_in_labels();

}  // namespace plaingrad::classify
