// The rules of byte-pair encoding as a table: which two adjacent symbols become one, and in which order.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "autograd/random.h"

namespace plaingrad::models::text::tokenizer {

// In each round, each place where a rule applies is skipped with probability p, so that a model sees many
// splits of a word. Provilkov, Emelianenko & Voita 2020, "BPE-Dropout: Simple and Effective Subword
// Regularization", §3.1.
struct Dropout {
    double p = 0;
    autograd::Rng rng = autograd::Rng(0);
    uint64_t drawn = 0;
    bool operator()() { return p > 0 && rng.uniform(drawn++) < p; }
};

// Symbols are ids from 0 on. A hash table with open addressing: a text asks for a pair or two a byte.
class PairTable {
public:
    static constexpr int32_t kNone = std::numeric_limits<int32_t>::max();
    struct Merge {
        int32_t rank = kNone;  // kNone: the two stay apart; otherwise the smallest one comes first
        int32_t merged = -1;
    };

    Merge find(int32_t left, int32_t right) const {
        for (std::size_t at = place(key(left, right));; at = (at + 1) & mask())
            if (slots_[at].key == key(left, right) || slots_[at].key == kEmpty)
                return slots_[at].merge;
    }
    void set(int32_t left, int32_t right, Merge merge);  // also replaces one

    // Merges the first of the pairs with the smallest rank, and repeats, until no pair has a rank. With
    // dropout each round merges all places of its pair that are not skipped.
    void apply(std::vector<int32_t>& word, Dropout& dropout) const;

private:
    static constexpr uint64_t kEmpty = ~uint64_t{0};
    struct Slot {
        uint64_t key = kEmpty;
        Merge merge;
    };

    static uint64_t key(int32_t left, int32_t right) {
        return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
    }
    std::size_t mask() const { return slots_.size() - 1; }
    std::size_t place(uint64_t key) const { return (key * 0x9e3779b97f4a7c15u >> 32) & mask(); }
    void apply_to_long(std::vector<int32_t>& word) const;

    std::vector<Slot> slots_ = std::vector<Slot>(16);  // a power of two, at least half of it empty
    std::size_t size_ = 0;
};

}  // namespace plaingrad::models::text::tokenizer
