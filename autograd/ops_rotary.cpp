// Rotary positions (Su et al. 2021). The kernel: kernels/rotary.cpp.
#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/plain.h"

namespace plaingrad::autograd {

// out = x, pairs turned by their position's angles        dx = dout, turned back
// Backward needs no element of x. So the output may take its memory, as dx takes dout's.
Tensor rotary(Tensor x, const Tensor& turns, const RotaryOptions& o) {
    check(x.rank() == 3 && turns.rank() == 2 && turns.size(1) % 2 == 0 && o.n_heads >= 1 &&
              turns.size(1) <= o.head_dim && o.head_dim <= x.size(2) / o.n_heads,
          "[rotary] x is ", x.shape(), ", turns is ", turns.shape(), "; x must be (B, T, N) with ", o.n_heads,
          " heads of ", o.head_dim, " in its columns, turns (L, R), R even and no wider than a head");
    check(o.first >= 0 && x.size(1) <= turns.size(0) - o.first, "[rotary] turns ", turns.shape(), " has no ",
          x.size(1), " positions from ", o.first, " on");
    if (Plain::active())
        return plain::rotary(x, turns, o);
    kernels::Rotary k = {.rows = x.size(0) * x.size(1),
                         .row = x.size(2),
                         .heads = o.n_heads,
                         .d = o.head_dim,
                         .width = turns.size(1),
                         .length = x.size(1)};
    const int64_t from = o.first * turns.size(1);
    const Tensor out = x.is_unshared() ? x.detach() : Tensor::uninitialized(x.shape());
    kernels::cpu().rotary(k, turns.data() + from, x.data(), out.mutable_data());
    k.back = true;
    return with_backward("rotary", out, {&x},
                         [k, from, dx = x.sink(), turns = turns.save()](const Tensor& dout) {
                             Real* const d = dout.mutable_data();
                             kernels::cpu().rotary(k, turns.data() + from, d, d);
                             dx.pass(dout);
                         });
}

}  // namespace plaingrad::autograd
