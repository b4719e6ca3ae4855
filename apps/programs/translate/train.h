// A training run of the translator.
#pragma once

#include "apps/programs/translate/data.h"
#include "apps/programs/translate/options.h"
#include "models/runs/run_folder.h"

namespace plaingrad::translate {

struct Job {
    const models::Transformer& model;
    const Tokenizer& tokenizer;
    const Corpus& corpus;
    const Corpus* validation;  // or null
    const Settings& s;
    const models::RunFolder& folder;
};

// Trains the model, or continues the run in the folder. At the end saves model.safetensors: the average of
// the last epochs, or the weights of the best validation if those are better. Prints the plan before, and
// loss and BLEU after.
void train(const Job& job);

}  // namespace plaingrad::translate
