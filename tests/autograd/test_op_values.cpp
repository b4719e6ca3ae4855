// What operations compute: known values of each, by hand or from a pocket calculator, with ties, bounds, NaN
// and infinity as in PyTorch; then what a table of values cannot say. (Where naive code loses digits:
// test_op_precision.cpp. Functions of all floats: kernels/test_math.cpp.)
#include <algorithm>
#include <functional>
#include <limits>

#include "autograd/ops.h"
#include "autograd/plain.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/ops.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

constexpr Real kInf = std::numeric_limits<Real>::infinity(), kMost = std::numeric_limits<Real>::max();

Tensor tensor(const Shape& shape, const std::vector<double>& x) {
    return Tensor::from(shape, std::vector<Real>(x.begin(), x.end()));
}
Tensor vec(std::initializer_list<double> x) { return tensor({std::ssize(x)}, x); }
// 0, 1, 2, ... in this shape.
Tensor counting(const Shape& shape) {
    return Tensor::arange(static_cast<double>(shape.numel())).with_shape(shape);
}
Tensor as_tensor(const Tokens& ids) {
    return tensor({ids.batch(), ids.length()}, {ids.ids().begin(), ids.ids().end()});
}

// To six digits, and 0 exactly. A NaN equals a NaN.
bool same(const Tensor& x, const Tensor& expected) {
    const std::vector<Real> a = x.to_vector(), b = expected.to_vector();
    return x.shape() == expected.shape() && std::equal(a.begin(), a.end(), b.begin(), [](Real y, Real z) {
               return y == z || (std::isnan(y) && std::isnan(z)) ||
                      (std::isfinite(z) && std::abs(y - z) <= Real(1e-6) * std::abs(z));
           });
}

struct Known {
    const char* call;
    std::function<Tensor()> run;
    Tensor expected;
};
#define KNOWN(call, ...)                                 \
    Known {                                              \
#call, [=] { return Tensor(call); }, __VA_ARGS__ \
    }

