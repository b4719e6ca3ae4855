// Embedding: rows of a table by token id.
#include "autograd/op.h"
#include "autograd/ops.h"

namespace autograd {

// out[b, t] = table[ids[b, t]], 0 for padding        dtable[id] = Σ dout[b, t] over the places of that id
Tensor embedding(const Tensor& table, const Tokens& ids) {
    check(table.rank() == 2, "[embedding] the table must be (V, D): its shape is ", table.shape());
    const int64_t vocabulary = table.size(0), d = table.size(1);
    for (std::size_t i = 0; i < ids.ids.size(); ++i) {
        const auto at = static_cast<int64_t>(i);
        check(ids.ids[i] >= 0 && ids.ids[i] < vocabulary, "[embedding] id ", ids.ids[i], " at row ",
              at / ids.length, ", position ", at % ids.length, " is outside the vocabulary of ", vocabulary);
    }
    const int64_t count = ids.batch * ids.length;
    Tensor out = Tensor::uninitialized({ids.batch, ids.length, d});
    kernels::cpu().gather(count, d, ids.ids.data(), ids.pad, table.data(), out.mutable_data());
    return with_backward(
        out, {&table}, [=, dtable = table.sink(), pad = ids.pad, ids = ids.ids](const Tensor& dout) {
            kernels::cpu().scatter_add(count, d, ids.data(), pad, dout.data(), vocabulary, dtable.open());
        });
}

}  // namespace autograd
