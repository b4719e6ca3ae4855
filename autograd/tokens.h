// Token ids: a batch of sentences, padded on the right to one length.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "autograd/base/shape.h"

namespace plaingrad::autograd {

// The constructor checks the ids, and the object is immutable: ops may trust its sizes.
class Tokens {
public:
    static constexpr int32_t kNoPadding = -1;

    Tokens() = default;  // no sentence
    // Throws Error unless there are batch * length ids, none of them negative.
    Tokens(int64_t batch, int64_t length, std::vector<int32_t> ids, int32_t pad = kNoPadding);

    // One sentence a row, filled up with `pad` to the longest of them, or to `length` if that is given.
    // Throws Error if a sentence is longer than that, or contains `pad`.
    static Tokens padded(const std::vector<std::vector<int32_t>>& sentences, int32_t pad, int64_t length = 0);

    int64_t batch() const { return batch_; }
    int64_t length() const { return length_; }
    const std::vector<int32_t>& ids() const { return ids_; }  // (batch, length)
    int32_t pad() const { return pad_; }  // the id that fills up short sentences, or kNoPadding

    // The id of sentence b at position t. Throws Error outside of them.
    int32_t at(int64_t b, int64_t t) const;

    // The number of ids other than `ignored`. Throws Error in the name of `op` if one of them is not below
    // the size of the vocabulary.
    int64_t count(const char* op, int64_t vocabulary, int32_t ignored) const;

    // Ids per sentence, padding not counted. Throws Error if padding is followed by something else.
    std::vector<int32_t> lengths() const;

    // Positions [begin, end) of every sentence. With teacher forcing the decoder reads slice(0, length - 1)
    // and predicts slice(1, length).
    Tokens slice(int64_t begin, int64_t end) const;

private:
    std::vector<int32_t> ids_;
    int64_t batch_ = 0, length_ = 0;
    int32_t pad_ = kNoPadding;
};

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

namespace kernels {
struct AttentionMask;
}

class Mask {
public:
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
    Shape allowed_shape_;  // (batch, queries, keys)
    bool causal_ = false;
};

}  // namespace plaingrad::autograd
