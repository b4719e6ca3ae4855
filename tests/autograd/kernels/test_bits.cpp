// All kernels: the same bits on every instruction set, with any number of threads and at any address; nothing
// outside the result is written. (The matrix product equals its definition: test_gemm.cpp.)
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/autograd/kernels/attend.h"
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

// (That the others add, too: test_kernel_reference.cpp.)
TEST_CASE("kernels: an elementwise one that adds to its result has the bits of a sum", "[kernels][bits]") {
    for (const Call& c : elementwise_calls())
        for (const Size size : {kSmall[2], kBig[0]}) {
            std::vector<Real> expected = run(c, size.rows, size.n).value();
            Run r(size.rows, size.n, {}, true);
            c.call(r);
            const std::vector<Real> before = r.before();
            for (std::size_t i = 0; i < expected.size(); ++i)
                expected[i] += before[i];
            INFO(c.name << ", " << size.rows << " x " << size.n);
            CHECK(same_bits(r.results().value(), expected));
        }
}

// Under a causal mask, the first of these queries see no key from number 512 on, the last do. The values are
// so small that sums become -0, to which adding 0 would show.
TEST_CASE("kernels: attention of a query does not depend on which keys later queries see",
          "[kernels][bits][attention]") {
    const int64_t queries = 20, keys = 520, d = 5;
    for_each_isa([&](const char* isa) {
        for (const bool is_bf16 : {false, true}) {
            const Products& products = is_bf16 ? cpu().bf16 : cpu().float32;
            Attend together(1, queries, keys, d, 1);
            std::fill(together.q.begin(), together.q.end(), Real(1));
            std::fill(together.k.begin(), together.k.end(), Real(-1));
            std::fill_n(together.k.begin(), d, Real(1));
            std::fill(together.v.begin(), together.v.end(), is_bf16 ? Real(-1e-36) : Real(-1e-45));
            std::fill_n(together.v.begin(), d, Real(0));
            together.a.mask.causal = true;
            together.forward(products);
            std::vector<Real> alone;
            for (int64_t t = 0; t < queries; ++t) {
                const auto count = static_cast<int32_t>(t + 1 + keys - queries);
                Attend one = together.query(t);
                one.a.mask = {.key_counts = &count};
                one.forward(products);
                alone.insert(alone.end(), one.out.begin(), one.out.end());
            }
            INFO(isa << (is_bf16 ? ", bf16" : ", float32"));
            CHECK((kRealIsDouble || std::signbit(together.out[0])));
            CHECK(same_bits(together.out, alone));
        }
    });
}

// Adding 0 would turn -0 to +0.
TEST_CASE("kernels: without queries, attention adds nothing to the gradients of keys and values",
          "[kernels][bits][attention]") {
    for_each_isa([&](const char* isa) {
        for (const Products& products : each_precision()) {
            Attend none(1, 0, 3, 5, 1);
            none.dk = none.dv = std::vector<Real>(3 * 5, Real(-0.0));
            none.backward(products, 6, 6);
            INFO(isa);
            CHECK(same_bits(none.dk, std::vector<Real>(3 * 5, Real(-0.0))));
            CHECK(same_bits(none.dv, std::vector<Real>(3 * 5, Real(-0.0))));
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
        for (const Products& products : each_precision()) {
            const auto gradients = [&](int wanted) {
                Attend r(2, queries, 20, 5, Real(0.3));
                r.dq = r.q, r.dk = r.k, r.dv = r.v;
                r.forward(products);
                r.backward(products, wanted, 2);
                return r;
            };
            const Attend all = gradients(7), before(2, queries, 20, 5, Real(0.3));
            for (int wanted = 0; wanted < 7; ++wanted) {
                INFO(queries << " queries, wanted " << wanted);
                const Attend r = gradients(wanted);
                CHECK(same_bits(r.dq, wanted & 1 ? all.dq : before.q));
                CHECK(same_bits(r.dk, wanted & 2 ? all.dk : before.k));
                CHECK(same_bits(r.dv, wanted & 4 ? all.dv : before.v));
            }
        }
}

// Under a pattern of pairs each row is computed for itself.
TEST_CASE("kernels: a pattern that allows all pairs changes no bit of attention",
          "[kernels][bits][attention]") {
    const std::vector<uint8_t> all(17 * 520, 1);
    for_each_isa([&](const char* isa) {
        for (const int64_t keys : {1, 8, 16, 17, 48, 520})  // 16, 48: rows of scores are full
            for (const int mask : {0, 1, 2, 3})
                for (const Products& products : each_precision()) {
                    const auto count = static_cast<int32_t>(mask >= 2 ? keys * 2 / 3 : keys);
                    const auto results = [&](const uint8_t* allowed) {
                        Attend r(2, 17, keys, 5, Real(0.3));
                        r.a.key = {17, 4711};
                        r.a.dropout = mask == 0 ? 0 : Real(0.3);
                        r.a.mask = {.key_counts = &count, .causal = mask % 2 == 1, .allowed = allowed};
                        r.dq = numbers(length(r.q), 5), r.dv = numbers(length(r.v), 6);
                        r.forward(products);
                        r.backward(products, 7, 1 | 4);
                        for (const auto& more : {r.statistics, r.dq, r.dk, r.dv})
                            r.out.insert(r.out.end(), more.begin(), more.end());
                        return r.out;
                    };
                    INFO(isa << ", " << keys << " keys, mask " << mask);
                    CHECK(same_bits(results(nullptr), results(all.data())));
                }
    });
}

TEST_CASE("kernels: attention of a single query has the bits that the query has among others",
          "[kernels][bits]") {
    for_each_isa([&](const char* isa) {
        for (const int64_t keys : {1, 15, 16, 17, 513, 1100})
            for (const int64_t d : {5, 16, 33, 70})
                for (const bool pattern : {false, true})
                    for (const Products& products : each_precision()) {
                        INFO(isa << ", " << keys << " keys of " << d << (pattern ? ", a pattern" : ""));
                        const auto count = static_cast<int32_t>(keys - keys / 3);
                        std::vector<uint8_t> pairs;
                        for (int64_t i = 0; i < 3 * keys; ++i)
                            pairs.push_back(i % 3 != 1);
                        Attend all(2, 3, keys, d, Real(0.3));
                        all.a.mask = {.key_counts = &count, .allowed = pattern ? pairs.data() : nullptr};
                        all.forward(products);
                        std::vector<Real> alone;
                        for (int64_t t = 0; t < 3; ++t) {
                            Attend one = all.query(t);
                            one.a.mask.allowed = pattern ? pairs.data() + t * keys : nullptr;
                            one.forward(products);
                            alone.insert(alone.end(), one.out.begin(), one.out.end());
                        }
                        CHECK(same_bits(alone, all.out));
                    }
    });
}
