// The parts of a tokenizer.json in forms that the golden ones do not have, and what is refused: the cases are
// in tokenizer_parts.json.
#include "nn/checkpoint/utf8.h"
#include "tests/catch.h"
#include "tests/fuzz/json_tree.h"
#include "tests/models/text/tokenizers.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT
using fuzz::Json;
using fuzz::to_text;
using models::text::Tokenizer;
using Ids = std::vector<int32_t>;

namespace {

std::vector<Json> cases(const std::string& of) {
    Json all = fuzz::parse_json(content("tests/models/text/tokenizer_parts.json")).value();
    return all.find(of)->items;
}

Ids ids_of(const Json& list) {
    Ids ids;
    for (const Json& id : list.items)
        ids.push_back(std::stoi(id.text));
    return ids;
}

// Where a file says nothing of its model: each of these characters is a piece of its own, and so are <0x41>
// and some that only look like it.
Json with_model(Json file) {
    static const Json model =
        fuzz::parse_json(
            R"({"type": "BPE", "merges": [], "vocab": {"a": 0, "b": 1, "é": 2, " ": 3, "_": 4, "<0x41>": 5,
            "<0xZZ>": 6, "<0x41x": 7, "##a": 8}})")
            .value();
    if (file.find("model") == nullptr) {
        file.keys.push_back("model");
        file.items.push_back(model);
    }
    return file;
}
Tokenizer opened(const Json& file) { return tests::opened({{"tokenizer.json", to_text(with_model(file))}}); }

}  // namespace

TEST_CASE("tokenizer parts: what a text becomes", "[text][tokenizer]") {
    for (Json& row : cases("becomes")) {
        const Tokenizer t = opened(*row.find("file"));
        const Json& ids = *row.find("ids");
        for (std::size_t i = 0; i < ids.keys.size(); ++i) {
            CAPTURE(row.find("what")->text, ids.keys[i]);
            CHECK(t.encode(ids.keys[i]) == ids_of(ids.items[i]));
        }
    }
    // What is no UTF-8 is no word, either, of which an added token could be a part.
    CHECK(opened(*cases("becomes")[0].find("file")).encode("\xff\x80\x80\x80\x80<w>") == Ids{9});
}

TEST_CASE("tokenizer parts: how pieces become text", "[text][tokenizer]") {
    for (Json& row : cases("written")) {
        CAPTURE(row.find("what")->text);
        CHECK(opened(*row.find("file")).decode(ids_of(*row.find("ids"))) == row.find("text")->string());
    }
}

TEST_CASE("tokenizer parts: what is refused is one line with file and field", "[text][tokenizer]") {
    Json plain =
        fuzz::parse_json(
            R"({"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "abab": 3},
            "merges": ["a b", "ab ab"]}})")
            .value();
    const auto check = [](const std::string& text, const std::string& wanted) {
        const std::string line = refusal({{"tokenizer.json", text}});
        CAPTURE(text);
        CHECK_THAT(line, containing(wanted));
        CHECK((line == "no error" || line.starts_with("tokenizer.json: ")));
    };
    for (const Json& row : cases("refused")) {
        Json file = row.items[0];
        for (std::size_t i = 0; i < plain.keys.size(); ++i)
            if (file.find(plain.keys[i]) == nullptr) {
                file.keys.push_back(plain.keys[i]);
                file.items.push_back(plain.items[i]);
            }
        check(to_text(file), row.items[1].string());
    }
    const std::string whole = to_text(plain);
    check(whole, "no error");
    check("", "expected a value");
    check("{}", "model is missing; it must be an object");
    check("[]", "must be an object: got []");
    check(whole.substr(0, whole.size() / 2), "byte ");
    check(whole + "x", "something follows the last brace");
    check("{\"padding\":\"\xff\"," + whole.substr(1), "byte ");
    check("{\"model\":1," + whole.substr(1), "\"model\" comes twice");
}

TEST_CASE("tokenizer parts: BERT's blocks of ideographs, from the first to the last one",
          "[text][tokenizer]") {
    const Tokenizer t = tests::opened(
        {{"tokenizer.json",
          R"({"model": {"type": "WordPiece", "unk_token": "?", "continuing_subword_prefix": "##",
                        "max_input_chars_per_word": 100, "vocab": {"?": 0, "a": 1}},
              "pre_tokenizer": {"type": "BertPreTokenizer"},
              "normalizer": {"type": "BertNormalizer", "lowercase": false, "clean_text": false,
                             "handle_chinese_chars": true}})"}});
    const auto is_a_word = [&](char32_t c) {
        std::string text = "a";
        nn::checkpoint::append_utf8(text, c);
        return t.encode(text + "a") == Ids{1, 0, 1};
    };
    const std::pair<char32_t, char32_t> blocks[] = {
        {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},  {0x20000, 0x2a6df},
        {0x2a700, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f}};
    for (const auto& [first, last] : blocks) {
        CAPTURE(static_cast<uint32_t>(first));
        CHECK((is_a_word(first) && is_a_word(last)));
        CHECK_FALSE((is_a_word(first - 1) || is_a_word(last + 1)));
    }
}
