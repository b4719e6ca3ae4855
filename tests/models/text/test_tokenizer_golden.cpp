// Tokenizers of others: ids, decoded texts and streams are those of Hugging Face's tokenizers 0.23.3, which
// made tests/golden/tokenizers by make_tokenizers.py.
#include "autograd/base/list.h"
#include "models/text/tokenizer.h"
#include "models/text/tokenizer/steps.h"
#include "nn/checkpoint/json.h"
#include "nn/checkpoint/utf8.h"

#include "tests/catch.h"
#include "tests/models/text/tokenizers.h"

using namespace plaingrad;  // NOLINT
using models::text::Tokenizer;
using nn::checkpoint::Json;
using tests::content;
using tests::opened;
using tests::streamed;
using Ids = std::vector<int32_t>;

namespace {

const std::string kFolder = "tests/golden/tokenizers/";
const std::vector<std::string> kKinds = {
    "gpt2",         "roberta",     "llama3",         "qwen2",
    "smollm",       "llama2",      "llama2_unknown", "llama2_each_unknown",
    "mistral",      "metaspace",   "bert_uncased",   "bert_cased",
    "bert_accents", "added_tokens"};

// For each kind: ids, decoded, skipped of each of the "texts", pair, unicode, long.
const Json& golden() {
    static const Json file = Json::open(kFolder + "golden.json");
    return file;
}

std::vector<std::string> strings(const Json& json) { return autograd::mapped(json.items(), &Json::text); }

Ids ids_of(const Json& list) {
    return autograd::mapped(list.items(), [](const Json& id) { return static_cast<int32_t>(id.count()); });
}

// And those of `before`. golden.json has it in hexadecimal.
uint64_t digest(const Ids& ids, uint64_t before = 0) {
    for (const int32_t id : ids)
        before = before * 0x100000001b3u + static_cast<uint64_t>(id) + 1;
    return before;
}
uint64_t number(const std::string& hexadecimal) { return std::stoull(hexadecimal, nullptr, 16); }

std::string times(const std::string& word, int64_t n) {
    std::string text;
    for (int64_t i = 0; i < n; ++i)
        text += word;
    return text;
}

}  // namespace

TEST_CASE("tokenizers of others: ids and texts are the library's", "[text][tokenizer]") {
    const std::vector<std::string> texts = strings(golden()["texts"]);
    for (const std::string& name : kKinds) {
        const Tokenizer tokenizer = Tokenizer::open(kFolder + name);
        const Json wanted = golden()[name];
        const Json::Items all_ids = wanted["ids"].items(), pair = wanted["pair"].items();
        const auto decoded = strings(wanted["decoded"]), skipped = strings(wanted["skipped"]);
        REQUIRE(all_ids.size() == texts.size());
        for (std::size_t i = 0; i < texts.size(); ++i) {
            CAPTURE(name, texts[i]);
            const Ids ids = tokenizer.encode(texts[i]);
            CHECK(ids == ids_of(all_ids[i]));
            CHECK(tokenizer.decode(ids) == decoded[i]);
            CHECK(tokenizer.decode(ids, {.skip_special_tokens = true}) == skipped[i]);
            CHECK(streamed(tokenizer, ids) == decoded[i]);
        }
        const auto [ids, type_ids, cut] = tokenizer.encode_texts({"All human", "beings?"});
        CAPTURE(name);
        CHECK(ids == ids_of(pair[0]));
        CHECK(type_ids == ids_of(pair[1]));
    }
}

TEST_CASE("tokenizers of others: very long words", "[text][tokenizer]") {
    const Json::Items words = golden()["long"].items();
    for (const std::string& name : kKinds) {
        const Tokenizer tokenizer = Tokenizer::open(kFolder + name);
        const auto wanted = strings(golden()[name]["long"]);
        for (std::size_t i = 0; i < words.size(); ++i) {
            const std::string piece = words[i].items()[0].text();
            const int64_t n = words[i].items()[1].count();
            CAPTURE(name, piece, n);
            CHECK(digest(tokenizer.encode(times(piece, n))) == number(wanted[i]));
        }
    }
}

