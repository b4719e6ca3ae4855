// Attention in batches: neither padding nor other sentences nor later positions change a bit of a sentence.
#include "autograd/ops.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

constexpr int64_t kHeads = 2, kWidth = 2 * 5;

struct Result {
    Tensor out, weights, dq, dk, dv;
};

Result run(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& dout, const Mask& mask) {
    const Tensor ql = leaf(q), kl = leaf(k), vl = leaf(v);
    Result r;
    r.out = attention(ql, kl, vl, {.n_heads = kHeads, .mask = mask, .weights = &r.weights});
    r.out.backward(dout);
    r.dq = ql.grad(), r.dk = kl.grad(), r.dv = vl.grad();
    return r;
}

// Sentences of these lengths, padded to `length` with `filler`, from `x` of the longest.
Tensor padded(const Tensor& x, const std::vector<int32_t>& lengths, int64_t length, Real filler) {
    Tensor out = Tensor::full({static_cast<int64_t>(lengths.size()), length, kWidth}, filler);
    Real* to = out.mutable_data();
    for (std::size_t b = 0; b < lengths.size(); ++b)
        for (int64_t i = 0; i < lengths[b] * kWidth; ++i)
            to[static_cast<int64_t>(b) * length * kWidth + i] = x.data()[i];
    return out;
}

// The first n rows of sentence b, as a batch of one.
Tensor rows(const Tensor& x, int64_t b, int64_t n) { return slice(slice(x, 0, b, b + 1), 1, 0, n); }

}  // namespace

TEST_CASE("attention: a sentence has the same bits alone and in a padded batch", "[attention][mask][bits]") {
    const std::vector<int32_t> lengths = {17, 1, 5, 33, 16, 0};
    const int64_t longest = 40;
    const Tensor q = random({1, longest, kWidth}, 1), k = random({1, longest, kWidth}, 2);
    const Tensor v = random({1, longest, kWidth}, 3), dout = random({1, longest, kWidth}, 4);
    for (const bool causal : {false, true}) {
        const Mask counts = Mask::key_counts(lengths);
        const Result batch = run(padded(q, lengths, longest, Real(0.5)),
                                 padded(k, lengths, longest, Real(1e9)), padded(v, lengths, longest, kNan),
                                 padded(dout, lengths, longest, 0), causal ? counts.and_causal() : counts);
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            const int64_t n = lengths[i], b = static_cast<int64_t>(i);
            INFO("length " << n << (causal ? ", causal" : ""));
            const Result alone = run(rows(q, 0, n), rows(k, 0, n), rows(v, 0, n), rows(dout, 0, n),
                                     causal ? Mask::causal() : Mask::none());
            CHECK(same_bits(rows(batch.out, b, n), alone.out));
            CHECK(same_bits(rows(batch.dq, b, n), alone.dq));
            CHECK(same_bits(rows(batch.dk, b, n), alone.dk));
            CHECK(same_bits(rows(batch.dv, b, n), alone.dv));
            const Tensor part = slice(slice(slice(batch.weights, 0, b, b + 1), 2, 0, n), 3, 0, n);
            CHECK(same_bits(part, alone.weights));
        }
    }
}

// Decoding with a cache: the last query alone, over all keys.
TEST_CASE("attention: one query at a time gives the same bits as all at once", "[attention][mask][bits]") {
    for (const int64_t T : {37, 1091}) {
        const Tensor q = random({2, T, kWidth}, 1), k = random({2, T, kWidth}, 2),
                     v = random({2, T, kWidth}, 3);
        const Tensor all = attention(q, k, v, {.n_heads = kHeads, .mask = Mask::causal()});
        for (int64_t t = 0; t < T; t += T < 100 ? 1 : 109) {
            const auto until = [&](const Tensor& x) { return slice(x, 1, 0, t + 1); };
            const Tensor query = slice(q, 1, t, t + 1), expected = slice(all, 1, t, t + 1);
            CHECK(same_bits(attention(query, until(k), until(v), {.n_heads = kHeads}), expected));
            CHECK(same_bits(attention(query, until(k), until(v), {.n_heads = kHeads, .mask = Mask::causal()}),
                            expected));
        }
    }
}
