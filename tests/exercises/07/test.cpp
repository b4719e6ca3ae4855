#include EXERCISE  // the learner's page, or ours
#include <cmath>

#include "tests/catch.h"
#include "tests/exercises/marking.h"
#include "tests/reference.h"

using namespace plaingrad::exercises;  // NOLINT
namespace autograd = plaingrad::autograd;
namespace reference = plaingrad::reference;

static const Marking exercise(7);
static constexpr std::size_t B = 2, T = 3, d = 4, F = 6;
static constexpr double kEps = 1e-5;

static const Block block = {.n_heads = 2,
                            .w_qkv = random_tensor({d, 3 * d}, 1),
                            .w_out = random_tensor({d, d}, 2),
                            .gain1 = random_tensor({d}, 3),
                            .bias1 = random_tensor({d}, 4),
                            .w1 = random_tensor({d, F}, 5),
                            .b1 = random_tensor({F}, 6),
                            .w2 = random_tensor({F, d}, 7),
                            .b2 = random_tensor({d}, 8),
                            .gain2 = random_tensor({d}, 9),
                            .bias2 = random_tensor({d}, 10)};

// Applies f to each row of `width` numbers.
template <class F>
static Row by_rows(const Row& x, std::size_t width, F f) {
    Row out;
    for (std::size_t r = 0; r < x.size(); r += width) {
        const auto row = x.begin() + static_cast<std::ptrdiff_t>(r);
        for (const double value : f(Row(row, row + static_cast<std::ptrdiff_t>(width))))
            out.push_back(value);
    }
    return out;
}

static Row plus(Row a, const Row& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
        a[i] += b[i % b.size()];
    return a;
}

static Row norm_of(const Row& x, const Tensor& gain, const Tensor& bias) {
    return by_rows(x, d,
                   [&](const Row& row) { return reference::layer_norm(row, row_of(gain), row_of(bias)); });
}

// A norm whose deviation is a function of the row's sum of squares.
template <class Deviation>
static Row norm_by(const Row& x, const Tensor& gain, const Tensor& bias, Deviation deviation) {
    return by_rows(x, d, [&](Row row) {
        const double mean = reference::total(row) / d;
        double squares = 0;
        for (const double value : row)
            squares += (value - mean) * (value - mean);
        for (std::size_t i = 0; i < d; ++i)
            row[i] = (row[i] - mean) / deviation(squares) * row_of(gain)[i] + row_of(bias)[i];
        return row;
    });
}

static Row feed_forward_of(const Row& x, bool relu_last = false, bool relu = true) {
    const std::size_t rows = x.size() / d;
    const auto positive = [](Row values) {
        for (double& value : values)
            value = std::fmax(0, value);
        return values;
    };
    Row hidden = plus(reference::matmul(x, row_of(block.w1), rows, d, F), row_of(block.b1));
    if (relu && !relu_last)
        hidden = positive(hidden);
    const Row out = plus(reference::matmul(hidden, row_of(block.w2), rows, F, d), row_of(block.b2));
    return relu_last ? positive(out) : out;
}

TEST_CASE("norm") {
    const Tensor x = random_tensor({B, T, d}, 11) * 0.02f + 3;  // so small that eps matters
    const Row values = row_of(x);
    const auto wrong = [&](auto deviation) { return norm_by(values, block.gain1, block.bias1, deviation); };
    exercise.expect_values(
        "norm(x)", norm(x, block.gain1, block.bias1), x.shape(), norm_of(values, block.gain1, block.bias1),
        {{"eps is outside of the root: it belongs inside, √(variance + eps)",
          wrong([](double squares) { return std::sqrt(squares / d) + kEps; })},
         {"the variance is divided by d - 1: it is the biased one, divided by d",
          wrong([](double squares) { return std::sqrt(squares / (d - 1) + kEps); })},
         {"x is divided by the variance: divide by its root",
          wrong([](double squares) { return squares / d + kEps; })},
         {"eps is missing", wrong([](double squares) { return std::sqrt(squares / d); })},
         {"gain and bias are missing", norm_of(values, Tensor::ones({d}), Tensor::zeros({d}))},
         {"the bias is missing", norm_of(values, block.gain1, Tensor::zeros({d}))}});
    exercise.expect_values("norm of a constant row", norm(Tensor::full({1, d}, 7), block.gain1, block.bias1),
                           {1, d}, row_of(block.bias1));
    const Tensor alone = norm(slice(x, 1, 0, 1), block.gain1, block.bias1);
    exercise.expect_values("norm of position 0, without the other positions", alone, {B, 1, d},
                           row_of(autograd::slice(norm(x, block.gain1, block.bias1), 1, 0, 1)));
}

