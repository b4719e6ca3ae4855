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
        each([&](Real& x, int64_t i, int64_t element) {
            x = element < 0 ? untouched(i) : before[static_cast<std::size_t>(element)];
        });
    }
    Real* data() const { return at_; }
    // How many elements are not as expected, and how many numbers outside of the rows have changed.
    void compare(const std::vector<Real>& expected, int64_t& differences, int64_t& writes) const {
        differences = writes = 0;
        each([&](const Real& x, int64_t i, int64_t element) {
            element < 0 ? writes += !same(x, untouched(i))
                        : differences += !same(x, expected[static_cast<std::size_t>(element)]);
        });
    }

private:
    // f(number, its place, which element it is): in the rows, and -1 in the gaps and the margins.
    template <class F>
    void each(const F& f) const {
        const int64_t last = std::min(memory_.end() - at_, p_->extent_c() + kMargin);
        for (int64_t i = std::max(memory_.begin() - at_, -kMargin); i < last; ++i) {
            const bool in_row = i >= 0 && i < p_->extent_c() && i % p_->g.ldc < p_->g.n;
            f(at_[i], i, in_row ? i / p_->g.ldc * p_->g.n + i % p_->g.ldc : -1);
        }
    }
    tests::Guarded<Real> memory_{kMostNumbers};
    const Product* p_ = nullptr;
    Real* at_ = nullptr;
};

}  // namespace plaingrad::trust
