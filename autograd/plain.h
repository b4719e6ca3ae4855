// The plain form of every fused op: the composition of primitive ops that it equals, as a textbook has it.
//
// ops.h names each composition; plain.cpp implements it. While a Plain object exists, the fused ops of this
// thread use it, forward and backward, and so does every model. Tests compare the two forms, and
// `make bench-plain` measures what fusing gains in time and memory.
//
// The forms are equal up to rounding, and dropout drops the same elements. The plain form too gives the same
// bits on any number of threads and any instruction set. Unlike with the fused ops, a sentence's bits may
// depend on how far its batch is padded.
//
// Training amplifies rounding differences. The losses of ./apps/reverse_task with and without --plain agree
// to six digits for 90 steps and diverge soon after; a relative change of 3e-8 in the learning rate does the
// same. In double they agree for longer.
#pragma once

#include "autograd/ops.h"

namespace plaingrad::autograd {

// While a Plain exists, ops on this thread run in their plain form.
struct Plain : ThreadSwitch<Plain> {};

// Arguments and results as in ops.h, whose functions check them.
namespace plain {

Tensor matmul_bf16(const Tensor& a, const Tensor& b, bool b_transposed);
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, bool transposed = false);
Tensor glu(const Tensor& x, Activation f);
Tensor feed_forward(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2,
                    Activation f, bool gated);
Tensor cross_entropy(const Tensor& logits, const Tokens& targets, const CrossEntropyOptions& options);
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tokens& targets,
                            const CrossEntropyOptions& options);
Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, Real eps);
Tensor rms_norm(const Tensor& x, const Tensor& gain, Real eps);
Tensor rotary(const Tensor& x, const Tensor& turns, const RotaryHeads& options);
Tensor residual(const Tensor& x, const Tensor& y, Real p, const Rng& rng);
Tensor residual_norm(const Tensor& x, const Tensor& y, Real p, const Rng& rng, const Tensor& gain,
                     const Tensor& bias, Real eps);
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options);
Tensor self_attention(const Tensor& qkv, const AttentionOptions& options);
Tensor cross_attention(const Tensor& q, const Tensor& kv, const AttentionOptions& options);

}  // namespace plain
}  // namespace plaingrad::autograd
