// The training loop of two numbers that ends the chapter: apps/examples/first_training.cpp.
#include <cmath>
#include <ostream>
#include <sstream>

#include "autograd/base/check.h"
#include "autograd/ops.h"
#include "nn/optim.h"
#include "tests/chapters/chapter.h"
#include "tests/chapters/core.h"
#include "tests/chapters/print.h"
#include "tests/figures/figure.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

struct Step {
    double w, b, loss, dw, db;
};

// Steps 0 to 40, as in the program.
std::vector<Step> first_training() {
    const Tensor x = Tensor::from({4}, {-1, 0, 1, 2}), y = Tensor::from({4}, {-1, 1, 3, 5});
    const Tensor w = Tensor(0).require_grad(), b = Tensor(0).require_grad();
    nn::Sgd sgd({{"w", w}, {"b", b}}, {.lr = 0.1});
    const auto number_of = [](const Tensor& t) { return static_cast<double>(t.item()); };
    std::vector<Step> steps;
    for (int step = 0; step <= 40; ++step) {
        sgd.zero_grad();
        const Tensor loss = mse_loss(w * x + b, y);
        loss.backward();
        steps.push_back(
            {number_of(w), number_of(b), number_of(loss), number_of(w.grad()), number_of(b.grad())});
        sgd.step();
    }
    return steps;
}

// What the program prints stands at its end, where tests/tools/readme.sh compares it.
void printed(std::ostream& out) {
    const std::vector<Step> steps = first_training();
    claim(steps[0].dw == -7 && steps[0].db == -4, "the gradients of the first step are -7 and -4");
    claim(std::abs(steps[40].w - 2) < 0.001 && std::abs(steps[40].b - 1) < 0.001, "w and b are found");
    std::istringstream lines(read_text("apps/examples/first_training.cpp"));
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("//   "))
            out << line.substr(5) << '\n';
}

std::string loss_figure() {
    figures::Series loss = {"loss", {}, {}};
    for (const Step& step : first_training()) {
        loss.x.push_back(static_cast<double>(loss.x.size()));
        loss.y.push_back(step.loss);
    }
    claim(loss.y[1] < 0.5 * loss.y[0] && loss.y[40] > 0.7 * loss.y[39] && loss.y[40] < 0.8 * loss.y[39],
          "one direction is found fast, the other slowly");
    return figures::svg(
        "The loss of each step",
        "On a logarithmic scale the loss falls in a straight line for ten steps, and then in "
        "another one, less steep.",
        {figures::LineChart{
            .x = {.name = "step"}, .y = {.name = "mean squared error", .log = true}, .series = {loss}}});
}

}  // namespace

Computed autograd_training() {
    return {.sections = {{"autograd.first_training", Effort::quick, printed}},
            .figures = {{"autograd/figures/training.svg", Effort::quick, loss_figure}}};
}

}  // namespace plaingrad::chapters
