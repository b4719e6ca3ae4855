#include "apps/kit/text_training.h"

#include <algorithm>

#include "nn/schedule.h"

namespace plaingrad::kit {

void add_text_training(Options& options, TextTraining& t, const std::string& pieces) {
    options.add("--batch", "N", pieces + " per step", t.batch, {.min = 1, .max = 1 << 16});
    options.add("--steps", "N", "training steps", t.steps, {.min = 1, .max = 1'000'000'000})
        .can_not_change("the learning rate falls over all of them");
    options.add("--lr", "X", "highest learning rate", t.lr, {.max = 1});
    options.add("--validate-every", "N", "steps between validations", t.validate_every, {.min = 1});
    options.add("--patience", "N", "stop after N validations without improvement; 0: never", t.patience);
}

models::RunOptions run_options(const TextTraining& t, int64_t seed, const nn::AdamOptions& adam) {
    // nanoGPT counts steps from 0, and warms up over one more.
    const int64_t warmup = std::min<int64_t>(100, t.steps / 10) + 1;
    return {.steps = t.steps,
            .learning_rate = nn::CosineSchedule{t.lr, t.steps + 1, warmup, t.lr / 10},
            .adam = adam,
            .seed = static_cast<uint64_t>(seed),
            .validate_every = t.validate_every,
            .patience = t.patience};
}

}  // namespace plaingrad::kit
