// Which keys a query may see: the one type of mask.
//
//     Mask::none()                     everything
//     Mask::padding(src)               no padding among the keys: self-attention of src, or attention to it
//     Mask::causal()                   no later positions
//     Mask::padding(tgt).and_causal()  both: a decoder's self-attention
//     Mask::allowed(B, T, S, pairs)    any pattern, 1 where query t may see key s
//
// 1 always means allowed. A mask hides keys, never queries: a padded query still computes something, which
// the loss ignores. Masked keys are skipped, not filled with a large negative number, so their contents (even
// NaN) reach no output or gradient. A query that may see no key gives zeros.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "autograd/tokens.h"

namespace plaingrad::autograd {

namespace kernels {
struct AttentionMask;
}

class Mask {
public:
    Mask() = default;
    Mask(const Mask&) = default;  // not moved: what is left behind would be a mask that hides nothing
    Mask& operator=(const Mask&) = default;

    static Mask none() { return {}; }
    static Mask causal() { return none().and_causal(); }
    static Mask padding(const Tokens& keys) { return key_counts(keys.lengths()); }
    // The first counts[b] keys of sentence b are real.
    static Mask key_counts(std::vector<int32_t> counts);
    // pairs: (batch, queries, keys), not 0 where the query may see the key. Throws Error for a wrong count.
    static Mask allowed(int64_t batch, int64_t queries, int64_t keys, std::vector<uint8_t> pairs);

    // The same, and query t sees no key after t. When there are more keys than queries, the queries are the
    // last ones (as in decoding with a cache): query t sees keys up to t + (keys - queries).
    Mask and_causal() const;

    // Throws Error, naming both sizes, if this mask does not fit those of an attention.
    void check_fits(int64_t batch, int64_t queries, int64_t keys) const;
    kernels::AttentionMask view() const;  // points into this mask

private:
    // Shared, as backward's closure keeps a copy of the mask.
    std::shared_ptr<const std::vector<int32_t>> key_counts_;
    std::shared_ptr<const std::vector<uint8_t>> allowed_;
    int64_t allowed_queries_ = 0, allowed_keys_ = 0;
    bool causal_ = false;
};

}  // namespace plaingrad::autograd
