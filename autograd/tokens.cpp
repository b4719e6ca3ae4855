#include "autograd/tokens.h"

#include <algorithm>

#include "autograd/base/check.h"
#include "autograd/kernels/kernels.h"

namespace plaingrad::autograd {

Tokens::Tokens(int64_t batch, int64_t length, std::vector<int32_t> ids, int32_t pad)
    : ids_(std::move(ids)), batch_(batch), length_(length), pad_(pad) {
    check(batch >= 0 && length >= 0, "[Tokens] sizes must not be negative: got ", batch, " and ", length);
    const int64_t count = Shape{batch, length}.numel();
    check(std::ssize(ids_) == count, "[Tokens] ", batch, " sentences of ", length, " need ", count,
          " ids: got ", ids_.size());
    for (const int32_t id : ids_)
        check(id >= 0, "[Tokens] an id must not be negative: got ", id);
}

Tokens Tokens::padded(const std::vector<std::vector<int32_t>>& sentences, int32_t pad, int64_t length) {
    check(length >= 0 && length < int64_t{1} << 31,
          "[Tokens::padded] the length must be from 0 to 2^31 - 1: got ", length);
    std::size_t longest = static_cast<std::size_t>(length);
    for (const auto& sentence : sentences) {
        check(length == 0 || sentence.size() <= longest, "[Tokens::padded] a sentence of ", sentence.size(),
              " ids does not fit into ", length);
        check(std::find(sentence.begin(), sentence.end(), pad) == sentence.end(),
              "[Tokens::padded] a sentence contains the id ", pad, ", which means padding");
        longest = std::max(longest, sentence.size());
    }
    std::vector<int32_t> ids;
    ids.reserve(sentences.size() * longest);
    for (const auto& sentence : sentences) {
        ids.insert(ids.end(), sentence.begin(), sentence.end());
        ids.insert(ids.end(), longest - sentence.size(), pad);
    }
    return Tokens(std::ssize(sentences), static_cast<int64_t>(longest), std::move(ids), pad);
}

int32_t Tokens::at(int64_t b, int64_t t) const {
    check(0 <= b && b < batch_ && 0 <= t && t < length_, "[Tokens::at] sentence ", b, ", position ", t,
          " lies outside of ", batch_, " sentences of ", length_);
    return ids_[static_cast<std::size_t>(b * length_ + t)];
}

int64_t Tokens::count(const char* op, int64_t vocabulary, int32_t ignored) const {
    int64_t counted = 0;
    for (int64_t i = 0; i < std::ssize(ids_); ++i) {
        const int32_t id = ids_[static_cast<std::size_t>(i)];
        check(id == ignored || id < vocabulary, "[", op, "] id ", id, " at row ", i / length_, ", position ",
              i % length_, " is outside the vocabulary of ", vocabulary);
        counted += id != ignored;
    }
    return counted;
}

std::vector<int32_t> Tokens::lengths() const {
    std::vector<int32_t> counts(static_cast<std::size_t>(batch_), static_cast<int32_t>(length_));
    for (int64_t b = 0; pad_ != kNoPadding && b < batch_; ++b) {
        const auto row = ids_.begin() + b * length_, end = row + length_;
        const auto padding = std::find(row, end, pad_);
        check(std::all_of(padding, end, [this](int32_t id) { return id == pad_; }), "[Tokens] sentence ", b,
              " has padding (id ", pad_, ") before its end; only the right side may be padded");
        counts[static_cast<std::size_t>(b)] = static_cast<int32_t>(padding - row);
    }
    return counts;
}

Tokens Tokens::slice(int64_t begin, int64_t end) const {
    check(0 <= begin && begin <= end && end <= length_, "[Tokens::slice] [", begin, ", ", end,
          ") must lie within the length ", length_);
    std::vector<int32_t> part;
    part.reserve(static_cast<std::size_t>(batch_ * (end - begin)));
    for (int64_t b = 0; b < batch_; ++b)
        part.insert(part.end(), ids_.begin() + b * length_ + begin, ids_.begin() + b * length_ + end);
    return Tokens(batch_, end - begin, std::move(part), pad_);
}

Mask Mask::key_counts(std::vector<int32_t> counts) {
    Mask mask;
    mask.key_counts_ = std::make_shared<const std::vector<int32_t>>(std::move(counts));
    return mask;
}

Mask Mask::allowed(int64_t batch, int64_t queries, int64_t keys, std::vector<uint8_t> pairs) {
    Mask mask;
    mask.allowed_shape_ = {batch, queries, keys};
    check(std::ssize(pairs) == mask.allowed_shape_.numel(), "[Mask::allowed] ", mask.allowed_shape_,
          " needs ", mask.allowed_shape_.numel(), " entries: got ", pairs.size());
    mask.allowed_ = std::make_shared<const std::vector<uint8_t>>(std::move(pairs));
    return mask;
}

Mask Mask::and_causal() const {
    Mask mask = *this;
    mask.causal_ = true;
    return mask;
}

void Mask::check_fits(int64_t batch, int64_t queries, int64_t keys) const {
    if (key_counts_) {
        check(static_cast<int64_t>(key_counts_->size()) == batch, "[Mask] key counts of ",
              key_counts_->size(), " sentences do not fit a batch of ", batch);
        for (const int32_t count : *key_counts_)
            check(count >= 0 && count <= keys, "[Mask] a key count must be from 0 to ", keys, ": got ",
                  count);
    }
    check(!allowed_ || allowed_shape_ == Shape{batch, queries, keys}, "[Mask] allowed pairs ", allowed_shape_,
          " do not fit a batch of ", batch, " with ", queries, " queries and ", keys, " keys");
    check(!causal_ || keys >= queries, "[Mask] causal attention needs at least as many keys (", keys,
          ") as queries (", queries, ")");
}

kernels::AttentionMask Mask::view() const {
    return {.key_counts = key_counts_ ? key_counts_->data() : nullptr,
            .causal = causal_,
            .allowed = allowed_ ? allowed_->data() : nullptr};
}

}  // namespace plaingrad::autograd