TEST_CASE("tokenizers of others: every code point of the planes in use", "[text][tokenizer]") {
    std::vector<char32_t> begins;
    for (char32_t c = 0; c < 0x32400; c += 256)
        begins.push_back(c);
    begins.insert(begins.end(), {0xe0000, 0xe0100, 0xf0000, 0x10ff00});
    for (const std::string& name : kKinds) {
        const Tokenizer tokenizer = Tokenizer::open(kFolder + name);
        uint64_t all = 0;
        for (const char32_t begin : begins) {
            std::string text;
            for (char32_t c = begin; c < begin + 256; ++c) {
                if (c >= 0xd800 && c < 0xe000)
                    continue;
                std::string character;
                nn::checkpoint::append_utf8(character, c);
                text.append("a").append(character).append("b ").append(character).append("1");
            }
            all = digest(tokenizer.encode(text), all);
        }
        CAPTURE(name);
        CHECK(all == number(golden()[name]["unicode"].text()));
    }
}

TEST_CASE("tokenizers of others: special tokens are added or not", "[text][tokenizer]") {
    const Tokenizer bert = Tokenizer::open(kFolder + "bert_uncased");
    const int32_t cls = bert.id("[CLS]").value(), sep = bert.id("[SEP]").value();
    const Ids bare = bert.encode("human", {.add_special_tokens = false});
    REQUIRE(bare.size() == 1);
    CHECK(bert.encode("human") == Ids{cls, bare[0], sep});
    CHECK(bert.encode("") == Ids{cls, sep});
    CHECK(bert.encode("", {.add_special_tokens = false}).empty());
    CHECK(bert.id("human") == bare.at(0));
    CHECK_FALSE(bert.id("nowhere").has_value());
    CHECK_FALSE(bert.named("cls_token").has_value());  // no tokenizer_config.json
    CHECK(bert.encode_texts({"a", "b"}, {.add_special_tokens = false}).type_ids == Ids{0, 1});
}

// How many tokens of each text transformers 5.23 left with truncation=True.
TEST_CASE("tokenizers of others: what is too long loses its end", "[text][tokenizer]") {
    const Tokenizer bert = Tokenizer::open(kFolder + "bert_uncased");
    struct Case {
        int a, b, most, a_left, b_left;
    };
    const int32_t a = bert.id("a").value(), b = bert.id("b").value();
    for (const auto& c : {Case{5, 5, 13, 5, 5}, Case{5, 5, 12, 4, 5}, Case{5, 5, 9, 3, 3},
                          Case{5, 5, 8, 2, 3}, Case{6, 5, 8, 3, 2}, Case{5, 6, 8, 2, 3}, Case{9, 2, 10, 5, 2},
                          Case{2, 9, 10, 2, 5}, Case{2, 2, 3, 0, 0}, Case{3, 4, 7, 2, 2}, Case{4, 3, 9, 3, 3},
                          Case{1, 9, 4, 0, 1}, Case{9, 1, 5, 1, 1}}) {
        CAPTURE(c.a, c.b, c.most);
        const auto e = bert.encode_texts({times("a ", c.a), times("b ", c.b)}, {.max_length = c.most});
        CHECK(std::count(e.ids.begin(), e.ids.end(), a) == c.a_left);
        CHECK(std::count(e.ids.begin(), e.ids.end(), b) == c.b_left);
        CHECK(e.ids.size() == e.type_ids.size());
        CHECK(e.cut == (c.a + c.b + 3 > c.most));
        CHECK(std::ssize(e.ids) <= c.most);
    }
    const Ids five = bert.encode(times("a ", 5));
    REQUIRE(five.size() == 7);
    CHECK(bert.encode(times("a ", 5), {.max_length = 7}) == five);
    CHECK(bert.encode(times("a ", 5), {.max_length = 6}) == Ids{five[0], a, a, a, a, five[6]});
    CHECK(bert.encode(times("a ", 5), {.max_length = 2}) == Ids{five[0], five[6]});
    CHECK(bert.encode(times("a ", 5), {.add_special_tokens = false, .max_length = 3}) == Ids{a, a, a});
    CHECK_THROWS_WITH(bert.encode("a", {.max_length = 1}),
                      tests::containing("2 special tokens alone are more than max_length = 1"));
    CHECK_FALSE(bert.encode_texts({"a"}, {.max_length = 3}).cut);
}

