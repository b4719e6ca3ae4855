// What the tests of autograd/ share: inputs, comparisons that fail on NaN, and a few guards.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "autograd/base/check.h"
#include "autograd/base/parallel.h"
#include "autograd/base/random.h"
#include "autograd/kernels/kernels.h"
#include "autograd/tensor.h"

namespace plaingrad::tests {

using autograd::Real;
using autograd::Shape;
using autograd::Tensor;

inline constexpr Real kNan = static_cast<Real>(__builtin_nan(""));

// Uniform in [low, high), with another sequence for each seed.
inline std::vector<Real> numbers(int64_t n, uint64_t seed, double low = -2, double high = 2) {
    const autograd::Rng rng(seed);
    std::vector<Real> x(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<Real>(low + (high - low) * rng.uniform(i));
    return x;
}

inline Tensor random(const Shape& shape, uint64_t seed, double low = -2, double high = 2) {
    return Tensor::from(shape, numbers(shape.numel(), seed, low, high));
}

// A leaf that needs a gradient.
inline Tensor leaf(const Tensor& x) { return x.clone().require_grad(); }

inline int64_t length(const std::vector<Real>& x) { return static_cast<int64_t>(x.size()); }

// Equal bits, and every one a number: +0 and -0 differ, a NaN equals nothing.
inline bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
    for (const Real x : a)
        if (x != x)
            return false;
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0);
}

// The same, but for NaN in both.
inline bool same_or_nan(Real a, Real b) {
    return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}
inline bool same_or_nan(const std::vector<Real>& a, const std::vector<Real>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](Real x, Real y) { return same_or_nan(x, y); });
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && same_bits(a.to_vector(), b.to_vector());
}

// The largest |a - b| / max(1, |b|); infinity for a NaN or for different sizes.
template <class A, class B>
double worst_error(const std::vector<A>& a, const std::vector<B>& b) {
    double worst = a.size() == b.size() ? 0 : HUGE_VAL;
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
        const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
        const double error = std::abs(x - y) / std::fmax(1, std::abs(y));
        if (!(error <= worst))
            worst = std::isnan(error) ? HUGE_VAL : error;
    }
    return worst;
}

inline double worst_error(const Tensor& a, const std::vector<double>& b) {
    return worst_error(a.to_vector(), b);
}
inline double worst_error(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() ? worst_error(a.to_vector(), b.to_vector()) : HUGE_VAL;
}

inline std::vector<double> doubles(const Tensor& x) { return {x.data(), x.data() + x.numel()}; }

// The message of f's Error; "" if f throws none.
template <class F>
std::string error_of(const F& f) {
    try {
        f();
    } catch (const autograd::Error& error) {
        return error.what();
    }
    return "";
}

// Sets the number of threads, and puts the old one back.
class Threads {
public:
    explicit Threads(int n) : before_(autograd::thread_count()) { autograd::set_thread_count(n); }
    ~Threads() { autograd::set_thread_count(before_); }
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

private:
    int before_;
};

// Calls f(name) with each set of kernels that runs here, and puts the old one back.
template <class F>
void for_each_isa(const F& f) {
    struct Restore {
        std::string name = autograd::kernels::cpu().name;
        ~Restore() { autograd::kernels::use(name.c_str()); }
    } restore;
    for (const char* const* name = autograd::kernels::available(); *name != nullptr; ++name) {
        autograd::kernels::use(*name);
        f(*name);
    }
}

}  // namespace plaingrad::tests
