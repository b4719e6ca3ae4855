// Rows of a table by token id, and elements of rows.
#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/weight.h"

namespace plaingrad::autograd {

// out[b, t] = table[ids[b, t]], 0 for padding        dtable[id] = Σ dout[b, t] over the places of that id
Tensor embedding(const Tensor& table, const Tokens& ids) {
    check(table.rank() == 2, "[embedding] the table must be (V, N): its shape is ", table.shape());
    const int64_t v = table.size(0), n = table.size(1), count = ids.batch() * ids.length();
    ids.count("embedding", v, ids.pad());
    Tensor out = Tensor::uninitialized({ids.batch(), ids.length(), n});
    const TableRows from = rows_of(table, ids);
    kernels::cpu().gather({count, n, from.pad}, from.ids.data(), from.table.data(), out.mutable_data());
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

}  // namespace plaingrad::autograd
