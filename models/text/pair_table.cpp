#include "models/text/pair_table.h"

#include <array>
#include <queue>

namespace plaingrad::models::text {

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
void PairTable::apply(std::vector<int32_t>& word) const {
    constexpr std::size_t kShort = 32;
    if (word.size() > kShort)
        return apply_to_long(word);
    std::array<Merge, kShort> pairs;  // pairs[i] is that of symbols i and i + 1
    const auto look = [&](std::size_t i) { pairs[i] = find(word[i], word[i + 1]); };
    for (std::size_t i = 0; i + 1 < word.size(); ++i)
        look(i);
    while (word.size() > 1) {
        std::size_t best = 0;
        for (std::size_t i = 1; i + 1 < word.size(); ++i)
            best = pairs[i].rank < pairs[best].rank ? i : best;
        if (pairs[best].rank == kNone)
            return;
        word[best] = pairs[best].merged;
        for (std::size_t i = best + 1; i + 1 < word.size(); ++i) {
            word[i] = word[i + 1];
            pairs[i] = pairs[i + 1];
        }
        word.pop_back();
        if (best > 0)
            look(best - 1);
        if (best + 1 < word.size())
            look(best);
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

}  // namespace plaingrad::models::text
