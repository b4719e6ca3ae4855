// The operands of a product in memory: laid out as drawn, between guard pages, and compared afterwards.
#pragma once

#include <cstring>
#include <limits>
#include <vector>

#include "tests/autograd/kernels/bf16_reference.h"
#include "tests/guarded.h"
#include "tests/trust/product.h"

namespace plaingrad::trust {

constexpr int64_t kMargin = 64;  // numbers around c that must stay as they are

// A number that no result has: its place is part of it.
inline Real untouched(int64_t i) { return Real(-7777) - static_cast<Real>(i % 1024); }

inline bool same(Real x, Real y) {
    return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y));
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
    bool is_unchanged() const {
        return values_.empty() || std::memcmp(at_, values_.data(), values_.size() * sizeof(Real)) == 0;
    }

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

// One product after the other, in memory between guard pages: what is not as it must be.
class Workbench {
public:
    struct Found {
        int64_t differences = 0, writes = 0;  // other bits; numbers outside of the result, and inputs
        bool operator==(const Found&) const = default;
    };

    // sum: the product in the defined order, before the activation.
    void set(const Product& p, const Operands& x, const std::vector<Real>& sum) {
        p_ = p, x_ = &x, sum_ = sum;
        a_.set(laid_out(x.a, p.g.m, p.g.k, p.g.a_transposed, p.g.lda), p.at_end);
        b_.set(laid_out(x.b, p.g.k, p.g.n, p.g.b_transposed, p.g.ldb), p.at_end);
        bias_.set(x.bias, p.at_end);
    }
    // By the kernels in use, of b as it is, or of what `pack` writes.
    Found run(bool packed) {
        const auto& products = autograd::kernels::cpu().products(p_.precision);
        autograd::kernels::Gemm g = p_.g;
        g.bias = p_.with_bias ? bias_.data() : nullptr;
        g.activation = p_.has_activation() ? &p_.activation : nullptr;
        const std::vector<Real> nothing(sum_.size(), kNothing);
        c_.set(p_, p_.g.accumulate ? x_->c : nothing);
        before_.set(p_, nothing);
        g.before_activation = p_.keeps_sum ? before_.data() : nullptr;
        const Real* b = b_.data();
        Found found;
        if (packed) {
            const int64_t room = autograd::kernels::packed_size(g.n, g.k, p_.precision);
            Real* const to = packed_.place(room, p_.at_end);
            std::fill(to, to + room, kNothing);
            products.pack(g, b, to);
            found.differences += columns_differ(to);
            b = to;
            g.b_packed = true;
        }
        products.gemm(g, a_.data(), b, c_.data());
        std::vector<Real> expected = sum_;
        if (p_.has_activation())
            autograd::kernels::cpu().unary(p_.activation, std::ssize(sum_), sum_.data(), expected.data());
        compare(c_, expected, found);
        if (p_.keeps_sum)
            compare(before_, sum_, found);
        found.writes += !a_.is_unchanged() + !b_.is_unchanged() + !bias_.is_unchanged();
        return found;
    }

private:
    static constexpr Real kNothing = std::numeric_limits<Real>::quiet_NaN();

    static void compare(const Output& is, const std::vector<Real>& expected, Found& found) {
        int64_t differences = 0, writes = 0;
        is.compare(expected, differences, writes);
        found.differences += differences, found.writes += writes;
    }
    // Of the first column of op(b), and of some others, packed and read back.
    int64_t columns_differ(const Real* packed) const {
        const auto& products = autograd::kernels::cpu().products(p_.precision);
        const int64_t n = p_.g.n, k = p_.g.k;
        int64_t wrong = 0;
        for (int64_t j = 0; j < n; j += 1 + n / 3) {
            std::vector<Real> column(static_cast<std::size_t>(k), kNothing);
            products.unpack_column(p_.g, packed, j, column.data());
            for (int64_t l = 0; l < k; ++l) {
                const Real x = x_->b[static_cast<std::size_t>(l * n + j)];
                wrong += !same(column[static_cast<std::size_t>(l)],
                               p_.precision == Precision::bf16 ? tests::bf16(x) : x);
            }
        }
        return wrong;
    }

    Product p_;
    const Operands* x_ = nullptr;
    std::vector<Real> sum_;
    Input a_, b_, bias_;
    Output c_, before_;
    tests::Guarded<Real> packed_{kMostNumbers};
};

}  // namespace plaingrad::trust
