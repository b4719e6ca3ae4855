// Functions of one or two numbers, applied to each element of tensors; dropout; fill. Part of unit.cpp.
#include <cassert>

#include "autograd/base/parallel.h"
#include "autograd/kernels/bf16.h"
#include "autograd/kernels/kernels.h"
#include "autograd/kernels/math.h"
#include "autograd/kernels/random.h"
#include "autograd/kernels/row.h"

namespace plaingrad::autograd::kernels {
namespace {

// ---- one number to one number: y = f(x), and f' as the backward pass wants it

// `derivative` gets y where unary_saves_output says so, and x otherwise.
struct Negate {
    static Vec forward(Vec x) { return x * broadcast(-1); }
    static Vec derivative(Vec) { return broadcast(-1); }
};

struct Exp {
    static Vec forward(Vec x) { return exp(x); }
    static Vec derivative(Vec y) { return y; }
};

struct Log {
    static Vec forward(Vec x) { return log(x); }
    static Vec derivative(Vec x) { return broadcast(1) / x; }
};

struct Sqrt {
    static Vec forward(Vec x) { return sqrt(x); }
    static Vec derivative(Vec y) { return broadcast(Real(0.5)) / y; }
};

struct Tanh {
    static Vec forward(Vec x) { return tanh(x); }
    static Vec derivative(Vec y) { return fnma(y, y, broadcast(1)); }  // 1 - y²
};

struct Sigmoid {
    static Vec forward(Vec x) { return sigmoid(x); }
    static Vec derivative(Vec y) { return fnma(y, y, y); }  // y (1 - y)
};

struct Abs {
    static Vec forward(Vec x) { return max(x, zero() - x); }
    static Vec derivative(Vec x) {  // 0 at 0, NaN at NaN
        return select(less(x, zero()), broadcast(-1), select(less(zero(), x), broadcast(1), x));
    }
};

struct Relu {
    static Vec forward(Vec x) { return at_least(0, x); }  // NaN stays NaN
    static Vec passed(Vec x, Vec dy) {                    // dy f'(x), where 0 is not 0 times infinity
        return select(less(zero(), x), dy, zero());
    }
};

// gelu(x)  = x Phi(x)                Phi(x) = P(N <= x), N normal (Hendrycks & Gimpel 2016)
// gelu'(x) = Phi(x) + x phi(x)
//
// Both by way of the upper tail at a = |x|, Q = 1 - Phi(a), which is computed as a product and thus
// accurate where it is tiny: gelu(x) = max(x, 0) - a Q, and gelu'(-a) = Q - a phi(a) = 1 - gelu'(a).
struct Gelu {
    static Vec forward(Vec x) {
        const Vec a = magnitude(x);
        return fnma(gauss(a), a * mills(a), at_least(0, x));
    }
    static Vec derivative(Vec x) {
        const Vec a = magnitude(x);
        const Vec density = broadcast(Real(0.39894228040143267794));  // phi(0) = 1/sqrt(2 pi)
        const Vec left = gauss(a) * fnma(a, density, mills(a));
        return select(less(x, zero()), left, broadcast(1) - left);
    }

private:
    // |x|, at most 40, where Q and phi are long 0: so a times 0 is not inf times 0.
    static Vec magnitude(Vec x) { return at_most(40, max(x, zero() - x)); }
};

// gelu(x)  = x (1 + tanh u) / 2 = x s      s = sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x³)
// gelu'(x) = s + x s (1 - s) 2u'
//
// The sigmoid is the same function as the text-book form on the left, and does not cancel for x < 0.
// Beyond +-100 the sigmoid is 0 or 1 in float and double; the bounds keep inf times 0 away.
struct GeluTanh {
    static Vec forward(Vec x) {
        x = at_least(-100, x);
        return x * sigmoid(x * two_u_over_x(x * x));
    }
    static Vec derivative(Vec x) {
        x = at_most(100, at_least(-100, x));
        const Vec square = x * x;
        const Vec s = sigmoid(x * two_u_over_x(square));
        const Vec two_du = fma(broadcast(3 * kCubic), square, broadcast(kLinear));
        return fma(x * fnma(s, s, s), two_du, s);
    }

private:
    static constexpr double kTwoU = 1.59576912160573071176;  // 2 sqrt(2/pi)
    static constexpr Real kLinear = static_cast<Real>(kTwoU);
    static constexpr Real kCubic = static_cast<Real>(kTwoU * 0.044715);
    static Vec two_u_over_x(Vec square) { return fma(broadcast(kCubic), square, broadcast(kLinear)); }
};

// silu(x)  = x s      s = sigmoid(x)
// silu'(x) = s + x s (1 - s)
//
// Beyond +-1000 the sigmoid is 0 or 1 in float and double; the bounds keep inf times 0 away.
struct Silu {
    static Vec forward(Vec x) {
        x = at_least(-1000, x);
        return x * sigmoid(x);
    }
    static Vec derivative(Vec x) {
        x = at_most(1000, at_least(-1000, x));
        const Vec s = sigmoid(x);
        return fma(x, fnma(s, s, s), s);
    }
};

// The nearest bfloat16, for which the derivative counts as 1.
struct ToBf16 {
    static Vec forward(Vec x) { return rounded(x); }
    static Vec derivative(Vec) { return broadcast(1); }
};

// Calls visit with one of the functions: the one at this place.
template <class Enum, class Visit, class... Functions>
void with_one_of(Enum place, const Visit& visit, const Functions&... functions) {
    static_assert(sizeof...(functions) == static_cast<int>(Enum::count));
    int at = 0;
    ((at++ == static_cast<int>(place) ? visit(functions) : void()), ...);
}

// In the order of the enum.
template <class Visit>
void with_function(Unary f, const Visit& visit) {
    with_one_of(f, visit, Relu(), Gelu(), GeluTanh(), Silu(), Negate(), Exp(), Log(), Sqrt(), Tanh(),
                Sigmoid(), Abs(), ToBf16());
}

// ---- the loops

// f(i, count) for each 16 elements from i on, or fewer at the end. The same lambda does both, and
// lanes do not influence each other: an element's bits do not depend on where it stands.
template <class F>
inline void for_vectors(int64_t begin, int64_t end, const F& f) {
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes)
        f(i, kLanes);
    if (i < end)
        f(i, end - i);
}

// The same, on all threads. A chunk of kGrainNumbers takes microseconds, more than handing it to a thread.
template <class F>
void parallel_for_vectors(int64_t n, const F& f) {
    parallel_for(0, n, kGrainNumbers, [&](int64_t begin, int64_t end) { for_vectors(begin, end, f); });
}

// On the calling thread: a row that a matrix product has just finished (gemm.cpp).
void unary_row(Unary function, int64_t n, const Real* x, Real* y) {
    with_function(function, [&](auto f) {
        for_vectors(0, n,
                    [&](int64_t i, int64_t count) { store(y + i, count, f.forward(load(x + i, count))); });
    });
}

void unary(Unary function, int64_t n, const Real* x, Real* y) {
    parallel_for(0, n, kGrainNumbers,
                 [&](int64_t begin, int64_t end) { unary_row(function, end - begin, x + begin, y + begin); });
}

template <class F>
inline Vec passed_back(F f, Vec x, Vec dy) {
    if constexpr (requires { f.passed(x, dy); })
        return f.passed(x, dy);
    else
        return dy * f.derivative(x);
}

void unary_backward(Unary function, int64_t n, const Real* saved, const Real* dy, Out dx) {
    with_function(function, [&](auto f) {
        parallel_for_vectors(n, [&](int64_t i, int64_t count) {
            put(dx, i, count, passed_back(f, load(saved + i, count), load(dy + i, count)));
        });
    });
}

// A gated linear unit: h = f(g) u        dg = dh u f'(g),  du = dh f(g)
void glu(Unary function, int64_t rows, int64_t n, const Real* gu, Real* h) {
    with_function(function, [&](auto f) {
        for_rows(rows, n, [&](int64_t r) {
            const Real *const g = gu + 2 * r * n, *const u = g + n;
            for_vectors(0, n, [&](int64_t i, int64_t count) {
                store(h + r * n + i, count, f.forward(load(g + i, count)) * load(u + i, count));
            });
        });
    });
}

void glu_backward(Unary function, int64_t rows, int64_t n, const Real* gu, const Real* dh, Out dgu) {
    with_function(function, [&](auto f) {
        for_rows(rows, n, [&](int64_t r) {
            for_vectors(2 * r * n, (2 * r + 1) * n, [&](int64_t g, int64_t count) {
                const Vec x = load(gu + g, count), d = load(dh + g - r * n, count);
                put(dgu, g, count, passed_back(f, x, d * load(gu + g + n, count)));
                put(dgu, g + n, count, d * f.forward(x));
            });
        });
    });
}

void dropout(int64_t n, Real p, RandomKey key, const Real* x, Out y) {
    const DropOut drop_out(key, p);
    parallel_for_vectors(
        n, [=](int64_t i, int64_t count) { put(y, i, count, drop_out(load(x + i, count), i)); });
}

void residual(int64_t n, Real p, RandomKey key, const Real* x, const Real* y, Real* sum) {
    const DropOut drop_out(key, p);
    parallel_for_vectors(n, [=](int64_t i, int64_t count) {
        store(sum + i, count, load(x + i, count) + drop_out(load(y + i, count), i));
    });
}

void fill(int64_t n, Real value, Real* y) {
    parallel_for_vectors(n, [&](int64_t i, int64_t count) { store(y + i, count, broadcast(value)); });
}

// ---- two numbers to one, with broadcasting

// Removes loops of one step and merges adjacent loops where possible: (2, 3, 4, 5) of two dense operands
// becomes one row of 120. The remaining loops are the innermost ones.
Loop4 merged(const Loop4& loop) {
    Loop4 to = {{1, 1, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}};
    int at = 4;
    for (int d = 3; d >= 0; --d) {
        if (loop.size[d] == 1)
            continue;
        const bool continues =
            at < 4 && loop.a[d] == to.a[at] * to.size[at] && loop.b[d] == to.b[at] * to.size[at];
        if (continues) {
            to.size[at] *= loop.size[d];
        } else {
            --at;
            to.size[at] = loop.size[d];
            to.a[at] = loop.a[d];
            to.b[at] = loop.b[d];
        }
    }
    return to;
}

// A row of an operand: in a dense tensor the last dimension of more than one element has stride 1, or is
// repeated.
struct Dense {
    const Real* p;
    Vec at(int64_t i, int64_t count) const { return load(p + i, count); }
};
struct Repeated {
    Vec value;
    Vec at(int64_t, int64_t) const { return value; }
};
template <class Visit>
void with_operand(const Real* p, int64_t stride, const Visit& visit) {
    assert(stride == 0 || stride == 1);
    if (stride == 1)
        visit(Dense{p});
    else
        visit(Repeated{broadcast(*p)});
}

// out[i] = op(a[i], b[i]) for the outputs begin ... end - 1, row by row.
template <class Op>
void binary_range(const Loop4& loop, const Real* a, const Real* b, Out out, int64_t begin, int64_t end,
                  Op op) {
    const int64_t n = loop.size[3];
    RowWalk walk(loop, begin / n);
    for (int64_t row = begin / n * n; row < end; row += n, walk.next()) {
        const int64_t first = row < begin ? begin - row : 0;
        const int64_t last = end - row < n ? end - row : n;
        with_operand(a + walk.a, loop.a[3], [&](auto left) {
            with_operand(b + walk.b, loop.b[3], [&](auto right) {
                for_vectors(first, last, [&](int64_t i, int64_t count) {
                    put(out, row + i, count, op(left.at(i, count), right.at(i, count)));
                });
            });
        });
    }
}

// In the order of the enum.
template <class Visit>
void with_operation(Binary operation, const Visit& visit) {
    const auto add = [](Vec a, Vec b) { return a + b; };
    const auto sub = [](Vec a, Vec b) { return a - b; };
    const auto mul = [](Vec a, Vec b) { return a * b; };
    const auto div = [](Vec a, Vec b) { return a / b; };
    const auto larger = [](Vec a, Vec b) { return select(equal(a, a), max(a, b), a); };
    const auto one_where = [](Mask mask) { return select(mask, broadcast(1), zero()); };
    const auto is_less = [=](Vec a, Vec b) { return one_where(less(a, b)); };
    const auto is_equal = [=](Vec a, Vec b) { return one_where(equal(a, b)); };
    const auto keep = [](Vec a, Vec b) { return select(equal(b, zero()), zero(), a); };
    const auto drop = [](Vec a, Vec b) { return select(equal(b, zero()), a, zero()); };
    with_one_of(operation, visit, add, sub, mul, div, larger, is_less, is_equal, keep, drop);
}

void binary(Binary operation, const Loop4& unmerged, const Real* a, const Real* b, Out out) {
    const Loop4 loop = merged(unmerged);
    const int64_t n = loop.size[0] * loop.size[1] * loop.size[2] * loop.size[3];
    with_operation(operation, [&](auto op) {
        parallel_for(0, n, kGrainNumbers,
                     [&](int64_t begin, int64_t end) { binary_range(loop, a, b, out, begin, end, op); });
    });
}

}  // namespace
}  // namespace plaingrad::autograd::kernels
