// What is wrong with parallel text.
#include "models/text/data_check.h"

#include <sstream>

#include "tests/catch.h"
#include "tests/models/text/parallel_text.h"

using namespace plaingrad;  // NOLINT
using namespace models::text;
using namespace tests;  // NOLINT

namespace {

std::string printed(const DataCheck& check, bool in_short) {
    std::ostringstream out;
    check.print(out, in_short);
    return out.str();
}

std::string words(int64_t n) {
    std::string sentence = "w";
    for (int64_t i = 1; i < n; ++i)
        sentence += " w";
    return sentence;
}

}  // namespace

TEST_CASE("data check: nothing wrong", "[text]") {
    const DataCheck check = check_data(parallel_text({{"a b", "c"}, {"d", "e  f g "}}), nullptr);
    REQUIRE(check.training.lengths.size() == 2);
    CHECK(check.training.lengths[0].source == 2);
    CHECK(check.training.lengths[0].target == 1);
    CHECK(check.training.lengths[1].target == 3);
    CHECK_FALSE(check.validation);
    CHECK(printed(check, true) == "a.en, a.de: 2 pairs\n");
}

TEST_CASE("data check: duplicates are equal on both sides", "[text]") {
    const DataCheck check = check_data(
        parallel_text({{"a", "b"}, {"a", "c"}, {"d", "b"}, {"a", "b"}, {"a", "b"}, {"ab", "c"}, {"a", "bc"}}),
        nullptr);
    CHECK(shown(check.training.duplicates) == "2: 4 5");
}

TEST_CASE("data check: lengths that are too large or too uneven", "[text]") {
    const ParallelText training = parallel_text({{words(9), "w"},
                                                 {words(10), "w"},
                                                 {"w", words(10)},
                                                 {words(20), words(20)},
                                                 {words(20), words(21)},
                                                 {words(22), words(2)}});
    CHECK(shown(check_data(training, nullptr).training.uneven) == "3: 2 3 6");
    CHECK(shown(check_data(training, nullptr).training.too_long) == "0:");
    CHECK(shown(check_data(training, nullptr, {.longest = 20}).training.too_long) == "2: 5 6");
    CHECK(shown(check_data(training, nullptr, {.longest = 21}).training.too_long) == "1: 6");
    const DataCheck check = check_data(
        training, nullptr, {.longest = 7, .unit = "tokens", .length = [](const SentencePair& pair) {
                                return PairLength{pair.line, 2 * pair.line};
                            }});
    CHECK(shown(check.training.too_long) == "3: 4 5 6");
    CHECK(shown(check.training.uneven) == "0:");
    CHECK(printed(check, true) == "a.en, a.de: 6 pairs; longer than 7 tokens: 3 (lines 4, 5, 6)\n");
}

TEST_CASE("data check: what validation has of training", "[text]") {
    const ParallelText training = parallel_text({{"a", "b"}, {"c", "d"}, {"e", "f"}});
    ParallelText validation =
        parallel_text({{"a", "b"}, {"a", "d"}, {"d", "c"}, {"c", "d"}, {"c", "d"}, {"x", "f"}});
    const DataCheck check = check_data(training, &validation);
    REQUIRE(check.validation);
    CHECK(shown(check.validation->pairs_learned) == "3: 1 4 5");
    CHECK(shown(check.validation->sources_learned) == "4: 1 2 4 5");
    CHECK(shown(check.validation->duplicates) == "1: 5");
    CHECK(shown(check.training.pairs_learned) == "0:");
    CHECK(shown(check.training.duplicates) == "0:");
}

TEST_CASE("data check: characters that training never has, on either side", "[text]") {
    // Of one, two, three and four bytes; the first and the last of each length.
    const std::string all = "a\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf";
    const ParallelText training = parallel_text({{"a b", all}});
    const ParallelText validation = parallel_text({{"ab", "ab"}, {all + all, all}});
    const DataCheck check = check_data(training, &validation);
    std::vector<uint32_t> codes;
    for (const auto& [code, character] : check.validation->unseen_source) {
        codes.push_back(code);
        CHECK(character.times == 2);
        CHECK(character.line == 2);
    }
    CHECK(codes == std::vector<uint32_t>{0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff});
    CHECK(check.validation->unseen_source.at(0x800).character == "\xe0\xa0\x80");
    REQUIRE(check.validation->unseen_target.size() == 1);
    CHECK(check.validation->unseen_target.at('b').times == 1);
    CHECK(check.validation->unseen_target.at('b').line == 1);
    CHECK(printed(check, true)
              .find("target characters never seen in training: 1 (U+0062 b (1 time, in line 1))\n") !=
          std::string::npos);
    // What a terminal may act on is not printed.
    CHECK(printed(check, true).find("training: 7 (U+007F (2 times, first in line 2), U+0080 (2 times,") !=
          std::string::npos);
    CHECK(printed(check, true).find('\x7f') == std::string::npos);
    CHECK(printed(check, true).find("U+10FFFF \xf4\x8f\xbf\xbf (2") != std::string::npos);
}

TEST_CASE("data check: of many characters and lines the first are named", "[text]") {
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

TEST_CASE("data check: everything in words", "[text]") {
    ParallelText training = parallel_text({{"a \xef\xbf\xbd", "b"}, {words(10), "w"}, {"b", "b"}});
    training.replaced = 1;
    for (const int64_t line : {4, 5, 6})
        training.no_text.add(line);
    training.no_source.add(7);
    training.no_target.add(8);
    ParallelText validation = parallel_text({{"b", "b"}});
    validation.source_file = validation.target_file = "v.tsv";
    const DataCheck check = check_data(training, &validation, {.longest = 9});
    CHECK(printed(check, true) ==
          "a.en, a.de: 3 pairs; bytes that are not UTF-8, read as U+FFFD: 1 (line 1); passed over, no text "
          "on both "
          "sides: 3 (lines 4, 5, 6); passed over, no source: 1 (line 7); passed over, no target: 1 (line 8); "
          "longer than 9 words: 1 (line 2); one side more than 9 times as long as the other: 1 (line 2)\n"
          "v.tsv: 1 pair; pairs that are in the training data: 1 (line 1); "
          "sources that are in the training data: 1 (line 1)\n");
    const std::string report = printed(check, false);
    CHECK(
        report.starts_with("a.en, a.de: 3 pairs\n"
                           "       1  bytes that are not UTF-8, read as U+FFFD: line 1\n"
                           "       3  passed over, no text on both sides: lines 4, 5, 6\n"
                           "       1  passed over, no source: line 7\n"
                           "       1  passed over, no target: line 8\n"
                           "       1  longer than 9 words: line 2\n"
                           "       1  one side more than 9 times as long as the other: line 2\n"
                           "       0  duplicates of an earlier pair\n"
                           "v.tsv: 1 pair\n"
                           "       0  bytes that are not UTF-8, read as U+FFFD\n"));
    CHECK(report.find("\n       0  source characters never seen in training\n") != std::string::npos);
}

TEST_CASE("data check: U+FFFD that was there already is no wrong byte", "[text]") {
    CHECK(shown(check_data(parallel_text({{"a \xef\xbf\xbd", "b"}}), nullptr).training.not_utf8) == "0:");
}

TEST_CASE("data check: lengths as a picture", "[text]") {
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
