// What attention, recurrence and convolution cost, and how far a gradient has to travel in each.
#include <cmath>
#include <ostream>

#include "nn/attention.h"
#include "tests/chapters/experiment.h"
#include "tests/chapters/nn.h"
#include "tests/chapters/print.h"
#include "tests/figures/figure.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

// h_t = tanh(x_t W + h_(t-1) U), Elman 1990
struct Recurrence {
    Recurrence(int64_t d, const Rng& rng)
        : in(d, d, rng.fork("in")), again(d, d, rng.fork("again"), {.bias = false}) {}
    Tensor operator()(const Tensor& x) const {  // (B, T, d) -> (B, T, d)
        const Tensor from_input = in(x);        // (B, T, d)
        std::vector<Tensor> states;
        for (int64_t t = 0; t < x.size(1); ++t) {
            const Tensor now = slice(from_input, 1, t, t + 1);  // (B, 1, d)
            states.push_back(tanh(states.empty() ? now : now + again(states.back())));
        }
        return concat(states, 1);
    }
    void visit(nn::Visitor& v) const {
        v("in", in);
        v("again", again);
    }
    nn::Linear in, again;
};

// Each position from itself and its two neighbours.
struct Convolution {
    Convolution(int64_t d, const Rng& rng) : filters(3 * d, d, rng.fork("filters")) {}
    Tensor operator()(const Tensor& x) const {  // (B, T, d) -> (B, T, d)
        const int64_t T = x.size(1);
        const Tensor edge = Tensor::zeros({x.size(0), 1, x.size(2)});
        const Tensor wide = concat({edge, x, edge}, 1);  // (B, T + 2, d)
        return filters(concat({slice(wide, 1, 0, T), x, slice(wide, 1, 2, T + 2)}, 2));
    }
    void visit(nn::Visitor& v) const { v("filters", filters); }
    nn::Linear filters;
};

std::string millions(double n) { return digits(1e-6 * n); }

// Multiply-adds of one layer.
void operations(std::ostream& out) {
    constexpr double d = 512;
    Rows rows = {{"millions of multiply-adds, d = 512", "formula"},
                 {"attention: scores and weighted sums", "2 T² d"},
                 {"attention: its four projections", "4 T d²"},
                 {"recurrence", "2 T d²"},
                 {"convolution of width 3", "3 T d²"}};
    for (const double T : {64., 512., 1024., 4096., 16384.}) {
        rows[0].push_back("T = " + fixed(T, 0));
        rows[1].push_back(millions(2 * T * T * d));
        rows[2].push_back(millions(4 * T * d * d));
        rows[3].push_back(millions(2 * T * d * d));
        rows[4].push_back(millions(3 * T * d * d));
    }
    table(out, rows);
}

// Layers until the first of n positions reaches the last; each layer lets a position see `reach(layer)`
// others to each side.
template <class Reach>
int64_t layers_between(int64_t n, const Reach& reach) {
    int64_t layers = 0;
    for (int64_t seen = 0; seen < n - 1; ++layers)
        seen += reach(layers);
    return layers;
}

void paths(std::ostream& out) {
    Rows rows = {{"steps from the first token to the last"},
                 {"attention"},
                 {"recurrence"},
                 {"convolutions of width 3, stacked"},
                 {"the same, dilated: 1, 2, 4, … apart"}};
    for (const int64_t n : {10, 100, 1000}) {
        rows[0].push_back(std::to_string(n) + " tokens");
        rows[1].push_back(std::to_string(layers_between(n, [&](int64_t) { return n; })));
        rows[2].push_back(std::to_string(n - 1));
        rows[3].push_back(std::to_string(layers_between(n, [](int64_t) { return 1; })));
        rows[4].push_back(
            std::to_string(layers_between(n, [](int64_t layer) { return int64_t{1} << layer; })));
    }
    claim(rows[1].back() == "1" && rows[2].back() == "999" && rows[4].back() == "10",
          "attention has the shortest path");
    table(out, rows);
}

