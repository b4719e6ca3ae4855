// Byte-level byte-pair encoding: GPT-2's ids and pattern, and every byte is restored.
#include "models/text/byte_bpe.h"

#include <algorithm>
#include <limits>

#include "apps/programs/char_lm/data.h"
#include "autograd/base/check.h"
#include "models/text/pretrained_tokenizer.h"
#include "tests/catch.h"
#include "tests/folder.h"

using namespace plaingrad;  // NOLINT
using autograd::Rng;
using models::text::ByteBpe;
using models::text::first_pre_token;
using Ids = std::vector<int32_t>;

namespace {

// The text with a | between its pre-tokens.
std::string divided(std::string_view text) {
    std::string tokens;
    while (!text.empty()) {
        const std::string_view token = first_pre_token(text);
        REQUIRE(!token.empty());
        tokens.append(tokens.empty() ? "" : "|").append(token);
        text.remove_prefix(token.size());
    }
    return tokens;
}

ByteBpe with_merges(const std::string& merges) {
    return ByteBpe::from_merges("#version: 0.2\n" + merges, "vocab.bpe");
}

// The first merges of GPT-2's own file. In its vocabulary " t" is 256, "in" 259 and " the" 262.
const std::string kFirst = "Ġ t\nĠ a\nh e\ni n\nr e\no n\nĠt he\n";

std::string random_bytes(const Rng& rng, int64_t size) {
    std::string bytes;
    for (int64_t i = 0; i < size; ++i)
        bytes += static_cast<char>(rng.bits(static_cast<uint64_t>(i)));
    return bytes;
}

}  // namespace

// The rows were checked with Python's re, with classes written out from unicodedata.
TEST_CASE("byte bpe: a text is split by GPT-2's pattern", "[text][bpe]") {
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
        CHECK(divided(row.text) == row.tokens);
    }
}

TEST_CASE("byte bpe: without merges, ids are bytes in GPT-2's order", "[text][bpe]") {
    const ByteBpe bpe;
    CHECK(bpe.size() == 257);
    CHECK(bpe.end_of_text() == 256);
    CHECK(bpe.merges() == "#version: 0.2\n");
    CHECK(bpe.encode("!\n ~0") == Ids{0, 198, 220, 93, 15});
    CHECK(bpe.encode("\xa1\xac\xae\xff") == Ids{94, 105, 106, 187});
    CHECK(bpe.encode(std::string("\0\x7f\xa0\xad", 4)) == Ids{188, 221, 254, 255});
    CHECK(bpe.encode("").empty());
    CHECK(bpe.decode({}).empty());
    Ids all = bpe.encode(random_bytes(Rng(1), 5000));
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    CHECK(all.size() == 256);
    CHECK(all.front() == 0);
    CHECK(all.back() == 255);
}

TEST_CASE("byte bpe: a file of merges gives GPT-2's ids", "[text][bpe]") {
    const ByteBpe bpe = with_merges(kFirst);
    CHECK(bpe.merges() == "#version: 0.2\n" + kFirst);
    CHECK(bpe.size() == 256 + 7 + 1);
    CHECK(bpe.encode(" t a in the") == Ids{256, 257, 220, 259, 262});
    CHECK(bpe.encode("the then") == Ids{83, 258, 262, 77});
    CHECK(bpe.decode({262, 77, 220, 259, 263}) == " then in<|endoftext|>");
    CHECK(bpe.end_of_text() == 263);
    // Text cannot reach the last id.
    const Ids ids = bpe.encode("<|endoftext|>");
    CHECK(std::count(ids.begin(), ids.end(), 263) == 0);
    CHECK(bpe.decode(ids) == "<|endoftext|>");
    // The first line in other files.
    CHECK(ByteBpe::from_merges("#version: 0.2 - Trained by someone\nĠ t\n", "f").encode(" t") == Ids{256});
    CHECK(with_merges("Ċ Ċ\nà ¤\n").encode("\xe0\xa4\n\n") == Ids{257, 256});  // bytes, not characters
}

