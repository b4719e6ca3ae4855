// The kernels of rows, reductions, look-up, attention and Adam: the same bits on every instruction set,
// with any number of threads and at any address; nothing outside the result is written.
// (Elementwise kernels and the matrix product: test_pointwise.cpp, test_gemm.cpp.)
#include <algorithm>
#include <deque>
#include <functional>

#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;          // NOLINT
using namespace autograd;           // NOLINT
using namespace autograd::kernels;  // NOLINT
using namespace tests;              // NOLINT

namespace {

constexpr Real kGuard = Real(-12345.5);
constexpr int64_t kGuards = 20;

// One call of a kernel: its memory, of which each piece begins at the same offset from an aligned
// address (std::vector's are 16-byte aligned; relative to each other the offsets are what counts).
class Run {
public:
    Run(int64_t rows_, int64_t n_, int64_t offset, bool accumulate)
        : rows(rows_), n(n_), offset_(offset), accumulate_(accumulate) {}
    const int64_t rows, n;

    const Real* in(int64_t count, uint64_t seed, double low = -3, double high = 3) {
        std::vector<Real>& x = inputs_.emplace_back(static_cast<std::size_t>(offset_), kNan);
        const std::vector<Real> values = numbers(count, seed, low, high);
        x.insert(x.end(), values.begin(), values.end());
        return x.data() + offset_;
    }
    // Ids below `limit`, every fifth one `special`.
    const int32_t* ids(int64_t count, int64_t limit, int32_t special) {
        std::vector<int32_t>& x = ids_.emplace_back(static_cast<std::size_t>(offset_), -7);
        for (int64_t i = 0; i < count; ++i)
            x.push_back(i % 5 == 3 ? special
                                   : static_cast<int32_t>(Rng(8).below(static_cast<uint64_t>(i), limit)));
        return x.data() + offset_;
    }
    // Memory for a result: NaN, or numbers to add to; in place: the input.
    Real* out(int64_t count, const std::vector<Real>& start = {}) {
        std::vector<Real>& y =
            outputs_.emplace_back(static_cast<std::size_t>(offset_ + count + kGuards), kGuard);
        std::fill_n(y.begin() + offset_, count, kNan);
        if (accumulate_)
            std::copy_n(numbers(count, 77).begin(), count, y.begin() + offset_);
        std::copy(start.begin(), start.end(), y.begin() + offset_);
        return y.data() + offset_;
    }
    Out sink(int64_t count) { return {out(count), accumulate_}; }

