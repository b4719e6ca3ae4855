// How well a model predicts: the loss of each character from those before it.
#pragma once

#include <string>

#include "apps/programs/char_lm/data.h"
#include "models/language_model.h"

namespace plaingrad::char_lm {

// Position t of a row predicts position t + 1. The loss is the mean over all positions but padding.
autograd::Tensor mean_loss(const models::LanguageModel& model, const Tokens& rows, const nn::Mode& mode);
int64_t predictions(const Tokens& rows);  // how many positions that mean is over

struct Measured {
    double nats = 0;  // the mean per prediction
    int64_t predictions = 0;
};
Measured measure(const models::LanguageModel& model, const std::vector<Sequence>& pieces);
// A baseline: the held-out loss of a bigram table, the counts of how often each character follows each other
// one in the training data, plus one.
Measured pair_table_loss(const Corpus& corpus);

// "validation loss    1.8734 nats = 2.7027 bits per character, over 111,539", to standard output.
void print(const std::string& what, const Measured& loss, const Characters& characters);

}  // namespace plaingrad::char_lm