TEST_CASE("byte bpe: an invalid file of merges is an error with the line", "[text][bpe]") {
    CHECK_THROWS_WITH(with_merges("Ġ t\nĠt h\nxy z\n"),
                      "vocab.bpe:4: 'xy' is neither a byte nor made by a line above");
    CHECK_THROWS_WITH(with_merges("Ġ €\n"), "vocab.bpe:2: '€' is neither a byte nor made by a line above");
    CHECK_THROWS_WITH(with_merges("Ġ t</w>\n"),
                      "vocab.bpe:2: 't</w>' is neither a byte nor made by a line above");
    CHECK_THROWS_WITH(with_merges("Ġ\n"),
                      "vocab.bpe:2: a line must have two symbols with a space between: got 1");
    for (const int32_t id : {-1, 257, std::numeric_limits<int32_t>::max()})
        CHECK_THROWS_WITH(ByteBpe().decode({5, id}),
                          "[ByteBpe] id " + std::to_string(id) + " is outside the vocabulary of 257");
}

TEST_CASE("byte bpe: merges are learned within pre-tokens", "[text][bpe]") {
    // " ab" 3 times: the rules are "ab" and then "Ġ ab", as "ab" also occurs at the beginning.
    const ByteBpe bpe = ByteBpe::learn("ab ab ab ab", 10);
    CHECK(bpe.merges() == "#version: 0.2\na b\nĠ ab\n");
    CHECK(bpe.encode("ab abab  ab") == Ids{256, 257, 256, 220, 257});
    CHECK(ByteBpe::learn("ab ab ab ab", 1).merges() == "#version: 0.2\na b\n");
    CHECK(ByteBpe::learn("ab ab ab ab", 10, 4).merges() == "#version: 0.2\na b\n");
    CHECK(ByteBpe::learn("", 10).size() == 257);
    CHECK(ByteBpe::learn("ü ü", 10).merges() == "#version: 0.2\nÃ ¼\n");
}

TEST_CASE("byte bpe: all bytes are restored", "[text][bpe]") {
    const ByteBpe bpe = ByteBpe::learn(char_lm::log_book, 1000);
    CHECK(bpe.size() == 1257);
    const Ids log = bpe.encode(char_lm::log_book);
    CHECK(log.size() * 5 < char_lm::log_book.size() * 2);  // 2.5 bytes each, or more
    CHECK(bpe.decode(log) == char_lm::log_book);
    CHECK(ByteBpe::from_merges(bpe.merges(), "f").encode(char_lm::log_book) == log);

    std::vector<std::string> texts = {"größe 日本語 \xf0\x9f\x98\x80", "\xff", "the \xc3",
                                      std::string(1000, ' '), std::string(70000, 'e')};
    for (int byte = 0; byte < 256; ++byte)
        texts.push_back(std::string("the ") + static_cast<char>(byte) + "lamp");
    for (uint64_t seed = 0; seed < 20; ++seed)
        texts.push_back(random_bytes(Rng(seed), 500));
    for (const std::string& text : texts) {
        CAPTURE(text);
        CHECK(bpe.decode(bpe.encode(text)) == text);
    }
    // Merges of bytes that are not characters by themselves.
    const std::string bytes = random_bytes(Rng(5), 4000);
    const ByteBpe of_bytes = ByteBpe::learn(bytes + bytes, 500);
    CHECK(of_bytes.size() > 300);
    CHECK(of_bytes.decode(of_bytes.encode(bytes)) == bytes);
}

TEST_CASE("byte bpe: its files give the same ids to who opens them", "[text][bpe]") {
    for (const int64_t merges : {0, 1, 400}) {
        const tests::Folder folder;
        const ByteBpe bpe = ByteBpe::learn(std::string(char_lm::log_book) + " \"\\\" \"\\\"", merges);
        bpe.save(folder.path, 64);
        CHECK(folder.files() == 3);
        const auto opened = models::text::PretrainedTokenizer::open(folder.path);
        CHECK(opened.size() == bpe.size());
        CHECK(opened.id("<|endoftext|>") == bpe.end_of_text());
        CHECK(opened.special("eos_token") == bpe.end_of_text());
        for (const std::string& text :
             {std::string(char_lm::log_book), random_bytes(Rng(7), 500), std::string(" \"\\\" \n\t\x80")}) {
            const Ids ids = opened.encode(text);
            CHECK(ids == bpe.encode(text));
            CHECK(opened.decode(ids, {.invalid = models::text::InvalidUtf8::keep}) == text);
        }
    }
}
