#include "nn/key_value_cache.h"

#include <algorithm>
#include <utility>

#include "autograd/base/list.h"
#include "autograd/base/parallel.h"

namespace plaingrad::nn {

void KeyValueCache::append(const Tensor& next) {
    autograd::check(!next.needs_grad(), "[KeyValueCache] cached keys and values pass no gradient on, ",
                    "but these need one; decode under NoGrad");
    autograd::check(next.rank() == 3, "[KeyValueCache] keys and values are (B, S, d): got ", next.shape());
    if (length_ == 0)  // of any batch
        *this = KeyValueCache(Tensor::uninitialized(next.shape().with(1, 0)));
    const int64_t batch = this->batch(), capacity = stored_.size(1), count = next.size(1), d = next.size(2);
    autograd::check(next.size(0) == batch, "[KeyValueCache] a batch of ", next.size(0),
                    " cannot continue a batch of ", batch, "; select its rows first");
    autograd::check(d == stored_.size(2), "[KeyValueCache] ", next.shape(), " cannot continue ",
                    stored_.shape(), ": keys and values have another size");
    const int64_t more = length_ + count > capacity ? std::max({int64_t{16}, capacity, count}) : 0;
    if (more > 0 || !rows_.empty() || !stored_.is_unshared()) {
        const Tensor before = std::exchange(stored_, Tensor::uninitialized({batch, capacity + more, d}));
        autograd::Real* const to = stored_.mutable_data();
        autograd::parallel_for(0, batch, 1, [&](int64_t b, int64_t) {
            const int64_t row = rows_.empty() ? b : rows_[static_cast<std::size_t>(b)];
            std::copy_n(before.data() + row * capacity * d, length_ * d, to + b * (capacity + more) * d);
        });
        rows_.clear();
    }
    for (int64_t b = 0; b < batch; ++b)
        std::copy_n(next.data() + b * count * d, count * d,
                    stored_.mutable_data() + (b * stored_.size(1) + length_) * d);
    length_ += count;
}

void KeyValueCache::select(const std::vector<int32_t>& rows) {
    if (length_ == 0)
        return;
    for (const int32_t row : rows)
        autograd::check(row >= 0 && row < batch(), "[KeyValueCache] there is no row ", row, " of ", batch());
    const auto stored = [this](int32_t row) { return rows_[static_cast<std::size_t>(row)]; };
    rows_ = rows_.empty() ? rows : autograd::mapped(rows, stored);
    if (rows.empty())  // no sentence is left, which is not what an empty rows_ says
        stored_ = Tensor::uninitialized(stored_.shape().with(0, 0));
}

}  // namespace plaingrad::nn
