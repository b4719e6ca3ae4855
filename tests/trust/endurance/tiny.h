// The model of a run as long as a day: so small that a step takes a twentieth of a millisecond.
#pragma once

#include "models/families/one_stack.h"
#include "models/pytorch.h"
#include "models/saved.h"
#include "nn/parallel/data_parallel.h"
#include "tests/models/small.h"

namespace plaingrad::trust {

inline models::Config tiny(bool dropout) {
    models::Config c = tests::sized({.kind = models::Kind::causal}, {7, 4, 4, 1, 4, 1});
    c.block.dropout = {.embeddings = 0, .sublayers = dropout ? models::Real(0.1) : 0};
    return c;
}

// A sentence of 2 to 4 symbols, drawn from its number: the sizes of tensors change from step to step.
inline nn::StepLoss loss_of(const models::LanguageModel& model, int64_t sentence, const nn::Mode& mode) {
    const autograd::Rng rng = autograd::Rng(7).fork(static_cast<uint64_t>(sentence));
    const int64_t length = 2 + rng.below(0, 3);
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < length; ++i)
        ids.push_back(static_cast<int32_t>(4 + rng.below(1 + static_cast<uint64_t>(i), 3)));
    return {tests::next_token_loss(model, models::Tokens(1, length, ids), mode), length - 1};
}

// A run's state, and what continues it.
struct Trained {
    explicit Trained(bool dropout = true)
        : model(tiny(dropout), models::Rng(1)),
          training(nn::parameters(model), {.beta2 = 0.98, .eps = 1e-9}) {}

    // Until this step. The sentence of a step is its number minus `first`.
    void train(int64_t end, int64_t first = 0) {
        nn::train(training.adam,
                  [&](int64_t step, const nn::Mode& mode) { return loss_of(model, step - first, mode).loss; },
                  {.steps = end, .learning_rate = [](int64_t) { return 1e-3; }});
    }
    void save(const std::string& path) const {
        models::save_checkpoint(path, models::state_dict(model), {}, &training);
    }
    void load(const std::string& path) {
        models::load_weights(path, models::state_dict(model));
        models::load_training(path, training);
    }
    uint64_t hash() const { return tests::hash(model) ^ 31 * tests::hash(training.adam.state()); }

    models::LanguageModel model;
    nn::Training training;
};

// Counters that pass 2^31 and 2^32: those of Adam, of a run and its files, and of random streams. Each
// returns how many values are not as they should be.
int64_t wrong_optimizer_steps(int64_t base);
int64_t wrong_runs(int64_t base);
int64_t wrong_streams(int64_t base);

// How many bytes a run keeps in memory for each of its steps.
double bytes_a_step(int64_t steps);

}  // namespace plaingrad::trust
