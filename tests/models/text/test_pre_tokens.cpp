// Pre-tokens of GPT-2, Llama 3 and Qwen2.
#include "models/text/tokenizer/steps.h"

#include <string>
#include <vector>

#include "tests/catch.h"

using namespace plaingrad;                // NOLINT
using namespace models::text::tokenizer;  // NOLINT

namespace {

std::string divided(std::string_view text, const PreTokens& kind) {
    const std::string regex = nn::checkpoint::quote(kind.expression);
    const Json json(
        R"({"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":)" + regex + "}}", "f");
    std::string tokens;
    Splitter::from(json)(text, true, [&](std::string_view token) {
        CHECK(!token.empty());
        tokens.append(tokens.empty() ? "" : "|").append(token);
    });
    return tokens;
}

}  // namespace

// The rows were checked with Python's re, with classes written out from unicodedata.
TEST_CASE("pre-tokens: GPT-2", "[text][bpe]") {
    struct Row {
        std::string text, tokens;
    };
    const std::vector<Row> table = {
        {"Hello world", "Hello| world"},
        {"Hello, world!!  It's 3.14", "Hello|,| world|!!| | It|'s| 3|.|14"},
        {"we'll they've I'm he'd you're can't", "we|'ll| they|'ve| I|'m| he|'d| you|'re| can|'t"},
        {"IT'S 'same ''s", "IT|'|S| '|same| ''|s"},
        {"'llama 're", "'ll|ama| '|re"},
        {"a  b", "a| | b"},
        {"a   b", "a|  | b"},
        {"a \n b", "a| \n| b"},
        {"a\nb", "a|\n|b"},
        {"a\n\nb", "a|\n|\n|b"},
        {"a\n ", "a|\n "},
        {"today\n \n", "today|\n \n"},
        {" ", " "},
        {"   ", "   "},
        {"\t\tx", "\t|\t|x"},
        {" \tx", " |\t|x"},
        {"abc123 456def", "abc|123| 456|def"},
        {"a_b-c ...d", "a|_|b|-|c| ...|d"},
        {"größe日本語 Ⅷ½x", "größe日本語| Ⅷ½|x"},
        {"e\xcc\x81", "e|\xcc\x81"},                              // a mark is not a letter
        {"a\xc2\xa0\xe3\x80\x80z", "a|\xc2\xa0|\xe3\x80\x80|z"},  // U+00A0, U+3000
        {"\xc2\xa0z \xc2\xa0z", "\xc2\xa0|z| |\xc2\xa0|z"},       // only U+0020 goes with a word
        {"a\xff\xc3 \xe2\x82z", "a|\xff\xc3| \xe2\x82|z"},        // not UTF-8
        {std::string("a\0\x7f b", 5),
         std::string("a|\0\x7f| b", 7)}};  // control characters count as punctuation
    for (const Row& row : table) {
        CAPTURE(row.text);
        CHECK(divided(row.text, kGpt2) == row.tokens);
    }
}

// The rows are what the library `tokenizers` 0.23.3 cuts with these expressions.
TEST_CASE("pre-tokens: Llama 3 and Qwen2", "[text][bpe]") {
    struct Row {
        std::string text, llama3, qwen2;
    };
    const std::vector<Row> table = {
        {"Hello, world!!  It's 3.14", "Hello|,| world|!!| | It|'s| |3|.|14",
         "Hello|,| world|!!| | It|'s| |3|.|1|4"},
        {"we'LL they'VE I'M he'd YOU'RE 'S'T", "we|'LL| they|'VE| I|'M| he|'d| YOU|'RE| '|S|'T",
         "we|'LL| they|'VE| I|'M| he|'d| YOU|'RE| '|S|'T"},
        {"'ſ 'ſx ''s", "'ſ| '|ſx| ''|s", "'ſ| '|ſx| ''|s"},
        {"'ſx I'ſx", "'ſ|x| I|'ſ|x", "'ſ|x| I|'ſ|x"},
        {"a  b", "a| | b", "a| | b"},
        {"a   b", "a|  | b", "a|  | b"},
        {"a \n b", "a| \n| b", "a| \n| b"},
        {"a\n\nb", "a|\n\n|b", "a|\n\n|b"},
        {"a\n \n  b", "a|\n \n| | b", "a|\n \n| | b"},
        {"  \n", "  \n", "  \n"},
        {"\n  x", "\n| | x", "\n| | x"},
        {"x  ", "x|  ", "x|  "},
        {"\r\n\r\n x", "\r\n\r\n| x", "\r\n\r\n| x"},
        {"1234567 12345", "123|456|7| |123|45", "1|2|3|4|5|6|7| |1|2|3|4|5"},
        {"x1y22z", "x|1|y|22|z", "x|1|y|2|2|z"},
        {"(foo)->bar", "(foo|)->|bar", "(foo|)->|bar"},
        {"...\n\nx", "...\n\n|x", "...\n\n|x"},
        {" !\n", " !\n", " !\n"},
        {"$x _y -z", "$x| _|y| -|z", "$x| _|y| -|z"},
        {"日本語 Ⅷ½x", "日本語| |Ⅷ½|x", "日本語| |Ⅷ|½|x"},
        {"e\u0301x", "e|\u0301x", "e|\u0301x"},
        {"\u00a0x\u3000 y", "\u00a0x|\u3000| y", "\u00a0x|\u3000| y"},
        {"a\tb\t\tc", "a|\tb|\t|\tc", "a|\tb|\t|\tc"},
        {"\t\n", "\t\n", "\t\n"},
        {"a'b 'd'e", "a|'b| '|d|'e", "a|'b| '|d|'e"},
        {"?!\r\n\r", "?!\r\n\r", "?!\r\n\r"},
        {"½¾12", "½¾1|2", "½|¾|1|2"},
        {"\u200bword", "\u200bword", "\u200bword"}};
    for (const Row& row : table) {
        CAPTURE(row.text);
        CHECK(divided(row.text, kLlama3) == row.llama3);
        CHECK(divided(row.text, kQwen2) == row.qwen2);
    }
}
