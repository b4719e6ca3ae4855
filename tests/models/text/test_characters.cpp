// Characters and their ids.
#include "models/text/characters.h"

#include "autograd/base/check.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using models::text::Characters;
using Ids = std::vector<int32_t>;

namespace {

Characters of(const std::string& text) {
    Characters characters;
    characters.add(text, "text");
    return characters;
}

template <class F>
std::string complaint(F f) {
    try {
        f();
    } catch (const autograd::Error& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace

TEST_CASE("characters have ids in the order of their code points", "[text]") {
    // One of each length in UTF-8, the first and the last of some: U+007F, U+0080, U+07FF, U+0800, U+FFFF,
    // U+10FFFF.
    const std::string text =
        "b\xf4\x8f\xbf\xbf"
        "a\xef\xbf\xbf\xe0\xa0\x80\xdf\xbf\xc2\x80\x7f"
        "a\n";
    const Characters characters = of(text);
    CHECK(characters.size() == 4 + 9);
    CHECK_FALSE(characters.are_bytes());
    CHECK(characters.encode(text, "text") == Ids{6, 12, 5, 11, 10, 9, 8, 7, 5, 4});
    CHECK(characters.decode(characters.encode(text, "text")) == text);
    CHECK(characters.encode("", "text").empty());
    CHECK(characters.decode(12) == "\xf4\x8f\xbf\xbf");
    CHECK(characters.contains("\n"));
    CHECK_FALSE(characters.contains("c"));
}

TEST_CASE("characters are those of all texts that were added", "[text]") {
    Characters characters = of("ca");
    characters.add("ba", "more");
    CHECK(characters.encode("abc", "text") == Ids{4, 5, 6});
}

TEST_CASE("bytes are all 256, and everything is encoded", "[text]") {
    const Characters bytes = Characters::all_bytes();
    CHECK(bytes.size() == 260);
    CHECK(bytes.are_bytes());
    std::string all;
    Ids expected;
    for (int b = 0; b < 256; ++b) {
        all += static_cast<char>(b);
        expected.push_back(4 + b);
    }
    CHECK(bytes.encode(all, "text") == expected);
    CHECK(bytes.decode(expected) == all);
}

TEST_CASE("characters: an error names the character that cannot be encoded, and its position", "[text]") {
    const Characters characters = of("ab\nä");
    CHECK(complaint([&] { characters.encode("ab\nbäöa", "file"); }) ==
          "file:2: character 3 of this line is \"ö\", which is not among the 4 that the model knows");
    CHECK(complaint([&] {
              characters.encode("ac", "file", 7);
          }).starts_with("file:7: character 2 of this line is \"c\""));
    CHECK(complaint([&] {
              characters.encode("ab\na\xff", "file");
          }).starts_with("file:2: byte 2 of this line is not"));
    CHECK(complaint([&] {
              characters.encode("\xff", "file", 3);
          }).starts_with("file:3: byte 1 of this line is not"));
    CHECK(complaint([&] { of("a\n\n\nab\xc3"); }).starts_with("text:4: byte 3 of this line is not UTF-8"));
    for (const int32_t id : {-1, 0, 2, 3, 8})
        CHECK(complaint([&] {
                  characters.decode(id);
              }).starts_with("[characters] ids of characters are 4 .. 7: got "));
}

TEST_CASE("characters are restored from their description", "[text]") {
    for (const Characters& characters :
         {of("zu ä€\n\"\\"), of("bytes"), Characters::all_bytes(), Characters()}) {
        const Characters again = Characters::from_description(characters.description(), "file");
        CHECK(again.description() == characters.description());
        CHECK(again.size() == characters.size());
        CHECK(again.are_bytes() == characters.are_bytes());
    }
    CHECK(Characters::from_description(of("äa").description(), "file").encode("aä", "text") == Ids{4, 5});
    for (const std::string wrong : {"", "byte", "characters", "abc"})
        CHECK(complaint([&] {
                  Characters::from_description(wrong, "file");
              }).starts_with("file: [characters] a description must be"));
    for (const std::string wrong : {"characters:ba", "characters:aa"})
        CHECK(complaint([&] {
                  Characters::from_description(wrong, "file");
              }).starts_with("file: [characters] a description must have"));
    CHECK(complaint([&] {
              Characters::from_description("characters:\xff", "file");
          }).starts_with("file: [characters]:1: byte 1 "));
}
