// The smallest training loop: two numbers, w and b, are fitted to four points of the line y = 2 x + 1.
#include <cstdio>

#include "autograd/ops.h"
#include "nn/optim.h"
using namespace plaingrad;
using autograd::Tensor;

int main() {
    const Tensor x = Tensor::from({4}, {-1, 0, 1, 2}), y = Tensor::from({4}, {-1, 1, 3, 5});  // (4) (4)
    const Tensor w = Tensor(0).require_grad(), b = Tensor(0).require_grad();                  // () ()
    nn::Sgd sgd({{"w", w}, {"b", b}}, {.lr = 0.1});
    for (int step = 0; step <= 40; ++step) {
        sgd.zero_grad();
        const Tensor answer = w * x + b;          // (4)
        const Tensor loss = mse_loss(answer, y);  // ()
        loss.backward();
        if (step < 2 || step % 10 == 0)
            std::printf("step %2d: w %.3f, b %.3f, loss %.2g\n", step, w.item(), b.item(), loss.item());
        sgd.step();
    }
}

// Prints:
//   step  0: w 0.000, b 0.000, loss 9
//   step  1: w 0.700, b 0.400, loss 3.7
//   step 10: w 1.955, b 1.025, loss 0.0026
//   step 20: w 1.994, b 1.009, loss 7.3e-05
//   step 30: w 1.999, b 1.002, loss 3.7e-06
//   step 40: w 2.000, b 1.000, loss 1.9e-07
