#include "nn/key_value_cache.h"

#include <algorithm>

#include "autograd/base/check.h"
#include "autograd/ops.h"

namespace plaingrad::nn {

void KeyValueCache::append(const Tensor& next) {
    if (length_ == 0)
        stored_ = Tensor::zeros(next.shape().with(1, 0));
    const int64_t batch = stored_.size(0), capacity = stored_.size(1), count = next.size(1), d = next.size(2);
    autograd::check(next.size(0) == batch, "[KeyValueCache] a batch of ", next.size(0),
                    " cannot continue a batch of ", batch, "; select its rows first");
    if (length_ + count > capacity) {
        // The new positions are zeros: nothing reads them before they are filled, but `concat` and `select`
        // copy them.
        const int64_t more = std::max({int64_t{16}, capacity, length_ + count - capacity});
        stored_ = autograd::concat({stored_, Tensor::zeros(next.shape().with(1, more))}, 1);
    }
    for (int64_t b = 0; b < batch; ++b)
        std::copy_n(next.data() + b * count * d, count * d,
                    stored_.mutable_data() + (b * stored_.size(1) + length_) * d);
    length_ += count;
}

// A batch is a table with a row for each sentence, and to choose rows is what `embedding` does.
void KeyValueCache::select(const std::vector<int32_t>& rows) {
    if (length_ == 0)
        return;
    const int64_t n = static_cast<int64_t>(rows.size());
    const int64_t width = stored_.size(1) * stored_.size(2);
    const Tensor table = autograd::reshape(stored_, {stored_.size(0), width});       // (B, ...)
    const Tensor chosen = autograd::embedding(table, autograd::Tokens(1, n, rows));  // (1, n, ...)
    stored_ = chosen.with_shape(stored_.shape().with(0, n));                         // (n, capacity, ...)
}

Tensor KeyValueCache::filled() const { return autograd::slice(stored_, 1, 0, length_); }

}  // namespace plaingrad::nn
