// A recurrent network (an LSTM) reads eleven random symbols, one after the other, and then says which was the
// first. Attention looks that up directly; this network has to carry it through ten steps.
#include <cstdio>

#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/optim.h"

using namespace plaingrad;
using autograd::concat;
using autograd::split;
using autograd::Tensor;

// Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000.
struct Lstm {
    Lstm(int64_t in, int64_t d_, const autograd::Rng& rng)
        : gates(in + d_, 4 * d_, rng.fork("gates")), d(d_) {}
    // x (B, T, in) -> the state after the last position (B, d)
    Tensor operator()(const Tensor& x) const {
        Tensor h = Tensor::zeros({x.size(0), d}), c = h;  // (B, d)
        for (int64_t t = 0; t < x.size(1); ++t) {
            const Tensor now = squeeze(slice(x, 1, t, t + 1), 1);                     // (B, in)
            const std::vector<Tensor> g = split(gates(concat({now, h}, -1)), d, -1);  // 4 times (B, d)
            c = sigmoid(g[0] + 2) * c + sigmoid(g[1]) * tanh(g[2]);  // + 2: at first it remembers
            h = sigmoid(g[3]) * tanh(c);                             // (B, d)
        }
        return h;
    }
    void visit(nn::Visitor& v) const { v("gates", gates); }
    nn::Linear gates;
    int64_t d;
};

struct Model {
    explicit Model(const autograd::Rng& rng)
        : symbols(4, 8, rng.fork("symbols")), lstm(8, 24, rng.fork("lstm")), out(24, 4, rng.fork("out")) {}
    Tensor operator()(const autograd::Tokens& ids) const {  // (B, T) -> (B, 4)
        return out(lstm(symbols(ids)));
    }
    void visit(nn::Visitor& v) const {
        v("symbols", symbols);
        v("lstm", lstm);
        v("out", out);
    }
    nn::Embedding symbols;
    Lstm lstm;
    nn::Linear out;
};

int main() {
    const autograd::Rng rng(1);
    const Model model(rng);
    nn::Adam adam(nn::parameters(model), {.lr = 0.01});
    for (uint64_t step = 0; step <= 100; ++step) {
        std::vector<int32_t> ids, first;
        for (uint64_t i = 0; i < 64 * 11; ++i)
            ids.push_back(static_cast<int32_t>(rng.fork(step).below(i, 4)));
        for (std::size_t i = 0; i < ids.size(); i += 11)
            first.push_back(ids[i]);
        const autograd::Tokens targets(64, 1, first);
        const Tensor logits = model(autograd::Tokens(64, 11, ids));  // (64, 4)
        const Tensor loss = cross_entropy(logits, targets);          // ()
        int right = 0;
        for (int64_t b = 0; b < 64; ++b)
            right += argmax(logits).at(b, 0) == targets.at(b, 0);
        if (step % 50 == 0)
            std::printf("step %3d: loss %.2f, %d of 64 right\n", static_cast<int>(step), loss.item(), right);
        adam.zero_grad();
        loss.backward();
        adam.step();
    }
}

// Prints:
//   step   0: loss 1.40, 17 of 64 right
//   step  50: loss 0.02, 64 of 64 right
//   step 100: loss 0.00, 64 of 64 right
