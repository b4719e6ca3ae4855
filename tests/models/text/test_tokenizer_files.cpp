// Files of tokenizers from before tokenizer.json: vocab.json with merges.txt, vocab.txt, and what stands
// beside them.
#include "nn/checkpoint/json.h"
#include "tests/catch.h"
#include "tests/models/text/tokenizers.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT
using models::text::Tokenizer;
using nn::checkpoint::Json;
using Ids = std::vector<int32_t>;

namespace {

const std::string kFolder = "tests/golden/tokenizers/";

// The vocabulary and the merges of a golden tokenizer.json, as older files.
Files older_files(const std::string& kind) {
    const Json model = Json::open(kFolder + kind + "/tokenizer.json")["model"];
    std::map<int64_t, std::string> pieces;
    for (const Json& piece : model["vocab"].members())
        pieces[piece.count()] = piece.name();
    std::string json, txt, merges = "#version: 0.2\n";
    for (const auto& [id, piece] : pieces) {
        json += (json.empty() ? "{" : ",") + nn::checkpoint::quote(piece) + ":" + std::to_string(id);
        txt += piece + "\n";
    }
    if (model["merges"].is_null())
        return {{"vocab.txt", txt}};
    for (const Json& rule : model["merges"].items())
        merges += rule.items()[0].text() + " " + rule.items()[1].text() + "\n";
    return {{"vocab.json", json + "}"}, {"merges.txt", merges}};
}

const std::string kBert = "[UNK]\n[SEP]\n[PAD]\n[CLS]\n[MASK]\n", kAb = R"({"a":0,"b":1,"ab":2})";

// Small ones, with this tokenizer_config.json, if there is any, and with more files.
Files of_pairs(const std::string& vocabulary, const std::string& config = "", Files more = {}) {
    const bool merges = vocabulary.find("\"ab\"") != std::string::npos;
    more.insert(
        {{"vocab.json", vocabulary}, {"merges.txt", merges ? "#version: 0.2\na b\n" : "#version: 0.2\n"}});
    if (!config.empty())
        more["tokenizer_config.json"] = config;
    return more;
}
Files of_words(const std::string& words, const std::string& config = "", Files more = {}) {
    more["vocab.txt"] = words;
    if (!config.empty())
        more["tokenizer_config.json"] = config;
    return more;
}

}  // namespace

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

TEST_CASE("tokenizer files: what stands beside a vocabulary", "[text][tokenizer]") {
    struct Row {
        const char* what;
        Files files;
        int64_t size;
        std::map<std::string, Ids> ids;  // of texts
    };
    const std::string chinese = kBert + "a\n\u4eba\n##\u4eba\n", few = R"({"a":0,"b":1,".":2,"Ġ":3})",
                      signs = R"({"a":0,"b":1,"Ġ":2,"<":3,"x":4,">":5})", bert = kBert + "a\n",
                      eight = R"({"a":0,"b":1,"c":2,"d":3,"e":4,"f":5,"g":6,"h":7,"ab":8})";
    const Row table[] = {
        {"a space before the text, but no second one",
         of_pairs(few, R"({"add_prefix_space": true})"),
         5,
         {{"a.b", {3, 0, 2, 1}}, {" a.b", {3, 0, 2, 1}}}},
        {"no space", of_pairs(few), 5, {{"a.b", {0, 2, 1}}}},
        {"in Qwen2's, one before each word",
         of_pairs(few, R"({"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": true})"),
         5,
         {{"a.b", {3, 0, 3, 2, 1}}}},
        {"Chinese characters are words", of_words(chinese), 8, {{"a\u4eba", {3, 5, 6, 1}}}},
        {"they stay in their words",
         of_words(chinese, R"({"tokenize_chinese_chars": false})"),
         8,
         {{"a\u4eba", {3, 5, 7, 1}}}},
        {"BERT's special tokens have other names, and none is added",
         of_words("<pad>\n<s>\n</s>\n<unk>\n<mask>\na\n",
                  R"({"cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>",
                      "mask_token": "<mask>"})"),
         6,
         {{"a b <mask>", {1, 5, 3, 4, 2}}}},
        {"a special token that the vocabulary lacks is added",
         of_words(bert, R"({"bos_token": "[BEGIN]", "sep_token": "[SEP]"})"),
         7,
         {{"a[BEGIN]", {3, 5, 6, 1}}}},
        {"of a token that two files name, tokenizer_config.json's name counts",
         of_words(kBert + "</s>\na\n", R"({"sep_token": "</s>"})",
                  {{"special_tokens_map.json", R"({"sep_token": "[SEP]", "cls_token": "[CLS]"})"}}),
         7,
         {{"a", {3, 6, 5}}}},
        {"added tokens in the order of their numbers; as words, \"10\" would come before \"9\"",
         of_pairs(eight, R"({"added_tokens_decoder": {"9": {"content": "<nine>"},
                             "10": {"content": "<|endoftext|>", "special": true}}})"),
         11,
         {{"ab<nine>c<|endoftext|>", {8, 9, 2, 10}}}},
        {"added_tokens.json, from before added_tokens_decoder",
         of_pairs(eight, "",
                  {{"added_tokens.json", R"({"<ten>": 10, "<nine>": 9})"},
                   {"special_tokens_map.json",
                    R"({"additional_special_tokens": ["<ten>", {"content": "<new>"}]})"}}),
         13,
         {{"ab<nine><ten>c<|endoftext|><new>", {8, 9, 10, 2, 11, 12}}}},
        {"added_tokens_decoder is the whole list",
         of_pairs(eight, R"({"added_tokens_decoder": {"9": {"content": "<ten>"}}})",
                  {{"added_tokens.json", R"({"<ten>": 10, "<nine>": 9})"},
                   {"special_tokens_map.json", R"({"pad_token": "[PAD]"})"}}),
         11,
         {{"ab<ten>", {8, 9}}, {"ab<|endoftext|>", {8, 10}}}},
        {"a special token of special_tokens_map.json",
         of_pairs(kAb, "", {{"special_tokens_map.json", R"({"pad_token": "[PAD]"})"}}),
         5,
         {{"ab[PAD]a", {2, 4, 0}}}},
        {"a token that is not special is looked for in the normalized text",
         of_words(bert, R"({"additional_special_tokens": ["[Sign]"]})",
                  {{"added_tokens.json", R"({"[Word]": 6, "[Sign]": 7})"}}),
         8,
         {{"a [WORD] [word] [Word]", {3, 5, 6, 6, 6, 1}},
          {"a[Sign]", {3, 5, 7, 1}},
          {"a [sign]", {3, 5, 0, 0, 0, 1}}}},
        {"a named token may take the white space beside it, or be a word of its own",
         of_pairs(signs, R"({"mask_token": {"content": "<m>", "lstrip": true}, "additional_special_tokens": [
                             {"content": "<x>", "single_word": true, "rstrip": true}]})"),
         9,
         {{"a <m> b", {0, 7, 2, 1}}, {"a <x> b", {0, 2, 8, 1}}, {"a<x> b", {0, 3, 4, 5, 2, 1}}}}};
    for (const auto& [what, files, size, ids] : table) {
        const Tokenizer t = opened(files);
        CAPTURE(what);
        CHECK(t.size() == size);
        for (const auto& [text, wanted] : ids)
            CHECK(t.encode(text) == wanted);
    }
}