std::vector<Known> elementwise() {
    const Tensor few = vec({-2, -0.5, 0, 1, 3}), bad = vec({1, 2, 3, kNan, -kInf, 0}),
                 other = vec({2, 2, 2, 1, -kInf, -0.0}), row = vec({1, 2}), column = tensor({2, 1}, {10, 20}),
                 edges = vec({-3, -1, 0, 2, 5, kNan, kInf, -kInf});
    return {
        KNOWN(add(row, column), tensor({2, 2}, {11, 12, 21, 22})),
        KNOWN(sub(column, row), tensor({2, 2}, {9, 8, 19, 18})),
        KNOWN(mul(row, column), tensor({2, 2}, {10, 20, 20, 40})),
        KNOWN(div(row, column), tensor({2, 2}, {0.1, 0.2, 0.05, 0.1})),
        KNOWN(few + 1, vec({-1, 0.5, 1, 2, 4})),
        KNOWN(2 - few, vec({4, 2.5, 2, 1, -1})),
        KNOWN(few * 2, vec({-4, -1, 0, 2, 6})),
        KNOWN(6 / few, vec({-3, -12, kInf, 6, 2})),
        KNOWN(-few, vec({2, 0.5, 0, -1, -3})),
        KNOWN(neg(few), vec({2, 0.5, 0, -1, -3})),
        KNOWN(bad < other, vec({1, 0, 0, 0, 0, 0})),
        KNOWN(bad <= other, vec({1, 1, 0, 0, 1, 1})),
        KNOWN(bad > other, vec({0, 0, 1, 0, 0, 0})),
        KNOWN(bad >= other, vec({0, 1, 1, 0, 1, 1})),
        KNOWN(bad == other, vec({0, 1, 0, 0, 1, 1})),
        KNOWN(bad != other, vec({1, 0, 1, 1, 0, 0})),
        KNOWN(bad > 1, vec({0, 1, 1, 0, 0, 0})),
        KNOWN(bad <= 2, vec({1, 1, 0, 0, 1, 1})),
        KNOWN(vec({0, 1, 2}) < tensor({2, 1}, {0, 1}), tensor({2, 3}, {0, 0, 0, 1, 0, 0})),
        KNOWN(maximum(vec({1, 2, 3, kNan, 5}), vec({2, 2, 2, 1, kNan})), vec({2, 2, 3, kNan, kNan})),
        KNOWN(minimum(vec({1, 2, 3, kNan, 5}), vec({2, 2, 2, 1, kNan})), vec({1, 2, 2, kNan, kNan})),
        KNOWN(maximum(few, 0), vec({0, 0, 0, 1, 3})),
        KNOWN(where(vec({1, 0, -0.5, kNan}), vec({1, kNan, 3, 4}), vec({kNan, 6, kInf, kNan})),
              vec({1, 6, 3, 4})),
        KNOWN(where(tensor({2, 3}, {1, 0, 1, 0, 0, 1}), vec({10, 20, 30}), tensor({2, 1}, {7, 8})),
              tensor({2, 3}, {10, 7, 30, 8, 8, 30})),
        KNOWN(where(vec({1, 0}), 5, row), vec({5, 2})),
        KNOWN(where(vec({1, 0}), row, 5), vec({1, 5})),
        KNOWN(exp(few), vec({0.135335283, 0.60653066, 1, 2.71828183, 20.0855369})),
        KNOWN(log(vec({0.5, 1, 10})), vec({-0.693147181, 0, 2.30258509})),
        KNOWN(sqrt(vec({0.25, 0, 2})), vec({0.5, 0, 1.41421356})),
        KNOWN(tanh(few), vec({-0.96402758, -0.462117157, 0, 0.761594156, 0.995054754})),
        KNOWN(sigmoid(few), vec({0.119202922, 0.377540669, 0.5, 0.731058579, 0.952574127})),
        KNOWN(abs(few), vec({2, 0.5, 0, 1, 3})),
        KNOWN(relu(few), vec({0, 0, 0, 1, 3})),
        KNOWN(silu(few), vec({-0.238405844, -0.188770334, 0, 0.731058579, 2.85772238})),
        KNOWN(gelu(few), vec({-0.0455002639, -0.154268769, 0, 0.841344746, 2.99595031})),
        KNOWN(gelu_tanh(few), vec({-0.0454023059, -0.15428599, 0, 0.841191991, 2.99636261})),
        KNOWN(activation(few, Activation::relu), relu(few)),
        KNOWN(activation(few, Activation::silu), silu(few)),
        KNOWN(activation(few, Activation::gelu), gelu(few)),
        KNOWN(activation(few, Activation::gelu_tanh), gelu_tanh(few)),
        KNOWN(pow(few, 2), vec({4, 0.25, 0, 1, 9})),
        KNOWN(pow(few, 3), vec({-8, -0.125, 0, 1, 27})),
        KNOWN(pow(few, -1), vec({-0.5, -2, kInf, 1, 1.0 / 3})),
        KNOWN(pow(few, 0), vec({1, 1, 1, 1, 1})),
        KNOWN(pow(few, Real(0.5)), vec({kNan, kNan, 0, 1, 1.73205081})),
        KNOWN(pow(vec({0, 4}), Real(1.5)), vec({0, 8})),
        KNOWN(pow(vec({kNan, kInf}), 0), vec({1, 1})),
        KNOWN(clamp(edges, -1, 2), vec({-1, -1, 0, 2, 2, kNan, 2, -1})),
        KNOWN(clamp(edges, 3, -4), vec({-4, -4, -4, -4, -4, kNan, -4, -4})),
        KNOWN(clamp(edges, 0, kInf), vec({0, 0, 0, 2, 5, kNan, kInf, 0})),
        // Half-way numbers go to the even one of their neighbours.
        KNOWN(to_bf16(vec({1 + 0x1p-8, 1 + 0x3p-8, 0x1p-130, -3})), vec({1, 1 + 0x1p-6, 0, -3})),
        KNOWN(gradient_to_bf16(vec({1 + 0x1p-8})), vec({1 + 0x1p-8})),
    };
}

