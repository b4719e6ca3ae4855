// Finding what may be wrong with parallel text.
#include "models/text/training_data.h"

#include "tests/catch.h"
#include "tests/models/text/parallel_text.h"

using namespace plaingrad;  // NOLINT
using namespace models::text;
using namespace tests;  // NOLINT

namespace {

std::string words(int64_t n) {
    std::string sentence = "w";
    for (int64_t i = 1; i < n; ++i)
        sentence += " w";
    return sentence;
}

// The report without its beginning, "a.en, a.de: 7 pairs".
std::string found(const ParallelText& text, const ParallelText* training = nullptr) {
    const std::string all = check_data(text, training);
    return all.substr(std::min(all.size(), all.find("; ")));
}

}  // namespace

TEST_CASE("data check: nothing wrong", "[text]") {
    const ParallelText text = parallel_text({{"a b", "c"}, {"d", "e  f g "}});
    CHECK(check_data(text) == "a.en, a.de: 2 pairs");
    const ParallelText one = parallel_text({{"a", "b"}});
    CHECK(check_data(one) == "a.en, a.de: 1 pair");
}

TEST_CASE("data check: duplicates are equal on both sides", "[text]") {
    CHECK(found(parallel_text(
              {{"a", "b"}, {"a", "c"}, {"d", "b"}, {"a", "b"}, {"a", "b"}, {"ab", "c"}, {"a", "bc"}})) ==
          "; duplicates of an earlier pair: 2 (first in line 4)");
}

TEST_CASE("data check: lengths that are too uneven", "[text]") {
    CHECK(found(parallel_text({{words(9), "w"},
                               {words(10), "w"},
                               {"w", words(10)},
                               {words(20), words(20)},
                               {words(20), words(21)},
                               {words(22), words(2)}})) ==
          "; one side more than 9 times as long as the other: 3 (first in line 2)");
}

TEST_CASE("data check: validation pairs and sources that are in the training data", "[text]") {
    const ParallelText training = parallel_text({{"a", "b"}, {"c", "d"}, {"e", "f"}});
    const ParallelText validation =
        parallel_text({{"a", "d"}, {"a", "b"}, {"d", "c"}, {"c", "d"}, {"c", "d"}, {"e", "e"}});
    CHECK(found(training).empty());
    CHECK(found(validation, &training) ==
          "; duplicates of an earlier pair: 1 (line 5); pairs that are in the training data: 3 (first in "
          "line 2); "
          "sources that are in the training data: 5 (first in line 1); "
          "sources with characters never seen in training: 1 (line 3); "
          "targets with characters never seen in training: 2 (first in line 3)");
}

TEST_CASE("data check: characters that do not occur in training, on either side", "[text]") {
    // Characters of one to four bytes; the first and the last of each length.
    for (const char* const c : {"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xef\xbf\xbf",
                                "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
        const ParallelText source = parallel_text({{std::string("a ") + c, "b"}}),
                           target = parallel_text({{"a b", std::string("b") + c}});
        CHECK(found(source, &target) == "; sources with characters never seen in training: 1 (line 1)");
        CHECK(found(target, &source) ==
              "; sources with characters never seen in training: 1 (line 1); "
              "targets with characters never seen in training: 1 (line 1)");
    }
}

TEST_CASE("data check: lines that were skipped, and bytes that are not UTF-8", "[text]") {
    ParallelText text = parallel_text({{"b", "b"}, {"a \xef\xbf\xbd", "b"}});
    CHECK(found(text).empty());  // U+FFFD in the file itself
    text.replaced = 1;
    for (const int64_t line : {4, 5, 6})
        text.no_text.add(line);
    text.no_source.add(7);
    text.no_target.add(8);
    CHECK(found(text) ==
          "; skipped, no text on either side: 3 (first in line 4); skipped, no source: 1 (line 7); "
          "skipped, no target: 1 (line 8); with bytes that are not UTF-8, read as U+FFFD: 1 (line 2)");
}
