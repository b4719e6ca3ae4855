// Embedding: rows of a table by token id, by itself and with all that a model does at its input.
#include "autograd/broadcast.h"
#include "autograd/op.h"
#include "autograd/ops.h"

namespace plaingrad::autograd {
namespace {

void check_ids(const Tensor& table, const Tokens& ids) {
    check(table.rank() == 2, "[embedding] the table must be (V, D): its shape is ", table.shape());
    for (std::size_t i = 0; i < ids.ids().size(); ++i) {
        const auto at = static_cast<int64_t>(i);
        check(ids.ids()[i] >= 0 && ids.ids()[i] < table.size(0), "[embedding] id ", ids.ids()[i], " at row ",
              at / ids.length(), ", position ", at % ids.length(), " is outside the vocabulary of ",
              table.size(0));
    }
}

// out[b, t] = dropout(table[ids[b, t]] * scale + positions[t]), with zeros for padding in place of the table's
// d = dropout's gradient of dout     dtable[id] = Σ d[b, t] scale over the places of that id
// dpositions[t] = Σ d[b, t] over b
Tensor looked_up(const Tensor& table, const Tokens& ids, const Tensor& positions, kernels::Lookup o) {
    check_ids(table, ids);
    o.count = ids.batch() * ids.length();
    o.n = table.size(1);
    o.pad = ids.pad();
    o.length = ids.length();
    Tensor out = Tensor::uninitialized({ids.batch(), ids.length(), o.n});
    kernels::cpu().gather(o, ids.ids().data(), table.data(), positions.defined() ? positions.data() : nullptr,
                          out.mutable_data());
    return with_backward(
        out, {&table, &positions},
        [o, dtable = table.sink(), dpositions = positions.sink(), vocabulary = table.size(0),
         ids = ids.ids()](const Tensor& dout) {
            const Tensor d = o.p > 0 ? Tensor::uninitialized(dout.shape()) : dout;
            if (o.p > 0)
                kernels::cpu().dropout(d.numel(), o.p, o.key, dout.data(), {Tensor(d).mutable_data()});
            if (dpositions)
                sum_to(d.shape(), d.data(), {o.length, o.n}, 1, dpositions.open());
            if (dtable)
                kernels::cpu().scatter_add(o, ids.data(), d.data(), vocabulary, dtable.open());
        });
}

}  // namespace

Tensor embedding(const Tensor& table, const Tokens& ids) {
    return looked_up(table, ids, {}, {.count = 0, .n = 0, .pad = 0});
}

Tensor input_embedding(const Tensor& table, const Tokens& ids, Real scale, const Tensor& positions, Real p,
                       const Rng& rng) {
    check(table.rank() == 2, "[input_embedding] the table must be (V, D): its shape is ", table.shape());
    check(positions.shape() == Shape({ids.length(), table.size(-1)}), "[input_embedding] positions are ",
          positions.shape(), "; for ", ids.length(), " positions and a table ", table.shape(),
          " they must be (T, D)");
    check(p >= 0 && p < 1, "[input_embedding] the dropout rate must be in [0, 1): got ", p);
    return looked_up(table, ids, positions,
                     {.count = 0, .n = 0, .pad = 0, .scale = scale, .p = p, .key = rng.key()});
}

}  // namespace plaingrad::autograd
