// How far a gradient has to travel in attention and in recurrence.
#include <ostream>

#include "nn/attention.h"
#include "tests/chapters/experiment.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

constexpr int64_t kWidth = 32;

// h_t = tanh(x_t W + h_(t-1) U), Elman 1990
struct Recurrence {
    explicit Recurrence(const Rng& rng)
        : in(kWidth, kWidth, rng.fork("in")), again(kWidth, kWidth, rng.fork("again"), {.bias = false}) {}
    Tensor operator()(const Tensor& x) const {  // (B, T, d) -> (B, T, d)
        const Tensor from_input = in(x);        // (B, T, d)
        std::vector<Tensor> states;
        for (int64_t t = 0; t < x.size(1); ++t) {
            const Tensor now = slice(from_input, 1, t, t + 1);  // (B, 1, d)
            states.push_back(tanh(states.empty() ? now : now + again(states.back())));
        }
        return concat(states, 1);
    }
    nn::Linear in, again;
};

// The norm of d (a random mix of the last output) / d (the first input).
template <class Layer>
double gradient_over(const Layer& layer, int64_t T, const Rng& rng) {
    const Tensor x = Tensor::randn({1, T, kWidth}, rng.fork("x")).require_grad();
    const Tensor last = slice(layer(x), 1, T - 1, T);  // (1, 1, d)
    sum(last * Tensor::randn(last.shape(), rng.fork("mix"))).backward();
    const Tensor grad = slice(x.grad(), 1, 0, 1);
    return value(sqrt(sum(grad * grad)));
}

void gradients(std::ostream& out) {
    Rows rows = {{"tokens between", "recurrence", "attention"}};
    for (const int64_t T : {2, 10, 50, 200}) {
        std::vector<double> recurrent, attended;
        for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
            const nn::MultiHeadAttention attention(kWidth, 4, Rng(seed));
            const auto attend = [&](const Tensor& x) { return attention(x, {.mode = kEval}); };
            recurrent.push_back(gradient_over(Recurrence(Rng(seed)), T, Rng(seed)));
            attended.push_back(gradient_over(attend, T, Rng(seed)));
        }
        rows.push_back({std::to_string(T - 2), of_seeds(recurrent), of_seeds(attended)});
        claim(T < 200 || mean_of(attended) > 1000 * mean_of(recurrent),
              "recurrence loses the gradient of what is long ago");
    }
    table(out, rows);
}

const Adds kHere({{"nn.cost.gradients", Effort::quick, gradients}});

}  // namespace

}  // namespace plaingrad::chapters
