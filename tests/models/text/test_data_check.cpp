// Finding what may be wrong with parallel text.
#include "models/text/training_data.h"

#include "tests/catch.h"
#include "tests/models/text/parallel_text.h"

using namespace plaingrad;  // NOLINT
using namespace models::text;
using namespace tests;  // NOLINT

namespace {

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

TEST_CASE("data check: validation pairs that are in the training data", "[text]") {
    const ParallelText training = parallel_text({{"a", "b"}, {"c", "d"}, {"e", "f"}});
    const ParallelText validation =
        parallel_text({{"a", "d"}, {"a", "b"}, {"d", "c"}, {"c", "d"}, {"c", "d"}, {"e", "e"}});
    CHECK(found(training).empty());
    CHECK(found(validation, &training) ==
          "; duplicates of an earlier pair: 1 (line 5); pairs that are in the training data: 3 (first in "
          "line 2)");
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
