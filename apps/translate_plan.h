// What is known before the first step of training: how large it is, how fast, and when it will end.
#pragma once

#include <unistd.h>

#include <chrono>
#include <ctime>

#include "apps/translate_data.h"
#include "apps/translate_options.h"
#include "autograd/storage.h"

namespace translate {

// In bytes.
struct Memory {
    double weights = 0, gradients = 0, optimizer = 0, activations = 0;
    double sum() const { return weights + gradients + optimizer + activations; }
};

// For each token and layer seven vectors and one of the feed-forward are kept for backward (measured, as are the 512
// positions whose logits are in memory together); a decoder layer, with three sub-layers, counts twice. Batches have many
// shapes, and buffers that wait to be used again may be half as much again (autograd/storage.cpp).
inline Memory needed_memory(const models::Transformer& model, int64_t batch_tokens) {
    const models::TransformerConfig& c = model.config;
    constexpr auto bytes = static_cast<double>(sizeof(autograd::Real));
    const double weights = bytes * static_cast<double>(nn::parameter_count(model));
    const double layers = static_cast<double>(c.n_encoder_layers + 2 * c.n_decoder_layers);
    const double kept =
        static_cast<double>(batch_tokens) * layers * static_cast<double>(7 * c.d_model + c.d_ff) +
        512.0 * static_cast<double>(c.tgt_vocabulary);
    return {weights, weights, 2 * weights, 1.5 * kept * bytes};
}

// Throws Error if this machine has less.
inline void print_memory(const Memory& memory) {
    const auto mib = [](double bytes) { return kit::grouped(static_cast<int64_t>(bytes / (1 << 20) + 0.5)); };
    const std::string text =
        join("memory: weights ", mib(memory.weights), " MiB, gradients ", mib(memory.gradients),
             ", optimizer ", mib(memory.optimizer), ", activations about ", mib(memory.activations), ": ",
             mib(memory.sum()), " MiB");
    const double there =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
    check(memory.sum() < there, text, ", but this machine has ", mib(there),
          "; a smaller --batch-tokens with --accumulate does the same in less");
    std::cerr << text << '\n';
}

// Tokens to predict in a second, from forward and backward of the next batches. Nothing is learned from them, and nothing
// is changed: what is drawn for dropout depends on the step alone.
inline double measured_speed(const models::Transformer& model, Cursor cursor, const Settings& s) {
    using Clock = std::chrono::steady_clock;
    constexpr int kBatches = 4;  // the first one, which fetches its memory, does not count
    int64_t tokens = 0;
    Clock::time_point start = Clock::now();
    for (int i = 0; i < kBatches; ++i) {
        bool ends_epoch = false;
        const kit::StepLoss loss =
            kit::teacher_forcing(model, cursor.next(ends_epoch), nn::Mode::train(autograd::Rng(0)),
                                 static_cast<autograd::Real>(s.label_smoothing));
        loss.loss.backward();
        tokens += loss.tokens;
        if (i == 0)
            tokens = 0, start = Clock::now();
    }
    for (const nn::NamedParameter& parameter : nn::parameters(model))
        autograd::Tensor(parameter.tensor).zero_grad();
    return static_cast<double>(tokens) /
           std::max(1e-9, std::chrono::duration<double>(Clock::now() - start).count());
}

// From the step after `done` to s.steps; without the time to measure and to save.
inline void print_time(const models::Transformer& model, const Corpus& corpus, const Cursor& cursor,
                       int64_t done, const Settings& s) {
    const int64_t batches = s.steps * s.accumulate;
    std::cerr << "an epoch: " << kit::counted(corpus.size(), "pair") << ", "
              << kit::counted(corpus.target_tokens(), "token")
              << " to predict; batches: " << kit::grouped(cursor.per_epoch()) << " of at most "
              << kit::grouped(s.batch_tokens)
              << " tokens; all steps: " << kit::counted(batches / cursor.per_epoch(), "epoch") << '\n';
    const double speed = measured_speed(model, cursor, s);
    const double left = static_cast<double>((s.steps - done) * s.accumulate) /
                        static_cast<double>(cursor.per_epoch()) * static_cast<double>(corpus.target_tokens());
    const double seconds = std::min(left / speed, 1e10);
    const std::time_t end = std::time(nullptr) + static_cast<std::time_t>(seconds);
    char text[40];
    std::strftime(text, sizeof text, "%H:%M on %d %B", std::localtime(&end));
    std::cerr << "speed: " << kit::grouped(static_cast<int64_t>(speed)) << " tokens/s; all steps take "
              << kit::duration(seconds) << ", until " << text << '\n';
}

}  // namespace translate
