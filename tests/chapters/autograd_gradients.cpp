// What a gradient is, the chain rule, a graph with its numbers, and the order of backward.
#include <cmath>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/inspect.h"
#include "autograd/ops.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

// The program at the top of the repository's README.
Tensor input() { return Tensor::from({2, 3}, {1, 2, 3, 4, 5, 6}); }
Tensor first_weights() { return Tensor::from({3, 2}, {1, 0, 0, 1, 1, 1}); }
Tensor loss_of(const Tensor& w) {
    const Tensor y = relu(matmul(input(), w));  // (2, 2)
    return mean(y * y);                         // ()
}
Tensor gradient_at(const Tensor& w) {
    const Tensor leaf = w.clone().require_grad();
    loss_of(leaf).backward();
    return leaf.grad();
}

void smaller_nudges(std::ostream& out) {
    const double before = value(loss_of(first_weights()));
    Rows rows = {{"nudge of w[0][0]", "loss", "change", "change / nudge"}, {"0", number(before), "", ""}};
    double slope = 0;
    for (const double nudge : {1.0, 1.0 / 8, 1.0 / 64}) {  // with these, float has no rounding errors
        const Tensor w = first_weights();
        w.mutable_data()[0] += static_cast<Real>(nudge);
        const double after = value(loss_of(w));
        slope = (after - before) / nudge;
        rows.push_back({fixed(nudge, 4), fixed(after, 4), fixed(after - before, 4), fixed(slope)});
    }
    table(out, rows);
    claim(std::abs(slope - value(gradient_at(first_weights()))) < 0.1, "nudging and backward agree");
}

// w := w - rate gradient: the change that the gradient predicts, and the one that comes.
void descent(std::ostream& out) {
    const Tensor w = first_weights(), grad = gradient_at(w);
    const double before = value(loss_of(w)), squares = value(sum(grad * grad));
    Rows rows = {{"rate", "predicted: − rate Σ grad²", "change of the loss", "loss"}};
    for (const double rate : {0.0001, 0.001, 0.01}) {
        const double after = value(loss_of(w - static_cast<Real>(rate) * grad));
        rows.push_back({number(rate), digits(-rate * squares), digits(after - before), digits(after)});
    }
    Tensor v = w;
    for (int step = 0; step < 5; ++step)
        v -= Real(0.01) * gradient_at(v);
    const double after = value(loss_of(v));
    rows.push_back({"0.01, 5 steps", "", digits(after - before), digits(after)});
    table(out, rows);
}

// loss = v², v = u - 1, u = w x
void chain(std::ostream& out) {
    const double x = 2, u = 3 * x, v = u - 1;
    const std::string two_v = number(2 * v), product = number(2 * v * x);
    table(out, {{"", "forward", "its own derivative", "d loss / d it", "d it / dw"},
                {"loss = v²", number(v * v), "", "1", "2 · " + two_v + " = " + product},
                {"v = u − 1", number(v), "d loss / dv = 2 v = " + two_v, "1 · " + two_v + " = " + two_v,
                 "2 · 1 = 2"},
                {"u = w x", number(u), "dv / du = 1", two_v + " · 1 = " + two_v, "1 · 2 = 2"},
                {"w", "3", "du / dw = x = 2", two_v + " · 2 = " + product, "1"}});
    const Tensor w = Tensor(3).require_grad(), difference = w * 2 - 1;
    (difference * difference).backward();
    claim(number(value(w.grad())) == product, "the chain by hand is what backward computes");
}

void small_graph(std::ostream& out) { print_graph(loss_of(first_weights().require_grad()), out); }

// The four operations one by one, and backward by hand: each gradient from the one before.
void both_ways(std::ostream& out) {
    const Tensor x = input(), w = first_weights();
    const Tensor p = matmul(x, w), y = relu(p), s = y * y;
    const Tensor d_s = Tensor::full({2, 2}, Real(0.25));  // loss = Σ s / 4
    const Tensor d_y = 2 * y * d_s;                       // s = y y
    const Tensor d_p = where(p > 0, d_y, 0);              // y = max(0, p)
    const Tensor d_w = matmul(transpose(x, 0, 1), d_p);   // p = x w
    table(out, {{"node", "forward", "how its gradient comes about", "d loss / d it"},
                {"5 `loss = mean(s)`", numbers(mean(s)), "the start", "1"},
                {"4 `s = y * y`", numbers(s), "1 / 4 for each of four", numbers(d_s)},
                {"3 `y = relu(p)`", numbers(y), "2 y times 0.25, because s = y²", numbers(d_y)},
                {"2 `p = matmul(x, w)`", numbers(p), "that of y where p > 0, else 0", numbers(d_p)},
                {"1 `w`, a leaf", numbers(w), "xᵀ times that of p", numbers(d_w)}});
    claim(numbers(d_w) == numbers(gradient_at(w)), "the graph by hand is what backward computes");
}

// a = x x, b = a + x, loss = a b: nodes 2, 3 and 4 run in this order. Returns x's gradient.
double run_nodes(std::ostream& out, const std::vector<int>& order) {
    const double x = 3, a = x * x, b = a + x;
    double dx = 0, da = 0, db = 0;
    Rows rows = {{"runs", "passes on", "a's gradient", "b's gradient", "x's gradient"}};
    for (const int node : order) {
        if (node == 4) {
            da += b, db += a;
            rows.push_back({"4 `loss = a * b`", join("b = ", b, " to a, a = ", a, " to b")});
        } else if (node == 3) {
            da += db, dx += db;
            rows.push_back({"3 `b = a + x`", join(db, " to a, ", db, " to x")});
        } else {
            dx += 2 * x * da;
            rows.push_back({"2 `a = x * x`", join("2 x · ", da, " = ", 2 * x * da, " to x")});
        }
        for (const double gradient : {da, db, dx})
            rows.back().push_back(number(gradient));
    }
    table(out, rows);
    return dx;
}

void right_order(std::ostream& out) {
    const Tensor x = Tensor(3).require_grad(), a = x * x;
    (a * (a + x)).backward();
    claim(run_nodes(out, {4, 3, 2}) == value(x.grad()), "the nodes by hand are what backward computes");
}

void wrong_order(std::ostream& out) { run_nodes(out, {4, 2, 3}); }

const Adds kHere({{"autograd.nudge", Effort::quick, smaller_nudges},
                  {"autograd.descent", Effort::quick, descent},
                  {"autograd.chain", Effort::quick, chain},
                  {"autograd.graph", Effort::quick, small_graph},
                  {"autograd.both_ways", Effort::quick, both_ways},
                  {"autograd.right_order", Effort::quick, right_order},
                  {"autograd.wrong_order", Effort::quick, wrong_order}});

}  // namespace

}  // namespace plaingrad::chapters