// The norm of d (a random mix of the last output) / d (the first input).
template <class Layer>
double gradient_over(const Layer& layer, int64_t T, const Rng& rng) {
    constexpr int64_t d = 32;
    Tensor x = Tensor::randn({1, T, d}, rng.fork("x")).require_grad();
    const Tensor last = slice(layer(x), 1, T - 1, T);  // (1, 1, d)
    sum(last * Tensor::randn(last.shape(), rng.fork("mix"))).backward();
    const Tensor grad = slice(x.grad(), 1, 0, 1);
    return std::sqrt(static_cast<double>(sum(grad * grad).item()));
}

void gradients(std::ostream& out) {
    constexpr int64_t d = 32;
    Rows rows = {{"tokens between", "recurrence", "attention"}};
    for (const int64_t T : {2, 10, 50, 200}) {
        std::vector<double> recurrent, attended;
        for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
            const Rng rng(seed);
            const Recurrence recurrence(d, rng);
            const nn::MultiHeadAttention attention(d, 4, rng);
            recurrent.push_back(gradient_over(recurrence, T, rng));
            attended.push_back(
                gradient_over([&](const Tensor& x) { return attention(x, {.mode = kEval}); }, T, rng));
        }
        rows.push_back({std::to_string(T - 2), of_seeds(recurrent), of_seeds(attended)});
        claim(T < 200 || mean_of(attended) > 1000 * mean_of(recurrent),
              "recurrence loses the gradient of what is long ago");
    }
    table(out, rows);
}

// Forward and backward of one layer 128 wide, for a sentence of each length. Measured once, for table and
// figure.
struct Times {
    std::vector<double> lengths = {64, 128, 256, 512, 1024, 2048};
    std::vector<figures::Series> layers = {
        {"attention, 4 heads", {}}, {"recurrence", {}}, {"convolution of width 3", {}}};
};
Times measure_times() {
    constexpr int64_t d = 128;
    const Rng rng(1);
    const nn::MultiHeadAttention attention(d, 4, rng);
    const Recurrence recurrence(d, rng);
    const Convolution convolution(d, rng);
    Times times;
    for (const double T : times.lengths) {
        Tensor x = Tensor::randn({1, static_cast<int64_t>(T), d}, rng).require_grad();
        const auto time = [&](std::size_t i, const auto& layer) {
            times.layers[i].y.push_back(milliseconds([&] { mean(layer(x)).backward(); }));
        };
        time(0, [&](const Tensor& y) { return attention(y, {.mode = kEval}); });
        time(1, recurrence);
        time(2, convolution);
    }
    for (figures::Series& layer : times.layers)
        layer.x = times.lengths;
    return times;
}
const Times& measured_times() {
    static const Times times = measure_times();
    return times;
}

void times(std::ostream& out) {
    const Times& t = measured_times();
    Rows rows = {{"milliseconds, forward and backward, d = 128"}};
    for (const double length : t.lengths)
        rows[0].push_back("T = " + fixed(length, 0));
    for (const figures::Series& layer : t.layers) {
        rows.push_back({layer.name});
        for (const double ms : layer.y)
            rows.back().push_back(digits(ms, 2));
    }
    table(out, rows);
}

std::string draw_times() {
    const figures::LineChart chart = {
        .x = {.name = "length T", .log = true, .ticks = measured_times().lengths},
        .y = {.name = "milliseconds", .log = true},
        .series = measured_times().layers};
    return figures::svg(
        "One layer, forward and backward",
        "The time of attention grows with the square of a long sentence's length, those of recurrence and "
        "convolution with the length.",
        {chart});
}

}  // namespace

Computed attention_cost() {
    return {.sections = {{"nn.cost.operations", Effort::quick, operations},
                         {"nn.cost.paths", Effort::quick, paths},
                         {"nn.cost.gradients", Effort::quick, gradients},
                         {"nn.cost.times", Effort::timed, times}},
            .figures = {{"nn/figures/times.svg", Effort::timed, draw_times}}};
}

}  // namespace plaingrad::chapters
