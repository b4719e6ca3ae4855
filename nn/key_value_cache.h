// The keys and values that decoding keeps, so that each token is computed once.
//
// With a causal mask a position is computed from itself and those before it. Later tokens do not change it:
// its keys and values stay valid, and the next token needs only its own query.
#pragma once

#include "autograd/tensor.h"

namespace plaingrad::nn {

using autograd::Tensor;

// Keys | values of one attention layer: (B, capacity, 2*d_model), of which `length()` positions are filled.
// It can be moved but not copied: a copy would share its memory, and each would overwrite the other's new
// positions.
class KeyValueCache {
public:
    KeyValueCache() = default;
    KeyValueCache(KeyValueCache&&) = default;
    KeyValueCache& operator=(KeyValueCache&&) = default;
    explicit KeyValueCache(const Tensor& keys_values)  // (B, S, 2*d_model)
        : stored_(keys_values), length_(keys_values.size(1)) {}

    // next (B, T, 2*d_model): T more positions. The capacity doubles when it is full. Throws Error for
    // another B.
    void append(const Tensor& next);
    // Sentence i of the batch becomes what sentence rows[i] was.
    void select(const std::vector<int32_t>& rows);

    int64_t length() const { return length_; }
    const Tensor& stored() const { return stored_; }  // (B, capacity, 2*d_model): zeros from `length()` on
    Tensor filled() const;                            // (B, length, 2*d_model)

private:
    Tensor stored_;
    int64_t length_ = 0;
};

}  // namespace plaingrad::nn
