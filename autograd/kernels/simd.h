// A vector of always 16 numbers, on every machine: the only file with intrinsics.
//
//   AVX-512   one 512-bit register
//   AVX2+FMA  two 256-bit registers
//   NEON      four 128-bit registers
//   else      a plain struct with loops (simd_plain.h): the baseline, and the double build
//
// Sixteen lanes everywhere is what makes results equal to the bit across instruction sets: a sum over
// a row always has the same 16 partial sums. Every operation here is one that IEEE 754 rounds
// exactly (+ - * / sqrt fma, comparisons, conversions), so a kernel written with them has no choice.
//
// Included only by the files of unit.cpp, inside an unnamed namespace per instruction set: no
// function of it may be shared between objects compiled with different flags.
#pragma once

#include <cstdint>

#include "autograd/base/real.h"

#if !defined(PLAINGRAD_SIMD_PLAIN) && defined(__AVX512F__)
#define PLAINGRAD_SIMD_AVX512
// gcc 12 warns of its own header's "undefined" operands, which it never reads (gcc bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif
#elif !defined(PLAINGRAD_SIMD_PLAIN) && defined(__AVX2__) && defined(__FMA__)
#define PLAINGRAD_SIMD_AVX2
#include <immintrin.h>
#elif !defined(PLAINGRAD_SIMD_PLAIN) && defined(__aarch64__)
#define PLAINGRAD_SIMD_NEON
#include <arm_neon.h>
#endif

namespace autograd::kernels {
namespace {
constexpr int64_t kLanes = 16;
}
}  // namespace autograd::kernels

#if !defined(PLAINGRAD_SIMD_AVX512) && !defined(PLAINGRAD_SIMD_AVX2) && !defined(PLAINGRAD_SIMD_NEON)
#include "autograd/kernels/simd_plain.h"
#endif

