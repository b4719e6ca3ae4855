// Each fused op written with primitive ops, one equation per line; backward comes from the graph.
// The comments name the sizes as ops.h does, and the attention's queries, keys and values q, k and v.
#include "autograd/plain.h"

#include <cmath>
#include <limits>

#include "autograd/kernels/kernels.h"

namespace plaingrad::autograd::plain {

// ------------------------------------------------------------------------- linear layers, feed-forward

// round(a) round(b), whose gradients are dout' round(b)ᵀ and round(a)ᵀ dout', with dout' = round(dout)
Tensor matmul_bf16(const Tensor& a, const Tensor& b, bool b_transposed) {
    const UsePrecision exact(Precision::float32);
    return gradient_to_bf16(matmul(to_bf16(a), to_bf16(b), b_transposed));  // (..., M, N)
}

// y = x W + b      or with the weight transposed, y = x Wᵀ + b
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, bool transposed) {
    if (x.rank() == 1)
        return squeeze(plain::linear(unsqueeze(x, 0), weight, bias, transposed), 0);  // (K) as one row
    const Tensor y = matmul(x, weight, transposed);                                   // (..., N)
    return bias.defined() ? y + bias : y;                                             // (..., N)
}

// f(g) u
Tensor glu(const Tensor& x, Activation f) {
    const int64_t n = x.size(-1) / 2;
    const Tensor gate = activation(slice(x, -1, 0, n), f);  // (..., N)
    return gate * slice(x, -1, n, 2 * n);                   // (..., N)
}

// FFN(x) = f(x W1 + b1) W2 + b2      "Attention Is All You Need", equation 2, where f is ReLU, max(0, ·)
// gated: (f(x Wg + bg) (x Wu + bu)) W2 + b2,  W1 = Wg | Wu      Shazeer 2020, equation 6, where f is swish
Tensor feed_forward(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2,
                    Activation f, bool gated) {
    const Tensor first = plain::linear(x, w1, b1);                              // (..., d_ff), gated: 2*d_ff
    const Tensor hidden = gated ? plain::glu(first, f) : activation(first, f);  // (..., d_ff)
    return plain::linear(hidden, w2, b2);                                       // (..., d_model)
}

// ------------------------------------------------------------------------------------------------ loss

// loss = mean over the counted targets y of -((1 - s) log p_y + s/V Σ_i log p_i),  p = softmax(logits)
// Label smoothing s: Szegedy et al. 2016, §7.
Tensor cross_entropy(const Tensor& logits, const Tokens& targets, const CrossEntropyOptions& options) {
    const int32_t ignore = options.ignore.value_or(targets.pad());
    const Tokens ids(targets.batch(), targets.length(), targets.ids(), ignore);
    const Tensor counted = Tensor::from_function(
        {std::ssize(ids.ids())}, [&](uint64_t i) { return ids.ids()[i] != ignore; });  // (M), 0 where ignored
    const Tensor rows = reshape(logits, {counted.numel(), -1});                        // (M, V)
    const Tensor log_p = log_softmax(where(unsqueeze(counted, 1), rows, 0));           // (M, V)
    const Tensor of_target = gather(log_p, ids);                                       // (M), 0 where ignored
    const Tensor of_all = where(counted, mean(log_p, {1}), 0);                         // (M)
    const Real s = options.label_smoothing;
    const Tensor log_q = s == 0 ? of_target : (1 - s) * of_target + s * of_all;  // (M)
    return -sum(log_q) / sum(counted);                                           // ()
}

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tokens& targets,
                            const CrossEntropyOptions& options) {
    return plain::cross_entropy(plain::linear(x, weight, bias, true), targets, options);  // (..., V), then ()
}

// ------------------------------------------------------------------ layer norm, residual connection

// y = g (x - μ) / √(σ² + ε) + b,  μ = mean(x), σ² = mean((x - μ)²)      Ba, Kiros & Hinton 2016, equation 4
Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, Real eps) {
    if (x.size(-1) == 0)
        return bias.defined() ? gain * x + bias : gain * x;       // no numbers, and so no mean
    const Tensor centred = x - mean(x, {-1}, true);               // (..., N)
    const Tensor variance = mean(centred * centred, {-1}, true);  // (..., 1)
    const Tensor y = gain * centred / sqrt(variance + eps);       // (..., N)
    return bias.defined() ? y + bias : y;                         // (..., N)
}

