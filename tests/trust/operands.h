// The operands of a product in memory: laid out as drawn, between guard pages, and compared afterwards.
#pragma once

#include <cstring>
#include <limits>
#include <vector>

#include "tests/guarded.h"
#include "tests/trust/product.h"

namespace plaingrad::trust {

constexpr int64_t kMargin = 64;  // numbers around c that must stay as they are

// A number that no result has: its place is part of it.
inline Real untouched(int64_t i) { return Real(-7777) - static_cast<Real>(i % 1024); }

inline bool same(Real x, Real y) {
    return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y));
}
inline bool same(const Real* x, const Real* y, int64_t n) {
    return n == 0 || std::memcmp(x, y, static_cast<std::size_t>(n) * sizeof(Real)) == 0;
}

// A dense matrix as the kernel wants it: perhaps transposed, its rows ld apart. In the gaps is NaN.
inline std::vector<Real> laid_out(const std::vector<Real>& x, int64_t rows, int64_t columns, bool transposed,
                                  int64_t ld) {
    std::vector<Real> to(static_cast<std::size_t>(transposed ? Product::extent(columns, rows, ld)
                                                             : Product::extent(rows, columns, ld)),
                         std::numeric_limits<Real>::quiet_NaN());
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
            to[static_cast<std::size_t>(transposed ? j * ld + i : i * ld + j)] =
                x[static_cast<std::size_t>(i * columns + j)];
    return to;
}

// An operand that is read, between guard pages.
class Input {
public:
    void set(const std::vector<Real>& values, bool at_end) {
        values_ = values;
        at_ = memory_.place(std::ssize(values), at_end);
        std::copy(values.begin(), values.end(), at_);
    }
    const Real* data() const { return at_; }
    bool is_unchanged() const { return same(at_, values_.data(), std::ssize(values_)); }

private:
    tests::Guarded<Real> memory_{kMostNumbers};
    std::vector<Real> values_;
    Real* at_ = nullptr;
};

// A result between guard pages: rows that are ld apart, whose gaps, and what is around, must stay as they
// are.
class Output {
public:
    // before: what the rows hold at first.
    void set(const Product& p, const std::vector<Real>& before) {
        p_ = &p;
        at_ = memory_.place(p.extent_c(), p.at_end);
        for (Real* to = from(); to < until(); ++to)
            *to = untouched(to - at_);
        for_elements([&](int64_t i, int64_t element) { at_[i] = before[static_cast<std::size_t>(element)]; });
    }
    Real* data() const { return at_; }
    // How many elements are not as expected, and how many numbers outside of the rows have changed.
    void compare(const std::vector<Real>& expected, int64_t& differences, int64_t& writes) const {
        differences = writes = 0;
        for_elements([&](int64_t i, int64_t element) {
            differences += !same(at_[i], expected[static_cast<std::size_t>(element)]);
            at_[i] = untouched(i);
        });
        for (const Real* to = from(); to < until(); ++to)
            writes += !same(*to, untouched(to - at_));
    }

private:
    Real* from() const { return std::max(memory_.begin(), at_ - kMargin); }
    Real* until() const { return std::min(memory_.end(), at_ + p_->extent_c() + kMargin); }
    template <class F>
    void for_elements(const F& f) const {
        for (int64_t i = 0, element = 0; i < p_->g.m; ++i)
            for (int64_t j = 0; j < p_->g.n; ++j, ++element)
                f(i * p_->g.ldc + j, element);
    }
    tests::Guarded<Real> memory_{kMostNumbers};
    const Product* p_ = nullptr;
    Real* at_ = nullptr;
};

}  // namespace plaingrad::trust
