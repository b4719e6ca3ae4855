// Attention: what a mask hides has no effect on any bit; and the result is the paper's formula.
#include <algorithm>
#include <functional>
#include <optional>

#include "autograd/plain.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/reference.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;   // NOLINT
using namespace tests;      // NOLINT

namespace {

// Sizes of one attention, and which pairs its mask allows, in the words of tokens.h.
struct Setting {
    std::string name;
    int64_t B, H, T, S, D;
    std::optional<std::vector<int32_t>> counts = {};
    bool causal = false;
    std::vector<uint8_t> pairs = {};

    bool visible(int64_t b, int64_t t, int64_t s) const {
        return (!counts || s < (*counts)[static_cast<std::size_t>(b)]) && (!causal || s <= t + (S - T)) &&
               (pairs.empty() || pairs[static_cast<std::size_t>((b * T + t) * S + s)] != 0);
    }
    int64_t visible_keys(int64_t b, int64_t t) const {
        int64_t count = 0;
        for (int64_t s = 0; s < S; ++s)
            count += visible(b, t, s);
        return count;
    }
    Mask mask() const {
        Mask m = counts ? Mask::key_counts(*counts) : Mask::none();
        if (!pairs.empty())
            m = Mask::allowed(B, T, S, pairs);
        return causal ? m.and_causal() : m;
    }
};

std::vector<uint8_t> random_pairs(int64_t n, uint64_t seed, double density) {
    std::vector<uint8_t> pairs;
    for (int64_t i = 0; i < n; ++i)
        pairs.push_back(Rng(seed).uniform(static_cast<uint64_t>(i)) < density);
    return pairs;
}

// Batch and heads both more than one; batch 1; one head; length 1; more keys than a vector; queries
// without a key.
std::vector<Setting> settings() {
    return {
        {"no mask", 2, 3, 5, 7, 3},
        {"one of everything", 1, 1, 1, 1, 1},
        {"one query, 37 keys", 2, 2, 1, 37, 5},
        {"key counts", 3, 2, 5, 19, 3, {{19, 7, 1}}},
        {"key counts, one empty", 3, 2, 3, 7, 17, {{2, 0, 7}}},
        {"causal", 2, 2, 19, 19, 3, {}, true},
        {"causal, more keys than queries", 2, 2, 3, 21, 3, {}, true},
        {"causal, one query", 2, 1, 1, 5, 3, {}, true},
        {"key counts and causal", 3, 2, 7, 7, 5, {{7, 3, 0}}, true},
        {"allowed", 2, 3, 5, 19, 3, {}, false, random_pairs(2 * 5 * 19, 1, 0.5)},
        {"allowed, few", 2, 1, 7, 5, 3, {}, false, random_pairs(2 * 7 * 5, 2, 0.2)},
        {"allowed, none", 1, 2, 3, 5, 3, {}, false, std::vector<uint8_t>(15)},
        {"allowed and causal", 2, 2, 5, 19, 3, {}, true, random_pairs(2 * 5 * 19, 3, 0.5)},
        {"causal, many queries", 1, 2, 83, 83, 20, {}, true},
        {"causal, many queries, more keys", 1, 1, 70, 101, 33, {}, true},
        {"key counts and causal, many queries", 2, 2, 67, 75, 16, {{75, 30}}, true},
        {"key counts, many queries", 2, 1, 130, 40, 8, {{40, 17}}},
        {"70 columns a head, 100 keys", 1, 2, 3, 100, 70, {}, false, random_pairs(300, 4, 0.7)},
    };
}

struct Input {
    Tensor q, k, v, dout;
    explicit Input(const Setting& s)
        : q(random({s.B, s.T, s.H * s.D}, 11)),
          k(random({s.B, s.S, s.H * s.D}, 12)),
          v(random({s.B, s.S, s.H * s.D}, 13)),
          dout(random(q.shape(), 14)) {}
};

struct Output {
    Tensor out, dq, dk, dv, weights;
};

const Rng kRng = Rng(3).fork("weights");

Output run(const Setting& s, const Input& in, double dropout = 0, bool weights = true, Precision p = {}) {
    const UsePrecision precision(p);
    const Tensor q = leaf(in.q), k = leaf(in.k), v = leaf(in.v);
    Output o;
    o.out = attention(q, k, v,
                      {.n_heads = s.H,
                       .mask = s.mask(),
                       .dropout = static_cast<Real>(dropout),
                       .rng = &kRng,
                       .weights = weights ? &o.weights : nullptr});
    o.out.backward(in.dout);
    o.dq = q.grad(), o.dk = k.grad(), o.dv = v.grad();
    return o;
}

// Row t of sentence b.
std::vector<Real> row(const Tensor& x, int64_t b, int64_t t) {
    const Real* begin = x.data() + (b * x.size(1) + t) * x.size(2);
    return {begin, begin + x.size(2)};
}

bool all_zero(const std::vector<Real>& x) {
    return std::all_of(x.begin(), x.end(), [](Real value) { return value == 0; });
}

void check_heads(const Setting& s, const Input& in, const Tensor& out) {
    const auto head = [&](const Tensor& x, int64_t b, int64_t h) {
        const Tensor part = slice(slice(x, 0, b, b + 1), 2, h * s.D, (h + 1) * s.D);
        return doubles(part);
    };
    const auto size = [](int64_t n) { return static_cast<std::size_t>(n); };
    for (int64_t b = 0; b < s.B; ++b) {
        for (int64_t h = 0; h < s.H; ++h) {
            const reference::Row expected = reference::attention(
                head(in.q, b, h), head(in.k, b, h), head(in.v, b, h), size(s.T), size(s.S), size(s.D),
                [&](std::size_t t, std::size_t key) {
                    return s.visible(b, static_cast<int64_t>(t), static_cast<int64_t>(key));
                });
            // Scores below 70 in magnitude, each wrong by some 4e-6, and the weights by as much of
            // themselves; |v| <= 2.
            CHECK(worst_error(head(out, b, h), expected) <= (kRealIsDouble ? 1e-13 : 2e-5));
        }
    }
}

}  // namespace

