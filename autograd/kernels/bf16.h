// Products of bfloat16 numbers, summed in float: what Precision::bf16 computes, to the bit, on every machine.
//
// A bfloat16 is the upper half of a float: sign, all 8 bits of the exponent, 7 of the fraction. With the
// leading 1, which is not stored, it has 8 significant bits. The product of two has at most 16, so a float
// holds it exactly. Where the instruction below exists, a factor takes 16 bits (Halves), and a register or
// a cache line holds twice as many of them as floats. Elsewhere it is a float whose lower half is 0
// (Rounded), and takes 16 bits in packed weights only.
//
// They are multiplied in pairs: those of an even k and those of the k after it. One instruction, VDPBF16PS of
// AVX512-BF16, adds both products to a sum:
//
//     sum = fma(a0, b0, fma(a1, b1, sum))      the odd k first; each fma rounds to nearest even
//
// Subnormal operands count as 0, and a result that is subnormal after rounding becomes 0. The instruction
// does this whatever MXCSR says, the control register in which other instructions have two bits for it: DAZ
// (denormals are zeros) for operands, FTZ (flush to zero) for results. Pairs are counted from k = 0 of the
// whole sum. If its last k is even, the missing factors are +0.
//
// All of this is the definition here: every other instruction set computes the same bits with two fmas. A
// test compares them with the instruction wherever there is one. It passes on AMD's Zen 4 and Zen 5 and on
// Intel's Sapphire Rapids.
//
// Attention divides by the softmax's sum after it has multiplied by the values (attention.cpp), so forward
// rounds exp(score - the largest so far), after dropout, and not the weight that this becomes. Backward
// divides dout by that sum and rounds the quotient; it also rounds exp(score - the largest), after dropout,
// and the gradients of the scores.
//
// On Zen 4 and Zen 5 the instruction starts as often as an fma and does twice the work. On Sapphire Rapids it
// starts a quarter as often (88 GFLOP/s of one core, fma 176), so there two fmas are faster: dispatch.cpp.
// They are as many as float32 needs, and both factors have to be rounded first. (That processor's other unit
// for bfloat16, AMX, is often hidden from virtual machines; nothing here uses it.)
#pragma once

#include "autograd/kernels/simd.h"

