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
    // answer
    // The new keys and values are appended before attending, because a token sees itself. The mask
    // matters for a prompt; from a single token it hides nothing.
    // end
    Tensor step(const Layer& layer, const Tensor& x) {
        // skeleton: not_written(11, "Cache::step", layer, x);
        // answer
        const Tensor y = layer.add_positions(x, keys.defined() ? keys.size(1) : 0);  // (B, T, D)
        keys = append(keys, layer.key(y));                                           // (B, length, D)
        values = append(values, layer.value(y));                                     // (B, length, D)
        return autograd::attention(layer.query(y), keys, values, {.mask = Mask::causal()});
        // end
    }

    // Text i becomes what text rows[i] was. Beam search needs this: some texts go on twice, others end.
    void select(const std::vector<int64_t>& rows) {
        // skeleton: not_written(11, "Cache::select", rows);
        // answer
        for (Tensor* kept : {&keys, &values}) {
            std::vector<Tensor> chosen;
            for (const int64_t row : rows)
                chosen.push_back(slice(*kept, 0, row, row + 1));  // (1, length, D)
            *kept = concat(chosen, 0);
        }
        // end
    }
    // answer

private:
    static Tensor append(const Tensor& kept, const Tensor& next) {
        return kept.defined() ? concat({kept, next}, 1) : next;
    }
    // end
};

}  // namespace plaingrad::exercises

// answer
// In the library: nn/key_value_cache.cpp, KeyValueCache::append
// In the library: nn/attention.cpp, MultiHeadAttention::operator()
//
// `concat` copies everything that is kept, in every step. The library's cache doubles its capacity when
// it is full, so that it copies rarely.
// end
