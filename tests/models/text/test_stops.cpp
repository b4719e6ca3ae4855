// Strings that end a text: the result does not depend on how the text is cut into pieces.
#include "models/text/tokenizer.h"

#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT
using models::text::Stops;

namespace {

// The text that is left when it comes in these pieces.
std::string left(const std::vector<std::string>& pieces, const std::vector<std::string>& strings) {
    Stops stops(strings);
    std::string text;
    for (const std::string& piece : pieces)
        text += stops.add(piece);
    const bool ended = stops.found();
    const std::string rest = stops.finish();
    CHECK((!ended || rest.empty()));
    return text + rest;
}

}  // namespace

TEST_CASE("stop strings end a text before the first of them, however it is cut", "[models][stops]") {
    struct Case {
        std::string text;
        std::vector<std::string> strings;
        std::string expected;
    };
    const std::vector<Case> cases = {
        {"a long text", {}, "a long text"},
        {"a long text", {"x"}, "a long te"},
        {"a long text", {"text", "long"}, "a "},
        {"a long text", {"a"}, ""},
        {"aab", {"ab"}, "a"},  // a beginning within a beginning
        {"aabaabaac", {"aabaac"}, "aab"},
        {"one\n\ntwo", {"\n\n"}, "one"},
        {"one\ntwo\n", {"\n\n"}, "one\ntwo\n"},  // a beginning that came to nothing
        {"abcd", {"bc", "abcd"}, "a"},           // complete first
        {"abcd", {"bcd", "cd"}, "a"},            // at the same byte: the longest
        {"straße €", {"€"}, "straße "},
        {"ends in the middle of one: <|en", {"<|end|>"}, "ends in the middle of one: <|en"},
    };
    for (const Case& c : cases)
        for (std::size_t width = 1; width <= c.text.size(); ++width) {
            std::vector<std::string> pieces;
            for (std::size_t at = 0; at < c.text.size(); at += width)
                pieces.push_back(c.text.substr(at, width));
            INFO(c.text << ", in pieces of " << width);
            CHECK(left(pieces, c.strings) == c.expected);
        }
}

TEST_CASE("stop strings hold back only what may be the beginning of one", "[models][stops]") {
    Stops stops({"<end>", "stop"});
    const std::pair<const char*, const char*> table[] = {{"a <", "a "}, {"en", ""}, {"t>s", "<ent>"},
                                                         {"t", ""},     {"", ""},   {"o<end", "sto"}};
    for (const auto& [piece, text] : table)
        CHECK(stops.add(piece) == text);
    CHECK_FALSE(stops.found());
    for (const char* const piece : {"> and more", "still more"}) {
        CHECK(stops.add(piece) == "");
        CHECK(stops.found());
    }
    CHECK(stops.finish() == "");
    CHECK(contains(error_of([] {
                       Stops({"x", ""});
                   }),
                   "[Stops] a string that ends the text must not be empty"));
}