    // All results; empty if a guard was overwritten.
    std::vector<Real> results() const {
        std::vector<Real> all;
        for (const std::vector<Real>& y : outputs_) {
            const auto end = y.end() - kGuards;
            const auto intact = [](Real x) { return x == kGuard; };
            if (!std::all_of(y.begin(), y.begin() + offset_, intact) || !std::all_of(end, y.end(), intact))
                return {};
            all.insert(all.end(), y.begin() + offset_, end);
        }
        return all;
    }

private:
    int64_t offset_;
    bool accumulate_;
    std::deque<std::vector<Real>> inputs_, outputs_;
    std::deque<std::vector<int32_t>> ids_;
};

struct Case {
    const char* name;
    bool accumulates;
    std::function<void(Run&)> call;
};

// Attention of 3 sentences and 2 heads over rows/3 queries (at most 140), with some of the masks.
struct AttentionCase {
    Attention a = {};
    std::vector<int32_t> counts;
    std::vector<uint8_t> allowed;
    explicit AttentionCase(const Run& r, int64_t most = 140) {
        const int64_t keys = std::min<int64_t>(r.n, 300), queries = std::min<int64_t>(r.rows / 3, most);
        a.batch = 3, a.heads = 2, a.queries = queries, a.keys = keys, a.d = 5, a.scale = Real(0.3);
        a.q_row = a.kv_row = a.heads * a.d;
        counts = {static_cast<int32_t>(keys), static_cast<int32_t>(keys / 2), 0};
        for (int64_t i = 0; i < 3 * queries * keys; ++i)
            allowed.push_back(i % 3 != 1);
        a.key = {17, 4711};
    }
    int64_t q() const { return a.batch * a.queries * a.heads * a.d; }
    int64_t k() const { return a.batch * a.keys * a.kv_row; }
};

template <class Change>
void attention_both_ways(Run& r, Change change) {
    AttentionCase c(r);
    change(c);
    const Real *q = r.in(c.q(), 1), *k = r.in(c.k(), 2), *v = r.in(c.k(), 3), *dout = r.in(c.q(), 4);
    for (const Products& products : {cpu().float32, cpu().bf16}) {
        Real* out = r.out(c.q());
        Real* weights = r.out(c.a.batch * c.a.heads * c.a.queries * c.a.keys);
        Real* statistics = r.out(2 * c.a.batch * c.a.heads * c.a.queries);
        products.attention(c.a, q, k, v, out, weights, statistics);
        const Out dq = r.sink(c.q()), dk = r.sink(c.k()), dv = r.sink(c.k());
        products.attention_backward(c.a, q, k, v, out, statistics, dout, dq, dk, dv);
    }
}

const Case kCases[] = {
    {"softmax", false,
     [](Run& r) { cpu().softmax(r.rows, r.n, r.in(r.rows * r.n, 1), r.out(r.rows * r.n)); }},
    {"softmax_backward", true,
     [](Run& r) {
         const int64_t all = r.rows * r.n;
         cpu().softmax_backward(r.rows, r.n, r.in(all, 1, 0, 1), r.in(all, 2), r.sink(all));
     }},
    {"log_softmax", false,
     [](Run& r) { cpu().log_softmax(r.rows, r.n, r.in(r.rows * r.n, 1), r.out(r.rows * r.n)); }},
    {"log_softmax_backward", true,
     [](Run& r) {
         const int64_t all = r.rows * r.n;
         cpu().log_softmax_backward(r.rows, r.n, r.in(all, 1, -4, 0), r.in(all, 2), r.sink(all));
     }},
    {"cross_entropy", true,
     [](Run& r) {
         const Real* x = r.in(r.rows * r.n, 1);
         const int32_t* ids = r.ids(r.rows, r.n, 0);
         Real *loss = r.out(r.rows), *statistics = r.out(2 * r.rows);
         cpu().cross_entropy(r.rows, r.n, x, ids, 0, Real(0.1), loss, statistics);
         cpu().cross_entropy_backward(r.rows, r.n, x, ids, 0, Real(0.1), statistics, Real(0.7),
                                      r.sink(r.rows * r.n));
     }},
    {"layer_norm", true,
     [](Run& r) {
         const int64_t all = r.rows * r.n;
         const Real *x = r.in(all, 1), *gain = r.in(r.n, 2), *dy = r.in(all, 3);
         Real *y = r.out(all), *statistics = r.out(3 * r.rows);
         const autograd::kernels::LayerNorm o = {.rows = r.rows, .n = r.n, .eps = Real(1e-5)};
         cpu().layer_norm(o, x, nullptr, gain, r.in(r.n, 4), nullptr, y, statistics);
         const Out dx = r.sink(all), dgain = r.sink(r.n), dbias = r.sink(r.n);
         cpu().layer_norm_backward(o, x, gain, statistics, dy, dx, {nullptr}, dgain, dbias);
     }},
    {"residual, layer_norm of it", true,
     [](Run& r) {
         const int64_t all = r.rows * r.n;
         const Real *x = r.in(all, 1), *y = r.in(all, 2), *gain = r.in(r.n, 3), *dout = r.in(all, 4);
         Real *sum = r.out(all), *out = r.out(all), *statistics = r.out(3 * r.rows);
         const autograd::kernels::LayerNorm o = {
             .rows = r.rows, .n = r.n, .eps = Real(1e-5), .p = Real(0.3), .key = {1, 2}};
         cpu().layer_norm(o, x, y, gain, r.in(r.n, 5), sum, out, statistics);
         const Out dx = r.sink(all), dy = r.sink(all), dgain = r.sink(r.n), dbias = r.sink(r.n);
         cpu().layer_norm_backward(o, sum, gain, statistics, dout, dx, dy, dgain, dbias);
         cpu().residual(all, Real(0.3), {1, 2}, x, y, r.out(all));
     }},
    {"RMS norm, of x and of a residual", true,
     [](Run& r) {
         const int64_t all = r.rows * r.n;
         const Real *x = r.in(all, 1), *y = r.in(all, 2), *gain = r.in(r.n, 3), *dout = r.in(all, 4);
         Real *sum = r.out(all), *out = r.out(all), *statistics = r.out(3 * r.rows);
         autograd::kernels::LayerNorm o = {.rows = r.rows, .n = r.n, .eps = Real(1e-5), .centred = false};
         cpu().layer_norm(o, x, nullptr, gain, nullptr, nullptr, r.out(all), statistics);
         o.p = Real(0.3);
         cpu().layer_norm(o, x, y, gain, nullptr, sum, out, statistics);
         const Out dx = r.sink(all), dy = r.sink(all), dgain = r.sink(r.n);
         cpu().layer_norm_backward(o, sum, gain, statistics, dout, dx, dy, dgain, {nullptr});
     }},
    {"rotary", false,
     [](Run& r) {
         const int64_t half = r.n / 3, length = 2, row = 2 * r.n + 1;
         const Real *turns = r.in(length * 2 * half, 1), *x = r.in(r.rows * row, 2);
         const autograd::kernels::Rotary o = {
             .rows = r.rows, .row = row, .heads = 2, .d = r.n, .width = 2 * half, .length = length};
         cpu().rotary(o, turns, x, r.out(r.rows * row));
     }},
    {"glu", true,
     [](Run& r) {
         const int64_t all = r.rows * r.n;
         const Real *gu = r.in(2 * all, 1), *dh = r.in(all, 2);
         for (const auto f : {Unary::relu, Unary::gelu, Unary::gelu_tanh, Unary::silu}) {
             cpu().glu(f, r.rows, r.n, gu, r.out(all));
             cpu().glu_backward(f, r.rows, r.n, gu, dh, r.sink(2 * all));
         }
     }},
    {"gather and scatter_add", true,
     [](Run& r) {
         const int32_t* ids = r.ids(r.rows, 23, 4);
         const autograd::kernels::Lookup o = {.count = r.rows,
                                              .n = r.n,
                                              .pad = 4,
                                              .scale = Real(1.7),
                                              .length = 3,
                                              .p = Real(0.3),
                                              .key = {1, 2}};
         cpu().gather(o, ids, r.in(23 * r.n, 1), r.in(3 * r.n, 3), r.out(r.rows * r.n));
         cpu().scatter_add(o, ids, r.in(r.rows * r.n, 2), 23, r.sink(23 * r.n));
     }},
    {"sum, contiguous", true,
     [](Run& r) {
         cpu().sum({1, r.rows * r.n, 1}, Real(0.3), r.in(r.rows * r.n, 1), r.sink(1));
     }},
    {"sum, rows", true,
     [](Run& r) {
         cpu().sum({r.rows, r.n, 1}, 1, r.in(r.rows * r.n, 1), r.sink(r.rows));
     }},
    {"sum, columns", true,
     [](Run& r) {
         cpu().sum({1, r.rows, r.n}, 1, r.in(r.rows * r.n, 1), r.sink(r.n));
     }},
    {"sum, middle", true,
     [](Run& r) {
         cpu().sum({3, r.rows, r.n}, -1, r.in(3 * r.rows * r.n, 1), r.sink(3 * r.n));
     }},
    {"max", true,
     [](Run& r) {
         std::vector<int32_t> index(static_cast<std::size_t>(3 * r.n), -1);
         cpu().max({3, r.rows, r.n}, r.in(3 * r.rows * r.n, 1), r.out(3 * r.n), index.data());
         cpu().max_backward({3, r.rows, r.n}, index.data(), r.in(3 * r.n, 2), r.sink(3 * r.rows * r.n));
     }},
    {"copy, dense", true,
     [](Run& r) {
         cpu().copy({{1, 1, r.rows, r.n}, {0, 0, r.n, 1}, {0, 0, r.n, 1}}, r.in(r.rows * r.n, 1),
                    r.sink(r.rows * r.n));
     }},
    {"copy, transposing", true,
     [](Run& r) {
         cpu().copy({{1, 1, r.n, r.rows}, {0, 0, 1, r.n}, {0, 0, r.rows, 1}}, r.in(r.rows * r.n, 1),
                    r.sink(r.rows * r.n));
     }},
    {"sum_of_squares", false,
     [](Run& r) {
         const double s = cpu().sum_of_squares(r.rows * r.n, r.in(r.rows * r.n, 1));
         const Real high = static_cast<Real>(s);
         r.out(2, {high, static_cast<Real>(s - static_cast<double>(high))});
     }},
    {"first_from", false,
     [](Run& r) {
         const Real* x = r.in(r.n, 1);
         for (const Real bound : {x[r.n / 2], x[r.n - 1], Real(100)})
             r.out(1, {static_cast<Real>(cpu().first_from(r.n, x, bound))});
     }},
    {"attention of a single query", false,
     [](Run& r) {
         const Attention a = AttentionCase(r, 1).a;
         const Real *q = r.in(3 * 2 * 5, 1), *k = r.in(3 * a.keys * 2 * 5, 2),
                    *v = r.in(3 * a.keys * 2 * 5, 3);
         Real *out = r.out(3 * 2 * 5), *statistics = r.out(3 * 2 * 2);
         cpu().float32.attention(a, q, k, v, out, nullptr, statistics);
         cpu().bf16.attention(a, q, k, v, r.out(3 * 2 * 5), nullptr, statistics);
     }},
    {"attention, both heads read one, dropout", true,
     [](Run& r) {
         attention_both_ways(
             r, [](AttentionCase& c) { c.a.group = 2, c.a.kv_row = c.a.d, c.a.dropout = Real(0.3); });
     }},
    {"attention, no mask", true, [](Run& r) { attention_both_ways(r, [](AttentionCase&) {}); }},
    {"attention, padding, causal, dropout", true,
     [](Run& r) {
         attention_both_ways(r, [](AttentionCase& c) {
             c.a.mask = {.key_counts = c.counts.data(), .causal = c.a.keys >= c.a.queries};
             c.a.dropout = Real(0.3);
         });
     }},
    {"attention, allowed, dropout", true,
     [](Run& r) {
         attention_both_ways(r, [](AttentionCase& c) {
             c.a.mask.allowed = c.allowed.data();
             c.a.dropout = Real(0.3);
         });
     }},
    {"adam", false,
     [](Run& r) {
         const int64_t n = r.rows * r.n;
         const Adam o = {.lr = Real(1e-2),
                         .beta1 = Real(0.9),
                         .beta2 = Real(0.98),
                         .rest1 = Real(0.1),
                         .rest2 = Real(0.02),
                         .eps = Real(1e-9),
                         .correction1 = Real(0.19),
                         .correction2 = Real(0.04),
                         .decay = Real(0.1),
                         .decoupled = true,
                         .grad_scale = Real(0.5)};
         const Real* grad = r.in(n, 1);
         Real *w = r.out(n, numbers(n, 2)), *m = r.out(n, numbers(n, 3)), *v = r.out(n, numbers(n, 4, 0, 1));
         cpu().adam(o, n, grad, w, m, v);
         Adam coupled = o;
         coupled.decoupled = false;
         cpu().adam(coupled, n, grad, w, m, v);
     }},
};

std::vector<Real> run(const Case& c, int64_t rows, int64_t n, int64_t offset = 0, bool accumulate = false) {
    Run r(rows, n, offset, accumulate);
    c.call(r);
    return r.results();
}

// Sizes around a vector, a row longer than a sum's block, many rows; enough for several threads.
struct Size {
    int64_t rows, n;
};
constexpr Size kBig[] = {{301, 67}, {7, 5003}, {2003, 11}}, kSmall[] = {{3, 1}, {5, 15}, {3, 17}, {7, 33}};

}  // namespace

