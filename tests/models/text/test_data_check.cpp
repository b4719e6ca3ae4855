// Finding what may be wrong with parallel text.
#include "models/text/data_check.h"

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

}  // namespace

TEST_CASE("data check: nothing wrong", "[text]") {
    const DataCheck check = check_data(parallel_text({{"a b", "c"}, {"d", "e  f g "}}), nullptr);
    REQUIRE(check.training.lengths.size() == 2);
    CHECK(check.training.lengths[0].source == 2);
    CHECK(check.training.lengths[0].target == 1);
    CHECK(check.training.lengths[1].target == 3);
    CHECK_FALSE(check.validation);
}

TEST_CASE("data check: duplicates are equal on both sides", "[text]") {
    const DataCheck check = check_data(
        parallel_text({{"a", "b"}, {"a", "c"}, {"d", "b"}, {"a", "b"}, {"a", "b"}, {"ab", "c"}, {"a", "bc"}}),
        nullptr);
    CHECK(shown(check.training.duplicates) == "2: 4 5");
}

TEST_CASE("data check: lengths that are too uneven", "[text]") {
    const ParallelText training = parallel_text({{words(9), "w"},
                                                 {words(10), "w"},
                                                 {"w", words(10)},
                                                 {words(20), words(20)},
                                                 {words(20), words(21)},
                                                 {words(22), words(2)}});
    CHECK(shown(check_data(training, nullptr).training.uneven) == "3: 2 3 6");
}

TEST_CASE("data check: validation pairs and sources that are in the training data", "[text]") {
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

TEST_CASE("data check: characters that do not occur in training, on either side", "[text]") {
    // Characters of one to four bytes; the first and the last of each length.
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
}

TEST_CASE("data check: U+FFFD in the file itself is not an invalid byte", "[text]") {
    CHECK(shown(check_data(parallel_text({{"a \xef\xbf\xbd", "b"}}), nullptr).training.not_utf8) == "0:");
}