std::vector<Known> reductions_and_shapes() {
    const Tensor cube = counting({2, 3, 4}), square = counting({3, 4}),
                 pairs = counting({3, 2});  // 12 i + 4 j + k
    const Tensor rows = tensor({2, 2, 3}, {1, 5, 2, 7, 7, 0, -1, kNan, 3, -kInf, -2, -1});
    return {
        KNOWN(sum(cube), 276),
        KNOWN(sum(cube, {0}), tensor({3, 4}, {12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34})),
        KNOWN(sum(cube, {-1}), tensor({2, 3}, {6, 22, 38, 54, 70, 86})),
        KNOWN(sum(cube, {0, 2}), vec({60, 92, 124})),
        KNOWN(sum(cube, {0, 1}), vec({60, 66, 72, 78})),
        KNOWN(sum(cube, {0, 2}, true), tensor({1, 3, 1}, {60, 92, 124})),
        KNOWN(sum(cube, {0, 1, 2}), 276),
        KNOWN(sum(cube, {}), cube),
        KNOWN(mean(cube), Real(11.5)),
        KNOWN(mean(cube, {1}), tensor({2, 4}, {4, 5, 6, 7, 16, 17, 18, 19})),
        KNOWN(mean(cube, {0, 1, 2}, true), tensor({1, 1, 1}, {11.5})),
        KNOWN(max(tensor({2, 3}, {1, 3, 3, -5, -7, -5}), 1), vec({3, -5})),
        KNOWN(max(tensor({2, 3}, {1, 3, 3, -5, -7, -5}), -2, true), tensor({1, 3}, {1, 3, 3})),
        KNOWN(max(tensor({3, 3}, {kNan, 1, 2, 1, kNan, 2, 1, 2, kNan}), 1), vec({kNan, kNan, kNan})),
        KNOWN(as_tensor(argmax(rows)), tensor({2, 2}, {1, 0, 1, 2})),
        KNOWN(as_tensor(argmax(rows, 0)), tensor({2, 3}, {0, 1, 1, 0, 0, 0})),
        KNOWN(as_tensor(argmax(rows[0])), tensor({2, 1}, {1, 0})),
        KNOWN(as_tensor(argmax(vec({3, 9}))), tensor({1, 1}, {1})),
        KNOWN(reshape(cube, {4, -1}), counting({4, 6})),
        KNOWN(reshape(tensor({1, 1}, {3}), {}), 3),
        KNOWN(reshape(Tensor::zeros({0, 3}), {-1, 3}), Tensor::zeros({0, 3})),
        KNOWN(squeeze(counting({3, 1, 2}), 1), pairs),
        KNOWN(squeeze(pairs, 0), pairs),
        KNOWN(unsqueeze(pairs, 0), counting({1, 3, 2})),
        KNOWN(unsqueeze(pairs, -1), counting({3, 2, 1})),
        KNOWN(permute(counting({1, 2, 3}), {2, 0, 1}), tensor({3, 1, 2}, {0, 3, 1, 4, 2, 5})),
        KNOWN(transpose(pairs, 0, -1), tensor({2, 3}, {0, 2, 4, 1, 3, 5})),
        KNOWN(slice(square, 0, 1, 2), tensor({1, 4}, {4, 5, 6, 7})),
        KNOWN(slice(square, 1, 1, 3), tensor({3, 2}, {1, 2, 5, 6, 9, 10})),
        KNOWN(concat({counting({2, 1}), counting({2, 2})}, 1), tensor({2, 3}, {0, 0, 1, 1, 2, 3})),
        KNOWN(pairs[1], vec({2, 3})),
        KNOWN(pairs[-1], vec({4, 5})),
        KNOWN(pairs[2][1], 5),
        KNOWN(stack({vec({0, 1}), vec({4, 5})}), tensor({2, 2}, {0, 1, 4, 5})),
        KNOWN(stack({vec({0, 1}), vec({4, 5})}, 1), tensor({2, 2}, {0, 4, 1, 5})),
        KNOWN(stack({vec({0, 1}), vec({4, 5})}, -1), tensor({2, 2}, {0, 4, 1, 5})),
        KNOWN(split(pairs, 2)[0], tensor({2, 2}, {0, 1, 2, 3})),
        KNOWN(split(pairs, 2)[1], tensor({1, 2}, {4, 5})),
        KNOWN(split(pairs, 1, -1)[1], tensor({3, 1}, {1, 3, 5})),
        KNOWN(split(Tensor::zeros({0, 2}), 3)[0], Tensor::zeros({0, 2})),
        KNOWN(embedding(tensor({3, 2}, {kNan, kNan, 2, 3, 4, 5}), Tokens(1, 3, {2, 1, 0}, 0)),
              tensor({1, 3, 2}, {4, 5, 2, 3, 0, 0})),
        KNOWN(gather(rows, Tokens(2, 2, {1, 0, 1, 2})), tensor({2, 2}, {5, 7, kNan, -1})),
        KNOWN(gather(tensor({2, 2}, {1, 2, kNan, kNan}), Tokens(1, 2, {1, 9}, 9)), vec({2, 0})),
    };
}

