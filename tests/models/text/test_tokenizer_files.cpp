// The files of tokenizers: tokenizer.json in forms that the golden ones do not have, and those from before
// it. The cases are in tokenizer_files.json.
#include "nn/checkpoint/json.h"
#include "nn/checkpoint/utf8.h"
#include "tests/catch.h"
#include "tests/fuzz/json_tree.h"
#include "tests/models/text/tokenizers.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT
using fuzz::Json;
using models::text::Tokenizer;
using Ids = std::vector<int32_t>;

namespace {

std::vector<Json> cases(const std::string& of) {
    Json all = fuzz::parse_json(content("tests/models/text/tokenizer_files.json")).value();
    return all.find(of)->items;
}

Ids ids_of(const Json& list) {
    Ids ids;
    for (const Json& id : list.items)
        ids.push_back(std::stoi(id.text));
    return ids;
}

// Files, each an object, or a string with its text.
Files files_of(const Json& object) {
    Files files;
    for (std::size_t i = 0; i < object.keys.size(); ++i) {
        const Json& file = object.items[i];
        files[object.keys[i]] = file.is_string() ? file.string() : fuzz::to_text(file);
    }
    return files;
}

// tokenizer.json alone, with this model where it has none.
Files one_file(Json file, const char* model) {
    if (file.find("model") == nullptr) {
        file.keys.emplace_back("model");
        file.items.push_back(fuzz::parse_json(model).value());
    }
    return {{"tokenizer.json", fuzz::to_text(file)}};
}

// Each of its characters is a piece of its own, and so are <0x41> and some that only look like it.
const char* const kCharacters =
    R"({"type": "BPE", "merges": [], "vocab": {"a": 0, "b": 1, "é": 2, " ": 3, "_": 4, "<0x41>": 5,
        "<0xZZ>": 6, "<0x41x": 7, "##a": 8}})";
const char* const kPairs =
    R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "abab": 3}, "merges": ["a b", "ab ab"]})";

Files files_of_case(Json row) {
    return row.find("file") != nullptr ? one_file(*row.find("file"), kCharacters)
                                       : files_of(*row.find("files"));
}

const std::string kFolder = "tests/golden/tokenizers/";

// The vocabulary and the merges of a golden tokenizer.json, as older files.
Files older_files(const std::string& kind) {
    using nn::checkpoint::quote;
    const nn::checkpoint::Json model =
        nn::checkpoint::Json::open(kFolder + kind + "/tokenizer.json")["model"];
    std::map<int64_t, std::string> pieces;
    for (const auto& piece : model["vocab"].members())
        pieces[piece.count()] = piece.name();
    std::string json, txt, merges = "#version: 0.2\n";
    for (const auto& [id, piece] : pieces) {
        json += (json.empty() ? "{" : ",") + quote(piece) + ":" + std::to_string(id);
        txt += piece + "\n";
    }
    if (model["merges"].is_null())
        return {{"vocab.txt", txt}};
    for (const auto& rule : model["merges"].items())
        merges += rule.items()[0].text() + " " + rule.items()[1].text() + "\n";
    return {{"vocab.json", json + "}"}, {"merges.txt", merges}};
}

}  // namespace

TEST_CASE("tokenizer files: what a text becomes", "[text][tokenizer]") {
    for (Json& row : cases("becomes")) {
        const Tokenizer t = opened(files_of_case(row));
        const Json& ids = *row.find("ids");
        CAPTURE(row.find("what")->text);
        if (const Json* const size = row.find("size"))
            CHECK(t.size() == std::stoi(size->text));
        for (std::size_t i = 0; i < ids.keys.size(); ++i) {
            CAPTURE(ids.keys[i]);
            CHECK(t.encode(ids.keys[i]) == ids_of(ids.items[i]));
        }
    }
    // What is no UTF-8 is no word, either, of which an added token could be a part.
    CHECK(opened(files_of_case(cases("becomes")[0])).encode("\xff\x80\x80\x80\x80<w>") == Ids{9});
}

TEST_CASE("tokenizer files: how pieces become text", "[text][tokenizer]") {
    for (Json& row : cases("written")) {
        CAPTURE(row.find("what")->text);
        CHECK(opened(files_of_case(row)).decode(ids_of(*row.find("ids"))) == row.find("text")->string());
    }
}

