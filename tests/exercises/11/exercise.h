// Exercise 11: a key/value cache (60 minutes)
//
// The idea: a model writes token by token. With a causal mask, a position depends only on itself and
// those before it, so later tokens do not change its key and value. They are kept, and a new token needs
// only its own query, key and value. Without a cache, T tokens cost 1 + 2 + ... + T projections; with it,
// T.
//
// Given (11/given.h): a layer with one head, and attend_whole, which reads a whole text at once; steps
// must give the same. With Mask::causal() and more keys than queries, the queries are the last ones.
// Write: step, and select.
// Read before: models/README.md ("The cache"); exercise 4; autograd/tokens.h
#pragma once

#include "tests/exercises/11/given.h"

namespace plaingrad::exercises {

// What a layer keeps of a batch of B texts.
struct Cache {
    Tensor keys = {}, values = {};  // (B, length, D); empty Tensors before the first step

    // The next T tokens of each text, x (B, T, D), without positions -> (B, T, D), as attend_whole gives
    // it for these tokens. The first step may read a whole prompt; later ones mostly read a single token.
    Tensor step(const Layer& layer, const Tensor& x) { not_written(11, "Cache::step", layer, x); }

    // Text i becomes what text rows[i] was. Beam search needs this: some texts go on twice, others end.
    void select(const std::vector<int64_t>& rows) { not_written(11, "Cache::select", rows); }
};

}  // namespace plaingrad::exercises
