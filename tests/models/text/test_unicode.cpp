// Properties of characters. Numbers and hashes of classes are from Python's unicodedata2 16.0.0. Those of
// lower case are from str.lower of Python 3.11, which has Unicode 14, with the 55 letters that have got a
// lower case since. Those of BERT's classes and of the normal forms are from Hugging Face's tokenizers
// 0.23.3.
#include "models/text/unicode.h"

#include <vector>

#include "nn/checkpoint/utf8.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace models::text;

namespace {

// FNV-1a over the four bytes, the lowest first, of each number.
struct Hash {
    void add(char32_t c) {
        for (int i = 0; i < 4; ++i)
            value = (value ^ (c >> (8 * i) & 255)) * 0x100000001b3u;
        ++count;
    }
    void add_byte(unsigned char byte) {
        value = (value ^ byte) * 0x100000001b3u;
        ++count;
    }
    uint64_t value = 0xcbf29ce484222325u;
    int64_t count = 0;
};

constexpr char32_t kEnd = 0x110000;

template <class Is>
Hash hash(Is is) {
    Hash all;
    for (char32_t c = 0; c < kEnd; ++c)
        if (is(c))
            all.add(c);
    return all;
}

}  // namespace

TEST_CASE("the classes of all code points are Unicode's", "[text][unicode]") {
    const Hash letters = hash(is_letter), marks = hash(is_mark), numbers = hash(is_number);
    CHECK(letters.count == 141028);
    CHECK(letters.value == 0xf41bf72239455b4fu);
    CHECK(marks.count == 2501);
    CHECK(marks.value == 0xd996d5f3b9390f58u);
    CHECK(numbers.count == 1911);
    CHECK(numbers.value == 0xd15586ee8a145a41u);
}

TEST_CASE("the classes of all code points are those that BERT's tokenizer asks for", "[text][unicode]") {
    struct Row {
        bool (*is)(char32_t);
        int64_t count;
        uint64_t value;
    };
    for (const Row& row :
         {Row{is_bert_punctuation, 726, 0x44cc3f6f89dbdb6fu}, Row{is_bert_accent, 1567, 0xbb1b649f88147b1fu},
          Row{is_bert_control, 137681, 0x1f16de9e1ee9720au},
          Row{is_word_character, 144667, 0x156e6c7c1c2c0c26u}, Row{is_numeric, 1924, 0xa1b06be6929373bbu}}) {
        const Hash all = hash(row.is);
        CHECK(all.count == row.count);
        CHECK(all.value == row.value);
    }
}

TEST_CASE("white space is Unicode's list", "[text][unicode]") {
    const std::vector<uint32_t> spaces = {9,      10,     11,     12,     13,     0x20,   0x85,
                                          0xa0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
                                          0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028,
                                          0x2029, 0x202f, 0x205f, 0x3000};
    std::vector<uint32_t> found;
    for (char32_t c = 0; c < kEnd; ++c)
        if (is_space(c))
            found.push_back(c);
    CHECK(found == spaces);
}

TEST_CASE("every upper-case letter has its lower case", "[text][unicode]") {
    Hash pairs;
    for (char32_t c = 0; c < kEnd; ++c)
        if (to_lower(c) != c) {
            pairs.add(c);
            pairs.add(to_lower(c));
        }
    CHECK(pairs.count == 2 * 1488);
    CHECK(pairs.value == 0x5d1ca2dd4d05cf1eu);
}

TEST_CASE("familiar characters have the expected class and lower case", "[text][unicode]") {
    for (const char32_t c :
         {U'a', U'Z', U'\xdf', U'\x3a9', U'\x416', U'\x5d0', U'\x6f22', U'\xac00', U'\xaa'})
        CHECK((is_letter(c) && !is_mark(c) && !is_number(c) && !is_space(c)));
    for (const char32_t c : {U'0', U'9', U'\xb2', U'\xbd', U'\x2167', U'\x0663'})
        CHECK((is_number(c) && !is_letter(c)));
    for (const char32_t c : {U'\x301', U'\x93e', U'\x20dd'})
        CHECK((is_mark(c) && !is_letter(c)));
    for (const char32_t c : {U'_', U'@', U'\'', U'\x20ac', U'\x201c', U'\x200b', U'\xffed', U'\x1f600',
                             U'\xfffd', U'\xe000', U'\x378', U'\x10ffff'})
        CHECK((!is_letter(c) && !is_mark(c) && !is_number(c) && !is_space(c)));
    // Not code points.
    for (const char32_t c : {char32_t{kEnd}, char32_t{0xffffffff}}) {
        CHECK((!is_letter(c) && !is_number(c) && !is_space(c)));
        CHECK(to_lower(c) == c);
    }
    CHECK(to_lower(U'\x130') == U'i');      // with a dot: the full mapping would keep it
    CHECK(to_lower(U'\x1e9e') == U'\xdf');  // capital sharp s
    CHECK(to_lower(U'\x212a') == U'k');     // Kelvin
}

