// Label smoothing: what it does to the logits.
#include <cmath>
#include <ostream>

#include "autograd/base/portable_math.h"
#include "nn/optim.h"
#include "tests/chapters/nn.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

constexpr int64_t kWords = 10;

// The logits of one position whose target is word 0, after so many steps of gradient descent.
struct Logits {
    explicit Logits(Real smoothing_) : smoothing(smoothing_), values(Tensor::zeros({1, kWords})) {}
    void visit(nn::Visitor& v) const { v("values", values); }
    void train(int64_t steps) const {
        nn::Sgd sgd(nn::parameters(*this), {.lr = 1});
        for (int64_t i = 0; i < steps; ++i) {
            sgd.zero_grad();
            cross_entropy(values, Tokens(1, 1, {0}), {.label_smoothing = smoothing}).backward();
            sgd.step();
        }
    }
    double gap() const { return static_cast<double>(values->data()[0] - values->data()[1]); }
    double probability() const { return static_cast<double>(softmax(values).data()[0]); }
    Real smoothing;
    nn::Parameter values;
};

void smoothing(std::ostream& out) {
    const Logits hard(0), soft(Real(0.1));
    Rows rows = {{"steps", "gap without smoothing", "p(target)", "gap with s = 0.1", "p(target)"}};
    int64_t done = 0;
    std::vector<double> gaps;
    for (const int64_t steps : {10, 100, 1000, 10000}) {
        hard.train(steps - done);
        soft.train(steps - done);
        done = steps;
        gaps.push_back(hard.gap());
        rows.push_back({std::to_string(steps), fixed(hard.gap()), fixed(hard.probability(), 4),
                        fixed(soft.gap()), fixed(soft.probability(), 4)});
    }
    const double target = 0.9 + 0.1 / kWords, other = 0.1 / kWords, gap = portable::log(target / other);
    table(out, rows);
    out << "\nWhere the smoothed loss is smallest: p(target) = 1 - s + s/V = " << fixed(target)
        << ", the others s/V = " << fixed(other) << ", gap ln(" << fixed(target) << " / " << fixed(other)
        << ") = " << fixed(gap) << ".\n";
    claim(gaps[3] > gaps[2] + 1, "without smoothing the gap grows without end");
    claim(std::abs(soft.gap() - gap) < 0.01, "with it the gap ends where the formula says");
}

}  // namespace

Computed training_loss() { return {.sections = {{"nn.smoothing", Effort::quick, smoothing}}}; }

}  // namespace plaingrad::chapters
