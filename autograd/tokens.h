// Token ids: a batch of sentences, padded on the right to one length.
#pragma once

#include <cstdint>
#include <vector>

namespace plaingrad::autograd {

// The constructor checks the ids, and the object is immutable: ops may trust its sizes.
class Tokens {
public:
    static constexpr int32_t kNoPadding = -1;

    Tokens() = default;  // no sentence
    // Throws Error unless there are batch * length ids, none of them negative.
    Tokens(int64_t batch, int64_t length, std::vector<int32_t> ids, int32_t pad = kNoPadding);
    // Copies only: a moved-from object would keep its sizes and lose its ids.
    Tokens(const Tokens&) = default;
    Tokens& operator=(const Tokens&) = default;

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

}  // namespace plaingrad::autograd
