// The plain form of every fused op: the composition of primitive ops that it equals, as a textbook has it.
//
// ops.h names the composition, this file is it, and it runs: while a Plain lives, the fused ops of the thread
// compute through it, forward and backward, and so does every model. Tests hold both together. What fusing
// gains, in time and memory, is what `make bench-plain` measures.
//
// Equal up to rounding, dropout's choices included, and with the same bits on any number of threads and any
// instruction set. Unlike the fused forms, a sentence's bits may depend on how far its batch is padded.
//
// Training amplifies the rounding. The losses of ./apps/reverse_task with --plain and without agree to six
// digits for 90 steps and part soon after; so they do when the learning rate is changed by 3e-8 of itself. In
// double both agree for longer.
#pragma once

#include "autograd/ops.h"

namespace plaingrad::autograd {

// While one lives, ops on this thread run in their plain form.
struct Plain : ThreadSwitch<Plain> {};

// Arguments and results as in ops.h, whose functions check them.
namespace plain {

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);
Tensor linear_transposed(const Tensor& x, const Tensor& weight, const Tensor& bias);
Tensor linear_columns(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t first,
                      int64_t count);
Tensor linear_activation(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation f);
Tensor feed_forward(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2,
                    Activation f);
Tensor cross_entropy(const Tensor& logits, const Tokens& targets, const CrossEntropyOptions& options);
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tokens& targets,
                            const CrossEntropyOptions& options);
Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, Real eps);
Tensor input_embedding(const Tensor& table, const Tokens& ids, Real scale, const Tensor& positions, Real p,
                       const Rng& rng);
Tensor residual(const Tensor& x, const Tensor& y, Real p, const Rng& rng);
Tensor residual_norm(const Tensor& x, const Tensor& y, Real p, const Rng& rng, const Tensor& gain,
                     const Tensor& bias, Real eps);
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options);
Tensor self_attention(const Tensor& qkv, const AttentionOptions& options);
Tensor cross_attention(const Tensor& q, const Tensor& kv, const AttentionOptions& options);

}  // namespace plain
}  // namespace plaingrad::autograd