TEST_CASE("a text is converted to lower case", "[text][unicode]") {
    CHECK(lower_case("").empty());
    CHECK(lower_case("Ein ÄRGERNIS, 2 ÉTÉS: ΑΣ Жук \U00010400!") ==
          "ein ärgernis, 2 étés: ας жук \U00010428!");
    CHECK(lower_case("\xc4\x80\xe2\xb1\xa2") == "\xc4\x81\xc9\xab");  // U+2C62: three bytes become two
    CHECK(lower_case("A\xff"
                     "B\xc3") ==
          "a\xff"
          "b\xc3");
    CHECK(lower_case(std::string("A\0B", 3)) == std::string("a\0b", 3));
}

TEST_CASE("lower case is Python's for every code point, and for final sigmas in every context",
          "[text][unicode]") {
    // For all c except surrogates, what Python prints for len and FNV-1a of
    // b"".join((before + c + after).lower().encode() ...)
    const auto check = [](const std::string& before, const std::string& after, int64_t count,
                          uint64_t value) {
        INFO("'" << before << "' and '" << after << "'");
        Hash all;
        for (char32_t c = 0; c < kEnd; ++c) {
            if (c >= 0xd800 && c <= 0xdfff)
                continue;
            std::string text = before;
            nn::checkpoint::append_utf8(text, c);
            for (const char byte : lower_case(text + after))
                all.add_byte(static_cast<unsigned char>(byte));
        }
        CHECK(all.count == count);
        CHECK(all.value == value);
    };
    check("", "", 4382570, 0xdcd1e661348268ccu);
    check("", "Σ", 6606698, 0x9f324346a7b8d735u);
    check("A", "Σ", 7718762, 0xac4973803efd134du);
    check("AΣ", "", 7718762, 0xf088babd1c964934u);
    check("AΣ", "A", 8830826, 0x3814e58a96d84b9bu);
    CHECK(lower_case("Ο ΔΡΟΜΟΣ ΤΗΣ ΠΟΛΗΣ. ΑΣ' ΑΣ'Α Σ ΣΣ") == "ο δρομος της πολης. ας' ασ'α σ σς");
    CHECK(lower_case("İSTANBUL") == "i̇stanbul");
    CHECK(lower_case("A\xffΣ\xff AΣ\xff") == "a\xffσ\xff aς\xff");  // an invalid byte is not a letter
}

TEST_CASE("code points are encoded as UTF-8 and decoded", "[text][unicode]") {
    std::string all;
    for (char32_t c = 0; c < kEnd; ++c)
        if (c < 0xd800 || c > 0xdfff)
            nn::checkpoint::append_utf8(all, c);
    CHECK(nn::checkpoint::find_invalid_utf8(all) == std::string::npos);
    char32_t expected = 0;
    std::size_t at = 0, wrong = 0;
    for (; at < all.size(); ++expected) {
        expected += expected == 0xd800 ? 0x800 : 0;
        const auto [code, length] = nn::checkpoint::first_code_point(std::string_view(all).substr(at));
        wrong += code == expected ? 0 : 1;
        at += length;
    }
    CHECK(wrong == 0);
    CHECK(expected == kEnd);
    for (const std::string_view bytes : {"\xff", "\x80 ", "\xc3", "\xed\xa0\x80", "\xf0\x9f\x98x"}) {
        CHECK(nn::checkpoint::first_code_point(bytes).code == 0xfffd);
        CHECK(nn::checkpoint::first_code_point(bytes).length == 1);
    }
}
