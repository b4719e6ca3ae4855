#include "autograd/mask.h"

#include "autograd/base/check.h"
#include "autograd/kernels/kernels.h"
#include "autograd/shape.h"

namespace plaingrad::autograd {

Mask Mask::key_counts(std::vector<int32_t> counts) {
    Mask mask;
    mask.key_counts_ = std::make_shared<const std::vector<int32_t>>(std::move(counts));
    return mask;
}

Mask Mask::allowed(int64_t batch, int64_t queries, int64_t keys, std::vector<uint8_t> pairs) {
    const int64_t count = Shape{batch, queries, keys}.numel();
    check(static_cast<int64_t>(pairs.size()) == count, "[Mask::allowed] (", batch, ", ", queries, ", ", keys,
          ") needs ", count, " entries: got ", pairs.size());
    Mask mask;
    mask.allowed_ = std::make_shared<const std::vector<uint8_t>>(std::move(pairs));
    mask.allowed_queries_ = queries;
    mask.allowed_keys_ = keys;
    return mask;
}

Mask Mask::and_causal() const {
    Mask mask = *this;
    mask.causal_ = true;
    return mask;
}

void Mask::check_fits(int64_t batch, int64_t queries, int64_t keys) const {
    if (key_counts_) {
        check(static_cast<int64_t>(key_counts_->size()) == batch, "[Mask] key counts of ",
              key_counts_->size(), " sentences do not fit a batch of ", batch);
        for (const int32_t count : *key_counts_)
            check(count >= 0 && count <= keys, "[Mask] a key count must be from 0 to ", keys, ": got ",
                  count);
    }
    check(!allowed_ || (allowed_queries_ == queries && allowed_keys_ == keys &&
                        static_cast<int64_t>(allowed_->size()) == batch * queries * keys),
          "[Mask] allowed pairs for ", allowed_queries_, " queries and ", allowed_keys_, " keys (",
          allowed_ ? allowed_->size() : 0, " in all) do not fit a batch of ", batch, " with ", queries,
          " queries and ", keys, " keys");
    check(!causal_ || keys >= queries, "[Mask] causal attention needs at least as many keys (", keys,
          ") as queries (", queries, ")");
}

kernels::AttentionMask Mask::view() const {
    return {.key_counts = key_counts_ ? key_counts_->data() : nullptr,
            .causal = causal_,
            .allowed = allowed_ ? allowed_->data() : nullptr};
}

}  // namespace plaingrad::autograd
