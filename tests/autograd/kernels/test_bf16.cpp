// The arithmetic of bfloat16 products (kernels/bf16.h): the same bits on every instruction set and machine,
// with numbers from all ranges. One of the sets has the instruction VDPBF16PS, from which the definition is
// taken. (Sizes and layouts of the matrix product: test_gemm.cpp; of attention: test_bits.cpp. Rounding every
// kind of float: test_math.cpp.)
#include <bit>
#include <cstring>

#include "autograd/kernels/kernels.h"
#include "tests/autograd/kernels/attend.h"
#include "tests/autograd/kernels/bf16_reference.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;          // NOLINT
using namespace autograd;           // NOLINT
using namespace autograd::kernels;  // NOLINT
using namespace tests;              // NOLINT

namespace {

struct Words {
    uint64_t state;
    uint32_t next() {
        return static_cast<uint32_t>((state = state * 6364136223846793005u + 1442695040888963407u) >> 32);
    }
};

float float_of(uint32_t word) { return std::bit_cast<float>(word); }

// Numbers of which every `kind`-th has any bits at all, infinities and NaN included; the exponents of others
// are spread from `exponent` on, so that sums of products meet, cancel, and become subnormal.
std::vector<Real> wild_numbers(int64_t count, uint64_t seed, uint32_t exponent, uint32_t kind) {
    Words words{seed};
    std::vector<Real> x;
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t word = words.next(), spread = words.next() % 24;
        const bool any = kind != 0 && words.next() % kind == 0;
        x.push_back(
            static_cast<Real>(float_of(any ? word : (word & 0x807fffffu) | (exponent + spread) << 23)));
    }
    return x;
}

uint64_t hash_of(const std::vector<Real>& x, uint64_t hash) {
    for (const Real value : x)
        hash = (hash ^ (value != value ? 0 : std::bit_cast<uint32_t>(static_cast<float>(value)))) *
               1099511628211u;
    return hash;
}

}  // namespace

// Sums of products in attention whose terms or results are subnormal: in tiles, under a pattern of pairs, and
// of a single query. The factors of one product after the other are made small: those of q, k, v, dout.
TEST_CASE("bf16: attention flushes subnormal numbers on every instruction set", "[kernels][bf16][bits]") {
    const int exponents[][4] = {
        {-63, -63, 0, 0}, {0, 0, -125, 0}, {0, -121, -2, -3}, {-121, 0, 0, -4}, {0, 0, 0, -124}};
    const std::vector<uint8_t> pattern(static_cast<std::size_t>(40 * 40), 1);
    const auto all_results = [&] {
        std::vector<Real> results;
        for (const int64_t T : {40, 13, 1})
            for (const bool with_pattern : {false, true})
                for (const auto& of : exponents) {
                    Attend r(1, T, std::max<int64_t>(T, 13), 5, Real(0.4));
                    std::vector<Real>* const x[] = {&r.q, &r.k, &r.v, &r.dout};
                    for (int i = 0; i < 4; ++i)
                        for (Real& y : *x[i])
                            y = std::ldexp(y, of[i]);
                    r.a.mask = {.causal = T > 1, .allowed = with_pattern ? pattern.data() : nullptr};
                    r.forward(cpu().bf16);
                    r.backward(cpu().bf16);
                    for (const auto& y : {r.out, r.dq, r.dk, r.dv})
                        results.insert(results.end(), y.begin(), y.end());
                }
        return results;
    };
    const std::vector<Real> expected = all_results();
    CHECK((kRealIsDouble || std::count(expected.begin(), expected.end(), Real(0)) > 100));
    for_each_isa([&](const char* isa) {
        INFO(isa);
        CHECK(same_bits(all_results(), expected));
    });
}

