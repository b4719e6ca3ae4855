// How well a model predicts: the loss of each character from those before it.
#pragma once

#include <string>

#include "apps/programs/char_lm/data.h"
#include "models/language_model.h"

namespace plaingrad::char_lm {

// Position t of a row predicts t + 1; the loss is the mean over all of them but padding.
autograd::Tensor mean_loss(const models::LanguageModel& model, const Tokens& rows, const nn::Mode& mode);
int64_t predictions(const Tokens& rows);  // how many it is the mean of

struct Measured {
    double nats = 0;  // the mean for a prediction
    int64_t predictions = 0;
};
Measured measure(const models::LanguageModel& model, const std::vector<Sequence>& pieces);
// The same loss of a table that knows how often each character followed each other one, plus once.
Measured pair_table_loss(const Corpus& corpus);

// "validation loss    1.8734 nats = 2.7027 bits per character, over 111,539", to standard output.
void print(const std::string& what, const Measured& loss, const Characters& characters);

}  // namespace plaingrad::char_lm