TEST_CASE("kernels: the same bits on every instruction set and with any number of threads",
          "[kernels][bits][threads]") {
    for (const Case& c : kCases) {
        for (const Size size : kBig) {
            std::vector<Real> expected;
            for_each_isa([&](const char* isa) {
                for (const int count : {1, 2, 3, 8}) {
                    const Threads threads(count);
                    const std::vector<Real> y = run(c, size.rows, size.n);
                    if (expected.empty())
                        expected = y;
                    INFO(c.name << ", " << size.rows << " x " << size.n << ", " << isa << ", " << count
                                << " threads");
                    CHECK((!y.empty() && same_bits(y, expected)));
                }
            });
        }
    }
}

// Several tasks and blocks; short rows, since the baseline is slow.
TEST_CASE("kernels: attention of a long text has the same bits on every instruction set, too",
          "[kernels][bits][threads][attention]") {
    std::vector<Real> expected;
    for_each_isa([&](const char* isa) {
        for (const int count : {1, 3}) {
            const Threads threads(count);
            Run r(1, 1, 0, false);
            attention_both_ways(r, [](AttentionCase& c) {
                c.a.batch = c.a.heads = 1, c.a.queries = 1041, c.a.keys = 1090, c.a.d = 3;
                c.a.q_row = c.a.kv_row = 3;
                c.a.mask.causal = true;
                c.a.dropout = Real(0.3);
            });
            if (expected.empty())
                expected = r.results();
            INFO(isa << ", " << count << " threads");
            CHECK(same_bits(r.results(), expected));
        }
    });
}

