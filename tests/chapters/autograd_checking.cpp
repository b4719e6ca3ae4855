// Gradient checking: how large a step of a finite difference should be, and what it finds.
#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/base/portable_math.h"
#include "autograd/gradcheck.h"
#include "autograd/op.h"
#include "autograd/ops.h"
#include "tests/chapters/core.h"
#include "tests/chapters/print.h"
#include "tests/figures/figure.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

// Layer norm of eight numbers, of which a weighted sum is the loss, in a number type of one's choice. All its
// operations are rounded correctly on every machine, so its rounding errors are the same everywhere.
constexpr std::size_t kNumbers = 8;
template <class T>
using Numbers = std::array<T, kNumbers>;

template <class T>
constexpr Numbers<T> kX = {T(1), T(-2), T(0.5), T(3), T(-1), T(0.25), T(2), T(-0.75)};
template <class T>
constexpr Numbers<T> kWeights = {T(0.5), T(1), T(-1), T(0.25), T(2), T(-0.5), T(-2), T(1.5)};

template <class T>
T loss_of(const Numbers<T>& x) {
    T mean = 0, variance = 0, loss = 0;
    for (const T value : x)
        mean += value;
    mean /= T(kNumbers);
    for (const T value : x)
        variance += (value - mean) * (value - mean);
    const T deviation = std::sqrt(variance / T(kNumbers));
    for (std::size_t i = 0; i < kNumbers; ++i)
        loss += kWeights<T>[i] * ((x[i] - mean) / deviation);
    return loss;
}

// rstd (g - mean(g) - x̂ mean(g x̂)), in double
Numbers<double> gradient() {
    const Numbers<double>&x = kX<double>, &g = kWeights<double>;
    double mean = 0, variance = 0, mean_g = 0, mean_gx = 0;
    for (const double value : x)
        mean += value / kNumbers;
    for (const double value : x)
        variance += (value - mean) * (value - mean) / kNumbers;
    const double rstd = 1 / std::sqrt(variance);
    for (std::size_t i = 0; i < kNumbers; ++i) {
        mean_g += g[i] / kNumbers;
        mean_gx += g[i] * (x[i] - mean) * rstd / kNumbers;
    }
    Numbers<double> dx;
    for (std::size_t i = 0; i < kNumbers; ++i)
        dx[i] = rstd * (g[i] - mean_g - (x[i] - mean) * rstd * mean_gx);
    return dx;
}

// The largest error of the central differences of all elements.
template <class T>
double error_of_step(double eps) {
    const Numbers<double> exact = gradient();
    double worst = 0;
    for (std::size_t i = 0; i < kNumbers; ++i) {
        Numbers<T> right = kX<T>, left = kX<T>;
        right[i] += static_cast<T>(eps);
        left[i] -= static_cast<T>(eps);
        const double rise = static_cast<double>(loss_of(right)) - static_cast<double>(loss_of(left));
        const double slope = rise / (static_cast<double>(right[i]) - static_cast<double>(left[i]));
        worst = std::max(worst, std::isfinite(slope) ? std::abs(slope - exact[i]) : std::abs(exact[i]));
    }
    return worst;
}

// 0.1, 0.01, ..., or with some in between.
std::vector<double> steps(std::initializer_list<double> of_each_power) {
    std::vector<double> all;
    for (double power = 1; power <= 1e12; power *= 10)
        for (const double first : of_each_power)
            all.push_back(first / (10 * power));
    return all;
}

template <class T>
std::vector<double> errors(const std::vector<double>& of_steps) {
    std::vector<double> all;
    for (const double eps : of_steps)
        all.push_back(error_of_step<T>(eps));
    return all;
}

double best(const std::vector<double>& all) { return *std::min_element(all.begin(), all.end()); }

void error_table(std::ostream& out) {
    const std::vector<double> eps = steps({1}), in_float = errors<float>(eps),
                              in_double = errors<double>(eps);
    claim(best(in_float) > 1e4 * best(in_double), "double is better by orders of magnitude");
    claim(in_double[0] > best(in_double) && in_double.back() > best(in_double),
          "there is a best step in between");
    Rows rows = {{"eps", "error in float", "error in double"}};
    for (std::size_t i = 0; i < 8; ++i)
        rows.push_back({digits(eps[i], 1), digits(in_float[i], 1), digits(in_double[i], 1)});
    table(out, rows);
}

