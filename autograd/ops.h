// The table of all operations. Each is differentiable in the Tensors it takes, except comparisons and argmax,
// and where a comment says that an argument has no gradient.
//
// Every op throws autograd::Error, naming the shapes, if they do not fit. Dimensions count from 0, or from
// the end if negative.
//
//     B batch · S source length · T target length · V vocabulary
//     H heads, G of keys and values · D size of a head
//     M, K, N any sizes; "..." any leading dimensions
#pragma once

#include <optional>
#include <vector>

#include "autograd/base/kinds.h"
#include "autograd/base/list.h"
#include "autograd/base/random.h"
#include "autograd/tensor.h"
#include "autograd/tokens.h"

namespace plaingrad::autograd {

// ------------------------------------------------------------------------ elementwise, two tensors
// Shapes broadcast by NumPy's rules: aligned at the end, each size equal or 1. Either may be a number: 1 - x.

Tensor add(const Tensor& a, const Tensor& b);  // a + b
Tensor sub(const Tensor& a, const Tensor& b);  // a - b
Tensor mul(const Tensor& a, const Tensor& b);  // a b
Tensor div(const Tensor& a, const Tensor& b);  // a / b
// The larger and the smaller. Equal operands get half of the gradient each. NaN if either is NaN.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);  // -maximum(-a, -b)
// a where the condition is not 0, else b. Negative zero becomes 0. The operand that is not selected has no
// influence, even if it is NaN, and gets a gradient of 0. (The op before it may make NaN of that: the slope
// of where(x > 0, log(x), 0) at 0 is 0 / 0. So select first: log(where(x > 0, x, 1)).) The condition, usually
// a comparison, has no gradient.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

// ------------------------------------------------------------------------- elementwise, one tensor

Tensor neg(const Tensor& x);      // -x
Tensor exp(const Tensor& x);      // eˣ
Tensor log(const Tensor& x);      // ln x
Tensor sqrt(const Tensor& x);     // √x
Tensor tanh(const Tensor& x);     // (eˣ - e⁻ˣ) / (eˣ + e⁻ˣ)
Tensor sigmoid(const Tensor& x);  // 1 / (1 + e⁻ˣ)
Tensor abs(const Tensor& x);      // |x|; its derivative is 0 at 0
// xᵖ. For x < 0 the result is NaN unless p is an integer. For an integer or half-integer p (repeated
// multiplication) the error is at most p/4 roundings; otherwise it grows as |p ln x|.
Tensor pow(const Tensor& x, Real p);
// min(max(x, low), high); the gradient passes where low <= x <= high. Pass ±infinity for no bound.
Tensor clamp(const Tensor& x, Real low, Real high);
Tensor relu(const Tensor& x);       // max(0, x)
Tensor silu(const Tensor& x);       // x sigmoid(x)
Tensor gelu(const Tensor& x);       // x Φ(x), Φ the normal distribution's. Hendrycks & Gimpel 2016
Tensor gelu_tanh(const Tensor& x);  // x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))) ≈ gelu(x)
Tensor activation(const Tensor& x, Activation f);  // one of relu, gelu, gelu_tanh, silu

// ---------------------------------------------------------------------------------------- products

// Every op that multiplies matrices does so in the precision of the thread: float32 unless a
// UsePrecision (graph.h) says bf16. That rounds both factors of each product, forward and backward.

// a (..., M, K) @ b (..., K, N) -> (..., M, N); leading dims broadcast. If b has rank 2 this is a single
// product. b_transposed: b is given as (..., N, K).
// With bf16: gradient_to_bf16(matmul(to_bf16(a), to_bf16(b))), but for the order of the sum (kernels/bf16.h).
Tensor matmul(const Tensor& a, const Tensor& b, bool b_transposed = false);

// The nearest bfloat16, ties to even, 0 for a subnormal number. The gradient passes as it is.
Tensor to_bf16(const Tensor& x);
// x; its gradient is rounded.
Tensor gradient_to_bf16(const Tensor& x);

// -------------------------------------------------------------------------------------- reductions

Tensor sum(const Tensor& x);                                          // Σ x, a scalar
Tensor sum(const Tensor& x, List<int> dims, bool keep_dims = false);  // over some dims; {}: over none
Tensor mean(const Tensor& x);                                         // Σ x / n; throws Error for n = 0
Tensor mean(const Tensor& x, List<int> dims, bool keep_dims = false);
// The largest element along one dim, which must not be empty. The gradient goes to the first of equal maxima.
Tensor max(const Tensor& x, int dim, bool keep_dim = false);
// The index of the largest element along one dim, the first of equal ones. NaN counts as the largest.
// (N) -> (1, 1), (M, N) -> (M, 1), (B, T, N) -> (B, T); another dim likewise.
Tokens argmax(const Tensor& x, int dim = -1);

// ------------------------------------------------------------------------------------------- shape

// The same elements in another shape. One size may be -1, which is inferred. Does not copy.
Tensor reshape(const Tensor& x, List<int64_t> sizes);
Tensor squeeze(const Tensor& x, int dim);          // without that dim if its size is 1, else as it is
Tensor unsqueeze(const Tensor& x, int dim);        // with a new dim of size 1 at index `dim`
Tensor permute(const Tensor& x, List<int> order);  // out dim i is x's dim order[i]
Tensor transpose(const Tensor& x, int dim_a, int dim_b);
// x[..., begin:end, ...]; 0 <= begin <= end <= size. Unlike in Python, negative indices are errors.
Tensor slice(const Tensor& x, int dim, int64_t begin, int64_t end);
Tensor concat(List<Tensor> parts, int dim);
Tensor stack(List<Tensor> parts, int dim = 0);  // of equal shapes, along a new dim
// Consecutive slices of this size; the last may be smaller.
std::vector<Tensor> split(const Tensor& x, int64_t size, int dim = 0);

// ----------------------------------------------------------------------------------- softmax, loss

Tensor softmax(const Tensor& x, int dim = -1);      // eˣ / Σ eˣ
Tensor log_softmax(const Tensor& x, int dim = -1);  // x - ln Σ eˣ

struct CrossEntropyOptions {
    std::optional<int32_t> ignore = {};  // targets with this id do not count; default: the targets' own pad
    Real label_smoothing = 0;            // s: the target gets 1 - s, and s is spread over all V evenly
};
// The mean over the counted targets of -Σ_i target_i log softmax(logits)_i, a scalar, summed in double.
// logits (B, T, V) with targets (B, T), or rows (M, V) with M targets of any shape.
// Throws Error for an id outside 0 .. V-1 (with its place), or if no target is counted.
Tensor cross_entropy(const Tensor& logits, const Tokens& targets, const CrossEntropyOptions& options = {});

// Of equal shapes; the means over all elements.
Tensor mse_loss(const Tensor& x, const Tensor& target);  // mean (x - target)²
// mean of -(t log sigmoid(x) + (1 - t) log(1 - sigmoid(x))), t the target from 0 to 1
Tensor bce_with_logits(const Tensor& x, const Tensor& target);

// -------------------------------------------------------------------------------- look-up, dropout

// table (V, N), ids (B, T) -> (B, T, N). Padding gives zeros, whatever the table holds.
// Throws Error for an id outside 0 .. V-1, with its place.
Tensor embedding(const Tensor& table, const Tokens& ids);
// x[..., id], one id for each row of x (..., V) -> (...). Padding gives zeros, whatever x holds. Throws as
// above.
Tensor gather(const Tensor& x, const Tokens& ids);

// Each element is 0 with probability p, else x / (1-p). Which elements are dropped is a function of rng and
// the element's index. p = 0 returns x. Throws Error unless 0 <= p < 1.
Tensor dropout(const Tensor& x, Real p, const Rng& rng);

// ----------------------------------------------------- fused: each equals the composition it names

// matmul(x, weight) + bias      x (..., K), weight (K, N), bias (N) or an empty Tensor -> (..., N)
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
// The same with the weight given as (N, K): the output layer that shares an embedding's table.
Tensor linear_transposed(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

// activation(g, f) * u for x = g | u, columns side by side: (..., 2*N) -> (..., N). The gated linear unit of
// Dauphin et al. 2017, with any activation.
Tensor glu(const Tensor& x, Activation f);
// linear(activation(linear(x, w1, b1), f), w2, b2), keeping one tensor of the hidden size for backward
// gated: linear(glu(linear(x, w1, b1), f), w2, b2), keeping only the first layer's output. With silu it is
// SwiGLU (Shazeer 2020, equation 6): w1 = gate | up, as one product computes both.
Tensor feed_forward(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2,
                    Activation f, bool gated = false);

// cross_entropy(linear_transposed(x, weight, bias), targets, options), without all logits in memory: it
// processes a few hundred rows at a time and computes their gradients already in forward. So with bf16 the
// logits' gradient is rounded before it is multiplied by the loss's own.
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tokens& targets,
                            const CrossEntropyOptions& options = {});

// (x - mean) / sqrt(variance + eps) * gain + bias      over the last dim N; gain (N), bias (N) or empty
// The variance is the biased one (divided by N), as in Ba, Kiros & Hinton 2016.
Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, Real eps = Real(1e-5));
// x / sqrt(mean(x²) + eps) * gain      likewise. Zhang & Sennrich 2019
Tensor rms_norm(const Tensor& x, const Tensor& gain, Real eps = Real(1e-5));

