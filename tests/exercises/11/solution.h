// Solution 11: a key/value cache
#pragma once

#include "tests/exercises/11/given.h"

namespace plaingrad::exercises {

// What a layer keeps of a batch of B texts.
struct Cache {
    Tensor keys = {}, values = {};  // (B, length, D); empty Tensors before the first step

    // The new keys and values are appended before attending, because a token sees itself. The mask
    // matters for a prompt; from a single token it hides nothing.
    Tensor step(const Layer& layer, const Tensor& x) {
        const Tensor y = layer.add_positions(x, keys.defined() ? keys.size(1) : 0);  // (B, T, D)
        keys = append(keys, layer.key(y));                                           // (B, length, D)
        values = append(values, layer.value(y));                                     // (B, length, D)
        return autograd::attention(layer.query(y), keys, values, {.mask = Mask::causal()});
    }

    // Text i becomes what text rows[i] was.
    void select(const std::vector<int64_t>& rows) {
        for (Tensor* kept : {&keys, &values}) {
            std::vector<Tensor> chosen;
            for (const int64_t row : rows)
                chosen.push_back(slice(*kept, 0, row, row + 1));  // (1, length, D)
            *kept = concat(chosen, 0);
        }
    }

private:
    static Tensor append(const Tensor& kept, const Tensor& next) {
        return kept.defined() ? concat({kept, next}, 1) : next;
    }
};

}  // namespace plaingrad::exercises

// In the library: nn/key_value_cache.cpp, KeyValueCache::append
// In the library: nn/attention.cpp, MultiHeadAttention::operator()
//
// `concat` copies everything that is kept, in every step. The library's cache doubles its capacity when
// it is full, so that it copies rarely.