std::string error_figure() {
    std::vector<double> eps = steps({1, 0.5, 0.2});
    std::reverse(eps.begin(), eps.end());  // from left to right
    const std::vector<double> in_float = errors<float>(eps), in_double = errors<double>(eps);
    const figures::Axis x = {.name = "eps", .log = true}, y = {.name = "largest error", .log = true};
    return figures::svg(
        "The error of a difference, by its step",
        join("Two curves with a minimum: float reaches ", digits(best(in_float), 1), " at best, double ",
             digits(best(in_double), 1), "."),
        {figures::LineChart{
            .x = x, .y = y, .series = {{"float", in_float, eps}, {"double", in_double, eps}}}});
}

// ---- what a check finds

// softmax, whose backward multiplies by `factor`, or forgets the second term
Tensor faulty_softmax(const Tensor& x, Real factor, bool whole) {
    const Tensor y = softmax(x.detach());
    return with_backward("faulty_softmax", y, {&x}, [=, dx = x.sink(), y = y.clone()](const Tensor& dy) {
        const Tensor mean = whole ? sum(y * dy, {-1}, true) : Tensor(0);
        dx.pass(factor * y * (dy - mean));
    });
}

// The same check in double, which this program, a float build, has to write out: softmax of three numbers,
// with the step and the tolerances of the double build.
bool passes_in_double(double factor, bool whole) {
    const GradcheckOptions options = {.in_double = true};
    using Row = std::array<double, 3>;
    const Row x = {1, 2, 3}, dy = {0.5, -1, 2};
    const auto softmax_of = [](const Row& in) {
        Row y = {portable::exp(in[0]), portable::exp(in[1]), portable::exp(in[2])};
        const double sum = y[0] + y[1] + y[2];
        return Row{y[0] / sum, y[1] / sum, y[2] / sum};
    };
    const auto loss = [&](Row in, std::size_t i, double nudge) {
        in[i] += nudge;
        const Row y = softmax_of(in);
        return y[0] * dy[0] + y[1] * dy[1] + y[2] * dy[2];
    };
    const Row y = softmax_of(x);
    const double mean = whole ? loss(x, 0, 0) : 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double numeric = (loss(x, i, options.eps) - loss(x, i, -options.eps)) / (2 * options.eps);
        const double error = std::abs(factor * y[i] * (dy[i] - mean) - numeric);
        if (error > options.atol + options.rtol * std::abs(numeric))
            return false;
    }
    return true;
}

void faults(std::ostream& out) {
    const Tensor x = Tensor::from({2, 3}, {1, 2, 3, -1, 0.5, 0});
    struct Fault {
        const char* name;
        Real factor;
        bool whole;
    };
    const double rtol = GradcheckOptions().rtol;
    const auto verdict = [](bool ok) { return ok ? "passes" : "fails"; };
    Rows rows = {{"backward of softmax", "largest difference", "gradcheck in float", "in double"}};
    for (const Fault& fault :
         {Fault{"right", 1, true}, Fault{"1 % too large", Real(1.01), true},
          Fault{"half as large", Real(0.5), true}, Fault{"without − Σ y dy", 1, false}}) {
        const GradcheckResult result = gradcheck(
            [&](const std::vector<Tensor>& in) { return faulty_softmax(in[0], fault.factor, fault.whole); },
            {x});
        const bool in_double = passes_in_double(static_cast<double>(fault.factor), fault.whole);
        claim(result.ok == (std::abs(static_cast<double>(fault.factor) - 1) < rtol && fault.whole),
              "float overlooks what is smaller than its tolerance");
        claim(in_double == (fault.factor == 1 && fault.whole), "double overlooks nothing of this");
        rows.push_back({fault.name, digits(result.worst, 1), verdict(result.ok), verdict(in_double)});
    }
    table(out, rows);
}

// The sum of a softmax is 1, whatever x is.
void plain_sum(std::ostream& out) {
    Tensor x = Tensor::from({1, 3}, {1, 2, 3}).require_grad();
    sum(faulty_softmax(x, 100, true)).backward();
    double largest = 0;
    for (const Real value : x.grad().to_vector())
        largest = std::max(largest, std::abs(static_cast<double>(value)));
    claim(largest < 1e-4, "a plain sum sees no fault in softmax");
    out << "backward of sum(softmax(x)), 100 times too large: no element of dx is larger than "
        << digits(largest, 1) << '\n';
}

}  // namespace

Computed autograd_checking() {
    return {.sections = {{"autograd.error_of_step", Effort::quick, error_table},
                         {"autograd.faults", Effort::quick, faults},
                         {"autograd.plain_sum", Effort::quick, plain_sum}},
            .figures = {{"autograd/figures/step.svg", Effort::quick, error_figure}}};
}

}  // namespace plaingrad::chapters
