// A vector for each token id. "Attention Is All You Need", §3.4. It is the product of a one-hot vector with a
// matrix, but the row is looked up instead.
#pragma once

#include "nn/init.h"

namespace plaingrad::nn {

// ids (B, T) -> (B, T, d). Padding gives zeros (see autograd/ops.h).
struct Embedding {
    Embedding(int64_t vocabulary, int64_t d, const Rng& rng, Init init = Init::xavier)
        : table(initial_table(init, vocabulary, d, rng.fork("table"))) {}
    Tensor operator()(const Tokens& ids) const { return autograd::embedding(table, ids); }  // (B, T, d)
    void visit(Visitor& v) const { v.table("table", table); }

    Parameter table;  // (V, d)
};

}  // namespace plaingrad::nn
