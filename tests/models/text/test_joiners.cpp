// From raw text to tokens, and back to exactly the same text.
#include "models/text/tokenizer/steps.h"

#include "models/text/lines.h"
#include "models/text/unicode.h"
#include "nn/checkpoint/utf8.h"
#include "tests/catch.h"
#include "tests/dice.h"

using namespace plaingrad;                // NOLINT
using namespace models::text;             // NOLINT
using namespace models::text::tokenizer;  // NOLINT

namespace {

const std::string kJoiner = "￭";

std::string without_joiners(std::string token) {
    if (token.starts_with(kJoiner))
        token.erase(0, kJoiner.size());
    if (token.ends_with(kJoiner))
        token.erase(token.size() - kJoiner.size());
    return token;
}

// What is wrong with the tokens of a line; "" if nothing is.
std::string fault(const std::string& line) {
    const std::string tokens = tokenize(line);
    if (detokenize(tokens) != line)
        return "another line comes back: " + detokenize(tokens);
    std::string again;
    for (const std::string& token : split_words(tokens)) {
        again += again.empty() ? token : " " + token;
        const std::string bare = without_joiners(token);
        if (bare.empty() || bare.find(kJoiner) != std::string::npos)
            return "joiners in the wrong place: " + token;
        if (token.ends_with("@@"))
            return "it looks like a piece of a word: " + token;
        for (std::size_t at = 0, length = 0; at < token.size(); at += length) {
            const auto [code, bytes] = nn::checkpoint::first_code_point(std::string_view(token).substr(at));
            length = bytes;
            if (is_space(code))
                return "white space in a token: " + token;
            if (is_letter(code) && token != bare && !bare.starts_with("％"))
                return "a joiner at a word: " + token;
        }
    }
    return again == tokens ? "" : "not one space between two tokens: " + tokens;
}

// Calls check(text) for texts of these parts, and sometimes any character but line breaks.
template <class Check>
void for_random_texts(int n, const std::vector<std::string>& parts, const Check& check) {
    tests::Dice dice(autograd::Rng(1));
    for (int i = 0; i < n; ++i) {
        std::string text;
        for (int64_t k = dice.below(13); k > 0; --k)
            if (const auto any = static_cast<char32_t>(dice.below(0x110000)); !dice.one_in(12))
                text += dice.one_of(parts);
            else if (any != '\n' && (any < 0xd800 || any > 0xdfff))
                nn::checkpoint::append_utf8(text, any);
        CAPTURE(text);
        check(text);
    }
}

}  // namespace

TEST_CASE("words, numbers and symbols become tokens", "[text][joiners]") {
    struct Row {
        std::string line, tokens;
    };
    const std::vector<Row> table = {
        {"", ""},
        {"a", "a"},
        {"Two young men are outside.", "Two young men are outside ￭."},
        {"He said, \"It's 3.14\"", "He said ￭, \"￭ It ￭'￭ s 3 ￭.￭ 14 ￭\""},
        {"(a) well-known... [!]", "(￭ a ￭) well ￭-￭ known ￭. ￭. ￭. [ ￭! ￭]"},
        {"a - b", "a - b"},
        {"3rd B2B 1,000", "3￭ rd B ￭2￭ B 1 ￭,￭ 000"},
        {"x@@ y@@", "x ￭@ ￭@ y ￭@ ￭@"},
        {"Grüße, Жук! 漢字。", "Grüße ￭, Жук ￭! 漢字 ￭。"},
        {"cafe\u0301 \u0301e n\u0303o", "cafe\u0301 \u0301￭ e n\u0303o"},  // marks belong to their letter
        {"½ ٣ Ⅷ 2²", "½ ٣ Ⅷ 2²"},
        {"snake_case", "snake ￭_￭ case"},
        // White space
        {" ", "％20"},
        {"  ", "％20 ￭％20"},
        {" a", "％20￭ a"},
        {"a ", "a ￭％20"},
        {"a  ", "a ％20"},
        {"a  b", "a ％20￭ b"},
        {"a   b", "a ％20 b"},
        {"a\tb", "a ￭％9￭ b"},
        {"a\u00a0b \u3000\r", "a ￭％a0￭ b ％3000 ￭％d"},
        // The tokenizer's own characters
        {"￭", "％ffed"},
        {"a￭ ￭b", "a ￭％ffed ％ffed￭ b"},
        {"％ 5％20", "％ff05 5 ￭％ff05￭ 20"},
        // Not UTF-8
        {"a\xff \xc3", "a ￭\xff \xc3"}};
    for (const Row& row : table) {
        CHECK(tokenize(row.line) == row.tokens);
        CHECK(detokenize(row.tokens) == row.line);
    }
    CHECK(tokenize(lower_case("Ärger, NATO")) == "ärger ￭, nato");
}

TEST_CASE("any text is restored exactly, also bytes that are not UTF-8", "[text][joiners]") {
    for_random_texts(20000, {" ", " ",  "  ", "\t", "\r", "\u00a0", "\u2028", "￭",  "￭",     "％", "％20",
                             "@", "@@", "a",  "B",  "ß",  "\u0301", "\u0301", "漢", "1",     "２", "½",
                             ".", ",",  "'",  "-",  "\"", "€",      "。",     "😀",  "\u200d"},
                     [](const std::string& line) { CHECK(fault(line) == ""); });
    for_random_texts(5000,
                     {"\xff", "\x80", "\xc3", "\xef", "\xef\xbf", "\xad", "￭", "％", "a", " ", "\u00e9"},
                     [](const std::string& line) { CHECK(detokenize(tokenize(line)) == line); });
    for (char32_t c = 0; c < 0x110000; ++c) {
        if (c == '\n' || (c >= 0xd800 && c <= 0xdfff))
            continue;
        std::string line = "a";
        nn::checkpoint::append_utf8(line, c);
        if (detokenize(tokenize(line)) != line)
            FAIL_CHECK("a and U+" << std::hex << static_cast<uint32_t>(c));
    }
}

TEST_CASE("any tokens that a model writes become text", "[text][joiners]") {
    const std::string odd = "％ ％zz ％20x ％41 ％ffffffffff ％d800 x％20";
    const std::pair<std::string, std::string> table[] = {{"￭, a ￭", ", a"},  // nothing to join
                                                         {"a ￭ b", "ab"},       {"a ￭ ￭ b", "ab"},
                                                         {"a￭ ￭b", "ab"},       {"a￭￭ b", "ab"},
                                                         {"a￭b", "ab"},         {"￭ ￭￭", ""},
                                                         {"  a \t b ", "a b"},  {odd, odd},
                                                         {"a ￭％a", "a％a"},  // the result stays one line
                                                         {"a ￭％￭20￭ b", "a b"}};
    for (const auto& [tokens, text] : table)
        CHECK(detokenize(tokens) == text);
    for_random_texts(5000, {" ", " ", " ", "￭", "￭", "￭", "％", "％20", "20", "a", "b", ",", "@@", "\t"},
                     [](const std::string& tokens) {
                         const std::string text = detokenize(tokens);
                         CHECK(text.find('\n') == std::string::npos);
                         CHECK(detokenize(tokenize(text)) == text);
                     });
}
