// How products and look-ups read a weight: as it is, or packed.
//
// A product of many rows copies its weight into the order in which it reads it first (kernels/gemm.cpp),
// which takes as long as multiplying it with two or three tiles of six rows. Training multiplies a weight
// with hundreds of rows at a time, and hardly notices. Decoding has one row for each sentence, often only a
// few, and the same weights again for each token. There a copy costs as much as the product, and to read the
// weight in place instead is slow if its rows are long or it is transposed. So decoding packs each weight
// once:
//
//     const KeepPacked keep;                     // on this thread, while it exists,
//     Tensor y = linear(x, weight, bias);        // products pack their weights, and read what is packed
//
// The bits of the results are the same. The price is memory: the copy comes on top of the weight, and stays
// with it until the weight is written to or gone. In float32 it takes as much again. In bfloat16
// (base/kinds.h) it takes half as much, and half the time to read, from which a single row gains, too. A
// weight has one copy: products that want it in another form, or another precision, in turn pack it each
// time.
//
// A program that only generates needs no more than the copies:
//
//     const UsePrecision bf16(Precision::bf16);
//     pack(weight);                              // weight, and every handle of it, is now packed only
//     Tensor y = linear(x, weight, bias);        // reads it as it is
//
// Then a weight takes 4 bytes a number in float32 and 2 in bfloat16, instead of 8 and 6. Linear ops can read
// it, in that precision, and look-ups of its rows; everything else throws Error. (A model that is opened with
// OpenOptions::packed, models/config.h, is packed as a whole.)
#pragma once

#include "autograd/kernels/kernels.h"
#include "autograd/tensor.h"
#include "autograd/tokens.h"

namespace plaingrad::autograd {

struct KeepPacked : ThreadSwitch<KeepPacked> {};

// Replaces the numbers of a weight (K, N) by packed ones, for products in the precision that is active, and
// frees them. The weight can then be multiplied as it is or, if `transposed`, as its transpose, but not both.
// It is frozen. While this runs, both forms are in memory. Throws Error if it is no matrix, came from an op,
// or is packed otherwise already.
void pack(const Tensor& weight, bool transposed = false);
bool is_packed(const Tensor& weight);  // only; a copy beside its numbers does not count

// c = a @ op(weight), and what else g says. Throws Error if the weight is packed for other products.
void multiply(kernels::Gemm g, Precision precision, const Real* a, const Tensor& weight, Real* c);

// to (B, T, N): the rows of a table (V, N), zeros for padding. In bfloat16 the numbers of a packed table are
// those that the products use, rounded.
void look_up(const Tensor& table, const Tokens& ids, Real* to);

}  // namespace plaingrad::autograd