std::vector<Known> softmax_and_losses() {
    const Tensor logits = tensor({3, 3}, {1, 2, 4, 0, 3, 1, 2, 2, 0});
    const Tokens targets(1, 3, {0, 1, 2});
    const std::vector<double> thirds(3, 1.0 / 3);
    return {
        KNOWN(softmax(vec({1, 2, 4})), vec({0.0420100661, 0.114195199, 0.843794734})),
        KNOWN(softmax(tensor({2, 2}, {0, 5, 0, 5}), 0), tensor({2, 2}, {0.5, 0.5, 0.5, 0.5})),
        KNOWN(softmax(vec({1e4, -1e4, 0})), vec({1, 0, 0})),
        KNOWN(softmax(vec({1e4, 1e4 - 1})), vec({0.731058579, 0.268941421})),
        KNOWN(softmax(vec({1e30, -1e30, 1e30})), vec({0.5, 0, 0.5})),
        KNOWN(softmax(vec({-1e30, -1e30, -1e30})), tensor({3}, thirds)),
        KNOWN(softmax(vec({-1e30})), vec({1})),
        KNOWN(softmax(vec({kMost, -kMost})), vec({1, 0})),
        KNOWN(softmax(vec({-kInf, 0, -kInf})), vec({0, 1, 0})),
        KNOWN(softmax(vec({1, kNan, 2})), vec({kNan, kNan, kNan})),
        KNOWN(log_softmax(vec({1, 2, 4})), vec({-3.16984602, -2.16984602, -0.16984602})),
        KNOWN(log_softmax(tensor({2, 2}, {0, 5, 0, 5}), 0), Tensor::full({2, 2}, Real(-0.693147181))),
        KNOWN(log_softmax(vec({1e4, -1e4, 0})), vec({0, -2e4, -1e4})),
        KNOWN(log_softmax(vec({1e4, 1e4 - 1})), vec({-0.313261688, -1.31326169})),
        KNOWN(log_softmax(vec({1e30, -1e30, 0})), vec({0, -2e30, -1e30})),
        KNOWN(cross_entropy(logits, targets), Real(2.0327719)),
        KNOWN(cross_entropy(logits, targets, {.ignore = 1}), Real(2.96423485)),
        KNOWN(cross_entropy(logits, Tokens(1, 3, {0, 1, 2}, 1)), Real(2.96423485)),
        KNOWN(cross_entropy(logits, targets, {.label_smoothing = Real(0.25)}), Real(1.94943857)),
        KNOWN(cross_entropy(logits, Tokens(1, 3, {0, 1, 2}, 2), {.label_smoothing = Real(0.25)}),
              Real(1.71151269)),
        KNOWN(cross_entropy(Tensor::full({2, 3, 17}, 5), Tokens(2, 3, {4, 0, 16, 2, 2, 0})),
              std::log(Real(17))),
        KNOWN(cross_entropy(vec({-100, 300, 0}), Tokens(1, 1, {1})), 0),
        KNOWN(cross_entropy(vec({1e30, 0}), Tokens(1, 1, {1})), Real(1e30)),
        KNOWN(linear_cross_entropy(vec({1}), tensor({3, 1}, {1, 2, 0}), vec({0, 0, 4}), Tokens(1, 1, {0})),
              Real(3.16984602)),
        KNOWN(mse_loss(vec({1, 2, 3}), vec({2, 2, 5})), Real(5) / 3),
        KNOWN(bce_with_logits(vec({-200, -20, -1, 0, 0.5, 20, 200}), vec({0, 1, 0.3, 1, 0, 1, 1})),
              Real(3.18292655)),
        KNOWN(bce_with_logits(vec({-200}), vec({1})), 200),  // the logarithm of 0 would be infinite
    };
}

