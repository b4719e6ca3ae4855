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

TEST_CASE("attention: later positions change nothing before them", "[attention][mask][bits]") {
    const int64_t T = 19, S = 23;  // query t sees keys up to t + 4
    const Tensor q = random({2, T, kWidth}, 1), k = random({2, S, kWidth}, 2);
    const Tensor v = random({2, S, kWidth}, 3), dout = random({2, T, kWidth}, 4);
    const Result before = run(q, k, v, dout, Mask::causal());
    for (int64_t t = 0; t + 1 < T; ++t) {
        INFO("queries up to " << t);
        Tensor k2 = k.clone(), v2 = v.clone(), q2 = q.clone();
        for (int64_t b = 0; b < 2; ++b) {
            for (int64_t i = (t + 1 + S - T) * kWidth; i < S * kWidth; ++i) {
                k2.mutable_data()[b * S * kWidth + i] = Real(-3);
                v2.mutable_data()[b * S * kWidth + i] = Real(1e8);
            }
            for (int64_t i = (t + 1) * kWidth; i < T * kWidth; ++i)
                q2.mutable_data()[b * T * kWidth + i] = Real(2);
        }
        const Result after = run(q2, k2, v2, dout, Mask::causal());
        for (int64_t b = 0; b < 2; ++b) {
            CHECK(same_bits(rows(after.out, b, t + 1), rows(before.out, b, t + 1)));
            CHECK(same_bits(rows(after.dq, b, t + 1), rows(before.dq, b, t + 1)));
        }
        // The next query does see a change: the mask is not too strict.
        CHECK(!same_bits(rows(after.out, 0, t + 2), rows(before.out, 0, t + 2)));
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

TEST_CASE("attention: without queries the gradients of keys and values are zeros", "[attention]") {
    autograd::storage_poison(true);
    for (const bool causal : {false, true}) {
        Tensor q = Tensor::zeros({1, 0, 4}), k = Tensor::full({1, 3, 4}, 1), v = Tensor::full({1, 3, 4}, 2);
        k.require_grad();
        v.require_grad();
        const Tensor out = autograd::attention(q, k, v, {.mask = causal ? Mask::causal() : Mask::none()});
        out.backward(Tensor::zeros(out.shape()));
        CHECK(k.grad().to_vector() == std::vector<Real>(12, 0));
        CHECK(v.grad().to_vector() == std::vector<Real>(12, 0));
    }
    autograd::storage_poison(false);
}

TEST_CASE("attention: an explicit mask gives the same bits as the mask that it writes out",
          "[attention][mask][bits]") {
    const int64_t B = 3, T = 7, S = 19;
    const std::vector<int32_t> counts = {19, 4, 0};
    const Tensor q = random({B, T, kWidth}, 1), k = random({B, S, kWidth}, 2);
    const Tensor v = random({B, S, kWidth}, 3), dout = random({B, T, kWidth}, 4);
    std::vector<uint8_t> padding, causal;
    for (int64_t b = 0; b < B; ++b)
        for (int64_t t = 0; t < T; ++t)
            for (int64_t s = 0; s < S; ++s) {
                padding.push_back(s < counts[static_cast<std::size_t>(b)]);
                causal.push_back(s <= t + S - T);
            }
    const std::pair<Mask, std::vector<uint8_t>> masks[] = {{Mask::key_counts(counts), padding},
                                                           {Mask::causal(), causal}};
    for (const auto& [mask, pairs] : masks) {
        const Result a = run(q, k, v, dout, mask), b = run(q, k, v, dout, Mask::allowed(B, T, S, pairs));
        CHECK(same_bits(a.out, b.out));
        CHECK(same_bits(a.weights, b.weights));
        CHECK(same_bits(a.dq, b.dq));
        CHECK(same_bits(a.dk, b.dk));
        CHECK(same_bits(a.dv, b.dv));
    }
}
