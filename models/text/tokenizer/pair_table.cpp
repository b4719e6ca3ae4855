#include "models/text/tokenizer/pair_table.h"

#include <array>
#include <queue>

namespace plaingrad::models::text::tokenizer {

void PairTable::set(int32_t left, int32_t right, Merge merge) {
    if (2 * size_ >= slots_.size()) {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        size_ = 0;
        for (const Slot& slot : old)
            if (slot.key != kEmpty)
                set(static_cast<int32_t>(slot.key >> 32), static_cast<int32_t>(slot.key), slot.merge);
    }
    std::size_t at = place(key(left, right));
    while (slots_[at].key != key(left, right) && slots_[at].key != kEmpty)
        at = (at + 1) & mask();
    size_ += slots_[at].key == kEmpty ? 1 : 0;
    slots_[at] = {key(left, right), merge};
}

// Most words are short: then looking at all pairs is faster than keeping them in order.
void PairTable::apply(std::vector<int32_t>& word, Dropout& dropout) const {
    if (size_ == 0)
        return;
    constexpr std::size_t kShort = 32;
    if (word.size() > kShort && dropout.p == 0)
        return apply_to_long(word);
    std::vector<int32_t> ranks;  // ranks[i] is that of symbols i and i + 1
    while (true) {
        ranks.clear();
        for (std::size_t i = 1; i < word.size(); ++i) {
            const int32_t rank = find(word[i - 1], word[i]).rank;
            ranks.push_back(rank == kNone || dropout() ? kNone : rank);
        }
        const auto first = std::min_element(ranks.begin(), ranks.end());
        if (first == ranks.end() || *first == kNone)
            return;
        std::size_t size = static_cast<std::size_t>(first - ranks.begin());
        const Merge merge = find(word[size], word[size + 1]);
        for (std::size_t i = size; i < word.size(); ++i) {  // of two overlapping places the first one counts
            const bool here = i < ranks.size() && ranks[i] == merge.rank && (size == i || dropout.p > 0);
            word[size++] = here ? merge.merged : word[i];
            i += here ? 1 : 0;
        }
        word.resize(size);
    }
}

// A word of n symbols in n log n steps: all pairs wait in a queue, those that no longer exist too.
void PairTable::apply_to_long(std::vector<int32_t>& word) const {
    struct Place {
        int32_t rank, left, right;
        std::size_t at;
        bool operator<(const Place& other) const {  // the queue's top is the greatest
            return rank != other.rank ? rank > other.rank : at > other.at;
        }
    };
    constexpr int32_t kGone = -1;
    std::vector<std::size_t> before(word.size()), after(word.size());
    std::priority_queue<Place> queue;
    const auto look = [&](std::size_t at) {
        const int32_t left = word[at], right = word[after[at]];
        if (const Merge merge = find(left, right); merge.rank != kNone)
            queue.push({merge.rank, left, right, at});
    };
    for (std::size_t i = 0; i < word.size(); ++i) {
        before[i] = i - 1;  // of the first one a number beyond the end
        after[i] = i + 1;
    }
    for (std::size_t i = 0; i + 1 < word.size(); ++i)
        look(i);
    while (!queue.empty()) {
        const auto [rank, left, right, at] = queue.top();
        queue.pop();
        const std::size_t next = after[at];
        if (word[at] != left || next >= word.size() || word[next] != right)
            continue;
        word[at] = find(left, right).merged;
        word[next] = kGone;
        after[at] = after[next];
        if (after[at] < word.size()) {
            before[after[at]] = at;
            look(at);
        }
        if (before[at] < word.size())
            look(before[at]);
    }
    std::erase(word, kGone);
}

}  // namespace plaingrad::models::text::tokenizer
