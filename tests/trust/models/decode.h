// Decoding with the key/value cache and without it.
#pragma once

#include <string>

#include "tests/trust/models/subject.h"

namespace plaingrad::trust {

// What greedy search, beam search and sampling write, with all of their numbers, as text: equal texts are
// equal bits. cached: with the model's own stepper, or with one that computes the whole text again at each
// step.
std::string decoded(const models::Transformer& model, uint64_t seed, bool cached);
std::string decoded(const models::LanguageModel& model, uint64_t seed, bool cached);

}  // namespace plaingrad::trust
