// The translator's data: epochs of batches, and the report.
#include "apps/programs/translate/data.h"

#include <algorithm>
#include <sstream>

#include "apps/programs/translate/data_report.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/text/parallel_text.h"

using namespace plaingrad;             // NOLINT
using namespace models;                // NOLINT
using namespace models::text;          // NOLINT
using namespace plaingrad::translate;  // NOLINT
using namespace tests;                 // NOLINT

namespace {

std::string printed(const DataCheck& check, bool in_short) {
    std::ostringstream out;
    print_report(out, check, in_short);
    return out.str();
}

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

TEST_CASE("translate reports on its data: unseen characters, control characters only by their code",
          "[apps][translate]") {
    const ParallelText training = parallel_text({{"a b", "c"}});
    const ParallelText validation = parallel_text({{"\x7f\x7f\xc2\x80\xf4\x8f\xbf\xbf", "b"}});
    const std::string report = printed(check_data(training, &validation), true);
    CHECK(report.find("source characters never seen in training: 3 (U+007F (2 times, first in line 1), "
                      "U+0080 (1 time, in line 1), U+10FFFF \xf4\x8f\xbf\xbf (1 time, in line 1))") !=
          std::string::npos);
    CHECK(report.find("target characters never seen in training: 1 (U+0062 b (1 time, in line 1))\n") !=
          std::string::npos);
    CHECK(report.find('\x7f') == std::string::npos);
}

TEST_CASE("translate reports on its data: of many characters and lines, names only the first",
          "[apps][translate]") {
    std::string many;
    for (char c = 'A'; c <= 'K'; ++c)
        many += c;
    ParallelText validation = parallel_text({{many, "b"}});
    const std::string report = printed(check_data(parallel_text({{"a", "b"}}), &validation), true);
    CHECK(report.find("training: 11 (U+0041 A (1 time, in line 1), U+0042 B") != std::string::npos);
    CHECK(report.find("U+004A J (1 time, in line 1), ...)\n") != std::string::npos);
    CHECK(report.find("U+004B") == std::string::npos);
    const ParallelText same =
        parallel_text({{"a", "b"}, {"a", "b"}, {"a", "b"}, {"a", "b"}, {"a", "b"}, {"a", "b"}});
    CHECK(printed(check_data(same, nullptr), true) ==
          "a.en, a.de: 6 pairs; duplicates of an earlier pair: 5 (lines 2, 3, 4, 5, 6)\n");
    ParallelText seven = same;
    seven.pairs.push_back({"a", "b", 7});
    CHECK(printed(check_data(seven, nullptr), true) ==
          "a.en, a.de: 7 pairs; duplicates of an earlier pair: 6 (lines 2, 3, 4, 5, 6, ...)\n");
}

TEST_CASE("translate reports on its data: the whole text", "[apps][translate]") {
    ParallelText training = parallel_text({{"a \xef\xbf\xbd", "b"}, {words(10), "w"}, {"b", "b"}});
    training.replaced = 1;
    for (const int64_t line : {4, 5, 6})
        training.no_text.add(line);
    training.no_source.add(7);
    training.no_target.add(8);
    ParallelText validation = parallel_text({{"b", "b"}});
    validation.source_file = validation.target_file = "v.tsv";
    const DataCheck check = check_data(training, &validation);
    CHECK(printed(check, true) ==
          "a.en, a.de: 3 pairs; bytes that are not UTF-8, read as U+FFFD: 1 (line 1); skipped, no text on "
          "either side: 3 (lines 4, 5, 6); skipped, no source: 1 (line 7); skipped, no target: 1 (line 8); "
          "one side more than 9 times as long as the other: 1 (line 2)\n"
          "v.tsv: 1 pair; pairs that are in the training data: 1 (line 1); "
          "sources that are in the training data: 1 (line 1)\n");
    const std::string report = printed(check, false);
    CHECK(
        report.starts_with("a.en, a.de: 3 pairs\n"
                           "       1  bytes that are not UTF-8, read as U+FFFD: line 1\n"
                           "       3  skipped, no text on either side: lines 4, 5, 6\n"
                           "       1  skipped, no source: line 7\n"
                           "       1  skipped, no target: line 8\n"
                           "       1  one side more than 9 times as long as the other: line 2\n"
                           "       0  duplicates of an earlier pair\n"
                           "v.tsv: 1 pair\n"
                           "       0  bytes that are not UTF-8, read as U+FFFD\n"));
    CHECK(report.find("\n       0  source characters never seen in training\n") != std::string::npos);
}

TEST_CASE("translate reports on its data: the histogram of lengths", "[apps][translate]") {
    // 98 of 1 to 20 words, and one endless sentence.
    ParallelText training = parallel_text({{words(400), words(3)}});
    for (int64_t i = 0; i < 98; ++i)
        training.pairs.push_back({words(i % 20 + 1), words(5), i + 2});
    const std::string report = printed(check_data(training, nullptr), false);
    const auto bar = [](int64_t full, bool thin = false) {
        std::string text;
        for (int64_t i = 0; i < 24; ++i)
            text += i < full ? "█" : thin && i == 0 ? "▏" : " ";
        return text;
    };
    CHECK(report.find("         words   source                            target\n"
                      "     1 -     2       10 " +
                      bar(2) + "        0 " + bar(0) +
                      "\n"
                      "     3 -     4       10 " +
                      bar(2) + "        1 " + bar(0, true) +
                      "\n"
                      "     5 -     6       10 " +
                      bar(2) + "       98 " + bar(24) +
                      "\n"
                      "     7 -     8       10 ") != std::string::npos);
    CHECK(report.ends_with("\n    19 -    20        8 " + bar(2) + "        0 " + bar(0) +
                           "\n"
                           "    21 -   400        1 " +
                           bar(0, true) + "        0 " + bar(0) + "\n"));
    // No more rows than there are lengths.
    CHECK(printed(check_data(parallel_text({{"a", "b c"}}), nullptr), false)
              .ends_with("target\n     1 -     1        1 " + bar(24) + "        0 " + bar(0) +
                         "\n     2 -     2        0 " + bar(0) + "        1 " + bar(24) + "\n"));
    CHECK(printed(check_data(parallel_text({}), nullptr), false)
              .ends_with("target\n     1 -     1        0 " + bar(0) + "        0 " + bar(0) + "\n"));
}
