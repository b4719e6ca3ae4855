// Why gradients flow backwards: what the gradient of all weights costs.
#include <cmath>
#include <ostream>

#include "autograd/ops.h"
#include "tests/bench/measure.h"
#include "tests/chapters/core.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

// A linear layer with n weights: what the gradient of all of them costs, in multiplications.
void passes(std::ostream& out) {
    Rows rows = {
        {"weights", "n", "forward", "nudging each: n + 1 forwards", "forward and backward", "ratio"}};
    const auto add = [&](const std::string& name, int64_t n, int64_t positions) {
        const int64_t forward = n * positions, reverse = 3 * forward;
        const double ratio = static_cast<double>(n + 1) / 3;
        rows.push_back({name, grouped(n), grouped(forward), grouped((n + 1) * forward), grouped(reverse),
                        ratio < 10 ? fixed(ratio, 1) : grouped(std::llround(ratio))});
    };
    add("w above, 3 × 2, for 2 rows", 6, 2);
    add("a layer of 64 × 64, for 64 rows", 64 * 64, 64);
    add("one of 512 × 2048, for 64 rows", 512 * 2048, 64);
    table(out, rows);
}

struct Layer {
    Tensor input, weight;
    explicit Layer(int64_t width)
        : input(Tensor::randn({64, width}, Rng(1))),
          weight(Tensor::randn({width, width}, Rng(2)) * Real(0.1)) {}
    Tensor loss() const {
        const Tensor y = relu(matmul(input, weight));
        return mean(y * y);
    }
};

struct Milliseconds {
    double forward, both, nudging;
};

Milliseconds measure(int64_t width) {
    Layer layer(width);
    const auto milliseconds = [](const auto& f) {
        return 1e3 / bench::rate([&] {
                   f();
                   return 1.0;
               });
    };
    const double forward = milliseconds([&] {
        const NoGrad no_grad;
        layer.loss();
    });
    double sum = 0;
    const double begin = bench::seconds();
    for (int64_t i = 0; i < layer.weight.numel(); ++i) {
        const NoGrad no_grad;
        layer.weight.mutable_data()[i] += Real(0.01);
        sum += static_cast<double>(layer.loss().item());
        layer.weight.mutable_data()[i] -= Real(0.01);
    }
    const double nudging = 1e3 * (bench::seconds() - begin);
    claim(sum > 0, "the losses were computed");
    layer.weight.require_grad();
    const double both = milliseconds([&] {
        layer.weight.zero_grad();
        layer.loss().backward();
    });
    return {forward, both, nudging};
}

void passes_timed(std::ostream& out) {
    Rows rows = {
        {"n", "forward, ms", "forward and backward, ms", "nudging each of n, ms", "nudging / backward"}};
    for (const int64_t width : {16, 64, 256}) {
        const Milliseconds ms = measure(width);
        rows.push_back({grouped(width * width), digits(ms.forward), digits(ms.both), digits(ms.nudging),
                        grouped(static_cast<int64_t>(ms.nudging / ms.both))});
    }
    table(out, rows);
}

}  // namespace

Computed autograd_passes() {
    return {.sections = {{"autograd.passes", Effort::quick, passes},
                         {"autograd.passes_timed", Effort::timed, passes_timed}}};
}

}  // namespace plaingrad::chapters
