// How well a model of characters predicts, beside a baseline.
#pragma once

#include <string>

#include "apps/programs/char_lm/data.h"

namespace plaingrad::char_lm {

using kit::Measured;

// A baseline: the held-out loss of a bigram table, the counts of how often each character follows each other
// one in the training data, plus one.
Measured pair_table_loss(const Corpus& corpus);

// "validation loss    1.8734 nats = 2.7027 bits per character, over 111,539", to standard output.
void print(const std::string& what, const Measured& loss, const Tokenizer& tokenizer);

}  // namespace plaingrad::char_lm
