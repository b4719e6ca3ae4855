// Canonical normalization. The hashes are of what Hugging Face's tokenizers 0.23.3 makes of every code point.
#include "models/text/unicode.h"

#include "nn/checkpoint/utf8.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using models::text::nfc;
using models::text::nfd;

TEST_CASE("normalization: every code point", "[text][unicode]") {
    const auto hash = [](std::string (*form)(std::string_view)) {
        uint64_t value = 0xcbf29ce484222325u;  // FNV-1a
        int64_t count = 0;
        for (char32_t c = 0; c < 0x110000; ++c) {
            if (c >= 0xd800 && c < 0xe000)
                continue;
            std::string text;
            nn::checkpoint::append_utf8(text, c);
            for (const char byte : form(text)) {
                value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
                ++count;
            }
        }
        return std::pair(count, value);
    };
    CHECK(hash(nfc) == std::pair<int64_t, uint64_t>(4382374, 0x23fc43766d7c2eb9u));
    CHECK(hash(nfd) == std::pair<int64_t, uint64_t>(4449883, 0x2d165bb5391680a1u));
}

TEST_CASE("normalization: sequences", "[text][unicode]") {
    struct Row {
        std::string text, composed, decomposed;
    };
    const std::vector<Row> table = {
        {"", "", ""},
        {"plain", "plain", "plain"},
        {"e\u0301", "\u00e9", "e\u0301"},
        {"\uac00\u11a7", "\uac00\u11a7",
         "\u1100\u1161\u11a7"},  // no final consonant, which U+11A8 is the first of
        {"\uac00\u11a8", "\uac01", "\u1100\u1161\u11a8"},
        {"\u00e9", "\u00e9", "e\u0301"},
        {"\u1ec7", "\u1ec7", "e\u0323\u0302"},                         // falls apart twice
        {"e\u0302\u0323", "\u1ec7", "e\u0323\u0302"},                  // marks of two classes, in order
        {"a\u0301\u0300", "\u00e1\u0300", "a\u0301\u0300"},            // of one class: as they are
        {"a\u0327\u0301", "\u00e1\u0327", "a\u0327\u0301"},            // composes across another class
        {"q\u0301\u0323", "q\u0323\u0301", "q\u0323\u0301"},           // never composed
        {"\u0301e", "\u0301e", "\u0301e"},                             // nothing before it
        {"\u212b", "\u00c5", "A\u030a"},                               // another character
        {"\u0958", "\u0915\u093c", "\u0915\u093c"},                    // is not composed again
        {"\u0b47\u0b3e", "\u0b4b", "\u0b47\u0b3e"},                    // the second one is no mark
        {"\u0b47x\u0b3e", "\u0b47x\u0b3e", "\u0b47x\u0b3e"},           // something between
        {"\u1112\u1161\u11ab", "\ud55c", "\u1112\u1161\u11ab"},        // a Hangul syllable
        {"\ud558\u11ab", "\ud55c", "\u1112\u1161\u11ab"},              // of two parts
        {"\ud55c\u11ab", "\ud55c\u11ab", "\u1112\u1161\u11ab\u11ab"},  // complete
        {"\u1112\u11ab", "\u1112\u11ab", "\u1112\u11ab"},              // no vowel
        {"\xff\u212b\xc3", "\xff\u00c5\xc3",
         "\xff"
         "A\u030a\xc3"},  // bytes that are not UTF-8
        {"e\xff\u0301", "e\xff\u0301", "e\xff\u0301"}};
    for (const Row& row : table) {
        CAPTURE(row.text);
        CHECK(nfc(row.text) == row.composed);
        CHECK(nfd(row.text) == row.decomposed);
        CHECK(nfc(row.decomposed) == row.composed);
    }
}