TEST_CASE("tokenizer files: what is refused is one line with file and field", "[text][tokenizer]") {
    for (const Json& row : cases("refused")) {
        const std::string line = refusal(one_file(row.items[0], kPairs));
        CAPTURE(fuzz::to_text(row));
        CHECK_THAT(line, containing(row.items[1].string()));
        CHECK((line == "no error" || line.starts_with("tokenizer.json: ")));
    }
    for (const Json& row : cases("refused_files")) {
        CAPTURE(fuzz::to_text(row));
        CHECK_THAT(refusal(files_of(row.items[0])), containing(row.items[1].string()));
        CHECK_FALSE(contains(refusal(files_of(row.items[0])), "not one line"));
    }
    CHECK_THAT(refusal({{"tokenizer.json", "{\"padding\":\"\xff\"}"}}), containing("byte "));
}

TEST_CASE("tokenizer files: older ones make the same tokenizer", "[text][tokenizer]") {
    const std::pair<const char*, Files> table[] = {
        {"gpt2", {}},
        {"qwen2", {{"tokenizer_config.json", R"({"tokenizer_class": "Qwen2Tokenizer",
            "added_tokens_decoder": {
            "500": {"content": "<|endoftext|>", "special": true},
            "501": {"content": "<|im_start|>", "special": true},
            "502": {"content": "<|im_end|>", "special": true},
            "503": {"content": "<tool_call>", "normalized": false},
            "504": {"content": "</tool_call>", "normalized": true}}})"}}},
        {"bert_uncased", {}},
        {"bert_cased",
         {{"tokenizer_config.json", R"({"do_lower_case": false, "tokenizer_class": "BertTokenizerFast"})"}}},
        {"bert_accents", {{"tokenizer_config.json", R"({"strip_accents": false})"}}}};
    for (const auto& [kind, more] : table) {
        Files files = older_files(kind);
        files.insert(more.begin(), more.end());
        const Tokenizer a = Tokenizer::open(kFolder + kind), b = opened(files);
        CHECK(a.size() == b.size());
        for (const std::string text :
             {"", "All human beings, 12345 \u00e9 e\u0301 don't", "\u4eba\u4eba\u751f\u800c <|endoftext|> x",
              "\n\n", "[MASK] W\u00fcrde WÜRDE [SEP]  \u0e21\u0e19 x\u200by"}) {
            CAPTURE(kind, text);
            CHECK(a.encode(text) == b.encode(text));
            CHECK(a.decode(a.encode(text)) == b.decode(b.encode(text)));
            CHECK(a.encode_texts({text, "x"}).ids == b.encode_texts({text, "x"}).ids);
            CHECK(a.encode_texts({text, "x"}).type_ids == b.encode_texts({text, "x"}).type_ids);
        }
    }
}

TEST_CASE("tokenizer files: names of tokens, and which are special", "[text][tokenizer]") {
    const Tokenizer bert =
        opened({{"vocab.txt", "[UNK]\n[SEP]\n[PAD]\n[CLS]\n[MASK]\n</s>\n"},
                {"tokenizer_config.json", R"({"sep_token": "</s>", "bos_token": "<s>"})"},
                {"special_tokens_map.json", R"({"sep_token": "x", "cls_token": "[CLS]"})"}});
    CHECK(bert.named("sep_token") == "</s>");
    CHECK(bert.named("cls_token") == "[CLS]");
    CHECK(bert.id(bert.named("bos_token").value()) == 6);
    const Tokenizer pairs =
        opened({{"vocab.json", R"({"a": 0, "b": 1, "ab": 2})"},
                {"merges.txt", "#version: 0.2\na b\n"},
                {"added_tokens.json", R"({"<four>": 4, "<three>": 3})"},
                {"special_tokens_map.json", R"({"additional_special_tokens": ["<four>"]})"}});
    CHECK(pairs.decode({2, 3, 4, 5, 0}, {.skip_special_tokens = true}) == "ab<three>a");
    CHECK(pairs.named("pad_token") == std::nullopt);
}

TEST_CASE("tokenizer files: BERT's blocks of ideographs, from the first to the last one",
          "[text][tokenizer]") {
    const Tokenizer t =
        opened({{"tokenizer.json",
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
