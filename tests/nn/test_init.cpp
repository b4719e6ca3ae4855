// Initial values: bounds, means, deviations; they depend only on the seed and the layer's path.
#include "nn/init.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/positional_encoding.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

namespace {

// Evenly in (-size, size), normally with this deviation, or all of them 0.
struct Drawn {
    enum Kind { uniform, normal, zero } kind;
    double size = 0;
};

void check_drawn(const Tensor& x, const Drawn& wanted) {
    if (wanted.kind == Drawn::zero) {
        CHECK(same_bits(x, Tensor::zeros(x.shape())));
        return;
    }
    const bool even = wanted.kind == Drawn::uniform;
    const double n = static_cast<double>(x.numel()), size = wanted.size,
                 deviation = even ? size / std::sqrt(3.0) : size;
    double mean = 0, variance = 0, largest = 0;
    for (const double v : doubles(x))
        mean += v / n, largest = std::max(largest, std::abs(v));
    for (const double v : doubles(x))
        variance += (v - mean) * (v - mean) / n;
    CHECK(std::abs(mean) < 5 * deviation / std::sqrt(n));
    CHECK(std::sqrt(variance) == Approx(deviation).epsilon(5 / std::sqrt(even ? n : 2 * n)));
    CHECK(largest <= (even ? size * (1 + 1e-6) : 6.5 * size));
    CHECK(largest > (even ? size * (1 - 20 / n) : 2.5 * size));  // an even one ends at 1.73 deviations
}

}  // namespace

TEST_CASE("init: matrices, biases and tables of each kind", "[nn][init]") {
    struct Row {
        Init init;
        Drawn matrix, bias, table;  // matrices of 100 inputs, biases of 25, vectors of 64
    };
    using enum Drawn::Kind;
    for (const Row& r : {Row{Init::xavier, {uniform, std::sqrt(6.0 / 250)}, {zero}, {normal, 1.0 / 8}},
                         Row{Init::normal, {normal, 0.1}, {zero}, {normal, 1.0 / 8}},
                         Row{Init::pytorch, {uniform, 0.1}, {uniform, 0.2}, {normal, 1}},
                         Row{Init::bert, {normal, 0.02}, {zero}, {normal, 0.02}},
                         Row{Init::gpt2, {normal, 0.02}, {zero}, {normal, 0.02}}}) {
        INFO(kInitNames[static_cast<std::size_t>(r.init)]);
        check_drawn(Linear(100, 150, Rng(4), {.init = r.init}).weight, r.matrix);
        check_drawn(Linear(25, 5000, Rng(7), {.init = r.init}).bias, r.bias);
        check_drawn(Linear(0, 3, Rng(7), {.init = r.init}).bias, {zero});
        // (out, in), as the output layer's
        check_drawn(initial_matrix(r.init, {150, 100}, 100, 150, Rng(10)), r.matrix);
        check_drawn(Embedding(300, 64, Rng(5), r.init).table, r.table);
        check_drawn(PositionalEncoding(Positions::learned, 300, 64, Rng(3), r.init).table, r.table);
    }
    const FeedForward wide(16, 400, Rng(9), {.init = Init::pytorch});
    check_drawn(wide.linear1.weight, {uniform, 1.0 / 4});
    check_drawn(wide.linear2.weight, {uniform, 1.0 / 20});
}

TEST_CASE("init: only GPT-2's residual projections depend on the depth", "[nn][init]") {
    for (const Init init : {Init::xavier, Init::normal, Init::pytorch, Init::bert, Init::gpt2})
        for (const int64_t layers : {1, 2, 8}) {
            const Linear layer(30, 50, Rng(16), {.init = init});
            const Tensor before = layer.weight->clone();
            scale_residual_projection(init, layer.weight, layers);
            const double factor = init == Init::gpt2 ? 1 / std::sqrt(2.0 * static_cast<double>(layers)) : 1;
            CHECK(worst_error(layer.weight.tensor(), before * static_cast<Real>(factor)) < 1e-8);
            CHECK(same_bits(before, layer.weight) == (init != Init::gpt2));
        }
}

TEST_CASE("init: the same seed gives the same bits, in any order of construction", "[nn][init]") {
    const Linear first(7, 5, Rng(1).fork("a"), {.init = Init::pytorch});
    const MultiHeadAttention between(6, 2, Rng(1).fork("other"));
    const Linear second(7, 5, Rng(1).fork("a"), {.init = Init::pytorch});
    CHECK(same_bits(first.weight, second.weight));
    CHECK(same_bits(first.bias, second.bias));
    CHECK_FALSE(same_bits(first.weight, Linear(7, 5, Rng(1).fork("b")).weight));
    CHECK_FALSE(same_bits(first.weight, Linear(7, 5, Rng(2).fork("a"), {.init = Init::pytorch}).weight));
    // A layer without bias has the same weight.
    CHECK(same_bits(first.weight,
                    Linear(7, 5, Rng(1).fork("a"), {.bias = false, .init = Init::pytorch}).weight));
}

TEST_CASE("init: the parts of a layer differ", "[nn][init]") {
    const MultiHeadAttention layer(6, 2, Rng(1), {.init = Init::pytorch});
    std::set<Real> firsts = {layer.out_proj.weight->data()[0], layer.out_proj.bias->data()[0]};
    for (int64_t i = 0; i < 3; ++i)  // of queries, keys and values
        for (const Parameter* const p : {&layer.in_proj.weight, &layer.in_proj.bias})
            firsts.insert((*p)->data()[i * 6]);
    CHECK(firsts.size() == 8);
    const FeedForward square(4, 4, Rng(1));
    CHECK_FALSE(same_bits(square.linear1.weight, square.linear2.weight));
}
