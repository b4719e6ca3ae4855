// A vector of always 16 numbers, on every machine: with bf16.h the only file with intrinsics.
//
//   AVX-512   one register of 16
//   AVX2+FMA  two of 8
//   NEON      four of 4
//   else      sixteen plain numbers (simd_plain.h): the baseline, and the double build
//
// Sixteen lanes everywhere make results bitwise equal on all instruction sets: a sum over a row always
// has the same 16 partial sums. IEEE 754 defines the result of every operation here (+ - * / sqrt fma,
// comparisons, conversions), so a kernel written with them gives the same bits everywhere.
//
// A register is a vector type of the compiler (gcc and clang have the same one), with the operators that
// numbers have. Each instruction set adds the missing operations; a Pair of registers, or of Pairs, applies
// all of them to both halves.
//
// Included only by the files of unit.cpp, inside an unnamed namespace per instruction set: no
// function of it may be shared between objects compiled with different flags.
#pragma once

#include <cstdint>

#include "autograd/base/real.h"

#if !defined(PLAINGRAD_SIMD_PLAIN) && defined(__AVX512F__)
#define PLAINGRAD_REGISTER_BYTES 64
#include <immintrin.h>
#elif !defined(PLAINGRAD_SIMD_PLAIN) && defined(__AVX2__) && defined(__FMA__)
#define PLAINGRAD_REGISTER_BYTES 32
#include <immintrin.h>
#elif !defined(PLAINGRAD_SIMD_PLAIN) && defined(__aarch64__)
#define PLAINGRAD_REGISTER_BYTES 16
#include <arm_neon.h>
#else
#include "autograd/kernels/simd_plain.h"
#endif

namespace plaingrad::autograd::kernels {
namespace {

// ------------------------------------------- one register: numbers, and words of 32 bits, which wrap

#if defined(PLAINGRAD_REGISTER_BYTES)
using Reals [[gnu::vector_size(PLAINGRAD_REGISTER_BYTES)]] = float;
using Words [[gnu::vector_size(PLAINGRAD_REGISTER_BYTES)]] = uint32_t;
using Signed [[gnu::vector_size(PLAINGRAD_REGISTER_BYTES)]] = int32_t;

inline Words bits(Reals a) { return (Words)a; }
inline Reals from_bits(Words a) { return (Reals)a; }
inline Reals to_real(Words a) { return __builtin_convertvector((Signed)a, Reals); }
#endif

// ---- both x86 sets: f(low half, high half), until one lane is left
#if PLAINGRAD_REGISTER_BYTES >= 32
inline Real reduce(__m128 a, auto f) {
    const __m128 two = f(a, _mm_movehl_ps(a, a));
    return f(two, _mm_shuffle_ps(two, two, 1))[0];
}
inline Real reduce(__m256 a, auto f) {
    return reduce(f(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1)), f);
}
#endif

// ---- AVX-512
#if PLAINGRAD_REGISTER_BYTES == 64
constexpr int kVecRegisters = 32;  // Vecs that fit into the register file

inline Reals fma(Reals a, Reals b, Reals c) { return _mm512_fmadd_ps(a, b, c); }
inline Reals fnma(Reals a, Reals b, Reals c) { return _mm512_fnmadd_ps(a, b, c); }
inline Reals sqrt(Reals a) { return _mm512_sqrt_ps(a); }
inline Reals max(Reals a, Reals b) { return _mm512_max_ps(a, b); }
inline Reals min(Reals a, Reals b) { return _mm512_min_ps(a, b); }
inline Words to_int(Reals a) { return (Words)_mm512_cvtps_epi32(a); }

// a 2^n; on other sets math.h computes it.
inline Reals times_power_of_two(Reals a, Words n) { return _mm512_scalef_ps(a, to_real(n)); }

inline __mmask16 first_lanes(int64_t n) { return static_cast<__mmask16>((1u << n) - 1u); }
inline Reals register_of_first(const Real* p, int64_t n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
inline void store_first(Real* p, int64_t n, Reals a) { _mm512_mask_storeu_ps(p, first_lanes(n), a); }

inline Reals interleave_low(Reals a, Reals b) {
    constexpr Signed from = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23};
    return _mm512_permutex2var_ps(a, (__m512i)from, b);
}
inline Reals interleave_high(Reals a, Reals b) {
    constexpr Signed from = {8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return _mm512_permutex2var_ps(a, (__m512i)from, b);
}
inline Real reduce(__m512 a, auto f) {
    return reduce(f(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1)), f);
}

// ---- AVX2
#elif PLAINGRAD_REGISTER_BYTES == 32
constexpr int kVecRegisters = 8;

inline Reals fma(Reals a, Reals b, Reals c) { return _mm256_fmadd_ps(a, b, c); }
inline Reals fnma(Reals a, Reals b, Reals c) { return _mm256_fnmadd_ps(a, b, c); }
inline Reals sqrt(Reals a) { return _mm256_sqrt_ps(a); }
inline Reals max(Reals a, Reals b) { return _mm256_max_ps(a, b); }
inline Reals min(Reals a, Reals b) { return _mm256_min_ps(a, b); }
inline Words to_int(Reals a) { return (Words)_mm256_cvtps_epi32(a); }

inline __m256i first_lanes(int64_t n) {
    return (__m256i)(static_cast<int32_t>(n) > Signed{0, 1, 2, 3, 4, 5, 6, 7});
}
inline Reals register_of_first(const Real* p, int64_t n) { return _mm256_maskload_ps(p, first_lanes(n)); }
inline void store_first(Real* p, int64_t n, Reals a) { _mm256_maskstore_ps(p, first_lanes(n), a); }

inline Reals interleave_low(Reals a, Reals b) {
    return _mm256_permute2f128_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b), 0x20);
}
inline Reals interleave_high(Reals a, Reals b) {
    return _mm256_permute2f128_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b), 0x31);
}

