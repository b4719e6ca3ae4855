// Attention: what a mask hides has no effect on any bit; and the result is the paper's formula.
#include <algorithm>
#include <functional>
#include <limits>
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
        // The kernel takes 512 keys at a time, and 64 queries.
        {"allowed, many keys", 1, 2, 67, 1100, 3, {}, false, random_pairs(67 * 1100, 6, 0.3)},
        {"allowed and causal, many keys", 1, 2, 67, 1100, 3, {}, true, random_pairs(67 * 1100, 6, 0.3)},
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

bool same(const Output& a, const Output& b) {
    return same_bits(a.out, b.out) && same_bits(a.dq, b.dq) && same_bits(a.dk, b.dk) && same_bits(a.dv, b.dv);
}

const Rng kRng = Rng(3).fork("weights");

// op(q, k, v, options): leaves, and the mask and the dropout of the setting.
template <class Op>
Output run(const Setting& s, const Input& in, double dropout, bool weights, const Op& op) {
    const Tensor q = leaf(in.q), k = leaf(in.k), v = leaf(in.v);
    Output o;
    o.out = op(q, k, v,
               AttentionOptions{.n_heads = s.H,
                                .mask = s.mask(),
                                .dropout = static_cast<Real>(dropout),
                                .rng = &kRng,
                                .weights = weights ? &o.weights : nullptr});
    o.out.backward(in.dout);
    o.dq = q.grad(), o.dk = k.grad(), o.dv = v.grad();
    return o;
}

Output run(const Setting& s, const Input& in, double dropout = 0, bool weights = true) {
    return run(s, in, dropout, weights, attention);
}