TEST_CASE("attention: each head is the reference", "[attention]") {
    for (const Setting& s : settings()) {
        INFO(s.name);
        const Input in(s);
        check_heads(s, in, run(s, in).out);
    }
}

// The kernel takes 512 keys at a time, and 64 queries.
TEST_CASE("attention: a pattern of pairs over many keys, with its gradients", "[attention][mask]") {
    for (const bool causal : {false, true}) {
        const Setting s = {"", 2, 2, 67, 1100, 3, {}, causal, random_pairs(2 * 67 * 1100, 6, 0.3)};
        INFO((causal ? "causal" : "not causal"));
        const Input in(s);
        const Output fused = run(s, in);
        check_heads(s, in, fused.out);
        const Plain guard;
        const Output plain = run(s, in);
        const double tolerance = kRealIsDouble ? 1e-12 : 1e-4;
        CHECK(worst_error(fused.weights, plain.weights) <= tolerance);
        CHECK(worst_error(fused.dq, plain.dq) <= tolerance);
        CHECK(worst_error(fused.dk, plain.dk) <= tolerance);
        CHECK(worst_error(fused.dv, plain.dv) <= tolerance);
    }
}

TEST_CASE("attention: equals its plain form, with its gradients and with dropout", "[attention][plain]") {
    for (const Setting& s : settings()) {
        for (const double p : {0.0, 0.3}) {
            INFO(s.name << ", dropout " << p);
            const Input in(s);
            const Output fused = run(s, in, p);
            const Plain guard;
            const Output plain = run(s, in, p);
            const double tolerance = kRealIsDouble ? 1e-12 : 1e-4;
            CHECK(worst_error(fused.out, plain.out) <= tolerance);
            CHECK(worst_error(fused.dq, plain.dq) <= tolerance);
            CHECK(worst_error(fused.dk, plain.dk) <= tolerance);
            CHECK(worst_error(fused.dv, plain.dv) <= tolerance);
        }
    }
}

