// Merging symbols: short and long words, by two methods, give what trying all pairs gives.
#include "models/text/tokenizer/model.h"

#include <map>

#include "tests/catch.h"
#include "tests/dice.h"

using namespace plaingrad;  // NOLINT
using models::text::tokenizer::PairTable;
using Word = std::vector<int32_t>;

namespace {

using Rules = std::map<std::pair<int32_t, int32_t>, PairTable::Merge>;

Word merged(Word word, const Rules& rules) {
    while (true) {
        PairTable::Merge best;
        std::size_t at = 0;
        for (std::size_t i = 0; i + 1 < word.size(); ++i)
            if (const auto rule = rules.find({word[i], word[i + 1]});
                rule != rules.end() && rule->second.rank < best.rank) {
                best = rule->second;
                at = i;
            }
        if (best.rank == PairTable::kNone)
            return word;
        word[at] = best.merged;
        word.erase(word.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
}

}  // namespace

TEST_CASE("pair table: finds what was set, the last time", "[text][bpe]") {
    PairTable table;
    CHECK(table.find(0, 0).rank == PairTable::kNone);
    for (int32_t i = 0; i < 1000; ++i)
        table.set(i, 7 * i, {i, i + 1});
    table.set(3, 21, {5000, 1});
    for (int32_t i = 0; i < 1000; ++i) {
        const PairTable::Merge found = table.find(i, 7 * i);
        CHECK((found.rank == (i == 3 ? 5000 : i) && found.merged == (i == 3 ? 1 : i + 1)));
        CHECK(table.find(i, 7 * i + 1).rank == PairTable::kNone);
    }
}

TEST_CASE("pair table: the first pair of the smallest rank is merged, again and again", "[text][bpe]") {
    // Also where a rule comes before the one that makes its symbols.
    for (uint64_t seed = 0; seed < 40; ++seed) {
        tests::Dice dice{autograd::Rng(seed)};
        const auto draw = [&](int64_t n) { return static_cast<int32_t>(dice.below(n)); };
        Rules rules;
        PairTable table;
        for (int32_t rank = 0; rank < 30; ++rank) {
            const std::pair<int32_t, int32_t> pair = {draw(6), draw(6)};
            rules[pair] = {draw(20), draw(8)};
            table.set(pair.first, pair.second, rules[pair]);
        }
        for (const int32_t size : {0, 1, 2, 3, 10, 31, 32, 33, 100, 300}) {
            Word word;
            while (static_cast<int32_t>(word.size()) < size)
                word.push_back(draw(6));
            Word fast = word;
            models::text::tokenizer::Dropout none;
            table.apply(fast, none);
            CAPTURE(seed, word);
            CHECK(fast == merged(word, rules));
        }
    }
}
