// What a gradient is, the chain rule, a graph with its numbers, and the order of backward.
#include <iterator>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/inspect.h"
#include "autograd/ops.h"
#include "tests/chapters/core.h"
#include "tests/chapters/diagram.h"
#include "tests/chapters/print.h"

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

double loss_nudged(int64_t element, Real nudge) {
    const Tensor w = first_weights();
    w.mutable_data()[element] += nudge;
    return static_cast<double>(loss_of(w).item());
}

Tensor gradient_at(const Tensor& w) {
    Tensor leaf = w.clone();
    leaf.require_grad();
    loss_of(leaf).backward();
    return leaf.grad();
}

// ---- what a gradient is

void smaller_nudges(std::ostream& out) {
    const double before = loss_nudged(0, 0);
    Rows rows = {{"nudge of w[0][0]", "loss", "change", "change / nudge"}};
    rows.push_back({"0", number(before), "", ""});
    for (const double nudge : {1.0, 1.0 / 8, 1.0 / 64}) {  // with these, float has no rounding errors
        const double after = loss_nudged(0, static_cast<Real>(nudge));
        rows.push_back(
            {fixed(nudge, 4), fixed(after, 4), fixed(after - before, 4), fixed((after - before) / nudge, 2)});
    }
    table(out, rows);
}

void every_weight(std::ostream& out) {
    constexpr double kNudge = 1.0 / 64;
    const Tensor grad = gradient_at(first_weights());
    Rows rows = {{"element", "change / nudge, nudge 1/64", "w.grad()"}};
    for (int64_t i = 0; i < 6; ++i) {
        const double slope = (loss_nudged(i, Real(kNudge)) - loss_nudged(i, 0)) / kNudge;
        const double exact = static_cast<double>(grad.data()[i]);
        claim(std::abs(slope - exact) < 0.2, "nudging and backward agree");
        rows.push_back({autograd::join("w[", i / 2, "][", i % 2, "]"), fixed(slope, 2), fixed(exact, 2)});
    }
    table(out, rows);
}

// w := w - rate gradient: the change that the gradient predicts, and the one that comes.
void descent(std::ostream& out) {
    const Tensor w = first_weights(), grad = gradient_at(w);
    const auto before = static_cast<double>(loss_of(w).item()),
               squares = static_cast<double>(sum(grad * grad).item());
    Rows rows = {{"rate", "predicted: − rate Σ grad²", "change of the loss", "loss"}};
    double error = 0;
    for (const double rate : {0.0001, 0.001, 0.01}) {
        const auto after = static_cast<double>(loss_of(w - static_cast<Real>(rate) * grad).item());
        rows.push_back({number(rate), digits(-rate * squares), digits(after - before), digits(after)});
        const double off = std::abs(1 + rate * squares / (after - before));
        claim(after < before && off > error, "steps go down, and the longer, the worse the prediction");
        error = off;
    }
    Tensor v = w;
    for (int step = 0; step < 5; ++step)
        v -= Real(0.01) * gradient_at(v);
    const auto after = static_cast<double>(loss_of(v).item());
    rows.push_back({"0.01, 5 steps", "", digits(after - before), digits(after)});
    table(out, rows);
}

// ---- the chain rule

// loss = v², v = u - 1, u = w x
void chain(std::ostream& out) {
    const double w = 3, x = 2, u = w * x, v = u - 1, loss = v * v;
    const double from_v = 2 * v, from_u = from_v * 1, from_w = from_u * x;
    const double u_by_w = x, v_by_w = 1 * u_by_w, loss_by_w = 2 * v * v_by_w;  // forward mode
    Tensor leaf = Tensor::from({1}, {Real(w)}).require_grad();
    const Tensor difference = leaf * Real(x) - 1;
    (difference * difference).backward();
    claim(static_cast<double>(leaf.grad().item()) == from_w && loss_by_w == from_w,
          "the chain by hand, from either end, is what backward computes");
    table(out,
          {{"", "forward", "its own derivative", "d loss / d it", "d it / dw"},
           {"loss = v²", number(loss), "", "1",
            number(v_by_w) + " · " + number(2 * v) + " = " + number(loss_by_w)},
           {"v = u − 1", number(v), "d loss / dv = 2 v = " + number(from_v),
            "1 · " + number(from_v) + " = " + number(from_v), number(u_by_w) + " · 1 = " + number(v_by_w)},
           {"u = w x", number(u), "dv / du = 1", number(from_v) + " · 1 = " + number(from_u),
            "1 · " + number(x) + " = " + number(u_by_w)},
           {"w", number(w), "du / dw = x = " + number(x),
            number(from_u) + " · " + number(x) + " = " + number(from_w), "1"}});
}

// ---- a graph of four operations

void small_graph(std::ostream& out) {
    const Tensor w = first_weights().require_grad();
    print_graph(loss_of(w), out);
}

// The gradient of mean(f(leaf)) for a leaf with the values of `at`.
template <class F>
Tensor gradient_from(const Tensor& at, const F& f) {
    Tensor leaf = at.clone();
    leaf.require_grad();
    mean(f(leaf)).backward();
    return leaf.grad();
}

// The four operations one by one, and backward by hand: each gradient from the one before.
struct ByHand {
    Tensor x = input(), w = first_weights();
    Tensor product = matmul(x, w), y = relu(product), squares = y * y, loss = mean(squares);
    Tensor d_loss = Tensor::ones({});
    Tensor d_squares = Tensor::full({2, 2}, Real(0.25)) * d_loss;  // loss = Σ squares / 4
    Tensor d_y = 2 * y * d_squares;                                // squares = y y
    Tensor d_product = where(product > 0, d_y, 0);                 // y = max(0, product)
    Tensor d_w = matmul(transpose(x, 0, 1), d_product);            // product = x w