TEST_CASE("attention: query, key and value may share tensors in any way", "[attention]") {
    struct Sharing {
        const char* name;
        std::size_t q, k, v;
    };
    const Sharing sharings[] = {{"all different", 0, 1, 2},
                                {"q = k", 0, 0, 1},
                                {"q = v", 0, 1, 0},
                                {"k = v", 0, 1, 1},
                                {"one", 0, 0, 0}};
    for (const int64_t T : {1, 63, 64, 65, 129}) {
        const auto n = static_cast<int32_t>(T);
        const Setting masks[] = {
            {"no mask", 2, 2, T, T, 3},
            {"key counts", 2, 2, T, T, 3, {{n, n / 2}}},
            {"causal", 2, 2, T, T, 3, {}, true},
            {"key counts and causal", 2, 2, T, T, 3, {{n, n / 2}}, true},
            {"allowed", 2, 2, T, T, 3, {}, false, random_pairs(2 * T * T, 1, 0.5)},
        };
        for (const Setting& mask : masks)
            for (const Sharing& sharing : sharings)
                for (const bool has_gradient : {false, true}) {
                    INFO(T << " positions, " << mask.name << ", " << sharing.name << ", " << has_gradient);
                    std::vector<Tensor> fused, composed;
                    for (uint64_t i = 0; i < 3; ++i) {
                        fused.push_back(leaf(random({2, T, 6}, 20 + i)));
                        composed.push_back(leaf(fused.back()));
                        if (has_gradient)
                            for (const Tensor& x : {fused.back(), composed.back()})
                                x.backward(random(x.shape(), 30 + i));
                    }
                    const Tensor dout = random({2, T, 6}, 14);
                    const AttentionOptions options = {.n_heads = 2, .mask = mask.mask()};
                    attention(fused[sharing.q], fused[sharing.k], fused[sharing.v], options).backward(dout);
                    plain::attention(composed[sharing.q], composed[sharing.k], composed[sharing.v], options)
                        .backward(dout);
                    for (const std::size_t i : {sharing.q, sharing.k, sharing.v})
                        CHECK(worst_error(fused[i].grad(), composed[i].grad()) <=
                              (kRealIsDouble ? 1e-12 : 1e-4));
                }
    }
}

// With fewer heads of keys than of queries, one memory can be q and k | v in other places of each row.
// Several threads would then add to the same numbers.
TEST_CASE("attention: queries that are keys and values in another shape", "[attention]") {
    const tests::Threads threads(4);
    const Tensor data = random({1, 96, 32}, 1), dout = random({1, 96, 32}, 2);
    const AttentionOptions grouped = {.n_heads = 8, .n_kv_heads = 4};
    const auto cross = [&](const Tensor& q, const Tensor& x) { return cross_attention(q, x, grouped); };
    const auto plain = [&](const Tensor& q, const Tensor& x) {
        const Tensor kv = x.with_shape({1, 192, 16});
        return attention(q, kv, kv, grouped);
    };
    const std::function<Tensor(const Tensor&, const Tensor&)> ways[] = {cross, plain};
    for (const auto& way : ways) {
        const Tensor q = leaf(data), x = leaf(data);
        way(q, x).backward(dout);
        const Tensor expected = q.grad() + x.grad();
        for (int i = 0; i < 20; ++i) {
            const Tensor both = leaf(data);
            if (i % 2 == 1)
                both.backward(data);  // it has a gradient already
            way(both, both).backward(dout);
            const Tensor sum = i % 2 == 1 ? expected + data : expected;
            CHECK(worst_error(both.grad(), sum) <= (kRealIsDouble ? 1e-12 : 1e-5));
        }
    }
}

static void check_nan_keys(Precision precision) {
    for (const Setting& s : settings()) {
        for (const double p : {0.0, 0.3}) {
            INFO(s.name << ", dropout " << p);
            const Input in(s);
            const Output clean = run(s, in, p, true, precision);
            for (int64_t key = 0; key < s.S; key += 1 + s.S / 20) {
                Input dirty = in;
                dirty.k = in.k.clone(), dirty.v = in.v.clone();
                for (int64_t b = 0; b < s.B; ++b)
                    for (int64_t i = 0; i < s.H * s.D; ++i) {
                        const int64_t at = (b * s.S + key) * s.H * s.D + i;
                        dirty.k.mutable_data()[at] = dirty.v.mutable_data()[at] = kNan;
                    }
                const Output o = run(s, dirty, p, true, precision);
                int wrong = 0;
                for (int64_t b = 0; b < s.B; ++b) {
                    bool seen = false;
                    for (int64_t t = 0; t < s.T; ++t) {
                        seen = seen || s.visible(b, t, key);
                        wrong += !s.visible(b, t, key) && !same_bits(row(o.out, b, t), row(clean.out, b, t));
                        wrong += !s.visible(b, t, key) && !same_bits(row(o.dq, b, t), row(clean.dq, b, t));
                    }
                    for (int64_t other = 0; !seen && other < s.S; ++other)
                        wrong += !same_bits(row(o.dk, b, other), row(clean.dk, b, other)) ||
                                 !same_bits(row(o.dv, b, other), row(clean.dv, b, other));
                    wrong += !seen && !all_zero(row(o.dk, b, key));
                    wrong += !seen && !all_zero(row(o.dv, b, key));
                }
                INFO("key " << key);
                CHECK(wrong == 0);
            }
        }
    }
}

