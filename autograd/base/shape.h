// The sizes of a tensor: none (a scalar) to four.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>

namespace plaingrad::autograd {

class Shape {
public:
    static constexpr int kMaxRank = 4;

    Shape() = default;  // of a scalar
    // Throws Error for more than four sizes, a negative one, or a product beyond int64_t (even beside a 0).
    Shape(std::initializer_list<int64_t> sizes) : Shape(sizes.begin(), static_cast<int>(sizes.size())) {}
    Shape(const int64_t* sizes, int rank);

    int rank() const { return rank_; }
    int64_t numel() const { return numel_; }
    // The size of a dimension. Negative indices count from the end: shape[-1] is the last.
    // Throws Error if there is no such dimension.
    int64_t operator[](int dim) const { return sizes_[index(dim)]; }
    // The same dimension counted from the front, 0 <= result < rank.
    int index(int dim) const;
    // A copy with one size replaced.
    Shape with(int dim, int64_t size) const;
    // A copy without a dimension.
    Shape without(int dim) const;

    const int64_t* begin() const { return sizes_; }
    const int64_t* end() const { return sizes_ + rank_; }

    friend bool operator==(const Shape& a, const Shape& b);

private:
    int rank_ = 0;
    int64_t numel_ = 1;
    int64_t sizes_[kMaxRank] = {};
};

// NumPy's rule: aligned at the end, sizes must be equal or 1. Throws Error naming `op` if they don't fit.
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);

// "(2, 3, 4)", and "()" for a scalar.
std::ostream& operator<<(std::ostream& out, const Shape& shape);

}  // namespace plaingrad::autograd