std::vector<Known> layers() {
    const Rng rng(1);
    const Tensor row = vec({1, 2}), four = tensor({2, 2}, {1, 2, 3, 4}), one = Tensor::ones({4}),
                 zero = Tensor::zeros({4}), bent = tensor({2, 2}, {1, 0, 0, -1}),
                 column = tensor({2, 1}, {3, 5});
    // Scores are products: of the second query 0 and ln 3, so that its weights are 1/4 and 3/4.
    const double ln3 = 1.09861229;
    const Tensor q = tensor({1, 2, 1}, {0, 1}), k = tensor({1, 2, 1}, {0, ln3}),
                 v = tensor({1, 2, 1}, {4, 8}), kv = tensor({1, 2, 2}, {0, 4, ln3, 8}),
                 turns = tensor({2, 2}, {1, 0, 0, 1});
    return {
        KNOWN(matmul(four, four), tensor({2, 2}, {7, 10, 15, 22})),
        KNOWN(matmul(four, four, true), tensor({2, 2}, {5, 11, 11, 25})),
        KNOWN(matmul(counting({2, 2, 1, 2}), counting({2, 2, 1})), tensor({2, 2, 1, 1}, {1, 13, 5, 33})),
        KNOWN(matmul(counting({2, 2, 2}), column), tensor({2, 2, 1}, {5, 21, 37, 53})),
        KNOWN(linear(row, four, vec({10, 20})), vec({17, 30})),
        KNOWN(linear(row, four), vec({7, 10})),
        KNOWN(linear_transposed(row, four, vec({10, 20})), vec({15, 31})),
        KNOWN(glu(tensor({2, 2}, {1, 3, 2, 4}), Activation::silu), tensor({2, 1}, {2.19317574, 7.04637662})),
        KNOWN(feed_forward(row, bent, vec({0, 1}), column, vec({7}), Activation::relu), vec({10})),
        KNOWN(feed_forward(row, bent, {}, tensor({1, 1}, {3}), vec({7}), Activation::relu, true), vec({1})),
        // PyTorch's: the biased variance, eps inside of the root. (With the unbiased deviation, and eps
        // outside of it, this would be 1.5, -0.5, -0.5, -0.5.)
        KNOWN(layer_norm(vec({1, 0, 0, 0}), one, zero),
              vec({1.73200462, -0.577334874, -0.577334874, -0.577334874})),
        KNOWN(layer_norm(vec({1, 3}), vec({2, 4}), vec({1, 1}), 3), vec({0, 3})),
        KNOWN(layer_norm(Tensor::full({4}, 37), one, zero), zero),
        KNOWN(layer_norm(Tensor::full({4}, -1e4), one, one), one),
        KNOWN(rms_norm(vec({1, 0, 0, 0}), one), vec({1.99996, 0, 0, 0})),
        KNOWN(rms_norm(vec({3, 3, -3, 3}), one, 0), vec({1, 1, -1, 1})),  // it keeps the mean
        KNOWN(rms_norm(zero, one), zero),
        KNOWN(dropout(row, 0, rng), row),
        KNOWN(residual(row, row, 0, rng), vec({2, 4})),
        KNOWN(residual_norm(vec({0, 1}), row, 0, rng, vec({2, 4}), vec({1, 1}), 3), vec({0, 3})),
        // The second position is turned by a right angle; what is no head stays.
        KNOWN(rotary(tensor({1, 2, 3}, {1, 2, 3, 4, 5, 6}), turns, {.head_dim = 2}),
              tensor({1, 2, 3}, {1, 2, 3, -5, 4, 6})),
        KNOWN(rotary(tensor({1, 1, 4}, {1, 2, 3, 4}), turns, {.n_heads = 2, .head_dim = 2, .first = 1}),
              tensor({1, 1, 4}, {-2, 1, -4, 3})),
        KNOWN(attention(q, k, v), tensor({1, 2, 1}, {6, 7})),
        KNOWN(attention(q, k, v, {.mask = Mask::causal()}), tensor({1, 2, 1}, {4, 7})),
        KNOWN(attention(q, k, v, {.mask = Mask::key_counts({1})}), tensor({1, 2, 1}, {4, 4})),
        KNOWN(attention(q, k, v, {.mask = Mask::key_counts({0})}), tensor({1, 2, 1}, {0, 0})),
        // Four columns: the score 2 ln 3 is divided by 2.
        KNOWN(attention(tensor({1, 1, 4}, {2, 0, 0, 0}), tensor({1, 2, 4}, {0, 0, 0, 0, ln3, 0, 0, 0}),
                        counting({1, 2, 4})),
              tensor({1, 1, 4}, {3, 4, 5, 6})),
        KNOWN(self_attention(tensor({1, 2, 3}, {0, 0, 4, 1, ln3, 8})), tensor({1, 2, 1}, {6, 7})),
        KNOWN(cross_attention(q, kv), tensor({1, 2, 1}, {6, 7})),
        KNOWN(cross_attention(tensor({1, 1, 2}, {0, 1}), kv, {.n_heads = 2, .n_kv_heads = 1}),
              tensor({1, 1, 2}, {6, 7})),
    };
}

