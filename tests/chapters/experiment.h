// Small training runs for the chapters, with the library's own loop.
#pragma once

#include <functional>

#include "nn/training.h"

namespace plaingrad::chapters {

inline constexpr int kSeeds = 3;  // of every experiment that trains

// The models of experiments have no dropout, so they are trained in this mode, too.
inline const nn::Mode kEval = nn::Mode::eval();

// Trains with Adam at a constant rate, or at that of `schedule`; returns the loss of each step.
std::vector<double> losses_of(const std::vector<nn::NamedParameter>& parameters, int64_t steps, double lr,
                              const std::function<autograd::Tensor(const autograd::Rng& batch)>& loss_of,
                              uint64_t seed, const std::function<double(int64_t step)>& schedule = {});

// The mean of the last `n`: one batch's loss says little.
double last_mean(const std::vector<double>& losses, std::size_t n = 20);

// ids (B, T) from `first` to first + n - 1, of this random stream.
autograd::Tokens random_tokens(int64_t B, int64_t T, int64_t n, const autograd::Rng& rng, int32_t first = 0);

// The root of the mean square of all elements.
double rms(const autograd::Tensor& x);

// The share of rows (..., V) whose largest element is the target's.
double accuracy(const autograd::Tensor& logits, const autograd::Tokens& targets);

}  // namespace plaingrad::chapters
