// Position-wise feed-forward network. "Attention Is All You Need", §3.3, equation 2.
//
// Attention mixes positions; this network processes each position independently, with the same weights for
// all. The activation between its two matrices is the nonlinearity: without it, the two would be one matrix.
//
// Gated (Shazeer 2020): the hidden values are products of two linear layers, of which one, the gate, goes
// through the activation. With silu this is SwiGLU. It has three matrices instead of two, so for as many
// parameters d_ff is 2/3 as large.
#pragma once

#include "nn/dropout.h"
#include "nn/linear.h"
#include "nn/probe.h"

namespace plaingrad::nn {

using autograd::Activation;

struct FeedForwardOptions {
    Activation activation = Activation::relu;
    bool gated = false;
    Real dropout = 0;  // between the two layers; the paper has none there
    bool bias = true;
    Init init = Init::xavier;
};

// FFN(x) = max(0, x W1 + b1) W2 + b2      x (..., d_model) -> (..., d_model)
// gated: (silu(x W_gate) * (x W_up)) W2, with biases if there are any; W1 = W_gate | W_up
struct FeedForward {
    FeedForward(int64_t d_model, int64_t d_ff, const Rng& rng, const FeedForwardOptions& o = {})
        : linear1(o.gated ? side_by_side(d_model, {{"gate_proj", d_ff}, {"up_proj", d_ff}},
                                         rng.fork("linear1"), {.bias = o.bias, .init = o.init})
                          : Linear(d_model, d_ff, rng.fork("linear1"), {.bias = o.bias, .init = o.init})),
          linear2(d_ff, d_model, rng.fork("linear2"), {.bias = o.bias, .init = o.init}),
          dropout(o.dropout, rng.fork("dropout")),
          activation(o.activation),
          gated(o.gated) {}
    Tensor operator()(const Tensor& x, const Mode& mode) const {
        if (mode.probe != nullptr)
            show(*this, hidden(x), mode);
        if (dropout.rate_in(mode) > 0)
            return linear2(dropout(hidden(x), mode));  // (..., d_model)
        return autograd::feed_forward(x, linear1.weight, linear1.bias, linear2.weight, linear2.bias,
                                      activation, gated);
    }
    Tensor hidden(const Tensor& x) const {
        const Tensor y = linear1(x);                 // (..., d_ff), gated: 2*d_ff
        return gated ? autograd::glu(y, activation)  // (..., d_ff)
                     : autograd::activation(y, activation);
    }
    void visit(Visitor& v) const {
        v("linear1", linear1);
        v("linear2", linear2);
    }

    Linear linear1, linear2;  // d_model -> d_ff (gated: 2*d_ff -> d_ff) -> d_model
    Dropout dropout;
    Activation activation;
    bool gated;
};

}  // namespace plaingrad::nn
