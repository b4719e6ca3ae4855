#include "tests/chapters/experiment.h"

#include <cmath>
#include <numeric>

namespace plaingrad::chapters {

using namespace autograd;

std::vector<double> losses_of(const std::vector<nn::NamedParameter>& parameters, int64_t steps, double lr,
                              const std::function<Tensor(const Rng& batch)>& loss_of, uint64_t seed,
                              const std::function<double(int64_t step)>& schedule) {
    nn::Adam adam(parameters, {.beta2 = 0.98, .eps = 1e-9});
    nn::TrainingOptions options = {.steps = steps, .clip = 0, .seed = seed};
    options.learning_rate = schedule ? schedule : [lr](int64_t) { return lr; };
    return nn::train(
        adam, [&](int64_t, const nn::Mode& mode) { return loss_of(mode.rng); }, options);
}

double last_mean(const std::vector<double>& losses, std::size_t n) {
    return std::accumulate(losses.end() - static_cast<std::ptrdiff_t>(n), losses.end(), 0.0) /
           static_cast<double>(n);
}

Tokens random_tokens(int64_t B, int64_t T, int64_t n, const Rng& rng, int32_t first) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < B * T; ++i)
        ids.push_back(first + static_cast<int32_t>(rng.below(static_cast<uint64_t>(i), n)));
    return {B, T, ids};
}

double rms(const Tensor& x) { return std::sqrt(static_cast<double>(mean(x * x).item())); }

double accuracy(const Tensor& logits, const Tokens& targets) {
    const Tokens best = argmax(logits);
    double right = 0, counted = 0;
    for (std::size_t i = 0; i < best.ids().size(); ++i) {
        counted += targets.ids()[i] != targets.pad();
        right += targets.ids()[i] == best.ids()[i];
    }
    return right / counted;
}

}  // namespace plaingrad::chapters