// Sums of 2^-126, the smallest normal number, and of a term that takes them just below, or not: a sum is 0 if
// 24 bits with no limit to the exponent would be less. (2^-126 - 2^-150 is such a number. Float, in which it
// lies between two, rounds it up.)
TEST_CASE("bf16: a sum is kept from the smallest normal number on, and is 0 below", "[kernels][bf16][bits]") {
    const std::vector<Real> a = {Real(0x1p-75), Real(0x1p-63)};
    std::vector<Real> even, odd;
    for (const Real x : {Real(0), Real(0x1p-73), Real(0x1p-74), Real(0x1p-75), Real(0x1p-76), Real(0x1p-77)})
        for (const Real sign : {Real(1), Real(-1)})
            for (const Real y : {Real(0x1p-63), Real(-0x1p-63)})
                even.push_back(sign * x), odd.push_back(y);
    std::vector<Real> b = even, expected;
    b.insert(b.end(), odd.begin(), odd.end());
    for (std::size_t j = 0; j < even.size(); ++j)
        expected.push_back(chain_of_pairs(0, 2, [&](int64_t k, Real& x, Real& y) {
            x = a[static_cast<std::size_t>(k)], y = k == 0 ? even[j] : odd[j];
        }));
    CHECK(expected[0] == Real(0x1p-126));
    CHECK((kRealIsDouble || std::count(expected.begin(), expected.end(), Real(0)) == 6));
    const int64_t n = std::ssize(even);
    for_each_isa([&](const char* isa) {
        INFO(isa);
        std::vector<Real> c(even.size(), kNan);
        cpu().bf16.gemm({.m = 1, .n = n, .k = 2, .lda = 2, .ldb = n, .ldc = n}, a.data(), b.data(), c.data());
        CHECK(same_bits(c, expected));
    });
}

// The last query sees three keys: the half of a pair that it does not see counts as +0. The first two terms
// are so small that their sum is -0; +0 turns it to +0, and the third term, -0, leaves that.
TEST_CASE("bf16: the missing half of a pair is +0, and is added", "[kernels][bf16][attention][bits]") {
    if (kRealIsDouble)
        SKIP("in double these sums are not 0");
    const std::vector<uint8_t> pairs(9, 1);
    for (const bool pattern : {false, true})
        for_each_isa([&](const char* isa) {
            Attend r(1, 3, 3, 1, 1);
            r.q = {1, 1, 1}, r.k = {0, 0, Real(0.75)};
            r.v = {Real(-0x1p-126), Real(-0x1p-126), Real(-0.0)};
            r.a.mask = {.causal = true, .allowed = pattern ? pairs.data() : nullptr};
            r.forward(cpu().bf16);
            INFO(isa);
            CHECK((r.out[2] == 0 && !std::signbit(r.out[2])));
        });
}

// Ten million products of pairs. All finite results are the same everywhere; NaN stays NaN.
TEST_CASE("bf16: the same bits on every instruction set, wherever the numbers lie", "[kernels][bf16][bits]") {
    const auto all_products = [] {
        uint64_t hash = 14695981039346656037u;
        for (const uint32_t exponent : {1u, 40u, 52u, 58u, 64u, 115u, 230u})
            for (const uint32_t kind : {0u, 1000u}) {
                const int64_t m = 37, n = 75, k = 511;  // odd: the last pair is half
                const std::vector<Real> a = wild_numbers(m * k, exponent, exponent, kind);
                const std::vector<Real> b = wild_numbers(k * n, exponent + 1, exponent, kind);
                std::vector<Real> c(static_cast<std::size_t>(m * n));
                cpu().bf16.gemm({.m = m, .n = n, .k = k, .lda = k, .ldb = n, .ldc = n}, a.data(), b.data(),
                                c.data());
                hash = hash_of(c, hash);
            }
        // Under a causal mask each second query sees half of its last pair.
        Attend r(1, 77, 77, 5, Real(0.4));
        r.a.mask = {.causal = true};
        r.forward(cpu().bf16);
        r.dout = r.out;
        r.backward(cpu().bf16);
        for (const auto& x : {r.out, r.dq, r.dk, r.dv})
            hash = hash_of(x, hash);
        return hash;
    };
    const uint64_t expected = all_products();
    for_each_isa([&](const char* isa) {
        INFO(isa);
        CHECK(all_products() == expected);
    });
    if (!kRealIsDouble)
        CHECK(expected == 0xe6b1b9c43e0632b0u);
}
