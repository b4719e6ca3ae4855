// Pre-tokens of GPT-2, Llama 3 and Qwen2. The texts of pre_tokens.json come with their tokens: GPT-2's were
// checked with Python's re, with classes written out from unicodedata; the others are what the library
// `tokenizers` 0.23.3 cuts with these expressions.
#include "models/text/tokenizer/steps.h"
#include "nn/checkpoint/json.h"
#include "tests/catch.h"

using namespace plaingrad;                // NOLINT
using namespace models::text::tokenizer;  // NOLINT

namespace {

void check(std::string_view text, const PreTokens& kind, const std::string& wanted) {
    const std::string regex = nn::checkpoint::quote(kind.expression);
    const Json json(
        R"({"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":)" + regex + "}}", "f");
    std::string tokens;
    Splitter::from(json)(text, true, [&](std::string_view token) {
        CHECK(!token.empty());
        tokens.append(tokens.empty() ? "" : "|").append(token);
    });
    CAPTURE(text, kind.expression);
    CHECK(tokens == wanted);
}

}  // namespace

TEST_CASE("pre-tokens: those of Python's libraries", "[text][bpe]") {
    const Json all = Json::open("tests/models/text/pre_tokens.json");
    for (const Json& row : all["gpt2"].items())
        check(row.items()[0].text(), kGpt2, row.items()[1].text());
    for (const Json& row : all["llama3 and qwen2"].items()) {
        check(row.items()[0].text(), kLlama3, row.items()[1].text());
        check(row.items()[0].text(), kQwen2, row.items()[2].text());
    }
    check("a\xff\xc3 \xe2\x82z", kGpt2, "a|\xff\xc3| \xe2\x82|z");  // not UTF-8
    // Control characters count as punctuation.
    check(std::string_view("a\0\x7f b", 5), kGpt2, std::string("a|\0\x7f| b", 7));
}
