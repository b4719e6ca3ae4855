// Token ids: a batch of sentences, padded on the right to one length.
#pragma once

#include <cstdint>
#include <vector>

namespace plaingrad::autograd {

struct Tokens {
    static constexpr int32_t kNoPadding = -1;

    int64_t batch = 0, length = 0;
    std::vector<int32_t> ids;  // (batch, length)
    int32_t pad = kNoPadding;  // the id that fills up short sentences; no sentence contains it

    Tokens() = default;
    // Throws Error unless there are batch * length ids, none of them negative.
    Tokens(int64_t batch, int64_t length, std::vector<int32_t> ids, int32_t pad = kNoPadding);

    // One sentence a row, filled up with `pad` to the longest of them, or to `length` if that is given.
    // Throws Error if a sentence is longer than that.
    static Tokens padded(const std::vector<std::vector<int32_t>>& sentences, int32_t pad, int64_t length = 0);

    int32_t at(int64_t b, int64_t t) const { return ids[static_cast<std::size_t>(b * length + t)]; }

    // Ids per sentence, padding not counted. Throws Error if padding is followed by something else.
    std::vector<int32_t> lengths() const;

    // Positions [begin, end) of every sentence. With teacher forcing the decoder reads
    // positions(0, length - 1) and predicts positions(1, length).
    Tokens positions(int64_t begin, int64_t end) const;
};

}  // namespace plaingrad::autograd
