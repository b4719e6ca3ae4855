// What a classifier reads of a text: words, their looks and beginnings, and pairs of words.
#include "models/text/reader.h"

#include <algorithm>

#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using autograd::Rng;
using models::text::Reader;
using Strings = std::vector<std::string>;

namespace {

Strings names(const Reader& reader, const std::vector<int32_t>& ids) {
    Strings all;
    for (const int32_t id : ids)
        all.push_back(reader.name(id));
    return all;
}

}  // namespace

TEST_CASE("reader: a word is itself, its look and its beginning; then come the pairs", "[text]") {
    const std::string text = "Who founded Oslo 1048?";
    const Reader reader({text, text, text}, {});
    CHECK(names(reader, reader(text)) == Strings{"who", "<^-who>", "<who->", "founded", "<-ded>", "<foun->",
                                                 "oslo", "<^-slo>", "<oslo->", "1048", "<0000>", "<1048->",
                                                 "?", "<-?>", "<?->", "who founded", "founded oslo",
                                                 "oslo 1048", "1048 ?"});
}

TEST_CASE("reader: a letter of several bytes is one letter", "[text]") {
    for (const std::string word : {"é", "né", "été", "日本語", "élevé", "déjàvu"}) {
        const Reader reader({word, word}, {});
        const Strings all = names(reader, reader(word));
        CAPTURE(word);
        REQUIRE(all.size() == 3);
        CHECK(all[0] == word);
        CHECK(all[1] == (word == "élevé" ? "<-evé>" : word == "déjàvu" ? "<-àvu>" : "<-" + word + ">"));
        CHECK(all[2] == (word == "élevé" ? "<élev->" : word == "déjàvu" ? "<déjà->" : "<" + word + "->"));
    }
}

TEST_CASE("reader: each word and each pair is left out by a number of its own", "[text]") {
    const std::string text = "one two one";
    const Reader reader({text, text, text}, {});
    for (uint64_t seed = 0; seed < 40; ++seed) {
        const Rng rng(seed);
        std::size_t draws = 0;
        Strings wanted;
        const auto add = [&](const std::string& name) {
            if (rng.uniform(draws++) >= 0.5)
                wanted.push_back(name);
        };
        for (const std::string word : {"one", "two", "one"}) {
            add(word);
            wanted.insert(wanted.end(), {"<-" + word + ">", "<" + word + "->"});  // always there
        }
        add("one two");
        add("two one");
        CHECK(names(reader, reader(text, 0.5, rng)) == wanted);
    }
}
