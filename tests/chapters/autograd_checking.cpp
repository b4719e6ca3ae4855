// Gradient checking: how large a step of a finite difference should be, and what it finds.
#include <algorithm>
#include <cmath>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/gradcheck.h"
#include "autograd/op.h"
#include "autograd/ops.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"
#include "tests/figures/figure.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

// The largest error of the central difference of x / √(1 + x²) at eight places, in this number type. All its
// operations are rounded correctly on every machine, so its rounding errors are the same everywhere.
template <class T>
double error_of_step(double eps) {
    const auto f = [](T x) { return static_cast<double>(x / std::sqrt(1 + x * x)); };
    double worst = 0;
    for (int i = 1; i <= 8; ++i) {
        const double x = i / 8.0, exact = 1 / ((1 + x * x) * std::sqrt(1 + x * x));
        const T right = static_cast<T>(x + eps), left = static_cast<T>(x - eps);
        const double slope = (f(right) - f(left)) / (static_cast<double>(right) - static_cast<double>(left));
        worst = std::max(worst, std::isfinite(slope) ? std::abs(slope - exact) : exact);
    }
    return worst;
}

void error_table(std::ostream& out) {
    Rows rows = {{"eps", "error in float", "error in double"}};
    for (double eps = 0.1; eps > 1e-9; eps /= 10)
        rows.push_back(
            {digits(eps, 1), digits(error_of_step<float>(eps), 1), digits(error_of_step<double>(eps), 1)});
    table(out, rows);
}

std::string error_figure() {
    std::vector<double> eps, in_float, in_double;
    for (double power = 1e-13; power < 0.05; power *= 10)
        for (const double step : {power, 2 * power, 5 * power}) {
            eps.push_back(step);
            in_float.push_back(error_of_step<float>(step));
            in_double.push_back(error_of_step<double>(step));
        }
    claim(*std::min_element(in_float.begin(), in_float.end()) >
              1e4 * *std::min_element(in_double.begin(), in_double.end()),
          "double is better by orders of magnitude");
    const figures::Axis x = {.name = "eps", .log = true}, y = {.name = "largest error", .log = true};
    return figures::svg(
        "The error of a difference, by its step", "Two curves with a minimum; that of double is far lower.",
        {figures::LineChart{
            .x = x, .y = y, .series = {{"float", in_float, eps}, {"double", in_double, eps}}}});
}

// softmax, whose backward multiplies by `factor`, or forgets the second term
Tensor faulty_softmax(const Tensor& x, Real factor, bool whole) {
    const Tensor y = softmax(x.detach());
    return with_backward("faulty_softmax", y, {&x}, [=, dx = x.sink(), y = y.clone()](const Tensor& dy) {
        const Tensor mean = whole ? sum(y * dy, {-1}, true) : Tensor(0);
        dx.pass(factor * y * (dy - mean));
    });
}

void faults(std::ostream& out) {
    const Tensor x = Tensor::from({2, 3}, {1, 2, 3, -1, 0.5, 0});
    Rows rows = {{"backward of softmax", "largest difference", "gradcheck in float"}};
    const auto row = [&](const char* name, Real factor, bool whole) {
        const auto f = [&](const std::vector<Tensor>& in) { return faulty_softmax(in[0], factor, whole); };
        const GradcheckResult result = gradcheck(f, {x});
        rows.push_back({name, digits(result.worst, 1), result.ok ? "passes" : "fails"});
        return result.ok;
    };
    claim(row("right", 1, true) && row("1 % too large", Real(1.01), true),
          "float overlooks what is smaller than its tolerance");
    claim(!row("half as large", Real(0.5), true) && !row("without − Σ y dy", 1, false), "it finds the rest");
    table(out, rows);
}

const Adds kHere({{"autograd.error_of_step", Effort::quick, error_table},
                  {"autograd.faults", Effort::quick, faults}},
                 {{"autograd/figures/step.svg", Effort::quick, error_figure}});

}  // namespace

}  // namespace plaingrad::chapters
