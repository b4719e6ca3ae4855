// Two spirals, told apart by a network with one hidden layer: autograd and the training loop, without a
// Transformer.
#include <cmath>
#include <cstdio>

#include "nn/linear.h"
#include "nn/optim.h"

using namespace plaingrad;
using autograd::Tensor;

struct Mlp {
    explicit Mlp(const autograd::Rng& rng) : hidden(2, 32, rng.fork("hidden")), out(32, 1, rng.fork("out")) {}
    Tensor operator()(const Tensor& x) const {  // (N, 2) -> (N, 1)
        return out(tanh(hidden(x)));
    }
    void visit(nn::Visitor& v) const {
        v("hidden", hidden);
        v("out", out);
    }
    nn::Linear hidden, out;
};

int main() {
    std::vector<autograd::Real> points, labels;
    for (int i = 0; i < 100; ++i)
        for (const int label : {0, 1}) {
            const double radius = 0.2 + i / 100.0, angle = 6 * radius + label * 3.14159;
            points.push_back(static_cast<float>(radius * std::cos(angle)));
            points.push_back(static_cast<float>(radius * std::sin(angle)));
            labels.push_back(static_cast<float>(label));
        }
    const Tensor x = Tensor::from({200, 2}, points), y = Tensor::from({200, 1}, labels);

    const autograd::Rng rng(1);
    const Mlp model(rng);
    nn::Adam adam(nn::parameters(model), {.lr = 0.03});
    for (uint64_t step = 0; step <= 500; ++step) {
        const Tensor logits = model(x);                  // (200, 1)
        const Tensor loss = bce_with_logits(logits, y);  // ()
        if (step % 250 == 0)
            std::printf("step %3d: loss %.2f, %.0f of 200 right\n", static_cast<int>(step), loss.item(),
                        sum((logits > 0) == y).item());
        adam.zero_grad();
        loss.backward();
        adam.step();
    }
}

// Prints:
//   step   0: loss 0.70, 98 of 200 right
//   step 250: loss 0.03, 200 of 200 right
//   step 500: loss 0.01, 200 of 200 right
