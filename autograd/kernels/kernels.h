// The table of all kernels: the SIMD loops behind the operations.
//
// A kernel takes raw pointers and sizes and knows no Tensor. The same source is compiled once per
// instruction set (unit.cpp); the set of kernels that fits this processor is picked at start
// (dispatch.cpp) and reached as `kernels::cpu().softmax(...)`. All sets give the same bits, at any
// number of threads.
//
// Everything is dense and row-major. Sizes may be 0. Pointers must not overlap unless said so.
#pragma once

#include <cstdint>

#include "autograd/base/kinds.h"
#include "autograd/base/real.h"

namespace plaingrad::autograd::kernels {

// Where a result goes: it overwrites what is there, or is added to it. Gradients use the second
// when another consumer of the same tensor has already written. Overwriting never reads.
struct Out {
    Real* data;
    bool accumulate = false;
};

// Functions of one number. The first are Activation's.
enum class Unary { relu, gelu, gelu_tanh, silu, neg, exp, log, sqrt, tanh, sigmoid, abs, to_bf16, count };

constexpr Unary unary_of(Activation f) { return static_cast<Unary>(f); }
static_assert(unary_of(Activation::count) == Unary::neg && unary_of(Activation::relu) == Unary::relu &&
              unary_of(Activation::gelu) == Unary::gelu && unary_of(Activation::silu) == Unary::silu);

// c (m, n) = op(a) (m, k) @ op(b) (k, n) [+ c] [+ bias], and of this f, the activation, if one is given
// op(a) is a, stored (m, k) with rows lda apart, or its transpose, stored (k, m); b likewise.
// Each element is a chain of fma over k in order, from zero in every block of kGemmBlockK; the
// blocks are added in order (to c first, if accumulating), then the bias (n).
struct Gemm {
    int64_t m, n, k;
    int64_t lda, ldb, ldc;
    bool a_transposed = false, b_transposed = false;
    bool accumulate = false;
    bool b_packed = false;  // b is what `pack` wrote of op(b)
    const Real* bias = nullptr;
    const Unary* activation = nullptr;
    // (m, n) with rows ldc apart, unless nullptr: c as it was before the activation, for its derivative.
    Real* before_activation = nullptr;
};

// Functions of two numbers:
//     max                the larger; NaN if one is NaN
//     less, equal        1 where a < b, a == b, else 0
//     keep, drop         keep: a where b is not 0, else 0; drop: a where b is 0, else 0. Where the result is
//                        0, a has no influence, even if it is NaN.
enum class Binary { add, sub, mul, div, max, less, equal, keep, drop, count };

// Four loops over `size`; each operand moves by its own strides (0 repeats it: broadcasting).
struct Loop4 {
    int64_t size[4];
    int64_t a[4], b[4];
};

// x seen as (outer, n, inner); the middle is what an operation reduces.
struct Middle {
    int64_t outer, n, inner;
};

// Which (query, key) pairs may meet; masked keys are never read. See autograd/tokens.h.
struct AttentionMask {
    const int32_t* key_counts = nullptr;  // (batch): keys from the count on are padding
    bool causal = false;                  // query t sees keys up to t + (keys - queries)
    const uint8_t* allowed = nullptr;     // (batch, queries, keys), 1 = may be seen
};

// q and out (batch, queries, heads * d), k and v (batch, keys, heads/group * d): head h is columns h*d to
// h*d + d, so that the projections are read in place and nothing is transposed. Of q, `group` heads in a row
// read the same head of k and v: head h reads head h / group. The rows of q, and those of k and v,
// may be further apart than their width: one projection can produce two or all three, side by side. A
// gradient has the layout of its operand.
struct Attention {
    int64_t batch, heads, queries, keys, d;
    int64_t q_row, kv_row;  // from one position's row to the next; those of out are heads * d apart
    int64_t kv_spare = 0;   // positions of k and v behind the keys of each sentence. Not in backward.
    // (batch): whose keys and values each sentence reads; nullptr: its own. Not in backward.
    const int32_t* kv_rows = nullptr;
    Real scale;  // of q·k, 1/√d in the paper
    AttentionMask mask;
    int64_t group = 1;  // a divisor of heads
    Real dropout = 0;   // probability of dropping a weight
    RandomKey key{};    // of the dropped weights; element ((b*heads + h)*queries + t)*keys + s
};

// `count` rows of n from a table. An id equal to `pad` gives zeros and passes no gradient: that row of the
// table is never read.
struct Lookup {
    int64_t count, n;
    int32_t pad;
};

// Rows of n; x may come as the residual connection's sum: x + dropout(y), dropout by (p, key) as below.
struct LayerNorm {
    int64_t rows, n;
    Real eps;
    Real p = 0;
    RandomKey key{};
    bool centred = true;  // false: RMS norm, in which 0 stands for the mean
};

// Rows of `row` numbers, each of which begins with `heads` heads of d. In a head, numbers i and i + width/2
// of the first `width` are a point in the plane. It is turned by an angle whose cosine and sine are numbers
// i and i + width/2 of a row of turns (length, width): row r % length, for row r.
struct Rotary {
    int64_t rows, row, heads, d, width, length;
    bool back = false;  // by the negative angle
};

// One update of Adam (Kingma & Ba 2015, algorithm 1) or AdamW (decoupled decay).
struct Adam {
    Real lr, beta1, beta2;
    Real rest1, rest2;  // 1 - beta, from doubles: 1 - 0.999f would have a relative error of 1e-5
    Real eps;
    Real correction1, correction2;  // 1 - beta^step
    Real decay = 0;                 // weight decay
    bool decoupled = false;         // AdamW: w -= lr * decay * w; else g += decay * w
    Real grad_scale = 1;            // from clipping
};

// The products of activations and weights, which exist in each precision. With bf16 (bf16.h), both factors of
// each product are rounded first, and a chain has a step for each pair of k.
struct Products {
    // ---- matrix product (gemm.cpp)
    void (*gemm)(const Gemm&, const Real* a, const Real* b, Real* c);
    // Copies op(b) (k, n) into the order in which products read it: packed_size(n, k) numbers. Of bfloat16
    // a copy takes half the memory. Other sets cannot read it.
    void (*pack)(const Gemm&, const Real* b, Real* to);
    // The other way: column j of op(b), k numbers, which of bfloat16 are the rounded ones.
    void (*unpack_column)(const Gemm&, const Real* packed, int64_t j, Real* to);