TEST_CASE("tokenizer files: names of tokens, and which are special", "[text][tokenizer]") {
    const Tokenizer bert =
        opened(of_words(kBert + "</s>\n", R"({"sep_token": "</s>", "bos_token": "<s>"})",
                        {{"special_tokens_map.json", R"({"sep_token": "x", "cls_token": "[CLS]"})"}}));
    CHECK(bert.named("sep_token") == "</s>");
    CHECK(bert.named("cls_token") == "[CLS]");
    CHECK(bert.id(bert.named("bos_token").value()) == 6);
    const Tokenizer pairs =
        opened(of_pairs(kAb, "",
                        {{"added_tokens.json", R"({"<four>": 4, "<three>": 3})"},
                         {"special_tokens_map.json", R"({"additional_special_tokens": ["<four>"]})"}}));
    CHECK(pairs.decode({2, 3, 4, 5, 0}, {.skip_special_tokens = true}) == "ab<three>a");
    // Beside added_tokens_decoder, special_tokens_map.json is not read.
    const Tokenizer newer =
        opened(of_pairs(kAb, R"({"added_tokens_decoder": {"3": {"content": "<|endoftext|>"}}})",
                        {{"special_tokens_map.json", R"({"pad_token": "[PAD]"})"}}));
    CHECK((newer.size() == 4 && newer.named("pad_token") == std::nullopt));
}

TEST_CASE("tokenizer files: those that cannot be read are refused in one line", "[text][tokenizer]") {
    const auto added = [](const std::string& json) {
        return of_pairs(kAb, "", {{"added_tokens.json", json}});
    };
    const std::pair<Files, const char*> table[] = {
        {{}, "has no tokenizer.json"},
        {{{"vocab.json", "{}"}}, "no vocab.txt"},
        {{{"tokenizer.model", "x"}}, "AutoTokenizer"},
        {of_pairs(kAb), "no error"},
        {{{"vocab.json", kAb}, {"merges.txt", "#version: 0.2\na\n"}},
         "merges.txt:2: a line must have two symbols"},
        {{{"vocab.json", kAb}, {"merges.txt", "b a\n"}},
         "merges.txt: merges[0] is \"b\" and \"a\", but \"ba\""},
        {of_pairs(R"({"a": 0, "a": 1})"), "vocab.json: byte 10: \"a\" comes twice"},
        {of_pairs(kAb, R"({"tokenizer_class": "CLIPTokenizer"})"),
         "tokenizer_config.json: tokenizer_class \"CLIPTokenizer\" is not supported without a "
         "tokenizer.json"},
        {of_pairs(kAb, R"({"added_tokens_decoder": {"7": {"content": "x"}}})"),
         "added_tokens_decoder.7 has a token whose id is 3"},
        {added(R"({"x": 7})"), "added_tokens.json: x has a token whose id is 3"},
        {added(R"({"x": "3"})"), "added_tokens.json: x must be a whole number"},
        {added(R"(["x"])"), "added_tokens.json: must be an object"},
        {of_words(kBert), "no error"},
        {of_words(kBert + "a\na\n"), "vocab.txt: \"a\" is in the vocabulary twice"},
        {of_words("a\nb\n"), "vocab.txt: unk_token \"[UNK]\" is not in the vocabulary"},
        {of_words(kBert, R"({"do_lower_case": "yes"})"),
         "tokenizer_config.json: do_lower_case must be true or false"},
        {of_words(kBert, "{"), "tokenizer_config.json: byte"}};
    for (const auto& [files, wanted] : table) {
        CAPTURE(files);
        CHECK_THAT(refusal(files), containing(wanted));
        CHECK_FALSE(contains(refusal(files), "not one line"));
    }
}