TEST_CASE("kernels: the same bits at every address, and nothing else is written", "[kernels][bits]") {
    const Threads one(1);
    for (const Case& c : kCases) {
        for (const Size size : kSmall) {
            const std::vector<Real> expected = run(c, size.rows, size.n);
            for_each_isa([&](const char* isa) {
                for (int64_t offset = 0; offset < 16; ++offset) {
                    const std::vector<Real> y = run(c, size.rows, size.n, offset);
                    INFO(c.name << ", " << size.rows << " x " << size.n << ", " << isa << ", offset "
                                << offset);
                    CHECK((!y.empty() && same_bits(y, expected)));
                }
            });
        }
    }
}

TEST_CASE("kernels: accumulating adds to the result, overwriting does not read it", "[kernels]") {
    for (const Case& c : kCases) {
        for (const Size size : {kSmall[2], kBig[0]}) {
            const std::vector<Real> fresh = run(c, size.rows, size.n);
            const std::vector<Real> again = run(c, size.rows, size.n, 0, true);
            INFO(c.name);
            REQUIRE(same_bits(fresh, fresh));  // overwrote its NaN
            REQUIRE(fresh.size() == again.size());
            CHECK(same_bits(fresh, again) == !c.accumulates);
        }
    }
}

// Under a causal mask, the first of these queries see no key from number 512 on, the last do. The values are
// so small that sums become -0, to which adding 0 would show.
TEST_CASE("kernels: attention of a query does not depend on which keys later queries see",
          "[kernels][bits][attention]") {
    const int64_t queries = 20, keys = 520, d = 5;
    const std::vector<Real> q(static_cast<std::size_t>(queries * d), 1);
    std::vector<Real> k(static_cast<std::size_t>(keys * d), -1);
    std::fill_n(k.begin(), d, Real(1));
    for_each_isa([&](const char* isa) {
        for (const bool is_bf16 : {false, true}) {
            const Products& products = is_bf16 ? cpu().bf16 : cpu().float32;
            std::vector<Real> v(k.size(), is_bf16 ? Real(-1e-36) : Real(-1e-45)), statistics(2 * queries);
            std::fill_n(v.begin(), d, Real(0));
            std::vector<Real> together(q.size(), kNan), alone(q.size(), kNan);
            Attention a = {};
            a.batch = a.heads = 1, a.queries = queries, a.keys = keys, a.d = d, a.scale = 1;
            a.q_row = a.kv_row = d, a.mask.causal = true;
            products.attention(a, q.data(), k.data(), v.data(), together.data(), nullptr, statistics.data());
            a.queries = 1, a.mask.causal = false;
            for (int64_t t = 0; t < queries; ++t) {
                const auto count = static_cast<int32_t>(t + 1 + keys - queries);
                a.mask.key_counts = &count;
                products.attention(a, q.data() + t * d, k.data(), v.data(), alone.data() + t * d, nullptr,
                                   statistics.data());
            }
            INFO(isa << (is_bf16 ? ", bf16" : ", float32"));
            CHECK((kRealIsDouble || std::signbit(together[0])));
            CHECK(same_bits(together, alone));
        }
    });
}

