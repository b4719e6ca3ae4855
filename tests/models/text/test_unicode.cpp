// Properties of characters. Numbers and hashes are from Python 3.11: unicodedata 14.0.0, str.lower.
#include "models/text/unicode.h"

#include <set>

#include "nn/utf8.h"
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
    CHECK(letters.count == 131756);
    CHECK(letters.value == 0x86994fc311ef485fu);
    CHECK(marks.count == 2408);
    CHECK(marks.value == 0xc58e00170cc51eaau);
    CHECK(numbers.count == 1791);
    CHECK(numbers.value == 0xafe3d2a490a13d1fu);
}

TEST_CASE("white space is Unicode's list", "[text][unicode]") {
    const std::set<char32_t> spaces = {9,      10,     11,     12,     13,     0x20,   0x85,   0xa0,   0x1680,
                                       0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008,
                                       0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000};
    for (char32_t c = 0; c < kEnd; ++c)
        if (is_space(c) != spaces.contains(c))
            FAIL_CHECK("U+" << std::hex << static_cast<uint32_t>(c));
}

TEST_CASE("every upper-case letter has its lower case", "[text][unicode]") {
    Hash pairs;
    for (char32_t c = 0; c < kEnd; ++c)
        if (to_lower(c) != c) {
            pairs.add(c);
            pairs.add(to_lower(c));
        }
    CHECK(pairs.count == 2 * 1433);
    CHECK(pairs.value == 0x7d0c429f29debbcau);
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
            nn::append_utf8(text, c);
            for (const char byte : lower_case(text + after))
                all.add_byte(static_cast<unsigned char>(byte));
        }
        CHECK(all.count == count);
        CHECK(all.value == value);
    };
    check("", "", 4382572, 0xc319d02e8283b91eu);
    check("", "Σ", 6606700, 0x2b5c6647c92c18d7u);
    check("A", "Σ", 7718764, 0x82db0c44b833636fu);
    check("AΣ", "", 7718764, 0x3837120c9171d674u);
    check("AΣ", "A", 8830828, 0x1003ed5d33e8c0fbu);
    CHECK(lower_case("Ο ΔΡΟΜΟΣ ΤΗΣ ΠΟΛΗΣ. ΑΣ' ΑΣ'Α Σ ΣΣ") == "ο δρομος της πολης. ας' ασ'α σ σς");
    CHECK(lower_case("İSTANBUL") == "i̇stanbul");
    CHECK(lower_case("A\xffΣ\xff AΣ\xff") == "a\xffσ\xff aς\xff");  // an invalid byte is not a letter
}

TEST_CASE("code points are encoded as UTF-8 and decoded", "[text][unicode]") {
    std::string all;
    for (char32_t c = 0; c < kEnd; ++c)
        if (c < 0xd800 || c > 0xdfff)
            nn::append_utf8(all, c);
    CHECK(nn::find_invalid_utf8(all) == std::string::npos);
    char32_t expected = 0;
    std::size_t at = 0, wrong = 0;
    for (; at < all.size(); ++expected) {
        expected += expected == 0xd800 ? 0x800 : 0;
        const auto [code, length] = nn::first_code_point(std::string_view(all).substr(at));
        wrong += code == expected ? 0 : 1;
        at += length;
    }
    CHECK(wrong == 0);
    CHECK(expected == kEnd);
    for (const std::string_view bytes : {"\xff", "\x80 ", "\xc3", "\xed\xa0\x80", "\xf0\x9f\x98x"}) {
        CHECK(nn::first_code_point(bytes).code == 0xfffd);
        CHECK(nn::first_code_point(bytes).length == 1);
    }
}
