#include "autograd/gradcheck.h"

#include <cmath>

#include "autograd/base/check.h"
#include "autograd/ops.h"

namespace plaingrad::autograd {
namespace {

using Function = FunctionRef<Tensor(const std::vector<Tensor>&)>;

// Σ out * upstream, in double so that differences keep their digits.
double project(const Tensor& out, const Tensor& upstream) {
    double total = 0;
    for (int64_t i = 0; i < out.numel(); ++i)
        total += static_cast<double>(out.data()[i]) * static_cast<double>(upstream.data()[i]);
    return total;
}

double central_difference(Function f, std::vector<Tensor>& x, std::size_t input, int64_t element,
                          const Tensor& upstream, double eps) {
    const NoGrad no_grad;
    const Real middle = x[input].data()[element];
    const Real right = static_cast<Real>(static_cast<double>(middle) + eps);
    const Real left = static_cast<Real>(static_cast<double>(middle) - eps);
    x[input].mutable_data()[element] = right;
    const double above = project(f(x), upstream);
    x[input].mutable_data()[element] = left;
    const double below = project(f(x), upstream);
    x[input].mutable_data()[element] = middle;
    return (above - below) / (static_cast<double>(right) - static_cast<double>(left));
}

}  // namespace

GradcheckResult gradcheck(Function f, const std::vector<Tensor>& inputs, const GradcheckOptions& options) {
    check(!inputs.empty(), "[gradcheck] at least one input is needed");
    std::vector<Tensor> x;
    for (const Tensor& input : inputs) {
        x.push_back(input.clone());
        x.back().require_grad();
    }
    const Tensor out = f(x);
    const Tensor upstream = Tensor::randn(out.shape(), Rng(options.seed));
    if (out.needs_grad())  // else it is reported below that no gradient has reached the inputs
        out.backward(upstream);

    GradcheckResult result;
    const auto fail = [&](const std::string& message) {
        result.ok = false;
        if (result.message.empty())
            result.message = message;
    };
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (!x[i].has_grad()) {
            fail(join("[gradcheck] no gradient reached input ", i));
            continue;
        }
        const std::vector<Real> grad = x[i].grad().to_vector();
        bool all_zero = true;
        for (int64_t e = 0; e < x[i].numel(); ++e) {
            const double analytic = static_cast<double>(grad[static_cast<std::size_t>(e)]);
            const double numeric = central_difference(f, x, i, e, upstream, options.eps);
            const double error = std::abs(analytic - numeric);
            all_zero = all_zero && analytic == 0;
            if (!(error <= result.worst) && result.worst == result.worst)  // a NaN shows, and stays
                result.worst = error;
            if (!(error <= options.atol + options.rtol * std::abs(numeric)))
                fail(join("[gradcheck] input ", i, " ", x[i].shape(), ", element ", e, ": backward says ",
                          analytic, ", the difference of forward ", numeric));
        }
        if (all_zero && x[i].numel() > 0 && !options.may_be_zero)
            fail(join("[gradcheck] the gradient of input ", i, " ", x[i].shape(), " is 0 everywhere"));
    }
    return result;
}

}  // namespace plaingrad::autograd
