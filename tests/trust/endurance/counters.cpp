#include <cmath>
#include <set>

#include "models/runs/run.h"
#include "tests/folder.h"
#include "tests/trust/endurance/memory.h"
#include "tests/trust/endurance/tiny.h"

namespace plaingrad::trust {

namespace {

constexpr int64_t kAround = 40;  // steps before, and after

void begin_at(nn::Adam& adam, int64_t steps) {
    adam.set_steps(steps, std::vector<int64_t>(adam.parameters().size(), steps));
}

// The weights after the steps around `base`. Adam's bias correction is 1 long before, so that they depend on
// the number of the step in nothing.
uint64_t weights_after(int64_t base) {
    Trained trained(false);
    begin_at(trained.training.adam, base - kAround);
    trained.train(base + kAround, base);
    for (const models::Real x : tests::values(nn::parameters(trained.model)))
        if (!std::isfinite(x))
            return 0;
    return tests::hash(trained.model);
}

// A batch of one sentence, which is never cut.
struct Sentence {
    int64_t number;
};
Sentence part_of(const Sentence& s, const nn::StepPart&) { return s; }
int64_t row_count(const Sentence&) { return 1; }

// A run in a folder. The sentence of a step is its number minus `begin`.
struct TinyRun {
    TinyRun(const models::RunSettings& of_run, int64_t begin_, int64_t end)
        : begin(begin_),
          in("endurance", of_run),
          run(in, models::run_model(trained.model),
              {.steps = end, .learning_rate = [](int64_t) { return 1e-3; }}) {
        if (!in.resumes())
            begin_at(run.training.adam, begin);
    }
    void train(int64_t until) {
        while (run.training.adam.steps() < until && run.next())
            run.learn(Sentence{run.step() - begin}, [&](const Sentence& s, const nn::Mode& mode) {
                return loss_of(trained.model, s.number, mode);
            });
    }
    const int64_t begin;
    const models::RunFolder in;
    Trained trained;
    models::Run run;
};

// Begins a run in a folder, or resumes it. Returns the file that it leaves, "" if its log does not end with
// the last step.
std::string run_until(const std::string& folder, int64_t begin, int64_t end, int64_t stop_after) {
    models::RunSettings of_run = {.save_every = 7, .stop_after = stop_after};
    (std::filesystem::exists(folder + "/last.safetensors") ? of_run.resume : of_run.save) = folder;
    TinyRun tiny(of_run, begin, end);
    tiny.train(INT64_MAX);
    const std::string last = "\n" + std::to_string(tiny.run.training.adam.steps()) + ",";
    return tests::content(tiny.in.log()).find(last) == std::string::npos ? ""
                                                                         : tests::content(tiny.in.last());
}

}  // namespace

int64_t wrong_optimizer_steps(int64_t base) {
    const uint64_t usual = weights_after(1'000'000), here = weights_after(base);
    return here == 0 || here != usual ? 1 : 0;
}

int64_t wrong_runs(int64_t base) {
    const tests::Folder folder;
    const int64_t begin = base - kAround, end = base + kAround;
    const std::string whole = run_until(folder / "whole", begin, end, 0);
    std::string pieces;
    for (int64_t at = begin; at < end; at += 9)
        pieces = run_until(folder / "pieces", begin, end, 9);
    return whole.empty() || whole != pieces ? 1 : 0;
}

// The numbers after `base` must begin other streams than those that a counter of 31 or 32 bits would have
// there.
int64_t wrong_streams(int64_t base) {
    const autograd::Rng rng(3);
    std::set<uint64_t> forks, bits;
    int64_t all = 0;
    for (const int64_t about : std::set<int64_t>{base, base & INT32_MAX, base & UINT32_MAX})
        for (int64_t i = 0; i < kAround; ++i, ++all) {
            const auto number = static_cast<uint64_t>(about + i);
            forks.insert(rng.fork(number).bits(0));
            bits.insert(rng.bits(number));
        }
    return 2 * all - static_cast<int64_t>(forks.size() + bits.size());
}

double bytes_a_step(int64_t steps) {
    const tests::Folder folder;
    TinyRun tiny({.save = folder / "run"}, 0, steps);
    tiny.train(steps / 10);
    const int64_t before = resident_bytes();
    tiny.train(steps);
    return static_cast<double>(resident_bytes() - before) / (0.9 * static_cast<double>(steps));
}

}  // namespace plaingrad::trust