TEST_CASE("attention: NaN in a key and its value reaches no query that may not see it", "[attention][mask]") {
    check_nan_keys(Precision::float32);
    check_nan_keys(Precision::bf16);
    const Plain guard;  // and in its plain form
    check_nan_keys(Precision::float32);
}

static void check_queries_without_keys() {
    int64_t without = 0;
    for (const Setting& s : settings()) {
        INFO(s.name);
        const Output o = run(s, Input(s), 0.3);
        int wrong = 0;
        for (int64_t b = 0; b < s.B; ++b) {
            for (int64_t t = 0; t < s.T; ++t) {
                const bool blind = s.visible_keys(b, t) == 0;
                without += blind;
                wrong += blind && !(all_zero(row(o.out, b, t)) && all_zero(row(o.dq, b, t)));
            }
        }
        CHECK(wrong == 0);
        for (const Tensor& x : {o.out, o.dq, o.dk, o.dv, o.weights})
            CHECK(same_bits(x, x));  // no NaN
    }
    CHECK(without >= 10);
}

TEST_CASE("attention: a query that may see no key gives zeros and has no gradient", "[attention][mask]") {
    check_queries_without_keys();
    const Plain guard;  // and in its plain form
    check_queries_without_keys();
}

TEST_CASE("attention: the weights are a distribution over the allowed keys", "[attention]") {
    for (const Setting& s : settings()) {
        INFO(s.name);
        const Output o = run(s, Input(s));
        REQUIRE(o.weights.shape() == Shape{s.B, s.H, s.T, s.S});
        CHECK(!o.weights.needs_grad());
        int wrong = 0;
        for (int64_t b = 0, i = 0; b < s.B; ++b)
            for (int64_t h = 0; h < s.H; ++h)
                for (int64_t t = 0; t < s.T; ++t) {
                    double sum = 0;
                    for (int64_t key = 0; key < s.S; ++key, ++i) {
                        const auto w = static_cast<double>(o.weights.data()[i]);
                        wrong += !(s.visible(b, t, key) ? w >= 0 : w == 0);
                        sum += w;
                    }
                    wrong += !(std::abs(sum - (s.visible_keys(b, t) > 0 ? 1 : 0)) <= 1e-5);
                }
        CHECK(wrong == 0);
    }
}

TEST_CASE("attention: requesting the weights changes no bit", "[attention][bits]") {
    for (const Setting& s : settings()) {
        for (const double p : {0.0, 0.3}) {
            INFO(s.name << ", dropout " << p);
            const Output with = run(s, Input(s), p), without = run(s, Input(s), p, false);
            CHECK(!without.weights.defined());
            CHECK(same_bits(with.out, without.out));
            CHECK(same_bits(with.dq, without.dq));
            CHECK(same_bits(with.dk, without.dk));
            CHECK(same_bits(with.dv, without.dv));
        }
    }
}