    ByHand() {
        const auto square = [](const Tensor& t) { return t * t; };
        const auto relu_square = [&](const Tensor& t) { return square(relu(t)); };
        claim(numbers(d_w) == numbers(gradient_at(w)) && numbers(d_y) == numbers(gradient_from(y, square)) &&
                  numbers(d_product) == numbers(gradient_from(product, relu_square)),
              "the graph by hand is what backward computes");
    }
};

void both_ways(std::ostream& out) {
    const ByHand h;
    table(out, {{"node", "forward", "how its gradient comes about", "d loss / d it"},
                {"5 `loss = mean(s)`", numbers(h.loss), "the start", numbers(h.d_loss)},
                {"4 `s = y * y`", numbers(h.squares), "1 / 4 for each of four", numbers(h.d_squares)},
                {"3 `y = relu(p)`", numbers(h.y), "2 y times 0.25, because s = y²", numbers(h.d_y)},
                {"2 `p = matmul(x, w)`", numbers(h.product), "that of y where p > 0, else 0",
                 numbers(h.d_product)},
                {"1 `w`, a leaf", numbers(h.w), "xᵀ times that of p", numbers(h.d_w)}});
}

// "p = x w" with the rows of its matrix below
std::string boxed(const std::string& name, const Tensor& x) {
    std::string text = name;
    for (int64_t i = 0; x.rank() == 2 && i < x.size(0); ++i)
        text += "\n" + numbers(x[i]);
    return x.rank() == 2 ? text : text + "\n" + numbers(x);
}

// Values above, from left to right; gradients below, from right to left.
std::string graph_figure() {
    const ByHand h;
    struct Stage {
        const char* name;
        const char* derivative;  // what backward multiplies by on its way to the stage before
        Tensor value, grad;
    };
    const Stage stages[] = {{"w", "", h.w, h.d_w},
                            {"p = x w", "xᵀ @", h.product, h.d_product},
                            {"y = relu(p)", "· [p>0]", h.y, h.d_y},
                            {"s = y * y", "· 2 y", h.squares, h.d_squares},
                            {"mean(s)", "· 1/4", h.loss, h.d_loss}};
    Diagram diagram = {.boxes = {}, .arrows = {}, .cell_width = 16, .cell_height = 84};
    for (std::size_t i = 0; i < std::size(stages); ++i) {
        const double column = 9.6 * static_cast<double>(i);
        diagram.boxes.push_back({boxed(stages[i].name, stages[i].value), column, 0, 6, 1, 1});
        diagram.boxes.push_back({boxed("gradient", stages[i].grad), column, 1.4, 6, 1, 2});
        if (i > 0) {
            diagram.arrows.push_back({2 * i - 2, 2 * i, "", 1});
            diagram.arrows.push_back({2 * i + 1, 2 * i - 1, stages[i].derivative, 2});
        }
    }
    return svg("Forward to the loss, backward to the weights",
               "Five boxes from the weights to the loss with their values, and below each its gradient.",
               diagram);
}

// ---- why descending numbers: a = x x, b = a + x, loss = a b

struct Diamond {
    double x = 3, a = x * x, b = a + x, loss = a * b;
    double dx = 0, da = 0, db = 0;
    Rows rows = {{"runs", "passes on", "a's gradient", "b's gradient", "x's gradient"}};

    void row(const std::string& runs, const std::string& passes) {
        rows.push_back({runs, passes, number(da), number(db), number(dx)});
    }
    void run_loss() {
        da += b, db += a;
        row("4 `loss = a * b`", "b = " + number(b) + " to a, a = " + number(a) + " to b");
    }
    void run_b() {
        da += db, dx += db;
        row("3 `b = a + x`", number(db) + " to a, " + number(db) + " to x");
    }
    void run_a() {
        dx += 2 * x * da;
        row("2 `a = x * x`", "2 x · " + number(da) + " = " + number(2 * x * da) + " to x");
    }
};

void diamond(std::ostream& out) {
    Diamond d;
    d.run_loss(), d.run_b(), d.run_a();
    Tensor leaf = Tensor::from({1}, {Real(d.x)}).require_grad();
    const Tensor a = leaf * leaf, b = a + leaf;
    (a * b).backward();
    claim(static_cast<double>(leaf.grad().item()) == d.dx, "the diamond by hand is what backward computes");
    table(out, d.rows);
}

void wrong_order(std::ostream& out) {
    Diamond d;
    d.run_loss(), d.run_a(), d.run_b();
    const auto loss = [](double x) { return x * x * (x * x + x); };
    const double slope = (loss(3 + 1.0 / 1024) - loss(3 - 1.0 / 1024)) * 512;
    claim(std::abs(d.dx - slope) > 1 && std::abs(slope - 135) < 0.01,
          "the wrong order gives another gradient");
    d.rows.push_back({"nudging x", "", "", "", fixed(slope, 2)});
    table(out, d.rows);
}

}  // namespace

Computed autograd_gradients() {
    return {.sections = {{"autograd.nudge", Effort::quick, smaller_nudges},
                         {"autograd.every_weight", Effort::quick, every_weight},
                         {"autograd.descent", Effort::quick, descent},
                         {"autograd.chain", Effort::quick, chain},
                         {"autograd.graph", Effort::quick, small_graph},
                         {"autograd.both_ways", Effort::quick, both_ways},
                         {"autograd.diamond", Effort::quick, diamond},
                         {"autograd.wrong_order", Effort::quick, wrong_order}},
            .figures = {{"autograd/figures/graph.svg", Effort::quick, graph_figure}}};
}

}  // namespace plaingrad::chapters
