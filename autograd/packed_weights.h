// Weights in the order in which products read them.
//
// A product of many rows copies its weight into that order first (kernels/gemm.cpp), which takes as long as
// multiplying it with two or three tiles of six rows. Training multiplies a weight with hundreds of rows at
// a time, and hardly notices. Decoding has one row for each sentence, often only a few, and the same weights
// again for each token. There a copy costs as much as the product, and to read the weight in place instead is
// slow if its rows are long or it is transposed. So decoding makes each copy once, and keeps it:
//
//     PackedWeights packed;
//     const PackedWeights::Use use(packed);      // on this thread, while it exists,
//     Tensor y = linear(x, weight, bias);        // linear ops keep copies of their weights, and read these
//
// The bits of the results are the same. The price is memory: the copies come on top of the weights, and all
// stay until the PackedWeights is gone. In float32 they take as much again. In bfloat16 (base/precision.h)
// they take half as much, and half the time to read, from which a single row gains, too. Do not use this for
// weights that are multiplied once, or that change between uses, as in training: each product would make its
// copy in memory, and none would be read twice.
//
// A program that only generates needs no more than the copies:
//
//     const UsePrecision bf16(Precision::bf16);
//     pack(weight);                              // weight, and every handle of it, is now packed only
//     Tensor y = linear(x, weight, bias);        // reads it as it is
//
// Then a weight takes 4 bytes a number in float32 and 2 in bfloat16, instead of 8 and 6. Linear ops can read
// it, in that precision, and look-ups of its rows; everything else throws Error. (nn/packing.h packs a whole
// model.)
#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "autograd/kernels/kernels.h"
#include "autograd/tensor.h"

namespace plaingrad::autograd {

class PackedWeights {
public:
    class Use {
    public:
        explicit Use(PackedWeights& weights) : weights_(weights), before_(std::exchange(last_, this)) {}
        ~Use() { last_ = before_; }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

    private:
        friend class PackedWeights;
        inline static thread_local Use* last_ = nullptr;
        PackedWeights& weights_;
        Use* before_;
    };
    // nullptr: none is in use on this thread
    static PackedWeights* active() { return Use::last_ != nullptr ? &Use::last_->weights_ : nullptr; }

    // The weight as the right operand of this product. It is packed when it is first wanted, and again if it
    // was written to since. It lasts until then.
    const Real* packed(const kernels::Gemm& g, const Tensor& weight, Precision precision);

private:
    struct Entry {
        Saved weight;
        Tensor copy;
    };
    // By all that decides what a copy holds: the numbers, n, k, whether transposed, precision, kernels.
    std::map<std::tuple<const Real*, int64_t, int64_t, bool, Precision, std::string_view>, Entry> entries_;
};

// Replaces the numbers of a weight (K, N) by packed ones, for products in the precision that is active, and
// frees them. The weight can then be multiplied as it is or, if `transposed`, as its transpose, but not both.
// It is frozen. While this runs, both forms are in memory. Throws Error if it is packed already, is no
// matrix, or came from an op.
void pack(const Tensor& weight, bool transposed = false);

// The right operand of g, packed if the weight is, or if there is an active PackedWeights, and g.b_packed
// then says so. Throws Error if the weight was packed for other products.
const Real* right_operand(kernels::Gemm& g, const Tensor& weight, Precision precision);

// Rows ids[0], ids[1], ... of a weight (V, N) that is packed transposed -> (count, N). In bfloat16 the
// numbers are those that the products use, rounded. A negative id is skipped: its row holds any numbers.
Tensor packed_rows(const Tensor& weight, const std::vector<int32_t>& ids);

}  // namespace plaingrad::autograd
