#include EXERCISE  // the learner's page, or ours
#include <cmath>

#include "tests/catch.h"
#include "tests/exercises/marking.h"
#include "tests/reference.h"

using namespace plaingrad::exercises;  // NOLINT
namespace reference = plaingrad::reference;

static const Marking exercise(4);
static constexpr std::size_t T = 3, S = 4, D = 5;

static Tensor ones(int64_t rows, int64_t columns) { return Tensor::ones({rows, columns}); }

// The rows of the unit matrix as values: then the output is the weights.
static Tensor unit_values() {
    Tensor v = Tensor::zeros({1, S, S});
    for (std::size_t s = 0; s < S; ++s)
        v.mutable_data()[s * S + s] = 1;
    return v;
}

static Row transposed_softmax(const Row& scores) {  // over the queries instead of the keys
    Row out(T * S);
    for (std::size_t s = 0; s < S; ++s) {
        Row column;
        for (std::size_t t = 0; t < T; ++t)
            column.push_back(scores[t * S + s]);
        column = reference::softmax(column);
        for (std::size_t t = 0; t < T; ++t)
            out[t * S + s] = column[t];
    }
    return out;
}

static Row row_softmax(const Row& scores) {
    Row out;
    for (std::size_t t = 0; t < T; ++t) {
        const auto row = scores.begin() + static_cast<std::ptrdiff_t>(t * S);
        for (const double w : reference::softmax(Row(row, row + S)))
            out.push_back(w);
    }
    return out;
}

static Row scaled(Row x, double factor) {
    for (double& value : x)
        value *= factor;
    return x;
}

TEST_CASE("the weights, without a mask") {
    const Tensor q = random_tensor({1, T, D}, 1), k = random_tensor({1, S, D}, 2);
    const Row dots = reference::matmul(row_of(q), reference::transpose(row_of(k), S, D), T, D, S);
    const double root = std::sqrt(static_cast<double>(D));
    exercise.expect_values(
        "weights", attention(q, k, unit_values(), ones(T, S)), {1, T, S}, row_softmax(scaled(dots, 1 / root)),
        {{"scores are not divided: they must be divided by √D", row_softmax(dots)},
         {"scores are divided by D: they must be divided by √D",
          row_softmax(scaled(dots, 1 / (root * root)))},
         {"scores are multiplied by √D: they must be divided by it", row_softmax(scaled(dots, root))},
         {"scores are divided by √S, the number of keys: D is the width of a query",
          row_softmax(scaled(dots, 1 / std::sqrt(static_cast<double>(S))))},
         {"softmax goes over the queries: it belongs over the keys, the last dim",
          transposed_softmax(scaled(dots, 1 / root))},
         {"all keys are hidden although all are allowed: 1 means that a query may see the key",
          Row(T * S, 1.0 / S)},
         {"all keys are hidden although all are allowed: 1 means that a query may see the key",
          Row(T * S, 0.0)},
         {"there is no softmax: these are the scores", scaled(dots, 1 / root)}});
}

TEST_CASE("the output is the weighted mean of the values") {
    const Tensor q = random_tensor({1, T, D}, 3), k = random_tensor({1, S, D}, 4);
    const Tensor v = random_tensor({1, S, D}, 5);
    const auto all = [](std::size_t, std::size_t) { return true; };
    exercise.expect_values("output", attention(q, k, v, ones(T, S)), {1, T, D},
                           reference::attention(row_of(q), row_of(k), row_of(v), T, S, D, all),
                           {{"the mean is of the keys: it must be of the values",
                             reference::attention(row_of(q), row_of(k), row_of(k), T, S, D, all)}});
    exercise.expect_values("output of one query and one key",
                           attention(slice(q, 1, 0, 1), slice(k, 1, 0, 1), slice(v, 1, 0, 1), ones(1, 1)),
                           {1, 1, D}, row_of(slice(v, 1, 0, 1)));
}