// Under a pattern of pairs each row is computed for itself.
TEST_CASE("kernels: a pattern that allows all pairs changes no bit of attention",
          "[kernels][bits][attention]") {
    const auto results = [](Attention a, const Products& products, int64_t q_size, int64_t k_size) {
        const std::vector<Real> q = numbers(q_size, 1), k = numbers(k_size, 2), v = numbers(k_size, 3),
                                dout = numbers(q_size, 4);
        std::vector<Real> out(q.size(), kNan), statistics(static_cast<std::size_t>(4 * a.queries), kNan);
        std::vector<Real> dq = numbers(q_size, 5), dk(k.size(), kNan), dv = numbers(k_size, 6);
        products.attention(a, q.data(), k.data(), v.data(), out.data(), nullptr, statistics.data());
        products.attention_backward(a, q.data(), k.data(), v.data(), out.data(), statistics.data(),
                                    dout.data(), {dq.data(), true}, {dk.data()}, {dv.data(), true});
        for (const auto& more : {statistics, dq, dk, dv})
            out.insert(out.end(), more.begin(), more.end());
        return out;
    };
    const int64_t queries = 17, d = 5;
    const std::vector<uint8_t> all(17 * 520, 1);
    for_each_isa([&](const char* isa) {
        for (const int64_t keys : {1, 8, 17, 520})
            for (const int mask : {0, 1, 2, 3}) {
                const auto count = static_cast<int32_t>(mask >= 2 ? keys * 2 / 3 : keys);
                Attention a = {};
                a.batch = 1, a.heads = 2, a.queries = queries, a.keys = keys, a.d = d;
                a.scale = Real(0.3), a.q_row = a.kv_row = 2 * d, a.key = {17, 4711};
                a.dropout = mask == 0 ? 0 : Real(0.3);
                a.mask = {.key_counts = &count, .causal = mask % 2 == 1};
                INFO(isa << ", " << keys << " keys, mask " << mask);
                for (const Products& products : {cpu().float32, cpu().bf16}) {
                    a.mask.allowed = nullptr;
                    const auto without = results(a, products, queries * 2 * d, keys * 2 * d);
                    a.mask.allowed = all.data();
                    CHECK(same_bits(without, results(a, products, queries * 2 * d, keys * 2 * d)));
                }
            }
    });
}

