#include "models/cache.h"

#include <algorithm>

namespace plaingrad::models {

Tensor select_rows(const Tensor& x, const std::vector<int32_t>& rows) {
    const int64_t n = static_cast<int64_t>(rows.size());
    const Tensor table = autograd::reshape(x, {x.size(0), -1});            // (B, ...)
    const Tensor chosen = autograd::embedding(table, Tokens(1, n, rows));  // (1, n, ...)
    return chosen.with_shape(x.shape().with(0, n));
}

void SelfCache::append(const Tensor& next) {
    if (length == 0)
        filled = Tensor::zeros(next.shape().with(1, 0));
    const int64_t batch = filled.size(0), capacity = filled.size(1), count = next.size(1), d = next.size(2);
    check(next.size(0) == batch, "[SelfCache] a batch of ", next.size(0), " cannot continue a batch of ",
          batch, "; select its rows first");
    if (length + count > capacity) {
        // What is new is zeros: nothing reads it before it is filled, but it must be finite memory to copy.
        const int64_t more = std::max({int64_t{16}, capacity, length + count - capacity});
        filled = autograd::concat({filled, Tensor::zeros(next.shape().with(1, more))}, 1);
    }
    for (int64_t b = 0; b < batch; ++b)
        std::copy_n(next.data() + b * count * d, count * d,
                    filled.mutable_data() + (b * filled.size(1) + length) * d);
    length += count;
}

void SelfCache::select(const std::vector<int32_t>& rows) {
    if (length == 0)
        return;
    filled = select_rows(filled, rows);
}

Tensor attend_causally(const nn::MultiHeadAttention& attention, const Tensor& x, SelfCache& cache) {
    cache.append(attention.project(x));
    if (x.size(1) == 1) {  // the last position: it may see all that is filled
        const std::vector<int32_t> counts(static_cast<std::size_t>(x.size(0)),
                                          static_cast<int32_t>(cache.length));
        return attention.attend(x, cache.filled, Mask::key_counts(counts), Mode::eval());
    }
    // A causal mask aligns the last query with the last key, so the keys must end where they are filled.
    const Tensor keys_values = autograd::slice(cache.filled, 1, 0, cache.length);
    return attention.attend(x, keys_values, Mask::causal(), Mode::eval());
}

}  // namespace plaingrad::models
