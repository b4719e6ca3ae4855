#include EXERCISE  // the learner's page, or ours
#include "tests/catch.h"
#include "tests/exercises/marking.h"
#include "tests/reference.h"

using namespace plaingrad::exercises;  // NOLINT
using plaingrad::reference::softmax;
using plaingrad::reference::total;

static const Marking exercise(2);

// By central differences of softmax itself: loss = Σ dy y.
static Row by_differences(const Row& x, const Row& dy) {
    constexpr double kStep = 1e-5;
    const auto loss = [&](std::size_t j, double step) {
        Row moved = x;
        moved[j] += step;
        const Row y = softmax(moved);
        double sum = 0;
        for (std::size_t i = 0; i < y.size(); ++i)
            sum += dy[i] * y[i];
        return sum;
    };
    Row dx;
    for (std::size_t j = 0; j < x.size(); ++j)
        dx.push_back((loss(j, kStep) - loss(j, -kStep)) / (2 * kStep));
    return dx;
}

// f(y_i, dy_i) of each
template <class F>
static Row each(const Row& y, const Row& dy, F f) {
    Row out;
    for (std::size_t i = 0; i < y.size(); ++i)
        out.push_back(f(y[i], dy[i]));
    return out;
}

TEST_CASE("dx of a row of three") {
    const Row x = {0, 1, 2}, dy = {1, -2, 3};
    const Row y = softmax(x);
    const double mean = y[0] * dy[0] + y[1] * dy[1] + y[2] * dy[2], sum = total(dy);
    exercise.expect_values("dx", softmax_backward(y, dy), by_differences(x, dy),
                           {{"dx has only the diagonal, y (1 - y) dy, as sigmoid would: through the sum each "
                             "x also moves the other y",
                             each(y, dy, [](double a, double d) { return a * (1 - a) * d; })},
                            {"dx is y dy, as exp would have it: the division by Σ eˣ depends on x too",
                             each(y, dy, [](double a, double d) { return a * d; })},
                            {"dx subtracts Σ dy: the sum is weighted, Σ y dy",
                             each(y, dy, [&](double a, double d) { return a * (d - sum); })},
                            {"dx subtracts the plain mean of dy: the mean is weighted by y, Σ y dy",
                             each(y, dy, [&](double a, double d) { return a * (d - sum / 3); })},
                            {"dx lacks the factor y in front: y (dy - Σ y dy)",
                             each(y, dy, [&](double, double d) { return d - mean; })},
                            {"dx has the wrong sign: y (dy - Σ y dy)",
                             each(y, dy, [&](double a, double d) { return a * (mean - d); })},
                            {"dx is log_softmax's, dy - y Σ dy: y is already softmax's output",
                             each(y, dy, [&](double a, double d) { return d - a * sum; })}});
}

TEST_CASE("dx of longer rows, beside finite differences") {
    for (const int64_t n : {1, 2, 7, 40}) {
        const Row x = row_of(random_tensor({n}, 1)), dy = row_of(random_tensor({n}, 2));
        exercise.expect_values("dx of a row of " + std::to_string(n), softmax_backward(softmax(x), dy),
                               by_differences(x, dy));
    }
}

TEST_CASE("with cross-entropy above it, dx is softmax - target") {
    const Row y = softmax({0.5, -1, 2, 0});
    const Row dy = {0, 0, 0, -1 / y[3]};  // the loss is -ln y_3
    exercise.expect_values("dx", softmax_backward(y, dy), {y[0], y[1], y[2], y[3] - 1});
}