TEST_CASE("hidden keys get no weight") {
    const Tensor q = random_tensor({1, T, D}, 6) * 3, k = random_tensor({1, S, D}, 7);
    const Tensor pairs = Tensor::from({T, S}, {1, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 0});
    const Tensor out = attention(q, k, unit_values(), pairs);
    exercise.expect(out.shape() == Shape({1, T, S}), "the output has the wrong shape: ", out.shape());
    for (std::size_t t = 0; t < T; ++t) {
        double sum = 0;
        for (std::size_t s = 0; s < S; ++s) {
            const double weight = row_of(out)[t * S + s];
            const bool hidden = pairs.data()[t * S + s] == 0;
            exercise.expect(!hidden || weight == 0, "query ", t, " sees key ", s,
                            ", which the mask hides: weight ", weight, "; expected 0");
            exercise.expect(hidden || weight > 0, "query ", t, " does not see key ", s,
                            ", which the mask allows: weight ", weight, "; 1 means allowed");
            sum += weight;
        }
        exercise.expect(std::fabs(sum - 1) < 1e-5, "the weights of query ", t, " sum to ", sum,
                        "; expected 1: hide keys before softmax, not after it");
    }
    // Unit values have S columns, the queries D: the reference takes one width, so its weights come from
    // its scores.
    const Row dots = reference::matmul(row_of(q), reference::transpose(row_of(k), S, D), T, D, S);
    const double ratio = std::exp((dots[1] - dots[0]) / std::sqrt(static_cast<double>(D)));
    exercise.expect_values("weight 1 / weight 0 of query 0", {row_of(out)[1] / row_of(out)[0]}, {ratio});
}

TEST_CASE("a query that may see no key gives zeros") {
    const Tensor v = random_tensor({1, S, D}, 8);
    const Tensor pairs = Tensor::from({2, S}, {0, 0, 0, 0, 1, 1, 1, 1});
    const Tensor q = random_tensor({1, 2, D}, 9), k = random_tensor({1, S, D}, 10);
    const Tensor out = attention(q, k, v, pairs);
    exercise.expect_values(
        "output of a query that sees nothing", slice(out, 1, 0, 1), {1, 1, D}, Row(D, 0.0),
        {{"where all keys are hidden, softmax of equal scores gives equal weights: set hidden weights to 0",
          row_of(mean(v, {1}))}});
}

TEST_CASE("each sentence of a batch by itself") {
    const Tensor q = random_tensor({2, T, D}, 11), k = random_tensor({2, S, D}, 12);
    const Tensor v = random_tensor({2, S, D}, 13);
    const Tensor out = attention(q, k, v, ones(T, S));
    for (int64_t b = 0; b < 2; ++b)
        exercise.expect_values("sentence " + std::to_string(b), slice(out, 0, b, b + 1), {1, T, D},
                               reference::attention(row_of(q[b]), row_of(k[b]), row_of(v[b]), T, S, D,
                                                    [](std::size_t, std::size_t) { return true; }));
}

TEST_CASE("gradients flow back to q, k and v") {
    Tensor q = random_tensor({1, T, D}, 14), k = random_tensor({1, S, D}, 15),
           v = random_tensor({1, S, D}, 16);
    for (Tensor* x : {&q, &k, &v})
        x->require_grad();
    const Tensor upstream = random_tensor({1, T, D}, 17);
    const Tensor out = attention(q, k, v, ones(T, S));
    exercise.expect(out.needs_grad(),
                    "the output has no place in the graph: build it from the operations of ops.h, ",
                    "not with data()");
    out.backward(upstream);
    const Tensor* inputs[] = {&q, &k, &v};
    const char* names[] = {"q", "k", "v"};
    std::vector<Row> gradients;
    for (int i = 0; i < 3; ++i) {
        exercise.expect(inputs[i]->has_grad(), "no gradient reaches ", names[i],
                        ": build the output from operations, from ", names[i], " itself");
        gradients.push_back(row_of(inputs[i]->grad()));
        inputs[i]->zero_grad();
    }
    plaingrad::autograd::attention(q, k, v).backward(upstream);
    for (std::size_t i = 0; i < 3; ++i)
        exercise.expect_values(std::string("gradient of ") + names[i],
                               tensor_of(inputs[i]->shape(), gradients[i]), inputs[i]->shape(),
                               row_of(inputs[i]->grad()));
}