    // ---- attention (attention.cpp): out = softmax(q kᵀ * scale, masked) v, per head
    // `weights` (batch, heads, queries, keys), after dropout, is written unless it is nullptr; statistics
    // (batch, heads, queries, 2): each query's largest score and 1 / Σ exp(score - that), kept for backward
    void (*attention)(const Attention&, const Real* q, const Real* k, const Real* v, Real* out, Real* weights,
                      Real* statistics);
    // Any of dq, dk, dv may have data == nullptr. None shares numbers with another.
    void (*attention_backward)(const Attention&, const Real* q, const Real* k, const Real* v, const Real* out,
                               const Real* statistics, const Real* dout, Out dq, Out dk, Out dv);

    // ---- yardstick (peak.cpp): n steps of independent chains of fma; returns the operations done
    double (*fma_chains)(int64_t n);
};

struct Kernels {
    const char* name;  // "avx512", "avx512bf16", "avx2", "neon", "baseline"

    Products float32, bf16;
    const Products& products(Precision p) const { return p == Precision::bf16 ? bf16 : float32; }

    // ---- elementwise (pointwise.cpp); y may be x
    void (*unary)(Unary, int64_t n, const Real* x, Real* y);
    // dx = dy * f'(x), dx may be dy; `saved` is y for exp, sqrt, tanh and sigmoid, else x
    // (unary_saves_output)
    void (*unary_backward)(Unary, int64_t n, const Real* saved, const Real* dy, Out dx);
    // h = f(g) u for rows gu = g | u of 2n numbers; dgu = dg | du = dh u f'(g) | dh f(g). f: an Activation's
    void (*glu)(Unary f, int64_t rows, int64_t n, const Real* gu, Real* h);
    void (*glu_backward)(Unary f, int64_t rows, int64_t n, const Real* gu, const Real* dh, Out dgu);
    // out[i,j,k,l] = a[...] op b[...], over the loops; out is dense, and may be an operand of its own shape
    void (*binary)(Binary, const Loop4&, const Real* a, const Real* b, Out out);
    // y = x / (1-p) where kept, else 0; whether element i is kept depends only on key and i
    void (*dropout)(int64_t n, Real p, RandomKey, const Real* x, Out y);
    // sum = x + dropout(y): the residual connection
    void (*residual)(int64_t n, Real p, RandomKey, const Real* x, const Real* y, Real* sum);
    void (*fill)(int64_t n, Real value, Real* y);
    // y = x with points turned; y may be x (rotary.cpp)
    void (*rotary)(const Rotary&, const Real* turns, const Real* x, Real* y);