TEST_CASE("feed_forward") {
    const Tensor x = random_tensor({B, T, d}, 12);
    exercise.expect_values(
        "feed_forward(x)", feed_forward(x, block), x.shape(), feed_forward_of(row_of(x)),
        {{"relu comes last: it belongs between the two matrices", feed_forward_of(row_of(x), true)},
         {"relu is missing: without it the two matrices are one", feed_forward_of(row_of(x), false, false)}});
}

TEST_CASE("encoder_block") {
    const Tensor x = random_tensor({B, T, d}, 13);
    const Row values = row_of(x), attended = row_of(self_attention(x, block));
    const auto first = [&](const Row& y) { return norm_of(y, block.gain1, block.bias1); };
    const auto second = [&](const Row& y) { return norm_of(y, block.gain2, block.bias2); };
    const Row y = first(plus(values, attended));
    const Row bare = first(attended);  // without its residual connection
    const Row normed = first(values);  // pre-norm
    const Row pre = plus(values, row_of(self_attention(tensor_of(x.shape(), normed), block)));
    exercise.expect_values(
        "encoder_block(x)", encoder_block(x, block), x.shape(), second(plus(y, feed_forward_of(y))),
        {{"no residual connections: add what went into attention, and what went into feed_forward, before "
          "each norm",
          second(feed_forward_of(bare))},
         {"no residual connection around self_attention: x + self_attention(x)",
          second(plus(bare, feed_forward_of(bare)))},
         {"no residual connection around feed_forward: y + feed_forward(y)", second(feed_forward_of(y))},
         {"the second residual connection begins at x: it begins where feed_forward does, after the first "
          "norm",
          second(plus(values, feed_forward_of(y)))},
         {"the norms come before the sub-layers (pre-norm, as in GPT-2): the paper's come after x + "
          "Sublayer(x)",
          plus(pre, feed_forward_of(second(pre)))},
         {"the first norm's gain and bias are used twice: the second norm has its own",
          first(plus(y, feed_forward_of(y)))},
         {"the norm after attention is missing",
          second(plus(plus(values, attended), feed_forward_of(plus(values, attended))))},
         {"the norm after feed_forward is missing", plus(y, feed_forward_of(y))}});
}

TEST_CASE("gradients reach every weight of the block") {
    const Tensor x = random_tensor({B, T, d}, 14);
    Block copy = block;
    Tensor* const weights[] = {&copy.w_qkv, &copy.w_out, &copy.gain1, &copy.bias1, &copy.w1,
                               &copy.b1,    &copy.w2,    &copy.b2,    &copy.gain2, &copy.bias2};
    for (Tensor* weight : weights)
        *weight = weight->clone().require_grad();
    const char* names[] = {"w_qkv", "w_out", "gain1", "bias1", "w1", "b1", "w2", "b2", "gain2", "bias2"};
    const Tensor out = encoder_block(x, copy);
    exercise.expect(out.needs_grad(),
                    "the output has no place in the graph: build it from the operations of ops.h");
    out.backward(random_tensor(x.shape(), 15));
    for (std::size_t i = 0; i < std::size(names); ++i)
        exercise.expect(weights[i]->has_grad(), "no gradient reaches ", names[i],
                        ": build the output from operations, not with data()");
}
