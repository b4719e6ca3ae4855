// Weights in the order in which products read them.
//
// A product of many rows copies its weight into that order first (kernels/gemm.cpp). Training does so twice a
// step, once for each direction, and hardly notices. Decoding multiplies the same weights with a few rows for
// each token. It keeps the copies:
//
//     PackedWeights packed;
//     const PackedWeights::Use use(packed);      // on this thread, while it exists,
//     Tensor y = linear(x, weight, bias);        // linear ops keep copies of their weights, and read these
//
// Those of bfloat16 (base/precision.h) take half of the weight's memory, and half the time to read. The bits
// of the results are the same.
#pragma once

#include <map>
#include <tuple>

#include "autograd/kernels/kernels.h"
#include "autograd/tensor.h"

namespace plaingrad::autograd {

class PackedWeights {
public:
    class Use {
    public:
        explicit Use(PackedWeights& weights) : before_(std::exchange(active_, &weights)) {}
        ~Use() { active_ = before_; }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

    private:
        PackedWeights* before_;
    };
    static PackedWeights* active() { return active_; }  // nullptr: none is in use on this thread

    // The right operand of this product, whose numbers begin at `b`, within the memory of `weight`. It is
    // packed when it is first wanted, and again if the weight was written to since. It lasts until then.
    const Real* packed(const kernels::Gemm& g, const Tensor& weight, const Real* b, Precision precision);

private:
    struct Entry {
        Saved weight;
        Tensor copy;
    };
    inline static thread_local PackedWeights* active_ = nullptr;
    std::map<std::tuple<const Real*, int64_t, bool, Precision>, Entry> entries_;
};

}  // namespace plaingrad::autograd
