// All kernels: the same bits on every instruction set, with any number of threads and at any address; nothing
// outside the result is written. (The matrix product equals its definition: test_gemm.cpp.)
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/autograd/kernels/calls.h"
#include "tests/catch.h"

using namespace plaingrad;          // NOLINT
using namespace autograd;           // NOLINT
using namespace autograd::kernels;  // NOLINT
using namespace tests;              // NOLINT

namespace {

// Sizes around a vector, a row longer than a sum's block, many rows; enough for several threads.
struct Size {
    int64_t rows, n;
};
std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

constexpr Size kBig[] = {{301, 67}, {7, 5003}, {2003, 11}}, kSmall[] = {{3, 1}, {5, 15}, {3, 17}, {7, 33}};

}  // namespace

TEST_CASE("kernels: the same bits on every instruction set and with any number of threads",
          "[kernels][bits][threads]") {
    const char* const before = std::getenv("PLAINGRAD_RUN");  // in an emulator each thread more takes minutes
    const bool is_emulated = before != nullptr && std::strstr(before, "qemu") != nullptr;
    const std::vector<int> counts = is_emulated ? std::vector{1, 3} : std::vector{1, 2, 3, 8};
    for (const Call& c : all_calls()) {
        for (const Size size : kBig) {
            std::vector<Real> expected;
            for_each_isa([&](const char* isa) {
                for (const int count : counts) {
                    const Threads threads(count);
                    const std::vector<Real> y = run(c, size.rows, size.n).value();
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
            Run r(1, 1);
            AttentionCase c(r, 3);
            c.a.batch = c.a.heads = 1, c.a.queries = 1041, c.a.keys = 1090;
            c.a.q_row = c.a.kv_row = 3;
            c.a.mask.causal = true;
            c.a.dropout = Real(0.3);
            attention_both_ways(r, c);
            const std::vector<Real> y = r.results().value();
            if (expected.empty())
                expected = y;
            INFO(isa << ", " << count << " threads");
            CHECK(same_bits(y, expected));
        }
    });
}

TEST_CASE("kernels: the same bits at every address, and nothing else is written", "[kernels][bits]") {
    const Threads one(1);
    for (const Call& c : all_calls()) {
        for (const Size size : kSmall) {
            const std::vector<Real> expected = run(c, size.rows, size.n).value();
            for_each_isa([&](const char* isa) {
                for (int64_t offset = 0; offset < 16; ++offset) {
                    const auto y = run(c, size.rows, size.n, {Place::loose, offset});
                    INFO(c.name << ", " << size.rows << " x " << size.n << ", " << isa << ", offset "
                                << offset);
                    REQUIRE(y);  // nothing around the results was written
                    CHECK((!y->empty() && same_bits(*y, expected)));
                }
            });
        }
    }
}

TEST_CASE("kernels: accumulating adds to the result, overwriting does not read it", "[kernels]") {
    for (const Call& c : all_calls())
        for (const Size size : {kSmall[2], kBig[0], Size{130, 1031}}) {  // 1024 columns are a chunk of sums
            const std::vector<Real> fresh = run(c, size.rows, size.n).value();
            Run r(size.rows, size.n, {}, true);
            c.call(r);
            const std::vector<Real> again = r.results().value(), before = r.before();
            const std::vector<bool> added = r.added();
            INFO(c.name << ", " << size.rows << " x " << size.n);
            REQUIRE(same_bits(fresh, fresh));  // overwrote its NaN
            REQUIRE(fresh.size() == again.size());
            CHECK((std::count(added.begin(), added.end(), true) > 0) == c.accumulates);
            double worst = 0;
            for (std::size_t i = 0; i < fresh.size(); ++i) {
                const auto expected =
                    static_cast<double>(fresh[i]) + (added[i] ? static_cast<double>(before[i]) : 0);
                worst = std::max(
                    worst, std::abs(static_cast<double>(again[i]) - expected) / (1 + std::abs(expected)));
            }
            CHECK(worst <= (kRealIsDouble ? 1e-12 : 1e-5));
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

// Adding 0 would turn -0 to +0.
TEST_CASE("kernels: without queries, attention adds nothing to the gradients of keys and values",
          "[kernels][bits][attention]") {
    const std::vector<Real> k = numbers(3 * 5, 1), before(k.size(), Real(-0.0));
    for_each_isa([&](const char* isa) {
        for (const Products& products : {cpu().float32, cpu().bf16}) {
            std::vector<Real> dk = before, dv = before;
            Attention a = {};
            a.batch = a.heads = 1, a.queries = 0, a.keys = 3, a.d = a.q_row = a.kv_row = 5, a.scale = 1;
            products.attention_backward(a, nullptr, k.data(), k.data(), nullptr, nullptr, nullptr, {nullptr},
                                        {dk.data(), true}, {dv.data(), true});
            INFO(isa);
            CHECK(same_bits(dk, before));
            CHECK(same_bits(dv, before));
        }
    });
}

TEST_CASE("kernels: a gradient of layer norm that is not wanted changes no bit of the others",
          "[kernels][bits]") {
    const int64_t rows = 5, n = 33;
    const std::vector<Real> x = numbers(rows * n, 1), gain = numbers(n, 2), statistics(3 * rows, 1);
    const auto gradients = [&](int wanted) {
        std::vector<std::vector<Real>> d;
        for (const int64_t size : {rows * n, rows * n, n, n})
            d.push_back(numbers(size, 3));
        const auto sink = [&](int i) { return Out{wanted >> i & 1 ? d[at(i)].data() : nullptr, i % 2 == 1}; };
        cpu().layer_norm_backward({.rows = rows, .n = n, .eps = 1, .p = Real(0.3), .key = {1, 2}}, x.data(),
                                  gain.data(), statistics.data(), x.data(), sink(0), sink(1), sink(2),
                                  sink(3));
        return d;
    };
    const auto all = gradients(15);
    for (int wanted = 0; wanted < 15; ++wanted)
        for (int i = 0; i < 4; ++i) {
            INFO("wanted " << wanted << ", gradient " << i);
            const std::vector<Real> untouched = numbers(i < 2 ? rows * n : n, 3);
            CHECK(same_bits(gradients(wanted)[at(i)], wanted >> i & 1 ? all[at(i)] : untouched));
            CHECK(!same_bits(all[at(i)], untouched));
        }
}

// 65 queries: the gradients of keys and values are then summed in copies.
TEST_CASE("kernels: a gradient of attention that is not wanted changes no bit of the others",
          "[kernels][bits][attention]") {
    for (const int64_t queries : {5, 65})
        for (const Products& products : {cpu().float32, cpu().bf16}) {
            Attention a = {};
            a.batch = 1, a.heads = 2, a.queries = queries, a.keys = 20, a.d = 5, a.scale = Real(0.3);
            a.q_row = a.kv_row = 10;
            const std::vector<Real> q = numbers(queries * 10, 1), k = numbers(200, 2), v = numbers(200, 3),
                                    dout = numbers(queries * 10, 4);
            std::vector<Real> out(q.size()), statistics(static_cast<std::size_t>(4 * queries));
            products.attention(a, q.data(), k.data(), v.data(), out.data(), nullptr, statistics.data());
            const auto gradients = [&](int wanted) {
                std::vector<std::vector<Real>> d = {q, k, v};
                const auto sink = [&](int i) {
                    return Out{wanted >> i & 1 ? d[at(i)].data() : nullptr, i == 1};
                };
                products.attention_backward(a, q.data(), k.data(), v.data(), out.data(), statistics.data(),
                                            dout.data(), sink(0), sink(1), sink(2));
                return d;
            };
            const auto all = gradients(7);
            for (int wanted = 0; wanted < 7; ++wanted)
                for (int i = 0; i < 3; ++i) {
                    INFO(queries << " queries, wanted " << wanted << ", gradient " << i);
                    const std::vector<Real>& untouched = i == 0 ? q : i == 1 ? k : v;
                    CHECK(same_bits(gradients(wanted)[at(i)], wanted >> i & 1 ? all[at(i)] : untouched));
                }
        }
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
        for (const int64_t keys : {1, 8, 16, 17, 48, 520})  // 16, 48: rows of scores are full
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
            for (const int64_t d : {5, 16, 33, 70}) {
                use(*set);
                INFO(*set << ", " << keys << " keys of " << d);
                const int64_t queries = 3, row = 2 * d;
                const std::vector<Real> q = numbers(queries * row, 1);
                const std::vector<Real> k = numbers(keys * row, 2), v = numbers(keys * row, 3);
                const auto count = static_cast<int32_t>(keys - keys / 3);
                Attention a = {};
                a.batch = 1, a.heads = 2, a.queries = queries, a.keys = keys, a.d = d, a.scale = Real(0.3);
                a.q_row = a.kv_row = row, a.mask.key_counts = &count;
                std::vector<uint8_t> pairs;
                for (int64_t i = 0; i < queries * keys; ++i)
                    pairs.push_back(i % 3 != 1);
                for (const bool pattern : {false, true})
                    for (const Products& products : {cpu().float32, cpu().bf16}) {
                        std::vector<Real> all(q.size(), kNan), alone(q.size(), kNan), unused(12);
                        a.queries = queries, a.mask.allowed = pattern ? pairs.data() : nullptr;
                        products.attention(a, q.data(), k.data(), v.data(), all.data(), nullptr,
                                           unused.data());
                        a.queries = 1;
                        for (int64_t t = 0; t < queries; ++t) {
                            a.mask.allowed = pattern ? pairs.data() + t * keys : nullptr;
                            products.attention(a, q.data() + t * row, k.data(), v.data(),
                                               alone.data() + t * row, nullptr, unused.data());
                        }
                        CHECK(same_bits(alone, all));
                    }
            }
    use(before.c_str());
}