namespace plaingrad::autograd::kernels {
namespace {

// ------------------------------------------------------------------------------------------- rounding

// The nearest bfloat16, ties to even, in the upper half of the word; the lower is 0. A subnormal number
// becomes 0, a NaN stays one. (The instructions that round do just this. The double build rounds to float
// first, which may turn a number beside a tie into one.)
inline Words rounded_bits(Reals x) {
    const Words word = bits(x), magnitude = word & 0x7fffffffu;
    const Words nearest = word + ((word >> 16 & 1u) + 0x7fffu);
    const Words number = less(magnitude, Words() + 0x00800000u) ? word & 0x80000000u : nearest;
    return (less(Words() + 0x7f800000u, magnitude) ? word | 0x00400000u : number) & 0xffff0000u;
}
inline Reals rounded(Reals x) { return from_bits(rounded_bits(x)); }
template <class T>
Pair<T> rounded(Pair<T> a) {
    return {rounded(a.low), rounded(a.high)};
}

// ---------------------------------------------------------------------------------------- multiplying

// While an object of this type exists, fmas on this thread treat subnormal operands and results as 0. AVX2
// and AVX-512 without the instruction need that. It is empty with the instruction, which does so by itself,
// and in the other sets, where flushing_fma does. (The compiler does not know that fmas depend on MXCSR,
// and could move one out of the object's lifetime. A test that compares subnormal sums of products on all
// sets would notice.)
#if PLAINGRAD_REGISTER_BYTES >= 32 && !defined(__AVX512BF16__)
struct FlushSubnormals {
    FlushSubnormals() { _mm_setcsr(before | 0x8040u); }  // FTZ and DAZ
    ~FlushSubnormals() { _mm_setcsr(before); }
    const unsigned before = _mm_getcsr();
};
#else
struct FlushSubnormals {};
#endif

// fma whose result is 0 if it is subnormal once rounded to 24 bits, however small its exponent. No operand
// is subnormal. A result of 2^-126, the smallest normal number, may be one that float rounded up to it;
// scaled by 2^60 it shows.
#if PLAINGRAD_REGISTER_BYTES >= 32
inline Reals flushing_fma(Reals a, Reals b, Reals c) { return fma(a, b, c); }  // within a FlushSubnormals
#elif PLAINGRAD_REGISTER_BYTES == 16
inline Reals flushing_fma(Reals a, Reals b, Reals c) {
    const Reals sum = fma(a, b, c);
    const Words least = (Words)(bits(sum) << 1 == 0x01000000u);
    Words tiny = vcaltq_f32(sum, vdupq_n_f32(0x1p-126f));
    if (vmaxvq_u32(least) != 0)
        tiny |= least & vcaltq_f32(fma(a * 0x1p60f, b, c * 0x1p60f), vdupq_n_f32(0x1p-66f));
    return from_bits(bits(sum) & ~(tiny & 0x7fffffffu));
}
#else
inline double flushing_fma(double a, double b, double c) { return fma(a, b, c); }  // the double build's
inline float flushing_fma(float a, float b, float c) {
    const float sum = fma(a, b, c), size = __builtin_fabsf(sum);
    if (size > 0x1p-126f || size == 0 || size != size)
        return sum;
    const float scaled = size < 0x1p-126f ? 0 : fma(a * 0x1p60f, b, c * 0x1p60f);
    return __builtin_fabsf(scaled) < 0x1p-66f ? __builtin_copysignf(0, sum) : sum;
}
#endif
template <class T>
Pair<T> flushing_fma(Pair<T> a, Pair<T> b, Pair<T> c) {
    return {flushing_fma(a.low, b.low, c.low), flushing_fma(a.high, b.high, c.high)};
}

// ----------------------------------------------------------------- factors, as a set likes to have them

// A number that is a bfloat16.
struct Rounded {
    Real value;
};
inline Vec load(const Rounded* p) { return load(&p->value); }
inline Vec load_first(const Rounded* p, int64_t) { return load(p); }  // packed: in whole Vecs
inline Vec broadcast(Rounded a) { return broadcast(a.value); }

// A pair in one word, the even k in its lower half.
struct Halves {
    uint32_t word;
};
inline Int load(const Halves* p) {
    return registers([&](int64_t i) { return read<Words>(p + i); });
}
inline Int load_first(const Halves* p, int64_t) { return load(p); }
inline void store(Halves* p, Int a) { __builtin_memcpy(p, &a, sizeof a); }
inline Int broadcast(Halves a) { return int_broadcast(a.word); }

#if defined(__AVX512BF16__)
// Lane i: the pair of even[i] and odd[i].
inline Int halves_of(Vec even, Vec odd) {
    using Shorts [[gnu::vector_size(64)]] = uint16_t;
    constexpr Shorts from = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                             8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return (Int)_mm512_permutexvar_epi16((__m512i)from, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}
// Lane i: the pair of x[2 i] and x[2 i + 1], where x are the lanes of `low` and then those of `high`.
inline Int halves_along(Vec low, Vec high) { return (Int)_mm512_cvtne2ps_pbh(high, low); }

using Bf16 = Halves;
#else
inline Int halves_of(Vec even, Vec odd) { return bits(rounded(even)) >> 16 | bits(rounded(odd)); }

using Bf16 = Rounded;
#endif

// Products are written once, for factors of type T: Real, or Bf16. One step of a sum uses kFactors<T>
// values of k, stored as kParts<T> elements of type T; the last element is added first.
template <class T>
constexpr int64_t kFactors = 2;
template <>
constexpr int64_t kFactors<Real> = 1;
template <class T>
constexpr int64_t kParts = 1;
template <>
constexpr int64_t kParts<Rounded> = 2;

// What a packed weight is stored as, for products of Ts: bfloat16 always as pairs in words.
template <class T>
struct Packing {
    using Number = Halves;
};
template <>
struct Packing<Real> {
    using Number = Real;
};
template <class T>
using PackedAs = typename Packing<T>::Number;

// How many elements of type T hold n factors of a chain.
template <class T>
constexpr int64_t count_of(int64_t n) {
    return (n + kFactors<T> - 1) / kFactors<T> * kParts<T>;
}

// Element `part` of a step of Ts, 16 columns of it, from rows of Us that are `row` apart. If a U is a word
// and T is not, one half of each word.
template <class T, class U>
auto load_part(const U* p, int64_t row, int64_t part) {
    if constexpr (kParts<T> == kParts<U>)
        return load(p + part * row);
    else
        return from_bits(part == 0 ? load(p) << 16 : load(p) & int_broadcast(0xffff0000u));
}

// Must exist while Ts are multiplied.
template <class T>
struct Arithmetic : FlushSubnormals {};
template <>
struct Arithmetic<Real> {};

template <class T>
auto multiply_add(auto a, auto b, Vec sum) {
    if constexpr (kFactors<T> == 1)
        return fma(a, b, sum);
#if defined(__AVX512BF16__)
    else
        return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
#else
    else
        return flushing_fma(a, b, sum);
#endif
}

// A step that rounds the pair (even, odd) itself. x: the pair's other factors, packed, x_step apart.
#if defined(__AVX512BF16__)
inline Vec add_pair(const Halves* x, int64_t, Vec even, Vec odd, Vec sum) {
    return multiply_add<Halves>(broadcast(*x), halves_of(even, odd), sum);
}
#else
inline Vec add_pair(const Rounded* x, int64_t x_step, Vec even, Vec odd, Vec sum) {
    sum = flushing_fma(broadcast(x[x_step]), rounded(odd), sum);
    return flushing_fma(broadcast(x[0]), rounded(even), sum);
}
#endif

// A step in which only one k of the pair is seen, number i of the chain; the factors of the other count as
// +0. The chain's factors begin at x and m; the next T is x_step and m_row further.
#if defined(__AVX512BF16__)
inline Vec add_half(int64_t i, const Halves* x, int64_t x_step, const Halves* m, int64_t m_row, Vec sum) {
    const uint32_t half = i % 2 == 0 ? 0x0000ffffu : 0xffff0000u;
    const Int a = int_broadcast(x[i / 2 * x_step].word & half), b = load(m + i / 2 * m_row) & half;
    return multiply_add<Halves>(a, b, sum);
}
#else
inline Vec add_half(int64_t i, const Rounded* x, int64_t x_step, const Rounded* m, int64_t m_row, Vec sum) {
    if (i % 2 == 0)
        sum = flushing_fma(zero(), zero(), sum);
    sum = flushing_fma(broadcast(x[i * x_step]), load(m + i * m_row), sum);
    return i % 2 == 0 ? sum : flushing_fma(zero(), zero(), sum);
}
#endif

}  // namespace
}  // namespace plaingrad::autograd::kernels
