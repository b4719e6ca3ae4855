// A user's program without a terminal: it trains a small language model to count, in a folder.
#pragma once

#include <cmath>
#include <filesystem>

#include "apps/kit/options.h"
#include "models/runs/run.h"
#include "nn/schedule.h"
#include "tests/models/small.h"

namespace plaingrad::tests {

// Stops as if somebody had pressed Ctrl-C in this step, and keeps the seconds of the last one.
struct Watched : models::Run {
    using Run::Run;
    bool stepped(const nn::StepReport&) override { return step() == stop_at; }
    void will_save(const nn::StepReport& report) override { seconds = report.seconds; }
    int64_t stop_at = 0;
    double seconds = -1;
};

// One of its settings may change, and one may not.
struct Counting {
    models::RunSettings run = {};
    int64_t steps = 12, width = 12, layers = 2;
    std::string data = "";
    models::TextFiles texts = {};
    kit::Options settings = kit::Options({"count", "learns to count"});
    int64_t stop_at = 0;     // where it is stopped
    std::string lost = {};   // a file that is removed before the end
    int64_t taken = 0;       // how many steps it took
    int64_t saved_step = 0;  // that of the weights it has saved in the end

    explicit Counting(models::RunSettings of_run) : run(std::move(of_run)) {
        settings.add("--steps", "N", "steps", steps).may_change();
        settings.add("--width", "N", "width", width);
    }
    Counting(Counting&&) = delete;  // the settings point to it

    // Returns whether the run has come to its end.
    bool operator()() {
        const models::RunFolder folder("count", run, settings);
        models::Config config = small_stack("gpt2");
        config.block.d_model = width;
        config.n_layers = layers;
        const models::LanguageModel model(config, models::Rng(1));
        Watched learning(folder, run_model(model, data, texts),
                         {.steps = steps, .learning_rate = nn::ConstantSchedule{0.01}, .validate_every = 4});
        learning.stop_at = stop_at;
        const auto ids = [](int64_t step) {
            const auto first = static_cast<int32_t>(models::kFirstFreeId + step % 3);
            return models::Tokens(1, 3, {first, first + 1, first + 2});
        };
        while (learning.next()) {
            const models::Tokens next = ids(learning.step() + 1);
            learning.learn(ids(learning.step()), [&](const models::Tokens& read, const nn::Mode& mode) {
                return nn::StepLoss{model.loss(read, next, mode), 3};
            });
            if (learning.validates())
                learning.validated(std::abs(static_cast<double>(learning.step() - 8)));
        }
        const bool ended = learning.has_ended();
        taken = std::ssize(learning.losses);
        std::filesystem::remove(lost);
        if (ended)
            saved_step = learning.finish();
        return ended;
    }
};

}  // namespace plaingrad::tests
