// Scaled dot-product attention (§3.2.1), all heads in one op. The kernel: kernels/attention.cpp.
//
// It equals the composition in ops.h. The implementation in plain.cpp stores two (B, H, T, S) tensors, reads
// and writes them about ten times, and first copies each head's columns into a contiguous block. The kernel
// processes a few queries at a time, whose scores stay in the cache, and reads q, k and v where the
// projections left them: in three tensors, in one, or with k and v in one. So there are three ops. Each says
// where its operands and their gradients begin; everything else is shared.
#include <cmath>
#include <vector>

#include "autograd/base/list.h"
#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/plain.h"

namespace plaingrad::autograd {
namespace {

int64_t kv_heads(const AttentionOptions& o) { return o.n_kv_heads > 0 ? o.n_kv_heads : o.n_heads; }

std::string of_heads(const AttentionOptions& o) {
    return join(", with H = ", o.n_heads, " and G = ", kv_heads(o));
}

// How many of the positions of k are read.
int64_t keys_of(const Tensor& k, const AttentionOptions& o) {
    return o.kv_length > 0 ? o.kv_length : k.size(1);
}

void check_options(const Tensor& q, int64_t width, const Tensor& k, const AttentionOptions& o, bool cross) {
    check(o.n_heads >= 1 && width % o.n_heads == 0, "[attention] ", width,
          " columns cannot be divided among ", o.n_heads, " heads");
    check(o.n_kv_heads >= 0 && o.n_heads % kv_heads(o) == 0,
          "[attention] n_heads must be a multiple of n_kv_heads: got ", o.n_heads, " and ", o.n_kv_heads);
    check(o.dropout >= 0 && o.dropout < 1, "[attention] the dropout rate must be in [0, 1): got ", o.dropout);
    check(o.dropout == 0 || o.rng != nullptr, "[attention] dropout needs an Rng; pass .rng");
    check(cross || (o.kv_rows == nullptr && o.kv_length == 0),
          "[attention] only cross_attention takes kv_rows and kv_length");
    check(o.kv_length >= 0 && o.kv_length <= k.size(1), "[attention] kv has ", k.size(1),
          " positions: got kv_length = ", o.kv_length);
    o.mask.check_fits(q.size(0), q.size(1), keys_of(k, o));
    for (const int32_t row : o.kv_rows != nullptr ? *o.kv_rows : std::vector<int32_t>())
        check(row >= 0 && row < k.size(0), "[attention] kv_rows must be rows of kv, of which there are ",
              k.size(0), ": got ", row);
}

// q, k: the tensors that contain the queries and keys. The result points into the mask, so the closure keeps
// the mask alive.
kernels::Attention sizes_of(const Tensor& q, const Tensor& k, int64_t width, const AttentionOptions& o) {
    const int64_t d = width / o.n_heads;
    return {.batch = q.size(0),
            .heads = o.n_heads,
            .queries = q.size(1),
            .keys = keys_of(k, o),
            .d = d,
            .q_row = q.size(2),
            .kv_row = k.size(2),
            .kv_spare = k.size(1) - keys_of(k, o),
            .kv_rows = o.kv_rows != nullptr ? o.kv_rows->data() : nullptr,
            .scale = static_cast<Real>(1 / std::sqrt(static_cast<double>(d))),
            .mask = o.mask.view(),
            .group = o.n_heads / kv_heads(o),
            .dropout = o.dropout,
            .key = o.dropout > 0 ? o.rng->key() : kernels::RandomKey{}};
}

// Where an operand begins: a column of one of the op's inputs.
struct Place {
    std::size_t input;
    int64_t column = 0;
};

// With w = softmax(q kᵀ/√D, masked) and m = dropout's factors:
// out = (w m) v
// dv = (w m)ᵀ dout     ds = w (m dout vᵀ - Σ w m dout vᵀ)     dq = ds k/√D,  dk = dsᵀ q/√D
// Each gradient is laid out as its input, in memory of its own, as inputs may be one tensor: attention(x, x,
// x). Of the softmax, backward keeps two numbers a row.
Tensor attended(const char* op, const std::vector<const Tensor*>& inputs, const Place& q, const Place& k,
                const Place& v, int64_t width, const AttentionOptions& o) {
    const kernels::Attention a = sizes_of(*inputs[q.input], *inputs[k.input], width, o);
    const auto from = [&](const Place& at) { return inputs[at.input]->data() + at.column; };
    const Tensor out = Tensor::uninitialized({a.batch, a.queries, width});
    const Tensor statistics = Tensor::uninitialized({a.batch, a.heads, a.queries, 2});
    Tensor weights;
    if (o.weights != nullptr)
        weights = Tensor::uninitialized({a.batch, a.heads, a.queries, a.keys});
    const Precision p = UsePrecision::active();
    const kernels::Products& products = kernels::cpu().products(p);
    products.attention(a, from(q), from(k), from(v), out.mutable_data(),
                       o.weights != nullptr ? weights.mutable_data() : nullptr, statistics.mutable_data());
    const Tensor result = with_backward(
        op, out, inputs,
        [a, p, q, k, v, mask = o.mask, sinks = mapped(inputs, &Tensor::sink),
         saved = mapped(inputs, &Tensor::save), output = out.save(),
         statistics = statistics.save()](const Tensor& dout) {
            check(a.kv_rows == nullptr && a.kv_spare == 0,
                  "[attention] kv_rows and kv_length have no backward");
            std::vector<Tensor> grads;
            for (std::size_t i = 0; i < saved.size(); ++i)
                grads.push_back(sinks[i] ? Tensor::uninitialized(saved[i].shape()) : Tensor());
            const auto in = [&](const Place& at) { return saved[at.input].data() + at.column; };
            const auto to = [&](const Place& at) {
                const Tensor& grad = grads[at.input];
                return kernels::Out{grad.defined() ? grad.mutable_data() + at.column : nullptr};
            };
            kernels::cpu().products(p).attention_backward(
                a, in(q), in(k), in(v), output.data(), statistics.data(), dout.data(), to(q), to(k), to(v));
            for (std::size_t i = 0; i < grads.size(); ++i)
                sinks[i].pass(grads[i]);
        });
    if (o.weights != nullptr)
        *o.weights = weights;  // not before: it may be one of the inputs
    return result;
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
    check(q.rank() == 3 && k.rank() == 3 && k.shape() == v.shape() && q.size(0) == k.size(0) &&
              q.size(2) * kv_heads(options) == k.size(2) * options.n_heads,
          "[attention] q is ", q.shape(), ", k is ", k.shape(), ", v is ", v.shape(),
          "; q must be (B, T, H*D), k and v (B, S, G*D)", of_heads(options));
    check_options(q, q.size(2), k, options, false);
    if (Plain::active())
        return plain::attention(q, k, v, options);
    return attended("attention", {&q, &k, &v}, {0}, {1}, {2}, q.size(2), options);
}

// qkv = q | k | v, columns side by side
Tensor self_attention(const Tensor& qkv, const AttentionOptions& options) {
    const int64_t heads = options.n_heads + 2 * kv_heads(options);
    check(qkv.rank() == 3 && heads > 0 && qkv.size(2) % heads == 0, "[self_attention] qkv is ", qkv.shape(),
          "; it must be q | k | v, (B, T, (H + 2*G)*D)", of_heads(options));
    const int64_t d = qkv.size(2) / heads, width = options.n_heads * d;
    check_options(qkv, width, qkv, options, false);
    if (Plain::active())
        return plain::self_attention(qkv, options);
    return attended("self_attention", {&qkv}, {0}, {0, width}, {0, width + kv_heads(options) * d}, width,
                    options);
}

// kv = k | v, columns side by side
Tensor cross_attention(const Tensor& q, const Tensor& kv, const AttentionOptions& options) {
    const std::vector<int32_t>* const rows = options.kv_rows;
    check(q.rank() == 3 && kv.rank() == 3 &&
              (rows != nullptr ? std::ssize(*rows) : kv.size(0)) == q.size(0) &&
              2 * q.size(2) * kv_heads(options) == kv.size(2) * options.n_heads,
          "[cross_attention] q is ", q.shape(), ", kv is ", kv.shape(),
          "; q must be (B, T, H*D), kv = k | v (B, S, 2*G*D), and kv_rows, if given, B numbers",
          of_heads(options));
    check_options(q, q.size(2), kv, options, true);
    if (Plain::active())
        return plain::cross_attention(q, kv, options);
    return attended("cross_attention", {&q, &kv}, {0}, {1}, {1, kv.size(2) / 2}, q.size(2), options);
}

}  // namespace plaingrad::autograd
