// From raw text to tokens, and back to exactly the same text.
#include "models/text/tokenizer/steps.h"

#include <cstdlib>

#include "autograd/base/random.h"
#include "models/text/lines.h"
#include "models/text/unicode.h"
#include "nn/checkpoint/utf8.h"
#include "tests/catch.h"

using namespace plaingrad;                // NOLINT
using namespace models::text;             // NOLINT
using namespace models::text::tokenizer;  // NOLINT
using autograd::Rng;

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

// Mostly characters that the tokenizer treats specially, and sometimes any character.
std::string random_text(const Rng& rng, const std::vector<std::string>& parts, int64_t most) {
    std::string text;
    const int64_t count = rng.below(0, most + 1);
    for (int64_t i = 0; i < count; ++i) {
        const Rng choice = rng.fork(static_cast<uint64_t>(i));
        const int64_t k = choice.below(0, static_cast<int64_t>(parts.size()) + 3);
        const auto any = static_cast<char32_t>(choice.below(1, 0x110000));
        if (k < static_cast<int64_t>(parts.size()))
            text += parts[static_cast<std::size_t>(k)];
        else if (any != '\n' && (any < 0xd800 || any > 0xdfff))
            nn::checkpoint::append_utf8(text, any);
    }
    return text;
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

TEST_CASE("any text is restored exactly", "[text][joiners]") {
    const std::vector<std::string> parts = {" ",      " ",      "  ",   "\t", "\r", "\u00a0", "\u2028", "￭",
                                            "￭",      "％",     "％20", "@",  "@@", "a",      "B",      "ß",
                                            "\u0301", "\u0301", "漢",   "1",  "２", "½",      ".",      ",",
                                            "'",      "-",      "\"",   "€",  "。", "😀",      "\u200d"};
    const Rng rng(1);
    for (uint64_t i = 0; i < 20000; ++i) {
        const std::string line = random_text(rng.fork(i), parts, 12);
        INFO("'" << line << "'");
        CHECK(fault(line) == "");
    }
    for (char32_t c = 0; c < 0x110000; ++c) {
        if (c == '\n' || (c >= 0xd800 && c <= 0xdfff))
            continue;
        std::string line = "a";
        nn::checkpoint::append_utf8(line, c);
        if (detokenize(tokenize(line)) != line)
            FAIL_CHECK("a and U+" << std::hex << static_cast<uint32_t>(c));
    }
}

TEST_CASE("bytes that are not UTF-8 are restored, too", "[text][joiners]") {
    const std::vector<std::string> parts = {"\xff", "\x80", "\xc3", "\xef", "\xef\xbf", "\xad",
                                            "￭",    "％",   "a",    " ",    "\u00e9"};
    const Rng rng(2);
    for (uint64_t i = 0; i < 5000; ++i) {
        const std::string line = random_text(rng.fork(i), parts, 10);
        CHECK(detokenize(tokenize(line)) == line);
    }
}

TEST_CASE("any tokens that a model writes become text", "[text][joiners]") {
    CHECK(detokenize("￭, a ￭") == ", a");  // nothing to join
    CHECK(detokenize("a ￭ b") == "ab");
    CHECK(detokenize("a ￭ ￭ b") == "ab");
    CHECK(detokenize("a￭ ￭b") == "ab");
    CHECK(detokenize("a￭￭ b") == "ab");
    CHECK(detokenize("a￭b") == "ab");
    CHECK(detokenize("￭ ￭￭").empty());
    CHECK(detokenize("  a \t b ") == "a b");
    CHECK(detokenize("％ ％zz ％20x ％41 ％ffffffffff ％d800 x％20") ==
          "％ ％zz ％20x ％41 ％ffffffffff ％d800 x％20");
    CHECK(detokenize("a ￭％a") == "a％a");  // the result stays one line
    CHECK(detokenize("a ￭％￭20￭ b") == "a b");

    const std::vector<std::string> parts = {" ",    " ",  " ", "￭", "￭", "￭",  "％",
                                            "％20", "20", "a", "b", ",", "@@", "\t"};
    const Rng rng(3);
    for (uint64_t i = 0; i < 5000; ++i) {
        const std::string text = detokenize(random_text(rng.fork(i), parts, 10));
        if (text.find('\n') != std::string::npos || detokenize(tokenize(text)) != text)
            FAIL_CHECK("'" << text << "'");
    }
}

// PLAINGRAD_DATA is the README's DATA: a folder with multi30k/val.en and val.de.
TEST_CASE("Multi30k's validation lines are restored exactly", "[.][text][joiners][data]") {
    const char* data = std::getenv("PLAINGRAD_DATA");
    if (data == nullptr)
        SKIP("PLAINGRAD_DATA is not set");
    for (const std::string name : {"/multi30k/val.en", "/multi30k/val.de"}) {
        const std::vector<std::string> lines = lines_of(read_file(data + name), name);
        CHECK(lines.size() == 1014);
        for (const std::string& line : lines)
            if (!fault(line).empty())
                FAIL_CHECK(line << ": " << fault(line));
    }
}
