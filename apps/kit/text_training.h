// How a model learns from long texts: what the programs that do so have in common.
#pragma once

#include <cmath>
#include <iostream>

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
models::RunOptions run_options(const TextTraining& t, int64_t seed, const nn::AdamOptions& adam);

// Learns all steps, and says what text costs that is held out, before and after. batch(step), loss(part,
// mode): as of models::Run. held_out() measures, described(it) says it in words.
template <class Batch, class Loss, class HeldOut, class Described>
void train(Run& run, Batch&& batch, const Loss& loss, const HeldOut& held_out, const Described& described) {
    double before = INFINITY;
    if (run.step() == 0 && !run.folder.run.check) {
        const Measured now = held_out();
        autograd::check(std::isfinite(now.nats), "the held-out text costs ", now.nats,
                        " nats before training; the model's weights are broken");
        before = now.nats;
        say("held out, before: " + described(now));
    }
    while (run.next()) {
        run.learn(batch(run.step()), loss);
        if (run.validates())
            run.validated(held_out().nats);
    }
    if (!run.finish())
        return;
    const Measured now = held_out();
    std::cout << "held out, after: " << described(now) << '\n';
    if (now.nats > before)
        say("the held-out text is predicted worse than before; a lower --lr or fewer --steps may help");
}

}  // namespace plaingrad::kit