// The gradient of f, where `start` comes from above.
struct Slope {
    const char* call;
    Tensor (*f)(const Tensor& x);
    Tensor x, start, expected;
};
#define SLOPE(call, ...)                                         \
    Slope {                                                      \
#call, [](const Tensor& x) { return call; }, __VA_ARGS__ \
    }

std::vector<Slope> slopes() {
    const Tensor few = vec({-2, -0.5, 0, 1, 3}), ones = vec({1, 1, 1, 1, 1}), steps = vec({1, 2, 3, 4, 5}),
                 a = vec({1, 2, 3, kNan, 5}), b = vec({2, 2, 2, 1, kNan}), grid = counting({2, 3}) + 1;
    return {
        SLOPE(maximum(x, vec({2, 2, 2, 1, kNan})), a, steps, vec({0, 1, 3, 4, 5})),  // equal numbers share it
        SLOPE(maximum(vec({1, 2, 3, kNan, 5}), x), b, steps, vec({1, 1, 0, 4, 5})),
        SLOPE(minimum(x, 2), vec({1, 2, 3}), vec({1, 2, 3}), vec({1, 1, 0})),
        // Nothing passes on from what is not chosen, not even NaN; and what is repeated gets a sum.
        SLOPE(where(vec({1, 0, -0.5, kNan}), x, 0), vec({1, kNan, 3, 4}), vec({1, kNan, 3, kInf}),
              vec({1, 0, 3, kInf})),
        SLOPE(where(vec({1, 0, -0.5, kNan}), 0, x), vec({kNan, 6, kInf, kNan}), vec({1, kNan, 3, kInf}),
              vec({0, kNan, 0, 0})),
        SLOPE(where(tensor({2, 3}, {1, 0, 1, 0, 0, 1}), x, 0), vec({10, 20, 30}), grid, vec({1, 0, 9})),
        SLOPE(where(tensor({2, 3}, {1, 0, 1, 0, 0, 1}), 0, x), tensor({2, 1}, {7, 8}), grid,
              tensor({2, 1}, {2, 9})),
        SLOPE(relu(x), vec({-1, 0, 2}), vec({kInf, kInf, kInf}), vec({0, 0, kInf})),
        SLOPE(clamp(x, -1, 2), vec({-3, -1, 2, 5, kNan}), steps, vec({0, 2, 3, 0, 5})),  // and at the bounds
        SLOPE(pow(x, 2), few, steps, vec({-4, -2, 0, 8, 30})),
        SLOPE(pow(x, 1), few, steps, steps),
        SLOPE(pow(x, 0), few, steps, ones * 0),
        SLOPE(pow(x, Real(1.5)), vec({0, 4}), vec({1, 2}), vec({0, 6})),
        SLOPE(gradient_to_bf16(x), vec({5, 5}), vec({1 + 0x1p-8, 1 + 0x3p-8}), vec({1, 1 + 0x1p-6})),
        SLOPE(max(x, 1), tensor({2, 3}, {1, 3, 3, -5, -7, -5}), vec({10, 20}),
              tensor({2, 3}, {0, 10, 0, 20, 0, 0})),
        SLOPE(mean(x) * 41, Tensor::zeros({41}), 1, Tensor::ones({41})),
        SLOPE(x[1], counting({3, 2}), vec({1, 2}), tensor({3, 2}, {0, 0, 1, 2, 0, 0})),
        SLOPE(embedding(x, Tokens(1, 4, {2, 1, 2, 0}, 0)), counting({3, 2}),
              tensor({1, 4, 2}, {1, 2, 3, 4, 10, 20, kNan, kNan}), tensor({3, 2}, {0, 0, 3, 4, 11, 22})),
        SLOPE(gather(x, Tokens(1, 2, {1, 9}, 9)), tensor({2, 2}, {1, 2, kNan, kNan}), vec({3, kNan}),
              tensor({2, 2}, {0, 3, 0, 0})),
        SLOPE(cross_entropy(x, Tokens(1, 1, {0})), vec({-1e30, 1e30, 0}), 1, vec({-1, 1, 0})),
        SLOPE(bce_with_logits(x, vec({0})), vec({0}), 1, vec({0.5})),
    };
}

}  // namespace

