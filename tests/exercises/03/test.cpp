#include EXERCISE  // the learner's page, or ours
#include <cmath>
#include <limits>

#include "tests/catch.h"
#include "tests/exercises/marking.h"

using namespace plaingrad::exercises;  // NOLINT

static const Marking exercise(3);
static constexpr int64_t T = 6, D = 4;

// Row t of the weights from keys s <= t + ahead, by softmax over these.
static Tensor weights_of(const Tensor& q, const Tensor& k, int64_t ahead) {
    Tensor pairs = Tensor::zeros({q.size(0), q.size(0)});
    for (int64_t i = 0; i < pairs.numel(); ++i)
        pairs.mutable_data()[i] = i % q.size(0) <= i / q.size(0) + ahead;
    return where(pairs, softmax(where(pairs, matmul(q, k, true), std::numeric_limits<Real>::lowest())), 0);
}

// An attention that hides the future, but for what `leak` adds.
static Attention with(const std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v)>& leak) {
    return [leak](const Tensor& q, const Tensor& k, const Tensor& v) {
        return matmul(weights_of(q, k, 0), v) + leak(q, k, v);
    };
}

// Row t is row t + 1 of x, for one t, else zeros.
static Tensor only_next(const Tensor& x, int64_t t) {
    Tensor y = Tensor::zeros(x.shape());
    for (int64_t i = 0; i < x.size(1); ++i)
        y.mutable_data()[t * x.size(1) + i] = x.data()[(t + 1) * x.size(1) + i];
    return y;
}

TEST_CASE("break: an attention that hides the future is found innocent") {
    const Attention causal = with([](const Tensor& q, const Tensor&, const Tensor&) { return q * 0; });
    exercise.expect(!sees_the_future(causal, T, D),
                    "sees_the_future accuses an attention that hides the future: ",
                    "when position c changes, outputs from c on may change; only those before c must not");
    const Attention constant = [](const Tensor& q, const Tensor&, const Tensor&) { return q * 0; };
    exercise.expect(!sees_the_future(constant, T, D),
                    "sees_the_future accuses an attention whose output is always 0: it depends on nothing");
    const Attention past = [](const Tensor& q, const Tensor& k, const Tensor& v) {
        return matmul(weights_of(q, k, -1), v);
    };
    exercise.expect(!sees_the_future(past, T, D),
                    "sees_the_future accuses an attention that hides the future, and more than that");
}

TEST_CASE("break: each attention that leaks is found guilty") {
    const Attention all = [](const Tensor& q, const Tensor& k, const Tensor& v) {
        return matmul(weights_of(q, k, T), v);
    };
    exercise.expect(sees_the_future(all, T, D), "sees_the_future misses an attention without any mask");
    const Attention next = [](const Tensor& q, const Tensor& k, const Tensor& v) {
        return matmul(weights_of(q, k, 1), v);
    };
    exercise.expect(sees_the_future(next, T, D),
                    "sees_the_future misses a mask that is off by one: query t sees key t + 1");
    for (const int64_t t : {int64_t{0}, T / 2, T - 2}) {
        const Attention one =
            with([t](const Tensor&, const Tensor&, const Tensor& v) { return only_next(v, t); });
        exercise.expect(sees_the_future(one, T, D),
                        "sees_the_future misses an attention where only position ", t,
                        " sees the next one (of ", T, " positions): try each position, not one");
    }
    const Attention sum_of_all = [](const Tensor& q, const Tensor& k, const Tensor& v) {
        const Tensor causal = weights_of(q, k, 0);
        return matmul(softmax(matmul(q, k, true)) * (causal > 0), v);
    };
    exercise.expect(sees_the_future(sum_of_all, T, D),
                    "sees_the_future misses a mask that comes after softmax: ",
                    "the weights of hidden keys are 0, but their scores are in the sum. Change the keys too");
    const Attention queries =
        with([](const Tensor& q, const Tensor&, const Tensor&) { return only_next(q, 2); });
    exercise.expect(sees_the_future(queries, T, D),
                    "sees_the_future misses an attention where a position sees ",
                    "the next one's query: change q too");
}

TEST_CASE("mend: who may see whom") {
    const int64_t length = 4;
    const Tensor pairs = allowed(T, length);
    exercise.expect(pairs.shape() == Shape({T, T}), "allowed has the wrong shape: ", pairs.shape(),
                    "; expected ", Shape({T, T}));
    for (int64_t t = 0; t < T; ++t)
        for (int64_t s = 0; s < T; ++s) {
            const bool given = pairs.data()[t * T + s] != 0;
            exercise.expect(given || s != t || t >= length, "query ", t, " does not see key ", s,
                            ", itself: a position must see its own token; s <= t");
            exercise.expect(given || t < length || s >= length, "query ", t,
                            " of the padding sees nothing: a mask ", "hides keys, never queries. Of ", length,
                            " real tokens it should see key ", s);
            exercise.expect(given || s > t || s >= length, "query ", t, " does not see key ", s,
                            ", which is real and not later");
            exercise.expect(!given || s < length, "query ", t, " sees key ", s, ", which is padding: only ",
                            length, " tokens are real");
            exercise.expect(!given || s <= t, "query ", t, " sees key ", s, ", which is later");
        }
}

TEST_CASE("mend: the weights") {
    const Tensor scores = random_tensor({T, T}, 7) * 2;
    Tensor pairs = Tensor::zeros({T, T});
    for (int64_t i = 0; i < pairs.numel(); ++i)
        pairs.mutable_data()[i] = i % T <= i / T;
    const Tensor weights = masked_weights(scores, pairs);
    exercise.expect(weights.shape() == scores.shape(),
                    "masked_weights has the wrong shape: ", weights.shape(), "; expected ", scores.shape());
    for (int64_t t = 0; t < T; ++t) {
        double sum = 0, of_allowed = 0;
        for (int64_t s = 0; s <= t; ++s)
            of_allowed += std::exp(static_cast<double>(scores.data()[t * T + s]));
        for (int64_t s = 0; s < T; ++s) {
            const auto weight = static_cast<double>(weights.data()[t * T + s]);
            sum += weight;
            exercise.expect(s <= t || weight == 0, "query ", t, " sees key ", s,
                            ", which the mask hides: weight ", weight,
                            "; expected 0. A score of 0 does not hide a key, e⁰ = 1; the lowest number does");
        }
        exercise.expect(std::fabs(sum - 1) < 1e-5, "the weights of query ", t, " sum to ", sum,
                        "; expected 1. ",
                        "Hidden keys must be left out before softmax, or they have their share of its sum");
        const double expected = std::exp(static_cast<double>(scores.data()[t * T])) / of_allowed;
        const auto weight = static_cast<double>(weights.data()[t * T]);
        exercise.expect(std::fabs(weight - expected) < 1e-5, "the weight of key 0 for query ", t, " is ",
                        weight, "; expected ", expected, ", its share among the keys that are seen");
    }
}