// ---- NEON
#elif PLAINGRAD_REGISTER_BYTES == 16
constexpr int kVecRegisters = 8;

inline Reals fma(Reals a, Reals b, Reals c) { return vfmaq_f32(c, a, b); }
inline Reals fnma(Reals a, Reals b, Reals c) { return vfmsq_f32(c, a, b); }
inline Reals sqrt(Reals a) { return vsqrtq_f32(a); }
// Values out of int32's range, and NaN, give INT32_MIN as on x86; vcvtnq alone would saturate.
inline Words to_int(Reals a) {
    return vcaltq_f32(a, vdupq_n_f32(2147483648.0f)) ? (Words)vcvtnq_s32_f32(a) : Words() + 0x80000000u;
}

inline Reals register_of_first(const Real* p, int64_t n) {
    Reals a = {};
    for (int64_t i = 0; i < n && i < 4; ++i)
        a[i] = p[i];
    return a;
}
inline void store_first(Real* p, int64_t n, Reals a) {
    for (int64_t i = 0; i < n && i < 4; ++i)
        p[i] = a[i];
}

inline Reals interleave_low(Reals a, Reals b) { return vzip1q_f32(a, b); }
inline Reals interleave_high(Reals a, Reals b) { return vzip2q_f32(a, b); }
inline Real reduce(float32x4_t a, auto f) {
    const float32x4_t two = f(a, vextq_f32(a, a, 2));
    return f(two, vextq_f32(two, two, 1))[0];
}
#endif

// ---- on registers of any set

template <class T>
T read(const void* p) {
    T a;
    __builtin_memcpy(&a, p, sizeof a);
    return a;
}
inline void store(Real* p, Reals a) { __builtin_memcpy(p, &a, sizeof a); }

inline Words shift_right_signed(Words a, int n) { return (Words)((Signed)a >> n); }
inline auto less(Words a, Words b) { return (Signed)a < (Signed)b; }
inline auto less(Reals a, Reals b) { return a < b; }
inline auto equal(Reals a, Reals b) { return a == b; }
inline Reals select(decltype(Reals() < Reals()) mask, Reals yes, Reals no) { return mask ? yes : no; }

// As x86 has it: the second where the numbers do not compare (a NaN) or are equal (0 and -0).
// (On x86 by its instruction, which gcc 12 does not find behind this; NEON's gives NaN for either.)
inline auto max(auto a, decltype(a) b) { return a > b ? a : b; }
inline auto min(auto a, decltype(a) b) { return a < b ? a : b; }

// ---------------------------------------------------------------------------- two halves of a vector

template <class T>
struct Pair;
inline auto pair(auto low, decltype(low) high) { return Pair<decltype(low)>{low, high}; }

template <class T>
struct Pair {
    T low, high;
    static constexpr int64_t kHalf = sizeof(T) / sizeof(Real);  // lanes in each

    friend Pair operator+(Pair a, Pair b) { return {a.low + b.low, a.high + b.high}; }
    friend Pair operator-(Pair a, Pair b) { return {a.low - b.low, a.high - b.high}; }
    friend Pair operator*(Pair a, Pair b) { return {a.low * b.low, a.high * b.high}; }
    friend Pair operator/(Pair a, Pair b) { return {a.low / b.low, a.high / b.high}; }
    friend Pair operator&(Pair a, Pair b) { return {a.low & b.low, a.high & b.high}; }
    friend Pair operator|(Pair a, Pair b) { return {a.low | b.low, a.high | b.high}; }
    friend Pair operator^(Pair a, Pair b) { return {a.low ^ b.low, a.high ^ b.high}; }
    friend Pair operator<<(Pair a, int n) { return {a.low << n, a.high << n}; }
    friend Pair operator>>(Pair a, int n) { return {a.low >> n, a.high >> n}; }
    friend Pair shift_right_signed(Pair a, int n) {
        return {shift_right_signed(a.low, n), shift_right_signed(a.high, n)};
    }

