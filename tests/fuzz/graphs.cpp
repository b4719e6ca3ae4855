// Programs of ops: each byte chooses an op, or one of the matrices that it reads. A second run must give the
// same numbers. Elementwise ops, products, softmax and sums are also computed in double, of the same inputs.
#include <cmath>
#include <functional>
#include <limits>

#include "autograd/ops.h"
#include "tests/fuzz/fuzz_targets.h"

namespace plaingrad::fuzz {
namespace {

using namespace autograd;

// ---- references in double

struct Matrix {
    int64_t rows, columns;
    std::vector<double> numbers, errors;  // errors: what rounding may change
    double& at(int64_t i, int64_t k) { return numbers[static_cast<std::size_t>(i * columns + k)]; }
    double& error(int64_t i, int64_t k) { return errors[static_cast<std::size_t>(i * columns + k)]; }
};
Matrix matrix(int64_t rows, int64_t columns) {
    const auto n = static_cast<std::size_t>(rows * columns);
    return {rows, columns, std::vector<double>(n), std::vector<double>(n)};
}
// A size of 1 is repeated.
double at(const Tensor& x, int64_t i, int64_t k) {
    return static_cast<double>(x.data()[(x.size(0) == 1 ? 0 : i) * x.size(1) + (x.size(1) == 1 ? 0 : k)]);
}

// A result may be off by 8 of these, relative to itself, or to each term of a sum; by more if it is long.
constexpr double kUlp = std::numeric_limits<Real>::epsilon();
constexpr double kMost = std::numeric_limits<Real>::max();

template <class F>
Matrix each(const Tensor& a, const Tensor& b, const F& f) {
    const auto size = [&](int dim) { return a.size(dim) == 1 ? b.size(dim) : a.size(dim); };
    Matrix out = matrix(size(0), size(1));
    for (int64_t i = 0; i < out.rows; ++i)
        for (int64_t k = 0; k < out.columns; ++k) {
            const double x = at(a, i, k), y = at(b, i, k);
            double& right = out.at(i, k) = f(x, y);
            out.error(i, k) = 8 * kUlp * std::abs(right);
            const bool is_finite = std::isfinite(x) && std::isfinite(y);
            const bool overflows = is_finite && y != 0 && std::abs(right) > 1.01 * kMost;
            if (overflows)
                right = std::copysign(INFINITY, right);
            if (overflows || (std::isnan(right) && !std::isinf(x) && !std::isinf(y)))
                out.error(i, k) = 0;  // certain
        }
    return out;
}
Matrix product(const Tensor& a, const Tensor& b) {
    Matrix out = matrix(a.size(0), b.size(1));
    // Each of n additions rounds by half of one of these at most.
    const double ulps = kUlp * static_cast<double>(std::max<int64_t>(8, a.size(1) / 2 + 1));
    for (int64_t i = 0; i < out.rows; ++i)
        for (int64_t k = 0; k < out.columns; ++k) {
            double terms = 0;
            for (int64_t j = 0; j < a.size(1); ++j) {
                out.at(i, k) += at(a, i, j) * at(b, j, k);
                terms += std::abs(at(a, i, j) * at(b, j, k));
            }
            // Some of the terms may overflow before others bring the sum back.
            out.error(i, k) = terms > 0.99 * kMost ? INFINITY : ulps * terms;
        }
    return out;
}
Matrix softmax_of(const Tensor& x) {
    Matrix out = matrix(x.size(0), x.size(1));
    for (int64_t i = 0; i < out.rows; ++i) {
        double most = -std::numeric_limits<double>::infinity(), sum = 0;
        for (int64_t k = 0; k < out.columns; ++k)
            most = std::max(most, at(x, i, k));
        for (int64_t k = 0; k < out.columns; ++k)
            sum += out.at(i, k) = std::exp(at(x, i, k) - most);
        for (int64_t k = 0; k < out.columns; ++k) {  // x - most is rounded before it is an exponent
            out.error(i, k) = 8 * kUlp * (1 + std::abs(at(x, i, k) - most)) * out.at(i, k) / sum;
            out.at(i, k) /= sum;
        }
    }
    return out;
}

void compare(const char* op, const Tensor& out, Matrix expected) {
    expect(out.size(0) == expected.rows && out.size(1) == expected.columns, op, " has another shape");
    for (int64_t i = 0; i < expected.rows; ++i)
        for (int64_t k = 0; k < expected.columns; ++k) {
            const double value = at(out, i, k), right = expected.at(i, k);
            const bool is_large = std::abs(right) >= 0.99 * kMost;
            const double room =
                expected.error(i, k) + 4 * static_cast<double>(std::numeric_limits<Real>::min());
            const bool is_certain = expected.error(i, k) == 0 && !std::isfinite(right);
            // Infinities that cancel have no right answer: any order of the sum gives another.
            const bool is_open = !is_certain && (!std::isfinite(right) || is_large || !std::isfinite(room));
            const bool same = std::isnan(right)   ? std::isnan(value)
                              : std::isinf(right) ? value == right
                                                  : std::abs(value - right) <= room;
            expect(is_open || same, op, " (", i, ", ", k, ") is ", value, ", not ", right);
        }
}

// ---- a program

struct Step {
    const char* name;
    std::function<Tensor(const Tensor& a, const Tensor& b)> run;
    std::function<Matrix(const Tensor& a, const Tensor& b)> reference = {};  // none: not compared
};

template <class F>
Step unary(const char* name, Tensor (*op)(const Tensor&), const F& f) {
    return {
        name, [op](const Tensor& a, const Tensor&) { return op(a); },
        [f](const Tensor& a, const Tensor&) { return each(a, a, [&](double x, double) { return f(x); }); }};
}
template <class F>
Step binary(const char* name, Tensor (*op)(const Tensor&, const Tensor&), const F& f) {
    return {name, op, [f](const Tensor& a, const Tensor& b) { return each(a, b, f); }};
}

const std::vector<Step>& steps() {
    static const std::vector<Step> all = {
        binary("add", add, [](double a, double b) { return a + b; }),
        binary("sub", sub, [](double a, double b) { return a - b; }),
        binary("mul", mul, [](double a, double b) { return a * b; }),
        binary("div", div, [](double a, double b) { return b == 0 ? INFINITY : a / b; }),
        binary("maximum", maximum, [](double a, double b) { return std::isnan(a) || a > b ? a : b; }),
        unary("neg", neg, [](double x) { return -x; }),
        unary("exp", exp, [](double x) { return std::exp(x); }),
        unary("sqrt", autograd::sqrt, [](double x) { return std::sqrt(x); }),
        unary("tanh", autograd::tanh, [](double x) { return std::tanh(x); }),
        unary("sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }),
        unary("abs", autograd::abs, [](double x) { return std::abs(x); }),
        unary("relu", relu, [](double x) { return x > 0 ? x : 0 * x; }),
        unary("silu", silu, [](double x) { return x / (1 + std::exp(-x)); }),
        {"matmul", [](const Tensor& a, const Tensor& b) { return matmul(a, b); }, product},
        {"softmax", [](const Tensor& a, const Tensor&) { return softmax(a); },
         [](const Tensor& a, const Tensor&) { return softmax_of(a); }},
        {"linear", [](const Tensor& a, const Tensor& b) { return linear(a, b); }, product},
        {"sum", [](const Tensor& a, const Tensor&) { return sum(a, {1}, true); },
         [](const Tensor& a, const Tensor&) {
             return product(a, Tensor::ones({a.size(1), 1}));
         }},
        {"transpose", [](const Tensor& a, const Tensor&) { return transpose(a, 0, 1); }},
        {"reshape",
         [](const Tensor& a, const Tensor&) {
             return reshape(a, {1, -1});
         }},
        {"slice", [](const Tensor& a, const Tensor& b) { return slice(a, 0, 0, b.size(0)); }},
        {"concat",
         [](const Tensor& a, const Tensor& b) {
             return concat({a, b}, 1);
         }},
        {"detach", [](const Tensor& a, const Tensor&) { return a.detach(); }},
        {"layer_norm", [](const Tensor& a, const Tensor& b) { return layer_norm(a, b[0], {}); }},
        {"residual", [](const Tensor& a, const Tensor& b) { return residual(a, b, Real(0.5), Rng(1)); }},
        {"attention",
         [](const Tensor& a, const Tensor& b) {
             const Tensor q = unsqueeze(a, 0), k = unsqueeze(b, 0);
             return squeeze(attention(q, k, k, {.mask = Mask::causal()}), 0);
         }},
    };
    return all;
}

// Numbers of all sizes, so that some overflow.
Real number(unsigned byte) {
    const double sign = byte & 1 ? -1 : 1;
    return static_cast<Real>(sign * std::ldexp(1 + (byte >> 1 & 3) / 4.0, static_cast<int>(byte >> 3) - 16));
}

// All numbers that a run makes, for comparison with another one.
std::vector<Real> run(const std::string& bytes) {
    std::size_t next = 0;
    const auto byte = [&] { return next < bytes.size() ? static_cast<unsigned char>(bytes[next++]) : 0u; };
    std::vector<Tensor> all;
    for (int leaf = 0; leaf < 3; ++leaf) {
        const unsigned shape = byte();
        const Shape sizes = {shape & 3, 1 + (shape >> 2 & 3)};
        std::vector<Real> numbers;
        for (int64_t i = 0; i < sizes.numel(); ++i)
            numbers.push_back(number(byte()));
        all.push_back(Tensor::from(sizes, numbers).require_grad((shape & 16) == 0));
    }
    const std::vector<Tensor> leaves = all;
    while (next < bytes.size() && all.size() < 24) {
        const Step& step = steps()[byte() % steps().size()];
        const Tensor a = all[byte() % all.size()], b = all[byte() % all.size()];
        try {
            const Tensor out = step.run(a, b);
            if (step.reference)
                compare(step.name, out, step.reference(a, b));
            if (out.numel() < 1000)
                all.push_back(out);
        } catch (const Error& error) {
            expect(std::string(error.what()).find('\n') == std::string::npos, "a refusal of several lines");
        }
    }
    Tensor total = 0;
    for (const Tensor& x : all)
        total += sum(x);
    if (total.needs_grad())
        total.backward();
    std::vector<Real> made;
    for (const Tensor& x : all)
        made.insert(made.end(), x.data(), x.data() + x.numel());
    for (const Tensor& leaf : leaves)
        if (leaf.has_grad())
            made.insert(made.end(), leaf.grad().data(), leaf.grad().data() + leaf.numel());
    return made;
}

void graph(const std::string& bytes) {
    const std::vector<Real> first = run(bytes), second = run(bytes);
    bool same = first.size() == second.size();
    for (std::size_t i = 0; same && i < first.size(); ++i)
        same = first[i] == second[i] || (std::isnan(first[i]) && std::isnan(second[i]));
    expect(same, "a second run gives other numbers");
}

std::vector<std::string> graph_seeds() {
    // Three leaves (2, 2), then ops on them in turn.
    std::string leaves;
    for (int leaf = 0; leaf < 3; ++leaf)
        leaves += std::string("\x06") + "\x80\x85\x7a\x91";
    std::vector<std::string> all;
    for (int begin = 0; begin < 24; begin += 8) {
        all.push_back(leaves);
        for (int op = begin; op < begin + 9; ++op)
            all.back() += {static_cast<char>(op), static_cast<char>(op), static_cast<char>(op + 1)};
    }
    return all;
}

}  // namespace

void add_graphs(std::vector<Target>& all) { all.push_back({"graph", graph, graph_seeds}); }

}  // namespace plaingrad::fuzz
