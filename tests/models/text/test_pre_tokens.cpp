// Pre-tokens of Llama 3 and Qwen2 (GPT-2's are in test_byte_bpe.cpp). The rows are what the library
// `tokenizers` 0.23.3 cuts with these expressions.
#include "models/text/pre_tokens.h"

#include <string>
#include <vector>

#include "tests/catch.h"

using namespace plaingrad;     // NOLINT
using namespace models::text;  // NOLINT

namespace {

std::string divided(std::string_view text, PreTokens kind) {
    std::string tokens;
    while (!text.empty()) {
        const std::string_view token = first_pre_token(text, kind);
        REQUIRE(!token.empty());
        tokens.append(tokens.empty() ? "" : "|").append(token);
        text.remove_prefix(token.size());
    }
    return tokens;
}

}  // namespace

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
        CHECK(divided(row.text, PreTokens::llama3) == row.llama3);
        CHECK(divided(row.text, PreTokens::qwen2) == row.qwen2);
    }
}

TEST_CASE("pre-tokens: expressions are recognised by their text", "[text][bpe]") {
    for (const PreTokens kind : {PreTokens::gpt2, PreTokens::llama3, PreTokens::qwen2})
        CHECK(pre_tokens_of(expression(kind)) == kind);
    CHECK_FALSE(pre_tokens_of(R"(\s+)").has_value());
    CHECK_FALSE(pre_tokens_of("").has_value());
}