// y = g x / √(mean(x²) + ε)      Zhang & Sennrich 2019, equation 4
Tensor rms_norm(const Tensor& x, const Tensor& gain, Real eps) {
    const Tensor squares = x.size(-1) > 0 ? mean(x * x, {-1}, true) : Tensor(0);  // (..., 1)
    return gain * x / sqrt(squares + eps);                                        // (..., N)
}

// x + Dropout(y)      "Attention Is All You Need", §5.4
Tensor residual(const Tensor& x, const Tensor& y, Real p, const Rng& rng) { return x + dropout(y, p, rng); }

// LayerNorm(x + Dropout(y))      §3.1
Tensor residual_norm(const Tensor& x, const Tensor& y, Real p, const Rng& rng, const Tensor& gain,
                     const Tensor& bias, Real eps) {
    return plain::layer_norm(plain::residual(x, y, p, rng), gain, bias, eps);
}

// ------------------------------------------------------------------------------------------- attention

// softmax(q kᵀ / √D) v      "Attention Is All You Need", equation 1, for each head
// allowed (B, 1, T, S): 1 where a query may see a key, else 0. A query that may see no key gets zeros.
static Tensor attention_of_heads(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& allowed,
                                 const AttentionOptions& options) {
    const Real root = std::sqrt(static_cast<Real>(q.size(3)));
    const Tensor scores = matmul(q, k, true) / root;                                    // (B, H, T, S)
    const Tensor masked = where(allowed, scores, std::numeric_limits<Real>::lowest());  // (B, H, T, S)
    Tensor weights = where(allowed, softmax(masked), 0);                                // (B, H, T, S)
    if (options.dropout > 0)
        weights = dropout(weights, options.dropout, *options.rng);
    if (options.weights != nullptr)
        *options.weights = weights.detach();
    return matmul(weights, v);  // (B, H, T, D)
}

// 1 where query t of sentence b may see key s, else 0: (B, 1, T, S)
static Tensor allowed_pairs(const Mask& mask, int64_t B, int64_t T, int64_t S) {
    const kernels::AttentionMask m = mask.view();
    return Tensor::from_function({B, 1, T, S}, [&](uint64_t pair) {
        const int64_t row = static_cast<int64_t>(pair) / S, s = static_cast<int64_t>(pair) % S;
        const int64_t b = row / T, t = row % T;
        return (m.key_counts == nullptr || s < m.key_counts[b]) && (!m.causal || s <= t + (S - T)) &&
               (m.allowed == nullptr || m.allowed[pair] != 0);
    });
}

// (B, T, H*D) -> (B, H, T, D)
static Tensor split_heads(const Tensor& x, int64_t n_heads) {
    const Tensor heads = reshape(x, {x.size(0), x.size(1), n_heads, x.size(2) / n_heads});  // (B, T, H, D)
    return permute(heads, {0, 2, 1, 3});                                                    // (B, H, T, D)
}

// (B, H, T, D) -> (B, T, H*D)
static Tensor merge_heads(const Tensor& heads) {
    const int64_t B = heads.size(0), T = heads.size(2), width = heads.size(1) * heads.size(3);
    return reshape(permute(heads, {0, 2, 1, 3}), {B, T, width});  // (B, T, H*D)
}

// (a, b) -> (a cos θ - b sin θ, b cos θ + a sin θ)      Su et al. 2021, equation 34
Tensor rotary(const Tensor& x, const Tensor& turns, const RotaryHeads& o) {
    const int64_t B = x.size(0), T = x.size(1), H = o.n_heads, D = o.head_dim, R = turns.size(1);
    const Tensor angles = slice(turns, 0, o.first, o.first + T).detach();               // (T, R)
    const Tensor cosine = reshape(slice(angles, 1, 0, R / 2), {T, 1, R / 2});           // (T, 1, R/2)
    const Tensor sine = reshape(slice(angles, 1, R / 2, R), {T, 1, R / 2});             // (T, 1, R/2)
    const Tensor heads = reshape(slice(x, 2, 0, H * D), {B, T, H, D});                  // (B, T, H, D)
    const Tensor a = slice(heads, 3, 0, R / 2), b = slice(heads, 3, R / 2, R);          // (B, T, H, R/2)
    const Tensor a_turned = a * cosine - b * sine, b_turned = b * cosine + a * sine;    // (B, T, H, R/2)
    const Tensor turned = concat({a_turned, b_turned, slice(heads, 3, R, D)}, 3);       // (B, T, H, D)
    return concat({reshape(turned, {B, T, H * D}), slice(x, 2, H * D, x.size(2))}, 2);  // (B, T, N)
}