// The tensor that receives the weights may be one of the inputs, which is not needed any more.
TEST_CASE("attention: the weights may replace an input", "[attention]") {
    const Tensor q = leaf(random({2, 5, 8}, 1)), k = leaf(random({2, 7, 8}, 2)),
                 v = leaf(random({2, 7, 8}, 3));
    const Tensor dout = random({2, 5, 8}, 4);
    Tensor weights;
    const Tensor out = attention(q, k, v, {.n_heads = 2, .weights = &weights});
    out.backward(dout);
    for (const int which : {0, 1, 2}) {
        INFO("input " << which);
        const Tensor leaves[] = {leaf(q), leaf(k), leaf(v)};
        Tensor in[] = {leaves[0], leaves[1], leaves[2]};
        const Tensor again = attention(in[0], in[1], in[2], {.n_heads = 2, .weights = &in[which]});
        CHECK(same_bits(again, out));
        CHECK(same_bits(in[which], weights));
        again.backward(dout);
        CHECK(same_bits(leaves[0].grad(), q.grad()));
        CHECK(same_bits(leaves[1].grad(), k.grad()));
        CHECK(same_bits(leaves[2].grad(), v.grad()));
    }
}

TEST_CASE("attention: with dropout, the returned weights include it", "[attention][dropout]") {
    const Setting s = {"", 2, 2, 19, 37, 3};
    const Input in(s);
    const Output o = run(s, in, 0.3), plain = run(s, in);
    int64_t dropped = 0;
    int wrong = 0;
    for (int64_t i = 0; i < o.weights.numel(); ++i) {
        dropped += o.weights.data()[i] == 0;
        wrong += o.weights.data()[i] != 0 &&
                 !(std::abs(o.weights.data()[i] - plain.weights.data()[i] / Real(0.7)) <= Real(1e-6));
    }
    CHECK(wrong == 0);
    const double n = static_cast<double>(o.weights.numel());
    CHECK(std::abs(static_cast<double>(dropped) - 0.3 * n) <= 4 * std::sqrt(0.3 * 0.7 * n));
}

// Side by side or each for itself: the same attention, to the bit, and the same for the gradients, which are
// written into a gradient that overwrites, or are added to one that another consumer has left.
TEST_CASE("attention: of joint projections", "[attention][bits]") {
    for (const Setting& s : settings()) {
        for (const bool more : {false, true}) {
            INFO(s.name << (more ? ", with another consumer" : ""));
            const int64_t width = s.H * s.D;
            const Input in(s);
            const AttentionOptions options = {
                .n_heads = s.H, .mask = s.mask(), .dropout = Real(0.3), .rng = &kRng};
            const auto part = [&](const Tensor& x, int64_t i) {
                return slice(x, 2, i * width, (i + 1) * width);
            };
            const auto run_of = [&](const std::vector<Tensor>& leaves, const auto& op) {
                if (more)
                    for (const Tensor& x : leaves)
                        mul(x, x).backward(x);
                const Tensor out = op();
                out.backward(in.dout);
                std::vector<Tensor> results = {out};
                for (const Tensor& x : leaves)
                    results.push_back(x.grad());
                return results;
            };
            const double tolerance = more ? 1e-6 : 0;  // long sums are added to a gradient piece by piece
            const auto same = [&](const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
                return std::equal(
                    a.begin(), a.end(), b.begin(), b.end(),
                    [&](const Tensor& x, const Tensor& y) { return worst_error(x, y) <= tolerance; });
            };
            const Tensor joint = concat({in.k, in.v}, 2);
            const Tensor q = leaf(in.q), kv = leaf(joint), q2 = leaf(in.q), kv2 = leaf(joint);
            CHECK(
                same(run_of({q, kv}, [&] { return cross_attention(q, kv, options); }),
                     run_of({q2, kv2}, [&] { return attention(q2, part(kv2, 0), part(kv2, 1), options); })));
            if (s.T != s.S)
                continue;
            const Tensor all = concat({in.q, in.k, in.v}, 2), qkv = leaf(all), qkv2 = leaf(all);
            CHECK(same(run_of({qkv}, [&] { return self_attention(qkv, options); }), run_of({qkv2}, [&] {
                           return attention(part(qkv2, 0), part(qkv2, 1), part(qkv2, 2), options);
                       })));
        }
    }
}

