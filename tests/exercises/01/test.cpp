#include EXERCISE  // the learner's page, or ours
#include "tests/catch.h"
#include "tests/exercises/marking.h"

using namespace plaingrad::exercises;  // NOLINT

static const Marking exercise(1);
static const Shape shape = {2, 3};
static const Row x_values = {3, -1, 0.5, 0, 2, -4};

static Row each(const Row& a, const Row& b, double (*f)(double, double)) {
    Row out;
    for (std::size_t i = 0; i < a.size(); ++i)
        out.push_back(f(a[i], b[i]));
    return out;
}

TEST_CASE("forward: y = x²") {
    const Tensor x = tensor_of(shape, x_values);
    const Tensor y = square(x);
    exercise.expect_values("y", y, shape, {9, 1, 0.25, 0, 4, 16},
                           {{"y is 2x, which is the derivative, not the square", {6, -2, 1, 0, 4, -8}}});
    exercise.expect_values("x after the call", x, shape, x_values);
    exercise.expect_values("y of an x of another shape", square(tensor_of({1}, {5})), {1}, {25});
}

TEST_CASE("the result has its place in the graph") {
    Tensor x = tensor_of(shape, x_values);
    x.require_grad();
    const Tensor y = square(x);
    exercise.expect(y.needs_grad(), "y has no place in the graph, so no gradient can flow back through it: ",
                    "return with_backward(\"square\", y, {&x}, ...) instead of y");
    const std::string op = y.node()->op();
    exercise.expect(op == "square", "y comes from the op ", op,
                    ": write both loops yourself, and name the op ", "\"square\"");
}

TEST_CASE("backward: dx = 2 x dy") {
    const Row dy = {1, 2, -3, 4, 0.5, 10};
    Tensor x = tensor_of(shape, x_values);
    x.require_grad();
    const Tensor y = square(x);
    y.backward(tensor_of(shape, dy));
    exercise.expect(x.has_grad(), "backward left no gradient in x: it must write to dx.open().data");
    const Tensor dx = x.grad();
    exercise.expect(row_of(dx)[0] == row_of(dx)[0], "dx is NaN: the first gradient overwrites what lies in ",
                    "memory; only when open().accumulate is true is there something to add to");
    exercise.expect_values(
        "dx", dx, shape, each(x_values, dy, [](double a, double d) { return 2 * a * d; }),
        {{"dx lacks dy: the chain rule multiplies by the gradient from above",
          each(x_values, dy, [](double a, double) { return 2 * a; })},
         {"dx lacks the 2 of 2 x dy", each(x_values, dy, [](double a, double d) { return a * d; })},
         {"dx lacks the x of 2 x dy", each(x_values, dy, [](double, double d) { return 2 * d; })},
         {"dx is dy passed on: y = x would have this derivative", dy},
         {"dx is x² dy: take the derivative of x², not x² itself",
          each(x_values, dy, [](double a, double d) { return a * a * d; })}});
}

TEST_CASE("gradients of two uses add up") {
    Tensor x = tensor_of(shape, x_values);
    x.require_grad();
    const Tensor a = sum(square(x));
    const Tensor b = sum(x * 3);  // its backward runs first: it was made last
    (a + b).backward();
    exercise.expect_values(
        "dx of x² + 3x", x.grad(), shape, {9, 1, 4, 3, 7, -5},
        {{"dx overwrites the gradient of another use of x: where open().accumulate is true, "
          "add with += instead of =",
          {6, -2, 1, 0, 4, -8}}});
}
