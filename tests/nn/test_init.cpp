// Initial values: bounds, means, deviations; they depend only on the seed and the layer's path.
#include "nn/init.h"

#include <algorithm>
#include <cmath>

#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/positional_encoding.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT
using namespace tests;      // NOLINT

namespace {

struct Moments {
    double mean = 0, deviation = 0, largest = 0;
};

Moments moments(const Tensor& x) {
    Moments m;
    const auto n = static_cast<double>(x.numel());
    for (const double v : doubles(x)) {
        m.mean += v / n;
        m.largest = std::max(m.largest, std::abs(v));
    }
    for (const double v : doubles(x))
        m.deviation += (v - m.mean) * (v - m.mean) / n;
    m.deviation = std::sqrt(m.deviation);
    return m;
}

// Fills (-bound, bound) evenly.
void check_uniform(const Tensor& x, double bound) {
    const Moments m = moments(x);
    const double n = static_cast<double>(x.numel()), deviation = bound / std::sqrt(3.0);
    CHECK(m.largest <= bound * (1 + 1e-6));
    CHECK(m.largest > bound * (1 - 20 / n));
    CHECK(std::abs(m.mean) < 5 * deviation / std::sqrt(n));
    CHECK(m.deviation == Approx(deviation).epsilon(5 / std::sqrt(n)));
}

void check_normal(const Tensor& x, double deviation) {
    const Moments m = moments(x);
    const double n = static_cast<double>(x.numel());
    CHECK(std::abs(m.mean) < 5 * deviation / std::sqrt(n));
    CHECK(m.deviation == Approx(deviation).epsilon(5 / std::sqrt(2 * n)));
    CHECK(m.largest > 2.5 * deviation);  // so it is not uniform: that ends at 1.73 deviations
    CHECK(m.largest < 6.5 * deviation);
}

void check_all(const Tensor& x, Real value) { CHECK(same_bits(x, Tensor::full(x.shape(), value))); }

}  // namespace

TEST_CASE("init: Xavier", "[nn][init]") {
    const Linear layer(150, 50, Rng(1));
    check_uniform(layer.weight, std::sqrt(6.0 / 200));
    check_all(layer.bias, 0);
    check_normal(Embedding(300, 64, Rng(2)).table, 1.0 / 8);
    check_normal(PositionalEncoding(Positions::learned, 300, 64, Rng(3)).table, 1.0 / 8);
}

TEST_CASE("init: normal", "[nn][init]") {
    const Linear layer(100, 150, Rng(4), {.init = Init::normal});
    check_normal(layer.weight, 0.1);  // of the inputs, not the outputs
    check_all(layer.bias, 0);
    check_normal(Embedding(300, 64, Rng(5), Init::normal).table, 1.0 / 8);
    // (out, in), as the output layer's: V = 150, d_model = 100
    check_uniform(initial_matrix(Init::pytorch, {150, 100}, 100, 150, Rng(10)), 0.1);
    check_normal(initial_matrix(Init::normal, {150, 100}, 100, 150, Rng(11)), 0.1);
    check_all(Norm(5).gain, 1);
    check_all(Norm(5).bias, 0);
}

TEST_CASE("init: PyTorch's defaults", "[nn][init]") {
    const Linear layer(100, 150, Rng(6), {.init = Init::pytorch});
    check_uniform(layer.weight, 0.1);
    check_uniform(Linear(25, 5000, Rng(7), {.init = Init::pytorch}).bias, 0.2);
    check_all(Linear(0, 3, Rng(7), {.init = Init::pytorch}).bias, 0);
    check_normal(Embedding(300, 64, Rng(8), Init::pytorch).table, 1);
    const FeedForward wide(16, 400, Rng(9), {.init = Init::pytorch});
    check_uniform(wide.linear1.weight, 1.0 / 4);
    check_uniform(wide.linear2.weight, 1.0 / 20);
}

TEST_CASE("init: BERT's and GPT-2's", "[nn][init]") {
    for (const Init init : {Init::bert, Init::gpt2}) {
        const Linear layer(100, 150, Rng(12), {.init = init});
        check_normal(layer.weight, 0.02);
        check_all(layer.bias, 0);
        check_normal(Embedding(300, 64, Rng(13), init).table, 0.02);
        check_normal(PositionalEncoding(Positions::learned, 300, 64, Rng(14), init).table, 0.02);
        check_normal(initial_matrix(init, {150, 100}, 100, 150, Rng(15)), 0.02);
    }
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
    std::vector<Real> firsts = {layer.out_proj.weight->data()[0], layer.out_proj.bias->data()[0]};
    for (int64_t i = 0; i < 3; ++i) {  // of queries, keys and values
        firsts.push_back(layer.in_proj.weight->data()[i * 6]);
        firsts.push_back(layer.in_proj.bias->data()[i * 6]);
    }
    for (std::size_t i = 0; i < firsts.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            CHECK(firsts[i] != firsts[j]);
    const FeedForward square(4, 4, Rng(1));
    CHECK_FALSE(same_bits(square.linear1.weight, square.linear2.weight));
}
