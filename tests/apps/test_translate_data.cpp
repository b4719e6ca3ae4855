// The translator's data: epochs of batches.
#include "apps/programs/translate/translate.h"

#include <algorithm>

#include "tests/autograd/values.h"
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

std::string words(int64_t n) {
    std::string sentence = "w";
    for (int64_t i = 1; i < n; ++i)
        sentence += " w";
    return sentence;
}

// Of one to seven words.
ParallelText seven_pairs() {
    std::vector<std::pair<std::string, std::string>> lines;
    for (int64_t n = 1; n <= 7; ++n)
        lines.emplace_back(words(n), words(n));
    return parallel_text(lines);
}

}  // namespace

TEST_CASE("translate's data: with dropout each epoch splits words differently", "[apps][translate]") {
    const ParallelText pairs = parallel_text(
        {{"low low lower", "newest newest"}, {"lower low", "newest widest"}, {"low", "widest x"}});
    const text::Tokenizer tokenizer = learned(pairs);
    const Corpus corpus(pairs, tokenizer, {}, 64);
    const auto epochs = [&](double dropout, uint64_t seed) {
        Batches batches(corpus, tokenizer, 128, 1, dropout, seed);
        std::vector<std::vector<int32_t>> all;
        for (int64_t epoch = 0, step = 1; epoch < 8; ++epoch) {
            all.emplace_back();
            for (bool ends = false; !ends;) {
                const Batches::Step now = batches(step++);
                ends = now.ends_epoch;
                const std::vector<int32_t>& ids = now.batches[0].src.ids();
                all.back().insert(all.back().end(), ids.begin(), ids.end());
            }
            CHECK(std::count(all.back().begin(), all.back().end(), kUnk) == 0);
        }
        return all;
    };
    const auto some = epochs(0.5, 1);
    CHECK(some == epochs(0.5, 1));
    CHECK(some != epochs(0.5, 2));
    CHECK((some[0] != some[1] && some[1] != some[2]));
}

TEST_CASE("translate's data: a batch is a function of its step", "[apps][translate]") {
    const ParallelText pairs = seven_pairs();
    const text::Tokenizer tokenizer = learned(pairs);
    const Corpus corpus(pairs, tokenizer, {}, 64);
    for (const double dropout : {0.0, 0.5}) {
        Batches in_turn(corpus, tokenizer, 8, 2, dropout, 1), back(corpus, tokenizer, 8, 2, dropout, 1);
        std::vector<std::vector<int32_t>> all;
        int64_t step = 0;
        for (int64_t epochs = 0, pairs_seen = 0; epochs < 3;) {
            const Batches::Step now = in_turn(++step);
            CHECK((now.batches.size() == 2 || now.ends_epoch));
            for (const models::Batch& batch : now.batches) {
                all.push_back(batch.src.ids());
                pairs_seen += batch.src.batch();
            }
            if (now.ends_epoch)
                CHECK(pairs_seen == 7 * ++epochs);
        }
        CHECK(step < std::ssize(all));  // there were steps of two
        back(step);
        std::size_t i = 0;
        for (int64_t again = 1; again <= step; ++again)
            for (const models::Batch& batch : back(again).batches)
                CHECK(batch.src.ids() == all[i++]);
    }
}

TEST_CASE("translate's data: a run that continues begins with its epoch", "[apps][translate]") {
    const ParallelText pairs = seven_pairs();
    const text::Tokenizer tokenizer = learned(pairs);
    const Corpus corpus(pairs, tokenizer, {}, 64);
    for (const double dropout : {0.0, 0.5}) {
        const auto ids = [](const Batches::Step& step) { return step.batches.at(0).src.ids(); };
        Batches whole(corpus, tokenizer, 8, 2, dropout, 1);
        std::vector<int64_t> firsts = {1};  // of the epochs
        for (int64_t step = 1; firsts.size() < 7; ++step)
            if (whole(step).ends_epoch)
                firsts.push_back(step + 1);
        const int64_t first = firsts[4];
        Batches rest(corpus, tokenizer, 8, 2, dropout, 1, {.ended = 4, .first = first});
        for (const int64_t step : {first, firsts[6], first + 1, int64_t{1}, first})
            CHECK(ids(rest(step)) == ids(whole(step)));
        // The fifth epoch begins where it is told to: those before it are not computed.
        Batches elsewhere(corpus, tokenizer, 8, 2, dropout, 1, {.ended = 4, .first = 1000});
        for (int i = 0; i < 2; ++i) {
            CHECK(ids(elsewhere(1000)) == ids(whole(first)));
            elsewhere(1100);
        }
    }
}

TEST_CASE("translate's data: a pair that dropout would make too long stays as it was", "[apps][translate]") {
    const ParallelText pairs = parallel_text({{"newest newest", "newest"}, {"newest", "newest newest"}});
    const text::Tokenizer tokenizer = learned(pairs);
    const Corpus roomy(pairs, tokenizer, {}, 64);
    const int64_t longest = roomy.longest();  // of words that are whole
    REQUIRE(longest == 3);
    const Corpus tight(pairs, tokenizer, {}, longest);
    for (uint64_t seed = 0; seed < 20; ++seed) {
        CHECK(roomy.with_dropout(tokenizer, 0.9, Rng(seed)).longest() > longest);
        const Corpus divided = tight.with_dropout(tokenizer, 0.9, Rng(seed));
        CHECK(divided.longest() == longest);
        CHECK(divided.size() == 2);
    }
}

TEST_CASE("translate's data: bytes that are no text are kept, or replaced", "[apps][translate]") {
    const Folder folder;
    const std::string file = folder.write("pairs", "caf\xe9 \xff\tk\xfc hl\n");
    const ParallelText kept = read_parallel({file}, rule_for(true)),
                       replaced = read_parallel({file}, rule_for(false));
    CHECK((kept.replaced == 0 && replaced.replaced == 3));
    CHECK(kept.pairs.at(0).target == "k\xfc hl");
    CHECK(replaced.pairs.at(0).target == "k\xef\xbf\xbd hl");
}

TEST_CASE("translate's data: pairs that are too long are dropped, or cut", "[apps][translate]") {
    const ParallelText pairs = parallel_text({{words(5), words(2)}, {words(2), words(5)}, {"w", words(4)}});
    const text::Tokenizer tokenizer = learned(pairs);
    const Corpus whole(pairs, tokenizer, {}, 6);
    CHECK((whole.size() == 3 && whole.longest() == 6));
    const Corpus dropped(pairs, tokenizer, {}, 5);  // four words and <eos>
    REQUIRE(dropped.size() == 1);
    CHECK(dropped.sentences()[0].source == "w");
    const Corpus cut(pairs, tokenizer, {}, 5, true);
    REQUIRE((cut.size() == 3 && cut.longest() == 5));
    for (const int64_t i : {0, 1}) {  // the side that was longer, and the other one as it was
        const models::Batch batch = cut.batch({i});
        CHECK((batch.src.length() == (i == 0 ? 5 : 3) && batch.said().length() == (i == 0 ? 3 : 5)));
    }
}