    // ---- moving and reducing (reduce.cpp)
    // to[strides b] = from[strides a], over the loops; `to.accumulate` adds
    void (*copy)(const Loop4&, const Real* from, Out to);
    // y (outer, inner) = scale * sum over the middle
    void (*sum)(const Middle&, Real scale, const Real* x, Out y);
    // y (outer, inner) = max over the middle; index: the first position of it. Requires n >= 1.
    void (*max)(const Middle&, const Real* x, Real* y, int32_t* index);
    void (*max_backward)(const Middle&, const int32_t* index, const Real* dy, Out dx);
    double (*sum_of_squares)(int64_t n, const Real* x);

    // ---- rows of n (rows.cpp)
    void (*softmax)(int64_t rows, int64_t n, const Real* x, Real* y);
    void (*softmax_backward)(int64_t rows, int64_t n, const Real* y, const Real* dy, Out dx);
    void (*log_softmax)(int64_t rows, int64_t n, const Real* x, Real* y);
    void (*log_softmax_backward)(int64_t rows, int64_t n, const Real* y, const Real* dy, Out dx);
    // The first i with x[i] >= bound, or x[i] NaN; n if there is none.
    int64_t (*first_from)(int64_t n, const Real* x, Real bound);
    // loss[r] = (1-s) * -log p(target) + s * mean over v of -log p(v), 0 where target == ignore;
    // statistics (rows, 2), kept for backward: the largest logit, and log Σ exp(logit - largest)
    void (*cross_entropy)(int64_t rows, int64_t n, const Real* logits, const int32_t* targets, int32_t ignore,
                          Real smoothing, Real* loss, Real* statistics);
    // dlogits = scale * (softmax - smoothed target), 0 in ignored rows; may overwrite the logits
    void (*cross_entropy_backward)(int64_t rows, int64_t n, const Real* logits, const int32_t* targets,
                                   int32_t ignore, Real smoothing, const Real* statistics, Real scale,
                                   Out dlogits);
    // out = (s - mean) / sqrt(var + eps) * gain + bias, biased variance, of s = x, or where y is not nullptr
    // of the sum x + dropout(y), which is written; statistics (rows, 3): two-part mean and 1/sqrt. bias may
    // be nullptr.
    void (*layer_norm)(const LayerNorm&, const Real* x, const Real* y, const Real* gain, const Real* bias,
                       Real* sum, Real* out, Real* statistics);
    // s: x, or the sum. Any of dx, dy, dgain, dbias may have data == nullptr: it is not computed.
    void (*layer_norm_backward)(const LayerNorm&, const Real* s, const Real* gain, const Real* statistics,
                                const Real* dout, Out dx, Out dy, Out dgain, Out dbias);

    // ---- table look-up (lookup.cpp), rows of n; ids are checked by the caller
    // y[i] = table[ids[i]]
    void (*gather)(const Lookup&, const int32_t* ids, const Real* table, Real* y);
    // dtable[ids[i]] += dy[i], each row's in the order of i; other rows become 0 unless accumulating
    void (*scatter_add)(const Lookup&, const int32_t* ids, const Real* dy, int64_t table_rows, Out dtable);

    // ---- optimizer (adam.cpp): w, m, v are updated in place
    void (*adam)(const Adam&, int64_t n, const Real* grad, Real* w, Real* m, Real* v);
};

// Whether the derivative is a formula in y rather than in x: y is then kept for backward.
constexpr bool unary_saves_output(Unary f) {
    return f == Unary::exp || f == Unary::sqrt || f == Unary::tanh || f == Unary::sigmoid;
}

// k is split into blocks of this size, on every path and machine: changing it changes bits. 512 rows
// of a panel of 4 Vecs are 128 KiB, well inside L2, and were the fastest.
constexpr int64_t kGemmBlockK = 512;

// The room that `pack` needs: whole tiles of columns, and whole pairs of k.
constexpr int64_t packed_size(int64_t n, int64_t k, Precision precision) {
    return (n + 63) / 64 * 64 * (precision == Precision::bf16 ? (k + 1) / 2 : k);
}

// The kernels in use. The first call picks them: PLAINGRAD_ISA if set, else the best this processor and this
// build have. Throws Error if PLAINGRAD_ISA names a set that does not exist, or that one of the two lacks.
const Kernels& cpu();

// Switches to another set by name, with the same errors; or to a table of your own, which must outlive its
// use: one that counts calls, say. For tests and benchmarks, not while kernels run. Weights that were packed
// before (autograd/weight.h) are for the set that packed them.
void use(const char* name);
void use(const Kernels& kernels);

// The sets that can run here, best first; ends with nullptr.
const char* const* available();

// The best set of this processor, if this build has no kernels for it (`make ISA=all`); else nullptr.
const char* missing();

// Frees the working memory that this thread's kernels keep; other threads free theirs when they next need
// some. Must not be called from inside a kernel.
void scratch_trim();

}  // namespace plaingrad::autograd::kernels
