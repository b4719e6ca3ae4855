// The translator's data: epochs of batches.
#include "apps/programs/translate/data.h"

#include <algorithm>

#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/text/parallel_text.h"

using namespace plaingrad;             // NOLINT
using namespace models;                // NOLINT
using namespace models::text;          // NOLINT
using namespace plaingrad::translate;  // NOLINT
using namespace tests;                 // NOLINT

namespace {

text::Tokenizer learned(const ParallelText& pairs) {
    std::vector<std::string_view> sentences;
    for (const SentencePair& pair : pairs.pairs)
        sentences.insert(sentences.end(), {pair.source, pair.target});
    return learn_pieces(sentences, {.tokenized = true, .merges = 50, .dropout = true});
}

}  // namespace

TEST_CASE(
    "translate's data: with dropout each epoch splits words differently, and a seed always the same way",
    "[apps][translate]") {
    const ParallelText pairs = parallel_text(
        {{"low low lower", "newest newest"}, {"lower low", "newest widest"}, {"low", "widest x"}});
    const text::Tokenizer tokenizer = learned(pairs);
    const Corpus corpus(pairs, tokenizer, {}, 64, TooLong::refuse);
    const auto epochs = [&](double dropout, uint64_t seed) {
        Cursor cursor(corpus, tokenizer, 128, dropout, seed);
        std::vector<std::vector<int32_t>> all;
        for (int epoch = 0; epoch < 8; ++epoch) {
            all.emplace_back();
            for (bool ends = false; !ends;) {
                const Cursor::Next batch = cursor.next();
                ends = batch.ends_epoch;
                all.back().insert(all.back().end(), batch.src.ids().begin(), batch.src.ids().end());
            }
            CHECK(std::count(all.back().begin(), all.back().end(), kUnk) == 0);
        }
        return all;
    };
    const auto some = epochs(0.5, 1);
    CHECK(some == epochs(0.5, 1));
    CHECK(some != epochs(0.5, 2));
    CHECK((some[0] != some[1] && some[1] != some[2]));
    // A cursor that is moved to a position has the batches of one that has read up to it.
    Cursor cursor(corpus, tokenizer, 128, 0.5, 1);
    cursor.move(5, 0);
    const Batch batch = cursor.next();
    CHECK(std::vector<int32_t>(batch.src.ids().begin(), batch.src.ids().end()) ==
          std::vector<int32_t>(some[5].begin(), some[5].begin() + batch.src.batch() * batch.src.length()));
}

TEST_CASE("translate's data: a pair that dropout would make too long stays as it was", "[apps][translate]") {
    const ParallelText pairs = parallel_text({{"newest newest", "newest"}, {"newest", "newest newest"}});
    const text::Tokenizer tokenizer = learned(pairs);
    const Corpus roomy(pairs, tokenizer, {}, 64, TooLong::refuse);
    const int64_t longest = roomy.longest();  // of words that are whole
    REQUIRE(longest == 3);
    const Corpus tight(pairs, tokenizer, {}, longest, TooLong::refuse);
    for (uint64_t seed = 0; seed < 20; ++seed) {
        CHECK(roomy.with_dropout(tokenizer, 0.9, Rng(seed)).longest() > longest);
        const Corpus divided = tight.with_dropout(tokenizer, 0.9, Rng(seed));
        CHECK(divided.longest() == longest);
        CHECK(divided.size() == 2);
    }
}

TEST_CASE("translate's data: bytes that are not UTF-8 are kept, or replaced and counted",
          "[apps][translate]") {
    const Folder folder;
    const std::string file = folder.write("pairs", "caf\xe9 \xff\tk\xfc hl\n");
    const ParallelText kept = read({file}, true), replaced = read({file}, false);
    CHECK((kept.replaced == 0 && replaced.replaced == 3));
    CHECK(kept.pairs.at(0).target == "k\xfc hl");
    CHECK(replaced.pairs.at(0).target == "k\xef\xbf\xbd hl");
}
