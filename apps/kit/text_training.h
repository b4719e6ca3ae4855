// How a model learns from long texts: what the programs that do so have in common.
#pragma once

#include "apps/kit/pieces.h"
#include "apps/kit/run.h"

namespace plaingrad::kit {

struct TextTraining {
    int64_t batch = 12, steps = 2000, validate_every = 250, patience = 0;
    double lr = 3e-3;
};

// The rows --batch, --steps, --lr, --validate-every and --patience; `pieces` are what a batch consists of.
void add_text_training(Options& options, TextTraining& t, const std::string& pieces = "pieces of text");

// The learning rate rises for up to 100 steps, and then falls along a cosine to a tenth.
nn::TrainingOptions training_options(const TextTraining& t, int64_t seed, const nn::AdamOptions& adam);

// As kit::train, with the loss of text that is held out, before and after; described: in words.
void train(models::Run& run, const nn::LossOf& loss_of, const nn::TrainingOptions& options, Plan plan,
           const std::function<Measured()>& held_out,
           const std::function<std::string(const Measured&)>& described);

}  // namespace plaingrad::kit