// x + dropout(y, p, rng)      of equal shapes: the residual connection
Tensor residual(const Tensor& x, const Tensor& y, Real p, const Rng& rng);
// layer_norm(residual(x, y, p, rng), gain, bias, eps)
Tensor residual_norm(const Tensor& x, const Tensor& y, Real p, const Rng& rng, const Tensor& gain,
                     const Tensor& bias, Real eps = Real(1e-5));

struct RotaryHeads {
    int64_t n_heads = 1, head_dim = 0;  // H and D: the first H*D columns of x are heads
    int64_t first = 0;                  // the position of row 0 of x, as a row of turns
};
// x with the heads of each position turned: rotary positions, Su et al. 2021, §3.4.2, in Hugging Face's
// layout. x (B, T, N), turns (L, R) of L positions, R <= D: row p is cos | sin of its angles, R/2 of each.
// Numbers i and i + R/2 of a head are a pair (a, b), which becomes
//     (a cos - b sin, b cos + a sin)
// The other numbers stay as they are. turns has no gradient. The result is written over x if x is passed as
// an rvalue, std::move(x), and nothing else refers to its memory.
Tensor rotary(Tensor x, const Tensor& turns, const RotaryHeads& options);

struct AttentionOptions {
    int64_t n_heads = 1;
    // G, a divisor of H: each head of keys and values is read by H/G heads of queries in a row (grouped-query
    // attention, Ainslie et al. 2023). 0: as many as n_heads.
    int64_t n_kv_heads = 0;
    Mask mask = {};
    Real dropout = 0;           // of the weights
    const Rng* rng = nullptr;   // needed if dropout > 0
    Tensor* weights = nullptr;  // if given, receives the weights (B, H, T, S), after dropout, without a graph
    // If given (B): the sentence of kv whose keys and values each of q reads; kv may have another batch. Only
    // for cross_attention, and for decoding: backward throws.
    const std::vector<int32_t>* kv_rows = nullptr;
    // If > 0: how many positions of kv there are to read, S; what is behind them is never read. Likewise.
    int64_t kv_length = 0;
};
// Scaled dot-product attention, "Attention Is All You Need", §3.2.1, for all heads at once:
//     q (B, T, H*D), k and v (B, S, G*D) -> (B, T, H*D)
// For each head, which is D columns of each (of k and v head h / (H/G)), this is
//     scores  = matmul(q, k, b_transposed) / √D         // (T, S)
//     weights = dropout(softmax(scores over the allowed keys))
//     out     = matmul(weights, v)                      // (T, D)
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {});
// The same for q, k, v packed side by side in one tensor, as one joint projection produces them. Their
// gradients are packed the same way.
//     self_attention(qkv)   = attention(q, k, v)    qkv = q | k | v  (B, T, (H + 2*G)*D)
//     cross_attention(q, kv) = attention(q, k, v)   q (B, T, H*D), kv = k | v  (B, S, 2*G*D)
Tensor self_attention(const Tensor& qkv, const AttentionOptions& options = {});
Tensor cross_attention(const Tensor& q, const Tensor& kv, const AttentionOptions& options = {});

// --------------------------------------------------------------------------------------- operators

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& x) { return neg(x); }

// a = a + b: the handle now refers to a new tensor. The old one is unchanged, for backward and other handles.
inline Tensor& operator+=(Tensor& a, const Tensor& b) { return a = a + b; }
inline Tensor& operator-=(Tensor& a, const Tensor& b) { return a = a - b; }
inline Tensor& operator*=(Tensor& a, const Tensor& b) { return a = a * b; }
inline Tensor& operator/=(Tensor& a, const Tensor& b) { return a = a / b; }

// Comparisons, broadcast as above: 1 where true, else 0, without a graph. For NaN only != is true.
Tensor operator<(const Tensor& a, const Tensor& b);
Tensor operator<=(const Tensor& a, const Tensor& b);
Tensor operator==(const Tensor& a, const Tensor& b);
Tensor operator!=(const Tensor& a, const Tensor& b);
inline Tensor operator>(const Tensor& a, const Tensor& b) { return b < a; }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return b <= a; }

}  // namespace plaingrad::autograd