// Head h of the result is head h / (H/G): (B, G, S, D) -> (B, H, S, D)
static Tensor repeat_heads(const Tensor& heads, int64_t n_heads) {
    std::vector<Tensor> repeated;
    for (int64_t h = 0; h < n_heads; ++h) {
        const int64_t g = h / (n_heads / heads.size(1));
        repeated.push_back(slice(heads, 1, g, g + 1));  // (B, 1, S, D)
    }
    return n_heads == heads.size(1) ? heads : concat(repeated, 1);
}

// A hidden NaN would spread in matrix products, because 0 * NaN is NaN. So `finite` replaces NaN and infinity
// by 0 first, and `seen_flaws` is NaN for each query that may see a key or value with one. With ordinary
// numbers both do nothing.
static Tensor finite(const Tensor& x) { return where(x - x == 0, x, 0); }
static Tensor seen_flaws(const Tensor& k, const Tensor& v, const Tensor& allowed) {
    const Tensor flaws = sum(k - k + v - v, {-1}, true) != 0;       // (B, S, 1)
    const Tensor seen = matmul(squeeze(allowed, 1), flaws);         // (B, T, 1)
    return where(seen, std::numeric_limits<Real>::quiet_NaN(), 0);  // (B, T, 1)
}

// All heads at once: §3.2.2
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
    const int64_t H = options.n_heads, G = options.n_kv_heads > 0 ? options.n_kv_heads : H;
    const Tensor allowed = allowed_pairs(options.mask, q.size(0), q.size(1), k.size(1));  // (B, 1, T, S)
    const Tensor queries = split_heads(q, H);                                             // (B, H, T, D)
    const Tensor keys = repeat_heads(split_heads(finite(k), G), H);                       // (B, H, S, D)
    const Tensor values = repeat_heads(split_heads(finite(v), G), H);                     // (B, H, S, D)
    const Tensor heads = attention_of_heads(queries, keys, values, allowed, options);     // (B, H, T, D)
    return merge_heads(heads) + seen_flaws(k, v, allowed);                                // (B, T, H*D)
}

// qkv = q | k | v
Tensor self_attention(const Tensor& qkv, const AttentionOptions& options) {
    const int64_t H = options.n_heads, G = options.n_kv_heads > 0 ? options.n_kv_heads : H;
    const int64_t D = qkv.size(2) / (H + 2 * G), end_of_k = (H + G) * D;
    const Tensor q = slice(qkv, 2, 0, H * D);               // (B, T, H*D)
    const Tensor k = slice(qkv, 2, H * D, end_of_k);        // (B, T, G*D)
    const Tensor v = slice(qkv, 2, end_of_k, qkv.size(2));  // (B, T, G*D)
    return plain::attention(q, k, v, options);
}

// kv = k | v
Tensor cross_attention(const Tensor& q, const Tensor& kv_, const AttentionOptions& options) {
    const int64_t width = kv_.size(2) / 2, s = options.kv_length > 0 ? options.kv_length : kv_.size(1);
    Tensor kv = slice(kv_, 1, 0, s);  // (B, S, 2*G*D)
    if (options.kv_rows != nullptr)   // looks up the sentence of kv that each of q reads
        kv = embedding(reshape(kv, {kv.size(0), s * 2 * width}), Tokens(q.size(0), 1, *options.kv_rows))
                 .with_shape({q.size(0), s, 2 * width});
    const Tensor k = slice(kv, 2, 0, width), v = slice(kv, 2, width, 2 * width);  // (B, S, G*D)
    return plain::attention(q, k, v, options);
}

}  // namespace plaingrad::autograd::plain
