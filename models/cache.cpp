#include "models/cache.h"

#include <algorithm>

namespace models {

Tensor select_rows(const Tensor& x, const std::vector<int32_t>& rows) {
    const int64_t n = static_cast<int64_t>(rows.size());
    const Tensor table = autograd::reshape(x, {x.size(0), -1});            // (B, ...)
    const Tensor chosen = autograd::embedding(table, Tokens(1, n, rows));  // (1, n, ...)
    return chosen.with_shape(x.shape().with(0, n));
}

// Writes next (B, T, d) into cache (B, capacity, d) from position `first` on.
static void put(Tensor& cache, const Tensor& next, int64_t first, int64_t count) {
    const int64_t d = cache.size(2);
    for (int64_t b = 0; b < cache.size(0); ++b)
        std::copy_n(next.data() + b * next.size(1) * d, count * d,
                    cache.mutable_data() + (b * cache.size(1) + first) * d);
}

// What is new is zeros: nothing reads it before it is filled, but it must be finite memory to copy.
static void grow(Tensor& cache, const Shape& shape, int64_t length) {
    Tensor larger = Tensor::zeros(shape);
    if (length > 0)
        put(larger, cache, 0, length);
    cache = larger;
}

void SelfCache::append(const Tensor& next) {
    const int64_t count = next.size(1);
    const int64_t capacity = filled.defined() ? filled.size(1) : 0;
    const int64_t batch = length > 0 ? filled.size(0) : next.size(0);
    autograd::check(next.size(0) == batch, "[SelfCache] a batch of ", next.size(0),
                    " cannot continue a batch of ", batch, "; select its rows first");
    if (length + count > capacity)
        grow(filled, next.shape().with(1, std::max({int64_t{16}, 2 * capacity, length + count})), length);
    put(filled, next, length, count);
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

}  // namespace models