TEST_CASE("values: known ones of every op", "[ops][values]") {
    std::string all = " += -= *= /= ";  // these are tried below
    for (const auto part : {elementwise, reductions_and_shapes, softmax_and_losses, layers})
        for (const Known& row : part()) {
            const Tensor y = row.run();
            INFO(row.call << " is " << y);
            CHECK(same(y, row.expected));
            all += std::string(" ") + row.call;
        }
    for (const std::string& op : declared_ops()) {
        INFO(op << " has no known value");
        const bool is_sign = op.starts_with("operator");
        CHECK((is_sign ? contains(all, " " + op.substr(8) + " ")
                       : contains(all, " " + op + "(") || contains(all, "(" + op + "(")));
    }
}

TEST_CASE("values: known gradients, at ties and bounds, of NaN and infinity", "[ops][values]") {
    for (const Slope& row : slopes()) {
        const Tensor x = leaf(row.x);
        row.f(x).backward(row.start);
        INFO(row.call << ": " << x.grad());
        CHECK(same(x.grad(), row.expected));
    }
}

TEST_CASE("values: a += b is a = a + b", "[ops][values]") {
    const Tensor x = leaf(vec({1, 2})), before = x;
    Tensor y = x;
    y += vec({10, 20});
    y *= Real(3);
    y -= x;
    y /= Real(2);
    CHECK(same(y, vec({16, 32})));
    CHECK(same(before, vec({1, 2})));
    sum(y).backward();
    CHECK(same(x.grad(), vec({1, 1})));
}

TEST_CASE("values: an ignored row may hold NaN, also in the plain form", "[ops][values][plain]") {
    const auto check_ignored = [] {
        const Tensor x = leaf(tensor({3, 2}, {1, 2, kNan, kNan, 0, 5}));
        const Tensor loss =
            cross_entropy(x, Tokens(1, 3, {1, 0, 1}), {.ignore = 0, .label_smoothing = Real(0.1)});
        CHECK(std::isfinite(loss.item()));
        loss.backward();
        CHECK(same_bits(x.grad(), x.grad()));
        CHECK(x.grad()[1].to_vector() == std::vector<Real>{0, 0});
    };
    check_ignored();
    const Plain guard;
    check_ignored();
}

