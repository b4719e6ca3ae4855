// A convolutional network tells crosses from circles, wherever they are in a noisy picture. The library has
// no such layer: it is a struct whose operator() calls operations, and whose visit names what has parameters.
#include <cstdio>

#include "nn/linear.h"
#include "nn/optim.h"

using namespace plaingrad;
using autograd::Tensor;

// A convolution is a linear layer over patches: each pixel's 3 x 3 neighbours side by side.
struct Conv3 {
    Conv3(int64_t in, int64_t out, const autograd::Rng& rng) : filters(9 * in, out, rng.fork("filters")) {}
    Tensor operator()(const Tensor& x) const {  // (B, h, w, in) -> (B, h-2, w-2, out)
        std::vector<Tensor> shifted;
        for (int64_t i = 0; i < 9; ++i) {
            const Tensor rows = slice(x, 1, i / 3, x.size(1) - 2 + i / 3);    // (B, h-2, w, in)
            shifted.push_back(slice(rows, 2, i % 3, x.size(2) - 2 + i % 3));  // (B, h-2, w-2, in)
        }
        return filters(concat(shifted, -1));  // (B, h-2, w-2, out)
    }
    void visit(nn::Visitor& v) const { v("filters", filters); }
    nn::Linear filters;
};

struct Cnn {
    explicit Cnn(const autograd::Rng& rng)
        : conv1(1, 8, rng.fork("conv1")), conv2(8, 8, rng.fork("conv2")), out(8, 2, rng.fork("out")) {}
    Tensor operator()(const Tensor& x) const {               // (B, 8, 8, 1)
        const Tensor y = relu(conv2(relu(conv1(x))));        // (B, 4, 4, 8)
        return out(max(reshape(y, {x.size(0), -1, 8}), 1));  // (B, 16, 8), (B, 8), (B, 2)
    }
    void visit(nn::Visitor& v) const {
        v("conv1", conv1);
        v("conv2", conv2);
        v("out", out);
    }
    Conv3 conv1, conv2;
    nn::Linear out;
};

int main() {
    const char* shapes[] = {
        "x x"
        " x "
        "x x",
        "xxx"
        "x x"
        "xxx"};
    const autograd::Rng rng(1);
    const Cnn model(rng);
    nn::Sgd sgd(nn::parameters(model), {.lr = 0.1, .momentum = 0.9});
    for (uint64_t step = 0; step <= 100; ++step) {
        const autograd::Rng random = rng.fork(step);
        const Tensor noise = Tensor::randn({32, 8, 8, 1}, random.fork("noise")) * 0.2f;  // (B, 8, 8, 1)
        Tensor pictures = Tensor::zeros({32, 8, 8, 1});                                  // (B, 8, 8, 1)
        std::vector<int32_t> labels;
        for (uint64_t b = 0; b < 32; ++b) {
            labels.push_back(static_cast<int32_t>(random.below(3 * b, 2)));
            const int64_t top = random.below(3 * b + 1, 6), left = random.below(3 * b + 2, 6);
            for (int64_t i = 0; i < 9; ++i)
                pictures.mutable_data()[(static_cast<int64_t>(b) * 8 + top + i / 3) * 8 + left + i % 3] =
                    shapes[labels.back()][i] == 'x';
        }
        const autograd::Tokens targets(32, 1, labels);       // (B, 1)
        const Tensor logits = model(pictures + noise);       // (B, 2)
        const Tensor loss = cross_entropy(logits, targets);  // ()
        int right = 0;
        for (int64_t b = 0; b < 32; ++b)
            right += argmax(logits).at(b, 0) == targets.at(b, 0);
        if (step % 50 == 0)
            std::printf("step %3d: loss %.2f, %d of 32 right\n", static_cast<int>(step), loss.item(), right);
        sgd.zero_grad();
        loss.backward();
        sgd.step();
    }
}

// Prints:
//   step   0: loss 0.79, 20 of 32 right
//   step  50: loss 0.00, 32 of 32 right
//   step 100: loss 0.00, 32 of 32 right
