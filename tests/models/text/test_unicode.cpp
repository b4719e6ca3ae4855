// Properties of characters. Numbers and hashes of classes are from Python's unicodedata2 16.0.0. Those of
// lower case are from str.lower of Python 3.11, which has Unicode 14, with the 55 letters that have got a
// lower case since. Those of BERT's classes and of the normal forms are from Hugging Face's tokenizers
// 0.23.3.
#include "models/text/unicode.h"

#include <vector>

#include "autograd/base/random.h"
#include "nn/checkpoint/utf8.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace models::text;

namespace {

constexpr char32_t kEnd = 0x110000;

// Over the four bytes, the lowest first, of each number.
struct CodeHash {
    void add(char32_t c) {
        for (int i = 0; i < 4; ++i)
            hash.add(c >> (8 * i) & 255);
        ++count;
    }
    autograd::Hash hash = {};
    int64_t count = 0;
};

std::string utf8(char32_t c) {
    std::string text;
    nn::checkpoint::append_utf8(text, c);
    return text;
}

// How many bytes f makes of all code points, and their hash.
template <class F>
std::pair<int64_t, uint64_t> bytes_of_all(const F& f) {
    autograd::Hash hash;
    int64_t count = 0;
    for (char32_t c = 0; c < kEnd; ++c)
        if (c < 0xd800 || c > 0xdfff) {
            const std::string bytes = f(utf8(c));
            hash.add(bytes);
            count += std::ssize(bytes);
        }
    return {count, hash.value};
}

}  // namespace

TEST_CASE("the classes of all code points are Unicode's, and those that BERT's tokenizer asks for",
          "[text][unicode]") {
    struct Row {
        bool (*is)(char32_t);
        int64_t count;
        uint64_t value;
    };
    const Row table[] = {
        {is_letter, 141028, 0xf41bf72239455b4fu},         {is_mark, 2501, 0xd996d5f3b9390f58u},
        {is_number, 1911, 0xd15586ee8a145a41u},           {is_bert_punctuation, 726, 0x44cc3f6f89dbdb6fu},
        {is_bert_accent, 1567, 0xbb1b649f88147b1fu},      {is_bert_control, 137681, 0x1f16de9e1ee9720au},
        {is_word_character, 144667, 0x156e6c7c1c2c0c26u}, {is_numeric, 1924, 0xa1b06be6929373bbu}};
    for (const Row& row : table) {
        CodeHash all;
        for (char32_t c = 0; c < kEnd; ++c)
            if (row.is(c))
                all.add(c);
        CHECK(all.count == row.count);
        CHECK(all.hash.value == row.value);
    }
    for (const char32_t c : {char32_t{kEnd}, char32_t{0xffffffff}}) {  // no code points
        CHECK((!is_letter(c) && !is_number(c) && !is_space(c)));
        CHECK(to_lower(c) == c);
    }
}

TEST_CASE("white space is Unicode's list", "[text][unicode]") {
    std::u32string found;
    for (char32_t c = 0; c < kEnd; ++c)
        if (is_space(c))
            found += c;
    CHECK(found ==
          U"\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
          U"\u2009\u200a\u2028\u2029\u202f\u205f\u3000");
}

TEST_CASE("a text is converted to lower case", "[text][unicode]") {
    const std::pair<std::string, std::string> table[] = {
        {"", ""},
        {"Ein ÄRGERNIS, 2 ÉTÉS: ΑΣ Жук \U00010400!", "ein ärgernis, 2 étés: ας жук \U00010428!"},
        {"\xc4\x80\xe2\xb1\xa2", "\xc4\x81\xc9\xab"},  // U+2C62: three bytes become two
        {"A\xffZ\xc3", "a\xffz\xc3"},
        {std::string("A\0B", 3), std::string("a\0b", 3)},
        {"Ο ΔΡΟΜΟΣ ΤΗΣ ΠΟΛΗΣ. ΑΣ' ΑΣ'Α Σ ΣΣ", "ο δρομος της πολης. ας' ασ'α σ σς"},
        {"İSTANBUL", "i̇stanbul"},
        {"A\xffΣ\xff AΣ\xff", "a\xffσ\xff aς\xff"}};  // an invalid byte is not a letter
    for (const auto& [text, lower] : table)
        CHECK(lower_case(text) == lower);
}

TEST_CASE("lower case is Python's for every code point, and for final sigmas in every context",
          "[text][unicode]") {
    // For all c except surrogates, what Python prints for len and FNV-1a of
    // b"".join((before + c + after).lower().encode() ...)
    struct Row {
        std::string before, after;
        std::pair<int64_t, uint64_t> wanted;
    };
    const Row table[] = {{"", "", {4382570, 0xdcd1e661348268ccu}},
                         {"", "Σ", {6606698, 0x9f324346a7b8d735u}},
                         {"A", "Σ", {7718762, 0xac4973803efd134du}},
                         {"AΣ", "", {7718762, 0xf088babd1c964934u}},
                         {"AΣ", "A", {8830826, 0x3814e58a96d84b9bu}}};
    for (const Row& row : table) {
        CAPTURE(row.before, row.after);
        CHECK(bytes_of_all([&](const std::string& c) { return lower_case(row.before + c + row.after); }) ==
              row.wanted);
    }
}

TEST_CASE("normalization: every code point", "[text][unicode]") {
    CHECK(bytes_of_all(nfc) == std::pair<int64_t, uint64_t>(4382374, 0x23fc43766d7c2eb9u));
    CHECK(bytes_of_all(nfd) == std::pair<int64_t, uint64_t>(4449883, 0x2d165bb5391680a1u));
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