TEST_CASE("values: permute in each order, and slices that concat joins", "[ops][values]") {
    const Tensor x = counting({2, 3, 4, 5});
    std::vector<int> order = {0, 1, 2, 3};
    int wrong = 0, orders = 0;
    do {
        const Tensor y = permute(x, order);
        for (int64_t n = 0; n < x.numel(); ++n) {
            const int64_t index[] = {n / 60, n / 20 % 3, n / 5 % 4, n % 5};
            int64_t at = 0;
            for (const int dim : order)
                at = at * x.size(dim) + index[dim];
            wrong += y.data()[at] != static_cast<Real>(n);
        }
        ++orders;
    } while (std::next_permutation(order.begin(), order.end()));
    CHECK(orders == 24);
    CHECK(wrong == 0);
    for (const int dim : {0, 1, 2, 3, -1}) {
        const int64_t n = x.size(dim), cut = n / 2;
        const std::vector<Tensor> parts = {slice(x, dim, 0, cut), slice(x, dim, cut, cut),
                                           slice(x, dim, cut, n)};
        CHECK(same_bits(concat(parts, dim), x));
    }
}

TEST_CASE("values: what is not copied, and what is", "[ops][values]") {
    const Tensor x = counting({3, 2});
    CHECK(reshape(x, {1, 6, 1, 1}).same_memory(x));
    CHECK(dropout(x, 0, Rng(5)).same_memory(x));
    const Tensor row = x[0];
    row.mutable_data()[0] = 100;
    CHECK(x.data()[0] == 0);
}

TEST_CASE("values: dropout scales what it keeps, and backward uses forward's mask",
          "[ops][values][dropout]") {
    const Tensor x = leaf(Tensor::full({3, 1001}, 2));
    const Real p = Real(0.3);
    const Tensor y = dropout(x, p, Rng(5));
    y.backward(x.detach());
    CHECK(same_bits(x.grad(), y));
    CHECK(sum((y == 0) + (y == 2 * (1 / (1 - p)))).item() == 3003);
    CHECK(mean(y != 0).item() == Approx(0.7).margin(0.034));  // four standard deviations
    CHECK(same_bits(dropout(x, p, Rng(5)), y));
    CHECK(!same_bits(dropout(x, p, Rng(6)), y));
}

TEST_CASE("values: an element dropped from a sub-layer has no effect, even if it is NaN", "[ops][values]") {
    const Tensor x = random({1, 64}, 1), y = Tensor::full({1, 64}, kNan);
    const Tensor kept = dropout(Tensor::ones({1, 64}), Real(0.5), Rng(1));
    CHECK(same(residual(x, y, Real(0.5), Rng(1)), where(kept, kNan, x)));
}

TEST_CASE("values: new tensors", "[tensor][values]") {
    CHECK(same(Tensor::ones({2, 2}), tensor({2, 2}, {1, 1, 1, 1})));
    CHECK(same(Tensor::arange(4), vec({0, 1, 2, 3})));
    CHECK(same(Tensor::arange(1, 2, 0.25), vec({1, 1.25, 1.5, 1.75})));
    CHECK(same(Tensor::arange(3, 0, -1), vec({3, 2, 1})));
    CHECK(same(Tensor::arange(2.5), vec({0, 1, 2})));
    CHECK(Tensor::arange(2, 2).shape() == Shape({0}));
    CHECK(Tensor::arange(2, 1).numel() == 0);
}

// More numbers than a thread makes at a time.
TEST_CASE("values: a large new tensor has the numbers that each of them is drawn as alone",
          "[tensor][values]") {
    const int64_t n = 40'000;
    const Rng rng(1);
    const Tensor normal = Tensor::randn({n}, rng), uniform = Tensor::rand({n}, rng),
                 counted = Tensor::arange(static_cast<double>(n));
    CHECK(sum((uniform >= 0) * (uniform < 1)).item() == static_cast<Real>(n));
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; ++i) {
        const auto number = static_cast<uint64_t>(i);
        wrong += normal.data()[i] != static_cast<Real>(rng.normal(number));
        wrong += !(std::abs(static_cast<double>(uniform.data()[i]) - rng.uniform(number)) <= 1e-6);
        wrong += counted.data()[i] != static_cast<Real>(i);
    }
    CHECK(wrong == 0);
}
