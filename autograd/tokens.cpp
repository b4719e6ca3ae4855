#include "autograd/tokens.h"

#include <algorithm>

#include "autograd/base/check.h"
#include "autograd/shape.h"

namespace plaingrad::autograd {

Tokens::Tokens(int64_t batch_, int64_t length_, std::vector<int32_t> ids_, int32_t pad_)
    : batch(batch_), length(length_), ids(std::move(ids_)), pad(pad_) {
    check(batch >= 0 && length >= 0, "[Tokens] sizes must not be negative: got ", batch, " and ", length);
    const int64_t count = Shape{batch, length}.numel();
    check(static_cast<int64_t>(ids.size()) == count, "[Tokens] ", batch, " sentences of ", length, " need ",
          count, " ids: got ", ids.size());
    for (const int32_t id : ids)
        check(id >= 0, "[Tokens] an id must not be negative: got ", id);
}

Tokens Tokens::padded(const std::vector<std::vector<int32_t>>& sentences, int32_t pad, int64_t length) {
    check(length >= 0, "[Tokens::padded] the length must not be negative: got ", length);
    std::size_t longest = static_cast<std::size_t>(length);
    for (const auto& sentence : sentences) {
        check(length == 0 || sentence.size() <= longest, "[Tokens::padded] a sentence of ", sentence.size(),
              " ids does not fit into ", length);
        longest = std::max(longest, sentence.size());
    }
    std::vector<int32_t> ids;
    ids.reserve(sentences.size() * longest);
    for (const auto& sentence : sentences) {
        ids.insert(ids.end(), sentence.begin(), sentence.end());
        ids.insert(ids.end(), longest - sentence.size(), pad);
    }
    return Tokens(static_cast<int64_t>(sentences.size()), static_cast<int64_t>(longest), std::move(ids), pad);
}

std::vector<int32_t> Tokens::lengths() const {
    std::vector<int32_t> counts(static_cast<std::size_t>(batch), static_cast<int32_t>(length));
    for (int64_t b = 0; pad != kNoPadding && b < batch; ++b) {
        const auto row = ids.begin() + b * length, end = row + length;
        const auto padding = std::find(row, end, pad);
        check(std::all_of(padding, end, [this](int32_t id) { return id == pad; }), "[Tokens] sentence ", b,
              " has padding (id ", pad, ") before its end; only the right side may be padded");
        counts[static_cast<std::size_t>(b)] = static_cast<int32_t>(padding - row);
    }
    return counts;
}

Tokens Tokens::positions(int64_t begin, int64_t end) const {
    check(0 <= begin && begin <= end && end <= length, "[Tokens::positions] [", begin, ", ", end,
          ") must lie within the length ", length);
    std::vector<int32_t> part;
    part.reserve(static_cast<std::size_t>(batch * (end - begin)));
    for (int64_t b = 0; b < batch; ++b)
        part.insert(part.end(), ids.begin() + b * length + begin, ids.begin() + b * length + end);
    return Tokens(batch, end - begin, std::move(part), pad);
}

}  // namespace plaingrad::autograd
