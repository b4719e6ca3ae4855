// Words and their ids.
#include "models/text/vocabulary.h"

#include "autograd/base/check.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using models::text::split_words;
using models::text::Vocabulary;
using Words = std::vector<std::string>;
using Ids = std::vector<int32_t>;

TEST_CASE("a new vocabulary has the four reserved words", "[text]") {
    const Vocabulary vocabulary;
    CHECK(vocabulary.size() == 4);
    CHECK(models::text::kPad == 0);
    CHECK(models::text::kSos == 1);
    CHECK(models::text::kEos == 2);
    CHECK(models::text::kUnk == 3);
    CHECK(models::text::kFirstFreeId == 4);
    CHECK(vocabulary.word(0) == "<pad>");
    CHECK(vocabulary.word(1) == "<sos>");
    CHECK(vocabulary.word(2) == "<eos>");
    CHECK(vocabulary.word(3) == "<unk>");
}

TEST_CASE("words get ids in the order of adding", "[text]") {
    Vocabulary vocabulary;
    CHECK(vocabulary.add("b") == 4);
    CHECK(vocabulary.add("a") == 5);
    CHECK(vocabulary.add("b") == 4);
    CHECK(vocabulary.size() == 6);
    CHECK(vocabulary.id("a") == 5);
    CHECK(vocabulary.id("A") == 3);  // case matters
    CHECK(vocabulary.id("") == 3);
    CHECK(vocabulary.word(5) == "a");
    CHECK(vocabulary.add_all("c a\td  c") == Ids{6, 5, 7, 6});
    CHECK(vocabulary.size() == 8);
    CHECK(vocabulary.add_all("  ").empty());
}

TEST_CASE("the reserved ids cannot be reached from text", "[text]") {
    Vocabulary vocabulary;
    CHECK(vocabulary.encode("<pad> <sos> <eos> <unk>") == Ids{3, 3, 3, 3});
    CHECK(vocabulary.unknown("<pad> <unk>") == Words{"<pad>", "<unk>"});
    CHECK(vocabulary.add_all("<eos> <pad> <eos>") == Ids{4, 5, 4});
    CHECK(vocabulary.encode("<pad> <eos> <sos>") == Ids{5, 4, 3});
    CHECK(vocabulary.word(4) == "<eos>");
    CHECK(vocabulary.word(2) == "<eos>");
    CHECK(vocabulary.unknown("<pad> <sos> <eos>") == Words{"<sos>"});
}

TEST_CASE("sentences become ids and sentences again", "[text]") {
    Vocabulary vocabulary;
    vocabulary.add_all("le chat est noir");
    CHECK(vocabulary.encode(" est\tle  chat ") == Ids{6, 4, 5});
    CHECK(vocabulary.decode({6, 4, 5}) == "est le chat");
    CHECK(vocabulary.decode({}).empty());
    CHECK(vocabulary.decode({1, 7, 3, 2}) == "<sos> noir <unk> <eos>");
    CHECK(vocabulary.encode("le chien noir") == Ids{4, 3, 7});
    CHECK(vocabulary.unknown("le chien chien noir zèbre") == Words{"chien", "chien", "zèbre"});
    CHECK(vocabulary.unknown("le chat").empty());
    CHECK(vocabulary.size() == 8);  // `id` adds nothing
}

TEST_CASE("an id outside the vocabulary is an error that says so", "[text]") {
    Vocabulary vocabulary;
    vocabulary.add("a");
    for (const int32_t id : {-1, 5, 1000000}) {
        CAPTURE(id);
        CHECK_THROWS_WITH(vocabulary.word(id),
                          "[Vocabulary] id " + std::to_string(id) + " is outside the vocabulary of 5");
    }
    CHECK_THROWS_AS(vocabulary.decode({4, 5}), autograd::Error);
}

TEST_CASE("a copy of a vocabulary is independent", "[text]") {
    Vocabulary first;
    first.add("a");
    Vocabulary second = first;
    CHECK(second.add("b") == 5);
    CHECK(first.size() == 5);
    CHECK(first.id("b") == 3);
    CHECK(second.id("a") == 4);
}

TEST_CASE("words are separated by spaces and tabs", "[text]") {
    CHECK(split_words("").empty());
    CHECK(split_words(" \t ").empty());
    CHECK(split_words("a") == Words{"a"});
    CHECK(split_words("\ta  b\t\tc, d. ") == Words{"a", "b", "c,", "d."});
    // Other white space belongs to words, also no-break spaces, as in French.
    CHECK(split_words("a\xc2\xa0! b\n") == Words{"a\xc2\xa0!", "b\n"});
}