TEST_CASE("attention: sentences that share keys and values have the bits of copies", "[attention][bits]") {
    constexpr int64_t H = 2, D = 5, S = 19;
    const std::vector<int32_t> rows = {2, 0, 2, 2, 1};  // not all, repeated, out of order
    const auto B = std::ssize(rows);
    const Tensor kv = random({4, S, 2 * H * D}, 12);
    std::vector<Tensor> copies;
    for (const int32_t row : rows)
        copies.push_back(slice(kv, 0, row, row + 1));
    const Tensor repeated = concat(copies, 0);
    for (const int64_t T : {1, 3, 70})
        for (const Mask& mask : {Mask::none(), Mask::key_counts({19, 1, 7, 18, 0}),
                                 Mask::allowed(B, T, S, random_pairs(B * T * S, 5, 0.6))})
            for (const Precision p : {Precision::float32, Precision::bf16}) {
                INFO(T << " queries, " << kPrecisionNames[static_cast<int>(p)]);
                const UsePrecision precision(p);
                const Tensor q = random({B, T, H * D}, 11);
                Tensor weights, expected_weights;
                const AttentionOptions apart = {.n_heads = H,
                                                .mask = mask,
                                                .dropout = Real(0.2),
                                                .rng = &kRng,
                                                .weights = &expected_weights};
                AttentionOptions shared = apart;
                shared.weights = &weights, shared.kv_rows = &rows;
                const Tensor expected = cross_attention(q, repeated, apart);
                for_each_isa([&](const char* isa) {
                    INFO(isa);
                    CHECK(same_bits(cross_attention(q, kv, shared), expected));
                    CHECK(same_bits(weights, expected_weights));
                });
                const Plain plain;
                CHECK(same_bits(cross_attention(q, kv, shared), cross_attention(q, repeated, apart)));
            }
}

TEST_CASE("attention: of longer sentences it reads the first keys, with the bits of a slice",
          "[attention][bits]") {
    constexpr int64_t B = 3, H = 4, G = 2, D = 5;
    const std::vector<int32_t> rows = {2, 0, 2};
    for (const int64_t S : {1, 19, 515})
        for (const int64_t T : {1, 3, 70})
            for (const Precision p : {Precision::float32, Precision::bf16}) {
                INFO(T << " queries, " << S << " keys, " << kPrecisionNames[static_cast<int>(p)]);
                const UsePrecision precision(p);
                const Tensor q = random({B, T, H * D}, 11), whole = random({B, S + 7, 2 * G * D}, 12);
                const Tensor filled = slice(whole, 1, 0, S);
                for (int64_t b = 0; b < B; ++b)
                    std::fill_n(whole.mutable_data() + (b * (S + 7) + S) * 2 * G * D, 7 * 2 * G * D, kNan);
                for (const Mask& mask : {Mask::none(), S < T ? Mask::none() : Mask::causal()}) {
                    Tensor weights, expected_weights;
                    AttentionOptions o = {.n_heads = H, .n_kv_heads = G, .mask = mask, .kv_rows = &rows};
                    o.weights = &expected_weights;
                    const Tensor expected = cross_attention(q, filled, o);
                    const auto plain_of = [&](const Tensor& kv) {
                        const Plain plain;
                        return cross_attention(q, kv, o);
                    };
                    const Tensor expected_plain = plain_of(filled);
                    o.weights = &weights, o.kv_length = S;
                    for_each_isa([&](const char* isa) {
                        INFO(isa);
                        CHECK(same_bits(cross_attention(q, whole, o), expected));
                        CHECK(weights.shape() == Shape{B, H, T, S});
                    });
                    o.weights = nullptr;
                    CHECK(same_bits(cross_attention(q, whole, o), cross_attention(q, filled, o)));
                    CHECK(same_bits(plain_of(whole), expected_plain));
                }
            }
    const Tensor q = random({2, 3, 4}, 1), kv = random({2, 5, 8}, 2);
    for (const int64_t length : {-1, 6})
        CHECK(error_of([&] { cross_attention(q, kv, {.n_heads = 2, .kv_length = length}); }) ==
              "[attention] kv has 5 positions: got kv_length = " + std::to_string(length));
    CHECK(error_of([&] {
              self_attention(random({2, 3, 12}, 4), {.n_heads = 2, .kv_length = 1});
          }) == "[attention] only cross_attention takes kv_rows and kv_length");
    CHECK(error_of([&] { sum(cross_attention(leaf(q), kv, {.n_heads = 2, .kv_length = 4})).backward(); }) ==
          "[attention] kv_rows and kv_length have no backward");
}

