// Floating-point sums depend on their order; what follows, and what does not happen here.
#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

#include "autograd/base/check.h"
#include "autograd/base/parallel.h"
#include "autograd/ops.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"
#include "tests/figures/figure.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

void order(std::ostream& out) {
    const Real large = 16777216, left = (large + 1) + 1, right = large + (Real(1) + 1);
    claim(left != right, "the order of additions changes a sum");
    out << "(16777216 + 1) + 1 = " << number(static_cast<double>(left))
        << "     16777216 is 2²⁴: above it, floats are 2 apart\n"
        << "16777216 + (1 + 1) = " << number(static_cast<double>(right)) << "\n\n";
    const Real a = 1 + Real(0x1p-12), c = -(1 + Real(0x1p-11));
    const Real twice = a * a + c, once = std::fma(a, a, c);
    claim(twice == 0 && once != 0, "an fma rounds once");
    out << "a = 1.000244140625, c = −1.00048828125\n"
        << "a·a + c, rounded after each = " << number(static_cast<double>(twice)) << '\n'
        << "fma(a, a, c), rounded once  = " << digits(static_cast<double>(once)) << '\n';
}

Real sequential(const Real* x, int64_t n) {
    Real sum = 0;
    for (int64_t i = 0; i < n; ++i)
        sum += x[i];
    return sum;
}

// Each thread adds its part, and the parts are added.
Real in_parts(const Tensor& x, int64_t parts) {
    Real total = 0;
    for (int64_t p = 0; p < parts; ++p) {
        const int64_t begin = x.numel() * p / parts, end = x.numel() * (p + 1) / parts;
        total += sequential(x.data() + begin, end - begin);
    }
    return total;
}

void threads(std::ostream& out) {
    const Tensor x = Tensor::rand({100'000}, Rng(1));
    double exact = 0;
    for (const Real number : x.to_vector())
        exact += static_cast<double>(number);
    const int before = thread_count();
    const std::string ours = digits(value(sum(x)), 9);
    Rows rows = {{"threads", "a part for each thread", "plaingrad's sum"}};
    for (const int n : {1, 2, 3, 4}) {
        set_thread_count(n);
        rows.push_back(
            {std::to_string(n), digits(static_cast<double>(in_parts(x, n)), 9), digits(value(sum(x)), 9)});
        claim(rows.back()[2] == ours, "threads do not change a sum");
        claim(n == 1 || rows.back()[1] != rows[1][1], "parts by the number of threads do");
    }
    set_thread_count(before);
    rows.push_back({"in double", digits(exact, 9), ""});
    table(out, rows);
}

// The share by which 0.1 + 0.1 + ... + 0.1 is off.
void error_of_length(std::ostream& out) {
    Rows rows = {{"n times 0.1", "one after the other", "plaingrad's sum"}};
    for (int64_t n = 1'000; n <= 10'000'000; n *= 100) {
        const Tensor x = Tensor::full({n}, Real(0.1));
        const double exact = static_cast<double>(n) * static_cast<double>(Real(0.1));
        const auto error = [&](Real sum) { return std::abs(static_cast<double>(sum) - exact) / exact; };
        const double chain = error(sequential(x.data(), n)), tree = error(sum(x).item());
        claim(n < 10'000 || tree < chain, "a tree of short chains is more accurate than one chain");
        rows.push_back({grouped(n), digits(chain, 2), digits(tree, 2)});
    }
    table(out, rows);
}

// ---- what one last bit becomes

// Two layers that learn 16 random points by gradient descent.
struct Network {
    Real rate;
    Tensor w1 = Tensor::randn({4, 8}, Rng(1)), w2 = Tensor::randn({8, 1}, Rng(2)) * Real(0.2);
    Tensor x = Tensor::randn({16, 4}, Rng(3)), target = Tensor::randn({16, 1}, Rng(4));

    double step() {
        const Tensor a = w1.clone().require_grad(), b = w2.clone().require_grad();
        const Tensor loss = mse_loss(matmul(tanh(matmul(x, a)), b), target);
        loss.backward();
        w1 -= rate * a.grad();
        w2 -= rate * b.grad();
        return static_cast<double>(loss.item());
    }
};

// Two runs, of which one begins with another last bit in one weight: the largest difference of their losses
// in each ten steps.
figures::Series differences(const std::string& name, Real rate) {
    Network first = {rate}, second = {rate};
    Real& weight = second.w1.mutable_data()[0];
    weight = std::nextafter(weight, Real(10));
    figures::Series result = {.name = name, .y = {}};
    double largest = 0;
    for (int step = 1; step <= 400; ++step) {
        largest = std::max(largest, std::abs(first.step() - second.step()));
        if (step % 10 > 0)
            continue;
        result.x.push_back(step);
        result.y.push_back(std::exchange(largest, 0));
    }
    return result;
}

std::string last_bit() {
    const figures::Series careful = differences("learning rate 0.1", Real(0.1)),
                          bold = differences("learning rate 0.25", Real(0.25));
    const auto largest = [](const figures::Series& s) { return *std::max_element(s.y.begin(), s.y.end()); };
    claim(largest(careful) < 1e-6 && largest(bold) > 1e-2,
          "with a large rate a last bit becomes visible, with a small one it does not");
    return figures::svg(
        "Two runs that began with one bit between them",
        join("With the learning rate 0.1 the difference is at most ", digits(largest(careful), 1),
             "; with 0.25 it grows to ", digits(largest(bold), 1), "."),
        {figures::LineChart{.x = {.name = "step"},
                            .y = {.name = "difference of the losses", .log = true},
                            .series = {careful, bold}}});
}

const Adds kHere({{"kernels.order", Effort::quick, order},
                  {"kernels.threads", Effort::quick, threads},
                  {"kernels.error_of_length", Effort::quick, error_of_length}},
                 {{"autograd/kernels/figures/last_bit.svg", Effort::quick, last_bit}});

}  // namespace

}  // namespace plaingrad::chapters
