// What is known before the first step of training: how large it is, how fast, and when it will end.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>

#include "apps/kit/progress.h"
#include "apps/programs/translate/data.h"
#include "apps/programs/translate/decode.h"
#include "apps/programs/translate/options.h"

namespace plaingrad::translate {

// In bytes.
struct Memory {
    double weights = 0, gradients = 0, optimizer = 0;
    double activations = 0, decoding = 0;  // not at the same time
    double sum() const { return weights + gradients + optimizer + std::max(activations, decoding); }
};

// For each token and layer seven vectors and one of the feed-forward are kept for backward (measured, as are
// the 512 positions whose logits are in memory together); a decoder layer, with three sub-layers, counts
// twice. Batches have many shapes, and buffers that wait to be used again may be half as much again
// (autograd/storage.cpp).
inline double training_memory(const models::TransformerConfig& c, int64_t batch_tokens) {
    const double layers = static_cast<double>(c.n_encoder_layers + 2 * c.n_decoder_layers);
    return 1.5 * sizeof(autograd::Real) *
           (static_cast<double>(batch_tokens) * layers * static_cast<double>(7 * c.d_model + c.d_ff) +
            512.0 * static_cast<double>(c.tgt_vocabulary));
}

// Keys and values of every layer, of the longest sentences that validation has, translated together with a
// beam: those of the source and, as far as translations usually go, of the target. And the probabilities of
// all words, twice.
inline double decoding_memory(const models::TransformerConfig& c, const Corpus& validation, int64_t beam) {
    const auto rows = static_cast<double>(beam * std::min(DecodingOptions{}.batch, validation.size()));
    const double positions = 2.5 * static_cast<double>(validation.longest());
    return rows * sizeof(autograd::Real) *
           (positions * static_cast<double>(2 * c.d_model * c.n_decoder_layers) +
            2 * static_cast<double>(c.tgt_vocabulary));
}

// validation may be null.
inline Memory needed_memory(const models::Transformer& model, const Settings& s, const Corpus& corpus,
                            const Corpus* validation) {
    const double weights = sizeof(autograd::Real) * static_cast<double>(nn::parameter_count(model));
    const int64_t tokens = std::min(s.batch_tokens, corpus.size() * corpus.longest());  // of a batch, at most
    return {weights, weights, 2 * weights, training_memory(model.config, tokens),
            validation != nullptr ? decoding_memory(model.config, *validation, s.beam) : 0};
}

// What this process may have: the machine's memory, or less if a limit or a container says so.
inline double available_memory() {
    double bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        bytes = std::min(bytes, static_cast<double>(limit.rlim_cur));
    double group = 0;
    if (std::ifstream("/sys/fs/cgroup/memory.max") >> group && group > 0)
        bytes = std::min(bytes, group);
    return bytes;
}

// Throws Error if there is less than that. `files`: how many models the run's folder will hold.
inline void print_memory(const Memory& memory, int64_t files) {
    const auto mib = [](double bytes) { return kit::grouped(static_cast<int64_t>(bytes / (1 << 20) + 0.5)); };
    const std::string text =
        join("memory: weights ", mib(memory.weights), " MiB, gradients ", mib(memory.gradients),
             ", optimizer ", mib(memory.optimizer), ", activations about ", mib(memory.activations),
             " or decoding ", mib(memory.decoding), ": ", mib(memory.sum()), " MiB");
    const double there = available_memory();
    check(memory.sum() < there, text, ", but there are ", mib(there),
          "; a smaller --batch-tokens with --accumulate does the same in less");
    std::cerr << text << "; files up to " << mib(memory.weights * static_cast<double>(files)) << " MiB\n";
}

// Tokens to predict in a second, from forward and backward of the next batches. Nothing is learned from them,
// and nothing is changed: what is drawn for dropout depends on the step alone.
inline double measured_speed(const models::Transformer& model, Cursor cursor, const Settings& s) {
    using Clock = std::chrono::steady_clock;
    constexpr int kBatches = 4;  // the first one, which fetches its memory, does not count
    int64_t tokens = 0;
    Clock::time_point start = Clock::now();
    for (int i = 0; i < kBatches; ++i) {
        bool ends_epoch = false;
        const nn::StepLoss loss =
            models::teacher_forcing(model, cursor.next(ends_epoch), nn::Mode::train(autograd::Rng(0)),
                                    static_cast<autograd::Real>(s.label_smoothing));
        loss.loss.backward();
        tokens += loss.tokens;
        if (i == 0)
            tokens = 0, start = Clock::now();
    }
    for (const nn::NamedParameter& parameter : nn::parameters(model))
        parameter.tensor.zero_grad();
    return static_cast<double>(tokens) /
           std::max(1e-9, std::chrono::duration<double>(Clock::now() - start).count());
}

// Of the steps after the first `done` ones, up to `stop`; without the time to measure and to save.
inline void print_time(const models::Transformer& model, const Corpus& corpus, const Cursor& cursor,
                       int64_t done, int64_t stop, const Settings& s) {
    const int64_t batches = cursor.per_epoch();
    // Of an epoch. Its last one ends with it, and may have fewer batches than others.
    const int64_t steps = (batches + s.accumulate - 1) / s.accumulate;
    const int64_t epochs = (s.steps + steps - 1) / steps;
    std::cerr << "an epoch: " << kit::counted(corpus.size(), "pair") << ", "
              << kit::counted(corpus.target_tokens(), "token") << " to predict, in " << kit::grouped(batches)
              << (batches == 1 ? " batch" : " batches") << " of at most " << kit::grouped(s.batch_tokens)
              << ", " << kit::counted(steps, "step") << "; all " << kit::counted(s.steps, "step") << " are "
              << kit::counted(epochs, "epoch") << '\n';
    const double speed = measured_speed(model, cursor, s);
    const double left = static_cast<double>(stop - done) / static_cast<double>(steps) *
                        static_cast<double>(corpus.target_tokens());
    const double seconds = std::min(left / speed, 1e10);
    const std::time_t end = std::time(nullptr) + static_cast<std::time_t>(seconds);
    char text[60];
    std::strftime(text, sizeof text, "%H:%M on %d %B %Y", std::localtime(&end));
    std::cerr << "speed: " << kit::grouped(static_cast<int64_t>(speed)) << " tokens/s; "
              << kit::counted(stop - done, "step") << ": " << kit::duration(seconds) << ", until " << text
              << '\n';
}

}  // namespace plaingrad::translate