    friend Pair fma(Pair a, Pair b, Pair c) {
        return {fma(a.low, b.low, c.low), fma(a.high, b.high, c.high)};
    }
    friend Pair fnma(Pair a, Pair b, Pair c) {
        return {fnma(a.low, b.low, c.low), fnma(a.high, b.high, c.high)};
    }
    friend Pair sqrt(Pair a) { return {sqrt(a.low), sqrt(a.high)}; }
    friend Pair max(Pair a, Pair b) { return {max(a.low, b.low), max(a.high, b.high)}; }
    friend Pair min(Pair a, Pair b) { return {min(a.low, b.low), min(a.high, b.high)}; }
    friend auto less(Pair a, Pair b) { return pair(less(a.low, b.low), less(a.high, b.high)); }
    friend auto equal(Pair a, Pair b) { return pair(equal(a.low, b.low), equal(a.high, b.high)); }
    friend Pair select(auto mask, Pair yes, Pair no) {
        return {select(mask.low, yes.low, no.low), select(mask.high, yes.high, no.high)};
    }

    friend auto bits(Pair a) { return pair(bits(a.low), bits(a.high)); }
    friend auto from_bits(Pair a) { return pair(from_bits(a.low), from_bits(a.high)); }
    friend auto to_int(Pair a) { return pair(to_int(a.low), to_int(a.high)); }
    friend auto to_real(Pair a) { return pair(to_real(a.low), to_real(a.high)); }

    friend void store(Real* p, Pair a) { store(p, a.low), store(p + kHalf, a.high); }
    friend void store_first(Real* p, int64_t n, Pair a) {
        store_first(p, n, a.low), store_first(p + kHalf, n - kHalf, a.high);
    }
    friend Pair interleave_low(Pair a, Pair b) {
        return {interleave_low(a.low, b.low), interleave_high(a.low, b.low)};
    }
    friend Pair interleave_high(Pair a, Pair b) {
        return {interleave_low(a.high, b.high), interleave_high(a.high, b.high)};
    }
    friend Real reduce(Pair a, auto f) { return reduce(f(a.low, a.high), f); }
};

// ------------------------------------------------------------------------------------ sixteen lanes

constexpr int64_t kLanes = 16;

// A vector put together from registers: f(i) is the one that begins with lane i.
template <int64_t lanes = kLanes, class F>
auto registers(const F& f, int64_t i = 0) {
    if constexpr (lanes * sizeof(Real) == sizeof(Reals))
        return f(i);
    else
        return pair(registers<lanes / 2>(f, i), registers<lanes / 2>(f, i + lanes / 2));
}

inline auto broadcast(Real x) {
    return registers([&](int64_t) { return x - Reals(); });  // x + 0 would lose the sign of -0
}
inline auto int_broadcast(uint32_t x) {
    return registers([&](int64_t) { return x + Words(); });
}

using Vec = decltype(broadcast(0));
using Int = decltype(int_broadcast(0));
using Mask = decltype(less(Vec(), Vec()));

inline Vec zero() { return broadcast(0); }
inline Int lane_numbers() {
    static constexpr uint32_t number[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return registers([&](int64_t i) { return read<Words>(number + i); });
}

// True in the first n lanes.
inline Mask first_of(int64_t n) {
    return less(lane_numbers(), int_broadcast(static_cast<uint32_t>(n < kLanes ? n : kLanes)));
}

// Loads and stores `n` lanes, 0 <= n; all of them from 16 on. Missing lanes read as 0, or as `fill`;
// their memory is not touched.
inline Vec load(const Real* p) {
    return registers([&](int64_t i) { return read<Reals>(p + i); });
}
inline Vec load_first(const Real* p, int64_t n) {
    return registers([&](int64_t i) { return register_of_first(p + i, n - i); });
}
inline Vec load(const Real* p, int64_t n) { return n >= kLanes ? load(p) : load_first(p, n); }
inline Vec load(const Real* p, int64_t n, Real fill) {
    return n >= kLanes ? load(p) : select(first_of(n), load_first(p, n), broadcast(fill));
}
inline void store(Real* p, int64_t n, Vec a) { n >= kLanes ? store(p, a) : store_first(p, n, a); }

// Lane i joined with lane i + 8, of these i with i + 4, then i + 2, i + 1: on every machine this tree.
inline Real reduce_add(Vec a) {
    return reduce(a, [](auto x, auto y) { return x + y; });
}
inline Real reduce_max(Vec a) {
    return reduce(a, [](auto x, auto y) { return max(x, y); });
}

// Rows become columns. interleave_low(a, b) is a0 b0 a1 b1 ... a7 b7, interleave_high a8 b8 ... a15 b15: what
// was at row r, column c is now where the eight bits of r and c point, rotated by one. Four times swap them.
template <class V>
void transpose(V (&row)[kLanes]) {
#pragma GCC unroll 4
    for (int bit = 0; bit < 4; ++bit) {
        V next[kLanes];
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) {
            const V a = row[i / 2], b = row[i / 2 + kLanes / 2];
            next[i] = i % 2 == 0 ? interleave_low(a, b) : interleave_high(a, b);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i)
            row[i] = next[i];
    }
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
