// Rows of a table by token id, and elements of rows.
#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/plain.h"
#include "autograd/weight.h"

namespace plaingrad::autograd {

// out[b, t] = table[ids[b, t]], 0 for padding        dtable[id] = Σ dout[b, t] over the places of that id
Tensor embedding(const Tensor& table, const Tokens& ids) {
    check(table.rank() == 2, "[embedding] the table must be (V, N): its shape is ", table.shape());
    const int64_t v = table.size(0), n = table.size(1), count = ids.batch() * ids.length();
    ids.count("embedding", v, ids.pad());
    Tensor out = Tensor::uninitialized({ids.batch(), ids.length(), n});
    look_up(table, ids, out.mutable_data());
    return with_backward("embedding", out, {&table},
                         [v, o = kernels::Lookup{count, n, ids.pad()}, dtable = table.sink(),
                          ids = ids.ids()](const Tensor& dout) {
                             kernels::cpu().scatter_add(o, ids.data(), dout.data(), v, dtable.open());
                         });
}

// out[r] = x[r, id of r], 0 for padding        dx = dout there, else 0
Tensor gather(const Tensor& x, const Tokens& ids) {
    const int64_t v = x.size(-1);
    const Shape rows = x.shape().without(-1);
    check(rows.numel() == ids.batch() * ids.length(), "[gather] x ", x.shape(), " has ", rows.numel(),
          " rows: got ", ids.batch() * ids.length(), " ids");
    ids.count("gather", v, ids.pad());
    Tensor out = Tensor::zeros(rows);
    Real* const y = out.mutable_data();
    for (int64_t r = 0; r < rows.numel(); ++r)
        if (const int32_t id = ids.ids()[static_cast<std::size_t>(r)]; id != ids.pad())
            y[r] = x.data()[r * v + id];
    return with_backward("gather", out, {&x}, [v, ids, n = x.numel(), dx = x.sink()](const Tensor& dout) {
        const kernels::Out to = dx.open();
        if (!to.accumulate)
            kernels::cpu().fill(n, 0, to.data);
        for (int64_t r = 0; r < dout.numel(); ++r)
            if (const int32_t id = ids.ids()[static_cast<std::size_t>(r)]; id != ids.pad())
                to.data[r * v + id] += dout.data()[r];
    });
}

// Rotary positions (Su et al. 2021). The kernel: kernels/rotary.cpp.

// out = x, pairs turned by their position's angles        dx = dout, turned back
// Backward needs no element of x. So the output may take its memory, as dx takes dout's.
Tensor rotary(Tensor x, const Tensor& turns, const RotaryHeads& o) {
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