// Head h of queries reads head h / (H/G), as if it were repeated; its gradients are added in the order of the
// heads.
TEST_CASE("attention: grouped heads have the bits of repeated ones", "[attention][bits]") {
    for_each_isa([](const std::string& isa) {
        for (const Setting& s : settings())
            for (const Precision p : {Precision::float32, Precision::bf16})
                for (const double rate : {0.0, 0.4}) {
                    INFO(isa << ", " << s.name << (p == Precision::bf16 ? ", bf16" : "") << ", dropout "
                             << rate);
                    const UsePrecision precision(p);
                    const int64_t each = 3, heads = each * s.H;  // as many of queries for one of keys
                    const Tensor q = random({s.B, s.T, heads * s.D}, 11), dout = random(q.shape(), 14);
                    const Tensor k = leaf(random({s.B, s.S, s.H * s.D}, 12)),
                                 v = leaf(random({s.B, s.S, s.H * s.D}, 13));
                    const auto repeated = [&](const Tensor& x) {
                        std::vector<Tensor> columns;
                        for (int64_t h = 0; h < heads; ++h)
                            columns.push_back(slice(x, 2, h / each * s.D, (h / each + 1) * s.D));
                        return leaf(concat(columns, 2).detach());
                    };
                    const Tensor many_k = repeated(k), many_v = repeated(v), q1 = leaf(q), q2 = leaf(q);
                    Tensor weights, expected_weights;
                    AttentionOptions o = {.n_heads = heads,
                                          .n_kv_heads = s.H,
                                          .mask = s.mask(),
                                          .dropout = static_cast<Real>(rate),
                                          .rng = &kRng,
                                          .weights = &weights};
                    const Tensor out = attention(q1, k, v, o);
                    o.n_kv_heads = 0, o.weights = &expected_weights;
                    const Tensor expected = attention(q2, many_k, many_v, o);
                    CHECK((same_bits(out, expected) && same_bits(weights, expected_weights)));
                    o.n_kv_heads = s.H, o.weights = nullptr;
                    CHECK(same_bits(attention(q, k, v, o), expected));
                    out.backward(dout);
                    expected.backward(dout);
                    CHECK(same_bits(q1.grad(), q2.grad()));
                    for (const auto& [few, many] : {std::pair{k, many_k}, std::pair{v, many_v}}) {
                        const Tensor parts = many.grad().with_shape({s.B * s.S, s.H, each, s.D});
                        const Tensor sums = sum(parts, {2});
                        CHECK(worst_error(few.grad().with_shape(sums.shape()), sums) < 1e-5);
                    }
                }
    });
}

TEST_CASE("attention: rows of keys and values that do not exist or fit are errors", "[attention][errors]") {
    const Tensor q = random({2, 3, 4}, 1), kv = random({3, 5, 8}, 2), k = random({2, 5, 4}, 3);
    const auto refused = [](const auto& call, std::vector<int32_t> rows) {
        return error_of([&] { call(AttentionOptions{.n_heads = 2, .kv_rows = &rows}); });
    };
    const auto cross = [&](const AttentionOptions& o) { cross_attention(q, kv, o); };
    CHECK(refused(cross, {2, 0}).empty());
    for (const int32_t row : {-1, 3})
        CHECK(refused(cross, {0, row}) ==
              "[attention] kv_rows must be rows of kv, of which there are 3: got " + std::to_string(row));
    for (const std::vector<int32_t>& rows : {std::vector<int32_t>{}, {1}, {1, 1, 1}})
        CHECK(contains(refused(cross, rows), "kv_rows, if given, B numbers"));
    const std::string elsewhere = "[attention] only cross_attention takes kv_rows and kv_length";
    CHECK(refused([&](const AttentionOptions& o) { attention(q, k, k, o); }, {1, 0}) == elsewhere);
    CHECK(refused(
              [&](const AttentionOptions& o) {
                  self_attention(random({2, 3, 12}, 4), o);
              },
              {1, 0}) == elsewhere);
    const Tensor trained = leaf(q);
    const auto backward = [&](const AttentionOptions& o) { sum(cross_attention(trained, kv, o)).backward(); };
    CHECK(refused(backward, {1, 0}) == "[attention] kv_rows and kv_length have no backward");
}
