// The keys and values that decoding keeps, so that each token is computed once.
//
// With a causal mask a position is computed from itself and those before it. Later tokens do not change it:
// its keys and values stay valid, and the next token needs only its own query.
//
// Beam search reorders, repeats and drops sentences at every step. Copying the caches each time took a
// quarter of its time, so `select` only notes which stored sentence each one of the batch now is. All
// hypotheses of a beam read the same keys and values of their source, which are never copied. Those of the
// target are copied where the hypotheses diverge, by the next `append`.
#pragma once

#include "autograd/base/check.h"
#include "autograd/ops.h"

namespace plaingrad::nn {

using autograd::Tensor;

// Keys | values of one attention layer: (stored sentences, capacity, 2*G*D), of which `length()`
// positions are filled. It can be moved but not copied: a copy would share its memory, and each would
// overwrite the other's new positions.
class KeyValueCache {
public:
    KeyValueCache() = default;
    KeyValueCache(KeyValueCache&&) = default;
    KeyValueCache& operator=(KeyValueCache&&) = default;
    // keys_values (B, S, 2*G*D) is shared, but never written to.
    explicit KeyValueCache(const Tensor& keys_values) : stored_(keys_values), length_(keys_values.size(1)) {
        autograd::check(stored_.rank() == 3, "[KeyValueCache] keys and values are (B, S, d): got ",
                        stored_.shape());
    }

    // next (B, T, 2*G*D): T more positions. The capacity doubles when it is full. Throws Error for
    // another B, rank or size, and if next needs a gradient, which would be lost.
    void append(const Tensor& next);
    // Sentence i of the batch becomes what sentence rows[i] was. Throws Error for a row that does not exist;
    // then nothing has changed. Nothing happens before the first append.
    void select(const std::vector<int32_t>& rows);

    // Forgets all positions but the first `length` of each sentence. Requires length <= length().
    void rewind(int64_t length) { length_ = length; }

    int64_t length() const { return length_; }
    // (stored sentences, capacity, 2*G*D): any numbers from `length()` on
    const Tensor& stored() const { return stored_; }
    // (B): the stored sentence that each one of the batch is; nullptr: they are in order, as after `append`.
    const std::vector<int32_t>* rows() const { return rows_.empty() ? nullptr : &rows_; }

private:
    int64_t batch() const { return rows_.empty() ? stored_.size(0) : std::ssize(rows_); }
    Tensor stored_;
    std::vector<int32_t> rows_;  // empty: in order
    int64_t length_ = 0;
};

}  // namespace plaingrad::nn
