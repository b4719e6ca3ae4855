// Embedding: rows of a table by token id, alone and fused with the other operations at a model's input.
#include "autograd/broadcast.h"
#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/plain.h"
#include "autograd/weight.h"

namespace plaingrad::autograd {
namespace {

// out[b, t] = dropout(table[ids[b, t]] * scale + positions[t]), zeros for padding instead of the table's
// d = dropout's gradient of dout     dtable[id] = Σ d[b, t] scale over the places of that id
// dpositions[t] = Σ d[b, t] over b
Tensor looked_up(const char* op, const Tensor& table, const Tokens& ids, const Tensor& positions,
                 kernels::Lookup o) {
    check(table.rank() == 2, "[embedding] the table must be (V, N): its shape is ", table.shape());
    ids.count("embedding", table.size(0), ids.pad());
    o.count = ids.batch() * ids.length();
    o.n = table.size(1);
    o.length = ids.length();
    Tensor out = Tensor::uninitialized({ids.batch(), ids.length(), o.n});
    const TableRows from = rows_of(table, ids);
    o.pad = from.pad;
    kernels::cpu().gather(o, from.ids.data(), from.table.data(),
                          positions.defined() ? positions.data() : nullptr, out.mutable_data());
    return with_backward(
        op, out, {&table, &positions},
        [o, dtable = table.sink(), dpositions = positions.sink(), vocabulary = table.size(0),
         ids = ids.ids()](const Tensor& dout) {
            const Tensor d = o.p > 0 ? Tensor::uninitialized(dout.shape()) : dout;
            if (o.p > 0)
                kernels::cpu().dropout(d.numel(), o.p, o.key, dout.data(), {d.mutable_data()});
            if (dpositions)
                sum_to(d.shape(), d.data(), {o.length, o.n}, 1, dpositions.open());
            if (dtable)
                kernels::cpu().scatter_add(o, ids.data(), d.data(), vocabulary, dtable.open());
        });
}

}  // namespace

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

Tensor embedding(const Tensor& table, const Tokens& ids) {
    return looked_up("embedding", table, ids, {}, {.count = 0, .n = 0, .pad = 0});
}

Tensor input_embedding(const Tensor& table, const Tokens& ids, Real scale, const Tensor& positions, Real p,
                       const Rng& rng) {
    check(table.rank() == 2, "[input_embedding] the table must be (V, N): its shape is ", table.shape());
    check(!positions.defined() || positions.shape() == Shape({ids.length(), table.size(-1)}),
          "[input_embedding] positions are ", positions.shape(), "; for ", ids.length(),
          " positions and a table ", table.shape(), " they must be (T, N)");
    check(p >= 0 && p < 1, "[input_embedding] the dropout rate must be in [0, 1): got ", p);
    if (Plain::active())
        return plain::input_embedding(table, ids, scale, positions, p, rng);
    return looked_up("input_embedding", table, ids, positions,
                     {.count = 0, .n = 0, .pad = 0, .scale = scale, .p = p, .key = rng.key()});
}

}  // namespace plaingrad::autograd
