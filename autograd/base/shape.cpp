#include "autograd/base/shape.h"

#include <algorithm>
#include <ostream>

#include "autograd/base/check.h"

namespace plaingrad::autograd {

Shape::Shape(const int64_t* sizes, int rank) : rank_(rank) {
    check(rank <= kMaxRank, "[shape] at most ", kMaxRank, " dimensions: got ", rank);
    int64_t product = 1;  // of the nonzero sizes only: strides are products of some of them
    for (int i = 0; i < rank; ++i) {
        check(sizes[i] >= 0, "[shape] a size must not be negative: got ", sizes[i], " in dimension ", i);
        check(sizes[i] == 0 || !__builtin_mul_overflow(product, sizes[i], &product),
              "[shape] too many elements for 64 bits");
        sizes_[i] = sizes[i];
        numel_ = sizes[i] == 0 ? 0 : numel_ == 0 ? 0 : product;
    }
}

int Shape::index(int dim) const {
    const int from_front = dim < 0 ? dim + rank_ : dim;
    check(from_front >= 0 && from_front < rank_, "[shape] no dimension ", dim, " in ", *this);
    return from_front;
}

Shape Shape::with(int dim, int64_t size) const {
    int64_t sizes[kMaxRank];
    std::copy(begin(), end(), sizes);
    sizes[index(dim)] = size;
    return Shape(sizes, rank_);
}

Shape Shape::without(int dim) const {
    int64_t sizes[kMaxRank];
    const int64_t* gone = begin() + index(dim);
    std::copy(gone + 1, end(), std::copy(begin(), gone, sizes));
    return Shape(sizes, rank_ - 1);
}

bool operator==(const Shape& a, const Shape& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b) {
    const int rank = std::max(a.rank(), b.rank());
    int64_t sizes[Shape::kMaxRank];
    for (int back = 1; back <= rank; ++back) {
        const int64_t x = back <= a.rank() ? a[-back] : 1;
        const int64_t y = back <= b.rank() ? b[-back] : 1;
        check(x == y || x == 1 || y == 1, "[", op, "] shapes do not broadcast: ", a, " and ", b,
              "; aligned at the end, sizes must be equal or 1");
        sizes[rank - back] = x == 1 ? y : x;
    }
    return Shape(sizes, rank);
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
    out << '(';
    for (int i = 0; i < shape.rank(); ++i)
        out << (i > 0 ? ", " : "") << shape[i];
    return out << ')';
}

}  // namespace plaingrad::autograd