TEST_CASE("kernels: attention of a single query has the bits that the query has among others",
          "[kernels][bits]") {
    const std::string before = cpu().name;
    for (const char* const* set = available(); *set != nullptr; ++set)
        for (const int64_t keys : {1, 15, 16, 17, 513, 1100})
            for (const int64_t d : {5, 16, 33}) {
                use(*set);
                INFO(*set << ", " << keys << " keys of " << d);
                const int64_t queries = 3, row = 2 * d;
                const std::vector<Real> q = numbers(queries * row, 1);
                const std::vector<Real> k = numbers(keys * row, 2), v = numbers(keys * row, 3);
                const auto count = static_cast<int32_t>(keys - keys / 3);
                Attention a = {};
                a.batch = 1, a.heads = 2, a.queries = queries, a.keys = keys, a.d = d, a.scale = Real(0.3);
                a.q_row = a.kv_row = row, a.mask.key_counts = &count;
                for (const Products& products : {cpu().float32, cpu().bf16}) {
                    std::vector<Real> all(q.size(), kNan), alone(q.size(), kNan), unused(12);
                    a.queries = queries;
                    products.attention(a, q.data(), k.data(), v.data(), all.data(), nullptr, unused.data());
                    a.queries = 1;
                    for (int64_t t = 0; t < queries; ++t)
                        products.attention(a, q.data() + t * row, k.data(), v.data(), alone.data() + t * row,
                                           nullptr, unused.data());
                    CHECK(same_bits(alone, all));
                }
            }
    use(before.c_str());
}