TEST_CASE("tokenizers of others: text that is not UTF-8", "[text][tokenizer]") {
    const std::string broken = "a\xff\xe2\x82n \xf0\x9f\x91";
    for (const std::string name : {"gpt2", "llama3", "qwen2", "llama2", "mistral"}) {
        CAPTURE(name);
        const Tokenizer tokenizer = Tokenizer::open(kFolder + name);
        const Ids ids = tokenizer.encode(broken, {.add_special_tokens = false});
        CHECK(tokenizer.decode(ids, {.invalid = models::text::InvalidUtf8::keep}) == broken);
        CHECK(streamed(tokenizer, ids) == "a\ufffd\ufffdn \ufffd");
    }
    const Tokenizer gpt2 = Tokenizer::open(kFolder + "gpt2");
    CHECK(gpt2.decode(gpt2.encode(broken)) == "a\ufffd\ufffdn \ufffd");
    // The library's rule for <0xFF>: a run that is not UTF-8 throughout becomes a sign for each byte.
    const Tokenizer llama2 = Tokenizer::open(kFolder + "llama2");
    CHECK(llama2.decode(llama2.encode(broken), {.skip_special_tokens = true}) ==
          "a\ufffd\ufffd\ufffdn \ufffd\ufffd\ufffd");
    const Tokenizer bert = Tokenizer::open(kFolder + "bert_uncased");
    CHECK(bert.encode(broken) == bert.encode("an "));
}

TEST_CASE("tokenizers of others: a stream waits for the rest of a character", "[text][tokenizer]") {
    const Tokenizer gpt2 = Tokenizer::open(kFolder + "gpt2");
    Tokenizer::Stream stream(gpt2);
    std::vector<std::string> parts;
    for (const int32_t id : gpt2.encode("a\U0001f44d"))  // none of its bytes are merged
        parts.push_back(stream.add(id));
    CHECK(parts == std::vector<std::string>{"a", "", "", "", "\U0001f44d"});
    CHECK(stream.add(gpt2.id("ð").value()).empty());
    CHECK(stream.finish() == "\ufffd");
    CHECK(stream.finish().empty());
    CHECK(stream.add(gpt2.id("<|endoftext|>").value()).empty());  // special
    CHECK(stream.add(gpt2.id("Ġ").value()) == " ");
    // A run of bytes that never becomes a character does not wait for ever.
    const Tokenizer llama2 = Tokenizer::open(kFolder + "llama2");
    Tokenizer::Stream bytes(llama2);
    const int32_t byte = llama2.id("<0xFF>").value();
    CHECK(bytes.add(byte) == "\ufffd");
    CHECK(bytes.add(byte) == "\ufffd");
    CHECK_THROWS_WITH(bytes.add(100000), tests::containing("outside the vocabulary"));
    CHECK(bytes.add(byte) == "\ufffd");  // and is forgotten
}

TEST_CASE("tokenizers of others: spaces are cleaned up as in transformers", "[text][tokenizer]") {
    const Tokenizer cleans =
        opened({{"tokenizer.json", R"({"normalizer": null, "pre_tokenizer": {"type": "BertPreTokenizer"},
          "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
          "model": {"type": "WordPiece", "vocab": {"[CLS]": 0, "a": 1, "'": 2, "b": 3, ".": 4},
                    "unk_token": "a", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}})"},
                {"tokenizer_config.json", R"({"clean_up_tokenization_spaces": true, "eos_token": null,
                                       "cls_token": {"content": "[CLS]"}})"}});
    CHECK(cleans.named("cls_token") == "[CLS]");
    CHECK_FALSE(cleans.named("eos_token").has_value());
    const Ids ids = cleans.encode("a'b.");
    CHECK(ids == Ids{1, 2, 3, 4});
    CHECK(cleans.decode(ids) == "a'b.");
    CHECK(cleans.decode(ids, {.clean_up_tokenization_spaces = false}) == "a ' b.");  // the decoder's own part
    // But not in byte-pair encoding, whatever the file says.
    const Tokenizer gpt2 = opened({{"tokenizer.json", content(kFolder + "gpt2/tokenizer.json")},
                                   {"tokenizer_config.json", R"({"clean_up_tokenization_spaces": true})"}});
    const std::string spaced = "I do n't , he 's .";
    CHECK(gpt2.decode(gpt2.encode(spaced)) == spaced);
    CHECK(gpt2.decode(gpt2.encode(spaced), {.clean_up_tokenization_spaces = true}) == spaced);
    CHECK(models::text::tokenizer::clean_up("I do n't . I 'm , it 's ! we 've ? they 're a ' b") ==
          "I don't. I'm, it's! we've? they're a'b");
}