// f(setting, its input, a rate of dropout)
template <class F>
void for_each_setting(const F& f) {
    for (const Setting& s : settings())
        for (const double p : {0.0, 0.3}) {
            INFO(s.name << ", dropout " << p);
            f(s, Input(s), p);
        }
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

// A distribution over the keys that a query may see.
void check_weights(const Setting& s, const Tensor& weights) {
    REQUIRE(weights.shape() == Shape{s.B, s.H, s.T, s.S});
    CHECK(!weights.needs_grad());
    int wrong = 0;
    for (int64_t b = 0, i = 0; b < s.B; ++b)
        for (int64_t h = 0; h < s.H; ++h)
            for (int64_t t = 0; t < s.T; ++t) {
                double sum = 0;
                for (int64_t key = 0; key < s.S; ++key, ++i) {
                    const auto w = static_cast<double>(weights.data()[i]);
                    wrong += !(s.visible(b, t, key) ? w >= 0 : w == 0);
                    sum += w;
                }
                wrong += !(std::abs(sum - (s.visible_keys(b, t) > 0 ? 1 : 0)) <= 1e-5);
            }
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("attention: each head is the reference", "[attention]") {
    for (const Setting& s : settings()) {
        INFO(s.name);
        const Input in(s);
        const Output o = run(s, in);
        check_heads(s, in, o.out);
        check_weights(s, o.weights);
    }
}

TEST_CASE("attention: equals its plain form, with its gradients and with dropout", "[attention][plain]") {
    for_each_setting([](const Setting& s, const Input& in, double p) {
        const Output fused = run(s, in, p);
        const Plain guard;
        const Output plain = run(s, in, p);
        const double tolerance = kRealIsDouble ? 1e-12 : 1e-4;
        CHECK(worst_error(fused.out, plain.out) <= tolerance);
        CHECK(worst_error(fused.dq, plain.dq) <= tolerance);
        CHECK(worst_error(fused.dk, plain.dk) <= tolerance);
        CHECK(worst_error(fused.dv, plain.dv) <= tolerance);
        CHECK(worst_error(fused.weights, plain.weights) <= tolerance);  // after dropout
    });
}

TEST_CASE("attention: requesting the weights changes no bit", "[attention][bits]") {
    for_each_setting([](const Setting& s, const Input& in, double p) {
        const Output without = run(s, in, p, false);
        CHECK(!without.weights.defined());
        CHECK(same(run(s, in, p), without));
    });
}

TEST_CASE("attention: an explicit mask gives the same bits as the mask that it writes out",
          "[attention][mask][bits]") {
    for_each_setting([](const Setting& s, const Input& in, double p) {
        Setting written = {"", s.B, s.H, s.T, s.S, s.D};
        for (int64_t b = 0; b < s.B; ++b)
            for (int64_t t = 0; t < s.T; ++t)
                for (int64_t key = 0; key < s.S; ++key)
                    written.pairs.push_back(s.visible(b, t, key));
        const Output a = run(s, in, p), b = run(written, in, p);
        CHECK((same(a, b) && same_bits(a.weights, b.weights)));
    });
}

// With fewer heads of keys than of queries, one memory can be q and k | v in other places of each row.
// Several threads would then add to the same numbers.
TEST_CASE("attention: queries that are keys and values in another shape", "[attention]") {
    const tests::Threads threads(4);
    const Tensor data = random({1, 96, 32}, 1), dout = random({1, 96, 32}, 2);
    const AttentionOptions grouped = {.n_heads = 8, .n_kv_heads = 4};
    for (const bool joint : {true, false}) {
        const auto attend = [&](const Tensor& q, const Tensor& x) {
            const Tensor kv = x.with_shape({1, 192, 16});
            (joint ? cross_attention(q, x, grouped) : attention(q, kv, kv, grouped)).backward(dout);
        };
        const Tensor q = leaf(data), x = leaf(data);
        attend(q, x);
        for (int i = 0; i < 20; ++i) {
            const Tensor both = leaf(data);
            if (i % 2 == 1)
                both.backward(data);  // it has a gradient already
            attend(both, both);
            const Tensor sum = q.grad() + x.grad() + data * Real(i % 2);
            CHECK(worst_error(both.grad(), sum) <= (kRealIsDouble ? 1e-12 : 1e-5));
        }
    }
}

// Keys and values that are `bad`, one position after the other.
static void check_bad_keys(Real bad) {
    for_each_setting([&](const Setting& s, const Input& in, double p) {
        const Output clean = run(s, in, p);
        for (int64_t key = 0; key < s.S; key += 1 + s.S / 20) {
            Input dirty = in;
            dirty.k = in.k.clone(), dirty.v = in.v.clone();
            for (int64_t b = 0; b < s.B; ++b)
                for (const Tensor& x : {dirty.k, dirty.v})
                    std::fill_n(x.mutable_data() + (b * s.S + key) * s.H * s.D, s.H * s.D, bad);
            const Output o = run(s, dirty, p);
            int wrong = 0;
            for (int64_t b = 0; b < s.B; ++b) {
                bool seen = false;
                for (int64_t t = 0; t < s.T; ++t)
                    if (s.visible(b, t, key)) {
                        seen = true;
                        wrong += p == 0 && std::isfinite(row(o.out, b, t)[0]);
                    } else {
                        wrong += !same_bits(row(o.out, b, t), row(clean.out, b, t));
                        wrong += !same_bits(row(o.dq, b, t), row(clean.dq, b, t));
                    }
                for (int64_t other = 0; !seen && other < s.S; ++other)
                    wrong += !same_bits(row(o.dk, b, other), row(clean.dk, b, other)) ||
                             !same_bits(row(o.dv, b, other), row(clean.dv, b, other));
                wrong += !seen && !(all_zero(row(o.dk, b, key)) && all_zero(row(o.dv, b, key)));
            }
            INFO("key " << key);
            CHECK(wrong == 0);
        }
    });
}

TEST_CASE("attention: NaN in a key and its value reaches each query that may see it, and no other",
          "[attention][mask]") {
    check_bad_keys(kNan);
    {
        const UsePrecision bf16(Precision::bf16);
        check_bad_keys(kNan);
    }
    const Plain guard;  // and in its plain form, where an infinity times 0 would be NaN, too
    check_bad_keys(kNan);
    check_bad_keys(std::numeric_limits<Real>::infinity());
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

// The tensor that receives the weights may be one of the inputs, which is not needed any more.
TEST_CASE("attention: the weights may replace an input", "[attention]") {
    const Setting s = {"", 2, 2, 5, 7, 4};
    const Input in(s);
    const Output expected = run(s, in);
    for (const int which : {0, 1, 2}) {
        INFO("input " << which);
        Tensor weights;
        const Output found =
            run(s, in, 0, false, [&](const Tensor& q, const Tensor& k, const Tensor& v, AttentionOptions o) {
                Tensor inputs[] = {q, k, v};
                o.weights = &inputs[which];
                const Tensor out = attention(inputs[0], inputs[1], inputs[2], o);
                weights = inputs[which];
                return out;
            });
        CHECK((same(found, expected) && same_bits(weights, expected.weights)));
    }
}

// Head h of queries reads head h / (H/G), as if it were repeated; its gradients are added in the order of the
// heads. And q, k and v lie side by side, or each for itself.
TEST_CASE("attention: grouped heads and joint projections have the bits of repeated ones apart",
          "[attention][bits]") {
    constexpr int64_t kEach = 3;  // heads of queries for one of keys
    const auto check_setting = [](const Setting& s, Input in, double p) {
        if (s.S > 1000)  // which takes long on the baseline, and is another loop around the same
            return;
        const int64_t heads = kEach * s.H;
        in.q = random({s.B, s.T, heads * s.D}, 11), in.dout = random(in.q.shape(), 14);
        const auto repeated = [&](const Tensor& x) {
            std::vector<Tensor> columns;
            for (int64_t h = 0; h < heads; ++h)
                columns.push_back(slice(x, 2, h / kEach * s.D, (h / kEach + 1) * s.D));
            return concat(columns, 2);
        };
        using Op =
            std::function<Tensor(const Tensor& q, const Tensor& k, const Tensor& v, AttentionOptions o)>;
        const auto results = [&](int64_t kv_heads, const Op& op) {
            return run(s, in, p, true,
                       [&](const Tensor& q, const Tensor& k, const Tensor& v, AttentionOptions o) {
                           o.n_heads = heads, o.n_kv_heads = kv_heads;
                           return op(q, k, v, o);
                       });
        };
        const Output expected = results(0, [&](const auto& q, const auto& k, const auto& v, const auto& o) {
            return attention(q, repeated(k), repeated(v), o);
        });
        const Op ways[] = {attention,
                           [](const auto& q, const auto& k, const auto& v, const auto& o) {
                               return cross_attention(q, concat({k, v}, 2), o);
                           },
                           [](const auto& q, const auto& k, const auto& v, const auto& o) {
                               return self_attention(concat({q, k, v}, 2), o);
                           }};
        for (std::size_t i = 0; i < (s.T == s.S ? 3 : 2); ++i) {
            INFO("way " << i);
            const Output found = results(s.H, ways[i]);
            CHECK((same_bits(found.out, expected.out) && same_bits(found.weights, expected.weights)));
            CHECK(same_bits(found.dq, expected.dq));
            CHECK((worst_error(found.dk, expected.dk) < 1e-5 && worst_error(found.dv, expected.dv) < 1e-5));
        }
    };
    for_each_isa([&](const std::string& isa) {
        for (const Precision p : {Precision::float32, Precision::bf16}) {
            INFO(isa << ", " << kPrecisionNames[static_cast<int>(p)]);
            const UsePrecision precision(p);
            for_each_setting(check_setting);
        }
    });
}

// While it decodes: of longer sentences cross-attention reads the first keys, of whatever is behind them not
// one; and queries may share sentences of keys and values.
TEST_CASE("attention: of a store of keys and values it has the bits of copies", "[attention][bits]") {
    constexpr int64_t H = 4, G = 2, D = 5;
    const std::vector<int32_t> rows = {2, 0, 2, 2, 1};  // not all, repeated, out of order
    const auto B = std::ssize(rows);
    for (const int64_t S : {1, 19, 515})
        for (const int64_t T : {1, 3, 70}) {
            const Tensor q = random({B, T, H * D}, 11), whole = random({4, S + 7, 2 * G * D}, 12);
            for (int64_t b = 0; b < 4; ++b)
                std::fill_n(whole.mutable_data() + (b * (S + 7) + S) * 2 * G * D, 7 * 2 * G * D, kNan);
            std::vector<Tensor> copies;
            for (const int32_t row : rows)
                copies.push_back(slice(slice(whole, 0, row, row + 1), 1, 0, S));
            const Tensor copied = concat(copies, 0);
            const auto n = static_cast<int32_t>(S);
            for (const Mask& mask : {Mask::none(), S < T ? Mask::none() : Mask::causal(),
                                     Mask::key_counts({n, 1, n / 2, n - 1, 0}),
                                     Mask::allowed(B, T, S, random_pairs(B * T * S, 5, 0.6))})
                for (const Precision p : {Precision::float32, Precision::bf16}) {
                    INFO(T << " queries, " << S << " keys, " << kPrecisionNames[static_cast<int>(p)]);
                    const UsePrecision precision(p);
                    Tensor weights, expected_weights;
                    AttentionOptions apart = {.n_heads = H,
                                              .n_kv_heads = G,
                                              .mask = mask,
                                              .dropout = Real(0.2),
                                              .rng = &kRng,
                                              .weights = &expected_weights};
                    AttentionOptions stored = apart;
                    stored.weights = &weights, stored.kv_rows = &rows, stored.kv_length = S;
                    const Tensor expected = cross_attention(q, copied, apart);
                    for_each_isa([&](const char* isa) {
                        INFO(isa);
                        CHECK(same_bits(cross_attention(q, whole, stored), expected));
                        CHECK(same_bits(weights, expected_weights));
                    });
                    stored.weights = apart.weights = nullptr;
                    CHECK(same_bits(cross_attention(q, whole, stored), expected));
                    const Plain plain;
                    CHECK(same_bits(cross_attention(q, whole, stored), cross_attention(q, copied, apart)));
                }
        }
}