namespace autograd::kernels {
namespace {

// ------------------------------------------------------------------- sums over the lanes, both x86 sets
#if defined(PLAINGRAD_SIMD_AVX512) || defined(PLAINGRAD_SIMD_AVX2)
inline __m128 lanes_add(__m128 a, __m128 b) { return _mm_add_ps(a, b); }
inline __m128 lanes_max(__m128 a, __m128 b) { return _mm_max_ps(a, b); }
inline __m256 lanes_add(__m256 a, __m256 b) { return _mm256_add_ps(a, b); }
inline __m256 lanes_max(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
template <class F>
inline Real reduce_halves(__m256 low, __m256 high, const F& f) {
    const __m256 eight = f(low, high);
    const __m128 four = f(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = f(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(f(two, _mm_shuffle_ps(two, two, 1)));
}
#endif

// ---------------------------------------------------------------------------------------- AVX-512
#if defined(PLAINGRAD_SIMD_AVX512)

constexpr int kVecRegisters = 32;  // Vecs that fit into the register file

struct Vec {
    __m512 v;
};
struct Int {
    __m512i v;
};
struct Mask {
    __mmask16 m;
};

inline Vec broadcast(Real x) { return {_mm512_set1_ps(x)}; }
inline Vec load(const Real* p) { return {_mm512_loadu_ps(p)}; }
inline void store(Real* p, Vec a) { _mm512_storeu_ps(p, a.v); }
inline __mmask16 first_lanes(int64_t n) { return static_cast<__mmask16>((1u << n) - 1u); }
inline Vec load_first(const Real* p, int64_t n) { return {_mm512_maskz_loadu_ps(first_lanes(n), p)}; }
inline void store_first(Real* p, int64_t n, Vec a) { _mm512_mask_storeu_ps(p, first_lanes(n), a.v); }

inline Vec operator+(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Vec operator-(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Vec operator*(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Vec operator/(Vec a, Vec b) { return {_mm512_div_ps(a.v, b.v)}; }
inline Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Vec fnma(Vec a, Vec b, Vec c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
inline Vec sqrt(Vec a) { return {_mm512_sqrt_ps(a.v)}; }
inline Vec max(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
inline Vec min(Vec a, Vec b) { return {_mm512_min_ps(a.v, b.v)}; }

inline Vec interleave_low(Vec a, Vec b) {
    const __m512i from = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    return {_mm512_permutex2var_ps(a.v, from, b.v)};
}
inline Vec interleave_high(Vec a, Vec b) {
    const __m512i from = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    return {_mm512_permutex2var_ps(a.v, from, b.v)};
}

inline Mask less(Vec a, Vec b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
inline Mask equal(Vec a, Vec b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)}; }
inline Vec select(Mask m, Vec yes, Vec no) { return {_mm512_mask_blend_ps(m.m, no.v, yes.v)}; }

inline Int int_broadcast(int32_t x) { return {_mm512_set1_epi32(x)}; }
inline Int int_load(const int32_t* p) { return {_mm512_loadu_si512(p)}; }
inline Int operator+(Int a, Int b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline Int operator-(Int a, Int b) { return {_mm512_sub_epi32(a.v, b.v)}; }
inline Int operator*(Int a, Int b) { return {_mm512_mullo_epi32(a.v, b.v)}; }
inline Int operator^(Int a, Int b) { return {_mm512_xor_si512(a.v, b.v)}; }
inline Int operator&(Int a, Int b) { return {_mm512_and_si512(a.v, b.v)}; }
inline Int operator|(Int a, Int b) { return {_mm512_or_si512(a.v, b.v)}; }
template <int n>
Int shift_left(Int a) {
    return {_mm512_slli_epi32(a.v, n)};
}
template <int n>
Int shift_right(Int a) {
    return {_mm512_srli_epi32(a.v, n)};
}
template <int n>
Int shift_right_signed(Int a) {
    return {_mm512_srai_epi32(a.v, n)};
}
inline Mask less(Int a, Int b) { return {_mm512_cmplt_epi32_mask(a.v, b.v)}; }

inline Int to_int(Vec a) { return {_mm512_cvtps_epi32(a.v)}; }
inline Vec to_real(Int a) { return {_mm512_cvtepi32_ps(a.v)}; }
inline Int bits(Vec a) { return {_mm512_castps_si512(a.v)}; }
inline Vec from_bits(Int a) { return {_mm512_castsi512_ps(a.v)}; }

template <class F>
inline Real reduce(Vec a, const F& f) {
    return reduce_halves(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1), f);
}

// ------------------------------------------------------------------------------------------- AVX2
#elif defined(PLAINGRAD_SIMD_AVX2)

constexpr int kVecRegisters = 8;

struct Vec {
    __m256 lo, hi;
};
struct Int {
    __m256i lo, hi;
};
struct Mask {
    __m256 lo, hi;
};

inline Vec broadcast(Real x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
inline Vec load(const Real* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void store(Real* p, Vec a) {
    _mm256_storeu_ps(p, a.lo);
    _mm256_storeu_ps(p + 8, a.hi);
}
// Eight lanes of all ones where the lane's number + offset is below n.
inline __m256i first_lanes(int64_t n, int64_t offset) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(n - offset)), lane);
}
inline Vec load_first(const Real* p, int64_t n) {
    return {_mm256_maskload_ps(p, first_lanes(n, 0)), _mm256_maskload_ps(p + 8, first_lanes(n, 8))};
}
inline void store_first(Real* p, int64_t n, Vec a) {
    _mm256_maskstore_ps(p, first_lanes(n, 0), a.lo);
    _mm256_maskstore_ps(p + 8, first_lanes(n, 8), a.hi);
}

inline Vec operator+(Vec a, Vec b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
inline Vec operator-(Vec a, Vec b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
inline Vec operator*(Vec a, Vec b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
inline Vec operator/(Vec a, Vec b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
inline Vec fma(Vec a, Vec b, Vec c) {
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline Vec fnma(Vec a, Vec b, Vec c) {
    return {_mm256_fnmadd_ps(a.lo, b.lo, c.lo), _mm256_fnmadd_ps(a.hi, b.hi, c.hi)};
}
inline Vec sqrt(Vec a) { return {_mm256_sqrt_ps(a.lo), _mm256_sqrt_ps(a.hi)}; }
inline Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
inline Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }

inline Vec interleave(__m256 a, __m256 b) {
    const __m256 even = _mm256_unpacklo_ps(a, b), odd = _mm256_unpackhi_ps(a, b);
    return {_mm256_permute2f128_ps(even, odd, 0x20), _mm256_permute2f128_ps(even, odd, 0x31)};
}
inline Vec interleave_low(Vec a, Vec b) { return interleave(a.lo, b.lo); }
inline Vec interleave_high(Vec a, Vec b) { return interleave(a.hi, b.hi); }

inline Mask less(Vec a, Vec b) {
    return {_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)};
}
inline Mask equal(Vec a, Vec b) {
    return {_mm256_cmp_ps(a.lo, b.lo, _CMP_EQ_OQ), _mm256_cmp_ps(a.hi, b.hi, _CMP_EQ_OQ)};
}
inline Vec select(Mask m, Vec yes, Vec no) {
    return {_mm256_blendv_ps(no.lo, yes.lo, m.lo), _mm256_blendv_ps(no.hi, yes.hi, m.hi)};
}

inline Int int_broadcast(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
inline Int int_load(const int32_t* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
}
inline Int operator+(Int a, Int b) { return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)}; }
inline Int operator-(Int a, Int b) { return {_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)}; }
inline Int operator*(Int a, Int b) {
    return {_mm256_mullo_epi32(a.lo, b.lo), _mm256_mullo_epi32(a.hi, b.hi)};
}
inline Int operator^(Int a, Int b) { return {_mm256_xor_si256(a.lo, b.lo), _mm256_xor_si256(a.hi, b.hi)}; }
inline Int operator&(Int a, Int b) { return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)}; }
inline Int operator|(Int a, Int b) { return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)}; }
template <int n>
Int shift_left(Int a) {
    return {_mm256_slli_epi32(a.lo, n), _mm256_slli_epi32(a.hi, n)};
}
template <int n>
Int shift_right(Int a) {
    return {_mm256_srli_epi32(a.lo, n), _mm256_srli_epi32(a.hi, n)};
}
template <int n>
Int shift_right_signed(Int a) {
    return {_mm256_srai_epi32(a.lo, n), _mm256_srai_epi32(a.hi, n)};
}
inline Mask less(Int a, Int b) {
    return {_mm256_castsi256_ps(_mm256_cmpgt_epi32(b.lo, a.lo)),
            _mm256_castsi256_ps(_mm256_cmpgt_epi32(b.hi, a.hi))};
}

inline Int to_int(Vec a) { return {_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)}; }
inline Vec to_real(Int a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }
inline Int bits(Vec a) { return {_mm256_castps_si256(a.lo), _mm256_castps_si256(a.hi)}; }
inline Vec from_bits(Int a) { return {_mm256_castsi256_ps(a.lo), _mm256_castsi256_ps(a.hi)}; }

template <class F>
inline Real reduce(Vec a, const F& f) {
    return reduce_halves(a.lo, a.hi, f);
}

// ------------------------------------------------------------------------------------------- NEON
#elif defined(PLAINGRAD_SIMD_NEON)

constexpr int kVecRegisters = 8;

struct Vec {
    float32x4_t q[4];
};
struct Int {
    int32x4_t q[4];
};
struct Mask {
    uint32x4_t q[4];
};

// f on each of the four quarters.
template <class R, class F>
inline R quarters(F f) {
    return R{{f(0), f(1), f(2), f(3)}};
}

inline Vec broadcast(Real x) {
    return quarters<Vec>([&](int) { return vdupq_n_f32(x); });
}
inline Vec load(const Real* p) {
    return quarters<Vec>([&](int i) { return vld1q_f32(p + 4 * i); });
}
inline void store(Real* p, Vec a) {
    for (int i = 0; i < 4; ++i)
        vst1q_f32(p + 4 * i, a.q[i]);
}
inline Vec load_first(const Real* p, int64_t n) {
    Real copy[kLanes] = {};
    for (int64_t i = 0; i < n; ++i)
        copy[i] = p[i];
    return load(copy);
}
inline void store_first(Real* p, int64_t n, Vec a) {
    Real copy[kLanes];
    store(copy, a);
    for (int64_t i = 0; i < n; ++i)
        p[i] = copy[i];
}

inline Vec operator+(Vec a, Vec b) {
    return quarters<Vec>([&](int i) { return vaddq_f32(a.q[i], b.q[i]); });
}
inline Vec operator-(Vec a, Vec b) {
    return quarters<Vec>([&](int i) { return vsubq_f32(a.q[i], b.q[i]); });
}
inline Vec operator*(Vec a, Vec b) {
    return quarters<Vec>([&](int i) { return vmulq_f32(a.q[i], b.q[i]); });
}
inline Vec operator/(Vec a, Vec b) {
    return quarters<Vec>([&](int i) { return vdivq_f32(a.q[i], b.q[i]); });
}
inline Vec fma(Vec a, Vec b, Vec c) {
    return quarters<Vec>([&](int i) { return vfmaq_f32(c.q[i], a.q[i], b.q[i]); });
}
inline Vec fnma(Vec a, Vec b, Vec c) {
    return quarters<Vec>([&](int i) { return vfmsq_f32(c.q[i], a.q[i], b.q[i]); });
}
inline Vec sqrt(Vec a) {
    return quarters<Vec>([&](int i) { return vsqrtq_f32(a.q[i]); });
}
// Not vmaxq: a > b ? a : b is what x86 does with a NaN, and both must agree.
inline Vec max(Vec a, Vec b) {
    return quarters<Vec>([&](int i) { return vbslq_f32(vcgtq_f32(a.q[i], b.q[i]), a.q[i], b.q[i]); });
}
inline Vec min(Vec a, Vec b) {
    return quarters<Vec>([&](int i) { return vbslq_f32(vcltq_f32(a.q[i], b.q[i]), a.q[i], b.q[i]); });
}

inline Vec interleave_low(Vec a, Vec b) {
    return {{vzip1q_f32(a.q[0], b.q[0]), vzip2q_f32(a.q[0], b.q[0]), vzip1q_f32(a.q[1], b.q[1]),
             vzip2q_f32(a.q[1], b.q[1])}};
}
inline Vec interleave_high(Vec a, Vec b) {
    return {{vzip1q_f32(a.q[2], b.q[2]), vzip2q_f32(a.q[2], b.q[2]), vzip1q_f32(a.q[3], b.q[3]),
             vzip2q_f32(a.q[3], b.q[3])}};
}

inline Mask less(Vec a, Vec b) {
    return quarters<Mask>([&](int i) { return vcltq_f32(a.q[i], b.q[i]); });
}
inline Mask equal(Vec a, Vec b) {
    return quarters<Mask>([&](int i) { return vceqq_f32(a.q[i], b.q[i]); });
}
inline Vec select(Mask m, Vec yes, Vec no) {
    return quarters<Vec>([&](int i) { return vbslq_f32(m.q[i], yes.q[i], no.q[i]); });
}

inline Int int_broadcast(int32_t x) {
    return quarters<Int>([&](int) { return vdupq_n_s32(x); });
}
inline Int int_load(const int32_t* p) {
    return quarters<Int>([&](int i) { return vld1q_s32(p + 4 * i); });
}
inline Int operator+(Int a, Int b) {
    return quarters<Int>([&](int i) { return vaddq_s32(a.q[i], b.q[i]); });
}
inline Int operator-(Int a, Int b) {
    return quarters<Int>([&](int i) { return vsubq_s32(a.q[i], b.q[i]); });
}
inline Int operator*(Int a, Int b) {
    return quarters<Int>([&](int i) { return vmulq_s32(a.q[i], b.q[i]); });
}
inline Int operator^(Int a, Int b) {
    return quarters<Int>([&](int i) { return veorq_s32(a.q[i], b.q[i]); });
}
inline Int operator&(Int a, Int b) {
    return quarters<Int>([&](int i) { return vandq_s32(a.q[i], b.q[i]); });
}
inline Int operator|(Int a, Int b) {
    return quarters<Int>([&](int i) { return vorrq_s32(a.q[i], b.q[i]); });
}
template <int n>
Int shift_left(Int a) {
    return quarters<Int>([&](int i) { return vshlq_n_s32(a.q[i], n); });
}
template <int n>
Int shift_right(Int a) {
    return quarters<Int>(
        [&](int i) { return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(a.q[i]), n)); });
}
template <int n>
Int shift_right_signed(Int a) {
    return quarters<Int>([&](int i) { return vshrq_n_s32(a.q[i], n); });
}
inline Mask less(Int a, Int b) {
    return quarters<Mask>([&](int i) { return vcltq_s32(a.q[i], b.q[i]); });
}

// What is out of int32's range, or NaN, gives INT32_MIN as on x86; vcvtnq alone would saturate.
inline Int to_int(Vec a) {
    return quarters<Int>([&](int i) {
        const uint32x4_t fits = vcaltq_f32(a.q[i], vdupq_n_f32(2147483648.0f));
        return vbslq_s32(fits, vcvtnq_s32_f32(a.q[i]), vdupq_n_s32(INT32_MIN));
    });
}
inline Vec to_real(Int a) {
    return quarters<Vec>([&](int i) { return vcvtq_f32_s32(a.q[i]); });
}
inline Int bits(Vec a) {
    return quarters<Int>([&](int i) { return vreinterpretq_s32_f32(a.q[i]); });
}
inline Vec from_bits(Int a) {
    return quarters<Vec>([&](int i) { return vreinterpretq_f32_s32(a.q[i]); });
}

inline float32x4_t lanes_add(float32x4_t a, float32x4_t b) { return vaddq_f32(a, b); }
inline float32x4_t lanes_max(float32x4_t a, float32x4_t b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
template <class F>
inline Real reduce(Vec a, const F& f) {
    const float32x4_t four = f(f(a.q[0], a.q[2]), f(a.q[1], a.q[3]));
    const float32x4_t two = f(four, vextq_f32(four, four, 2));
    return vgetq_lane_f32(f(two, vextq_f32(two, two, 1)), 0);
}

#endif

// ------------------------------------------------------------------------------- on all of them

inline Vec zero() { return broadcast(Real(0)); }

// True in the first n lanes.
inline Mask first_of(int64_t n) {
    constexpr int32_t number[kLanes] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return less(int_load(number), int_broadcast(static_cast<int32_t>(n < kLanes ? n : kLanes)));
}

// Loads and stores `n` lanes, 0 <= n; all of them from 16 on. Missing lanes read as 0, or as `fill`.
inline Vec load(const Real* p, int64_t n) { return n >= kLanes ? load(p) : load_first(p, n); }
inline Vec load(const Real* p, int64_t n, Real fill) {
    return n >= kLanes ? load(p) : select(first_of(n), load_first(p, n), broadcast(fill));
}
inline void store(Real* p, int64_t n, Vec a) { n >= kLanes ? store(p, a) : store_first(p, n, a); }

// Lane i joined with lane i + 8, of these i with i + 4, then i + 2, i + 1: on every machine this tree.
inline Real reduce_add(Vec a) {
    return reduce(a, [](auto x, auto y) { return lanes_add(x, y); });
}
inline Real reduce_max(Vec a) {
    return reduce(a, [](auto x, auto y) { return lanes_max(x, y); });
}

}  // namespace
}  // namespace autograd::kernels
