// The files of tokenizers: those from before tokenizer.json, and those that cannot be read.
#include <map>

#include "models/text/tokenizer.h"
#include "nn/checkpoint/json.h"
#include "tests/catch.h"
#include "tests/folder.h"

using namespace plaingrad;  // NOLINT
using models::text::Tokenizer;
using nn::checkpoint::Json;
using tests::content;
using tests::Folder;
using Ids = std::vector<int32_t>;

namespace {

const std::string kFolder = "tests/golden/tokenizers/";

// The vocabulary and the merges of a golden tokenizer.json.
struct Files {
    explicit Files(const std::string& kind) {
        const Json model = Json::open(kFolder + kind + "/tokenizer.json")["model"];
        for (const Json& piece : model["vocab"].members())
            pieces[piece.count()] = piece.name();
        for (const Json& rule : model["merges"].is_null() ? Json::Items() : model["merges"].items())
            merges += rule.items()[0].text() + " " + rule.items()[1].text() + "\n";
    }
    std::string vocab_json() const {
        std::string text;
        for (const auto& [id, piece] : pieces)
            text += (text.empty() ? "{" : ",") + nn::checkpoint::quote(piece) + ":" + std::to_string(id);
        return text + "}";
    }
    std::string vocab_txt() const {
        std::string text;
        for (const auto& [id, piece] : pieces)
            text += piece + "\n";
        return text;
    }
    std::map<int64_t, std::string> pieces;
    std::string merges = "#version: 0.2\n";
};

const std::vector<std::string> kTexts = {"", "All human beings, 12345 \u00e9 e\u0301 don't",
                                         "\u4eba\u4eba\u751f\u800c <|endoftext|> x", "\n\n",
                                         "[MASK] W\u00fcrde WÜRDE [SEP]  \u0e21\u0e19 x\u200by"};

void check_same(const std::string& kind, const Folder& folder) {
    const Tokenizer a = Tokenizer::open(kFolder + kind), b = Tokenizer::open(folder.path);
    CAPTURE(kind);
    CHECK(a.size() == b.size());
    for (const std::string& text : kTexts) {
        CAPTURE(text);
        CHECK(a.encode(text) == b.encode(text));
        CHECK(a.decode(a.encode(text)) == b.decode(b.encode(text)));
        CHECK(a.encode_texts({text, "x"}).ids == b.encode_texts({text, "x"}).ids);
        CHECK(a.encode_texts({text, "x"}).type_ids == b.encode_texts({text, "x"}).type_ids);
    }
}

// A tokenizer.json of bytes, of which one member is replaced.
std::string small(const std::string& key = "", const std::string& value = "") {
    const std::map<std::string, std::string> parts = {
        {"version", R"("1.0")"},
        {"added_tokens", R"([{"id": 4, "content": "<end>", "special": true}])"},
        {"normalizer", "null"},
        {"pre_tokenizer", R"({"type": "ByteLevel", "add_prefix_space": false})"},
        {"post_processor", "null"},
        {"decoder", R"({"type": "ByteLevel"})"},
        {"model",
         R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "abab": 3}, "merges": ["a b", "ab ab"]})"}};
    std::string text;
    bool found = key.empty();
    for (const auto& [name, part] : parts) {
        text += (text.empty() ? "{\"" : ",\"") + name + "\":" + (name == key ? value : part);
        found = found || name == key;
    }
    return text + (found ? "" : ",\"" + key + "\":" + value) + "}";
}

// The error of a folder with these files.
std::string error(const std::map<std::string, std::string>& files) {
    Folder folder;
    for (const auto& [name, bytes] : files)
        folder.write(name, bytes);
    try {
        Tokenizer::open(folder.path);
    } catch (const nn::checkpoint::FileError& e) {
        const std::string line = e.what();
        CHECK(line.find('\n') == line.npos);
        CHECK(line.starts_with(folder.path));
        return line.substr(std::min(line.size(), folder.path.size() + 1));
    }
    return "no error";
}

std::string error(const std::string& key, const std::string& value) {
    return error({{"tokenizer.json", small(key, value)}});
}

}  // namespace

TEST_CASE("tokenizer files: vocab.json and merges.txt", "[text][tokenizer]") {
    Folder gpt2;
    gpt2.write("vocab.json", Files("gpt2").vocab_json());
    gpt2.write("merges.txt", Files("gpt2").merges);
    check_same("gpt2", gpt2);
    Folder qwen2;
    qwen2.write("vocab.json", Files("qwen2").vocab_json());
    qwen2.write("merges.txt", Files("qwen2").merges);
    qwen2.write("tokenizer_config.json", R"({"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>",
        "added_tokens_decoder": {
        "500": {"content": "<|endoftext|>", "special": true},
        "501": {"content": "<|im_start|>", "special": true},
        "502": {"content": "<|im_end|>", "special": true},
        "503": {"content": "<tool_call>", "normalized": false},
        "504": {"content": "</tool_call>", "normalized": true}}})");
    check_same("qwen2", qwen2);
    CHECK(Tokenizer::open(qwen2.path).named("eos_token") == "<|im_end|>");
}

TEST_CASE("tokenizer files: vocab.txt", "[text][tokenizer]") {
    Folder uncased;
    uncased.write("vocab.txt", Files("bert_uncased").vocab_txt());
    check_same("bert_uncased", uncased);
    Folder cased;
    cased.write("vocab.txt", Files("bert_cased").vocab_txt());
    cased.write("tokenizer_config.json",
                R"({"do_lower_case": false, "tokenizer_class": "BertTokenizerFast"})");
    check_same("bert_cased", cased);
    Folder accents;
    accents.write("vocab.txt", Files("bert_accents").vocab_txt());
    accents.write("tokenizer_config.json", R"({"strip_accents": false})");
    accents.write("special_tokens_map.json", R"({"sep_token": "[SEP]"})");
    check_same("bert_accents", accents);
    CHECK(Tokenizer::open(accents.path).named("sep_token") == "[SEP]");
}

TEST_CASE("tokenizer files: GPT-2's may ask for a space before the text", "[text][tokenizer]") {
    Folder folder;
    folder.write("vocab.json", Files("gpt2").vocab_json());
    folder.write("merges.txt", Files("gpt2").merges);
    const Tokenizer as_it_is = Tokenizer::open(folder.path);
    folder.write("tokenizer_config.json", R"({"add_prefix_space": true})");
    const Tokenizer spaced = Tokenizer::open(folder.path);
    CHECK(spaced.encode("All human") == as_it_is.encode(" All human"));
    CHECK(spaced.encode(" All human") == as_it_is.encode(" All human"));  // it has one already
    CHECK(as_it_is.encode("All human") != as_it_is.encode(" All human"));
}

TEST_CASE("tokenizer files: BERT's may leave Chinese characters in their words", "[text][tokenizer]") {
    Folder folder;
    folder.write("vocab.txt", "[UNK]\n[SEP]\n[PAD]\n[CLS]\n[MASK]\na\n\u4eba\n##\u4eba\n");
    CHECK(Tokenizer::open(folder.path).encode("a\u4eba") == Ids{3, 5, 6, 1});
    folder.write("tokenizer_config.json", R"({"tokenize_chinese_chars": false})");
    CHECK(Tokenizer::open(folder.path).encode("a\u4eba") == Ids{3, 5, 7, 1});
}

TEST_CASE("tokenizer files: BERT's special tokens may have other names", "[text][tokenizer]") {
    Folder folder;
    folder.write("vocab.txt", "<pad>\n<s>\n</s>\n<unk>\n<mask>\na\n");
    folder.write("tokenizer_config.json", R"({"cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>",
        "pad_token": "<pad>", "mask_token": "<mask>"})");
    const Tokenizer t = Tokenizer::open(folder.path);
    CHECK(t.size() == 6);  // none is added
    CHECK(t.encode("a b <mask>") == Ids{1, 5, 3, 4, 2});
    CHECK(t.encode_texts({"a", "b"}).ids == Ids{1, 5, 2, 3, 2});
}

TEST_CASE("tokenizer files: of a token that two files name, tokenizer_config.json's name counts",
          "[text][tokenizer]") {
    Folder folder;
    folder.write("vocab.txt", "[UNK]\n[SEP]\n[PAD]\n[CLS]\n[MASK]\n</s>\na\n");
    folder.write("tokenizer_config.json", R"({"sep_token": "</s>"})");
    folder.write("special_tokens_map.json", R"({"sep_token": "[SEP]", "cls_token": "[CLS]"})");
    const Tokenizer t = Tokenizer::open(folder.path);
    CHECK(t.encode("a") == Ids{3, 6, 5});
    CHECK(t.named("sep_token") == "</s>");
    CHECK(t.named("cls_token") == "[CLS]");
}

TEST_CASE("tokenizer files: added tokens are taken in the order of their numbers", "[text][tokenizer]") {
    Folder folder;  // as words, "10" would come before "9"
    folder.write("vocab.json", R"({"a":0,"b":1,"c":2,"d":3,"e":4,"f":5,"g":6,"h":7,"ab":8})");
    folder.write("merges.txt", "#version: 0.2\na b\n");
    folder.write("tokenizer_config.json", R"({"added_tokens_decoder": {
        "9": {"content": "<nine>"}, "10": {"content": "<|endoftext|>", "special": true}}})");
    const Tokenizer t = Tokenizer::open(folder.path);
    CHECK(t.size() == 11);
    CHECK(t.encode("ab<nine>c<|endoftext|>") == Ids{8, 9, 2, 10});
}

TEST_CASE("tokenizer files: added_tokens.json, from before added_tokens_decoder", "[text][tokenizer]") {
    Folder gpt2;
    gpt2.write("vocab.json", R"({"a":0,"b":1,"c":2,"d":3,"e":4,"f":5,"g":6,"h":7,"ab":8})");
    gpt2.write("merges.txt", "#version: 0.2\na b\n");
    gpt2.write("added_tokens.json", R"({"<ten>": 10, "<nine>": 9})");
    gpt2.write("special_tokens_map.json",
               R"({"additional_special_tokens": ["<ten>", {"content": "<new>"}]})");
    const Tokenizer t = Tokenizer::open(gpt2.path);
    CHECK(t.size() == 13);
    CHECK(t.encode("ab<nine><ten>c<|endoftext|><new>") == Ids{8, 9, 10, 2, 11, 12});
    CHECK(t.decode({8, 9, 10, 11, 12, 0}, {.skip_special_tokens = true}) == "ab<nine>a");
    // The newer member is the whole list.
    gpt2.write("tokenizer_config.json", R"({"added_tokens_decoder": {"9": {"content": "<ten>"}}})");
    CHECK(Tokenizer::open(gpt2.path).encode("ab<nine><ten>") != Ids{8, 9, 10});
    CHECK(Tokenizer::open(gpt2.path).id("<ten>") == 9);

    // A token that is not special is looked for in the normalized text.
    Folder bert;
    bert.write("vocab.txt", "[UNK]\n[SEP]\n[PAD]\n[CLS]\n[MASK]\na\n");
    bert.write("added_tokens.json", R"({"[Word]": 6, "[Sign]": 7})");
    bert.write("tokenizer_config.json", R"({"additional_special_tokens": ["[Sign]"]})");
    const Tokenizer lower = Tokenizer::open(bert.path);
    CHECK(lower.encode("a [WORD] [word] [Word]", {.add_special_tokens = false}) == Ids{5, 6, 6, 6});
    CHECK(lower.encode("a[Sign]", {.add_special_tokens = false}) == Ids{5, 7});
    CHECK(lower.id("[sign]") == std::nullopt);
    CHECK(lower.encode("a [sign]", {.add_special_tokens = false}).back() != 7);
}

TEST_CASE("tokenizer files: a named token may take the white space beside it, or be a word of its own",
          "[text][tokenizer]") {
    Folder folder;
    folder.write("vocab.json", R"({"a":0,"b":1,"Ġ":2,"<":3,"x":4,">":5})");
    folder.write("merges.txt", "#version: 0.2\n");
    const std::string mask = R"("mask_token": {"content": "<m>", "lstrip": true})";
    folder.write("tokenizer_config.json", "{" + mask + R"(, "additional_special_tokens": [
        {"content": "<x>", "single_word": true, "rstrip": true}]})");
    const Tokenizer t = Tokenizer::open(folder.path);
    const int32_t m = t.id("<m>").value(), x = t.id("<x>").value();
    CHECK(t.encode("a <m> b") == Ids{0, m, 2, 1});
    CHECK(t.encode("a <x> b") == Ids{0, 2, x, 1});
    CHECK(t.encode("a<x> b") == Ids{0, 3, 4, 5, 2, 1});
}

TEST_CASE("tokenizer files: beside added_tokens_decoder, special_tokens_map.json is not read",
          "[text][tokenizer]") {
    Folder folder;
    folder.write("vocab.json", R"({"a":0,"b":1})");
    folder.write("merges.txt", "#version: 0.2\n");
    folder.write("special_tokens_map.json", R"({"pad_token": "[PAD]"})");
    CHECK(Tokenizer::open(folder.path).size() == 4);  // and <|endoftext|>
    folder.write("tokenizer_config.json", R"({"added_tokens_decoder": {"2": {"content": "<|endoftext|>"}}})");
    CHECK(Tokenizer::open(folder.path).size() == 3);
    CHECK(Tokenizer::open(folder.path).named("pad_token") == std::nullopt);
}

TEST_CASE("tokenizer files: in Qwen2's, a space before the text is one before each of its words",
          "[text][tokenizer]") {
    Folder folder;
    folder.write("vocab.json", R"({"a":0,"b":1,".":2,"Ġ":3})");
    folder.write("merges.txt", "#version: 0.2\n");
    folder.write("tokenizer_config.json",
                 R"({"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": true})");
    CHECK(Tokenizer::open(folder.path).encode("a.b") == Ids{3, 0, 3, 2, 1});
}

TEST_CASE("tokenizer files: unknown characters that are left out let spaces meet", "[text][tokenizer]") {
    const auto ids = [](const std::string& unk) {
        Folder folder;
        folder.write("tokenizer.json", R"({"version": "1.0", "added_tokens": [],
            "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
            "pre_tokenizer": null, "post_processor": null, "decoder": null,
            "model": {"type": "BPE", "dropout": null, "unk_token": )" +
                                           unk + R"(, "fuse_unk": true,
                "byte_fallback": false, "vocab": {"<unk>": 0, "▁": 1, "a": 2, "b": 3, "▁▁": 4,
                "▁a": 5}, "merges": ["▁ ▁", "▁ a"]}})");
        return Tokenizer::open(folder.path).encode("x a");
    };
    CHECK(ids("null") == Ids{4, 2});  // as the library tokenizers has it
    CHECK(ids("\"<unk>\"") == Ids{1, 0, 5});
}

TEST_CASE("tokenizer files: a special token that the vocabulary lacks is added to it", "[text][tokenizer]") {
    Folder named;
    named.write("vocab.txt", Files("bert_uncased").vocab_txt());
    const int64_t before = Tokenizer::open(named.path).size();
    named.write("tokenizer_config.json", R"({"bos_token": "[BEGIN]", "sep_token": "[SEP]"})");
    const Tokenizer with = Tokenizer::open(named.path);
    CHECK(with.size() == before + 1);
    CHECK(with.named("bos_token") == "[BEGIN]");
    CHECK(with.id("[BEGIN]") == before);
}

TEST_CASE("tokenizer files: forms that older and newer files have", "[text][tokenizer]") {
    const auto ids = [](const std::string& key, const std::string& value) {
        Folder folder;
        folder.write("tokenizer.json", small(key, value));
        return Tokenizer::open(folder.path).encode("abab a<end>b");
    };
    const Ids wanted = {3, 0, 4, 1};  // the space has no piece, and there is none for unknown ones
    CHECK(ids("", "") == wanted);
    CHECK(
        ids("model", R"({"vocab": {"a": 0, "b": 1, "ab": 2, "abab": 3}, "merges": [["a", "b"], ["ab", "ab"]],
        "unk_token": "", "continuing_subword_prefix": "", "end_of_word_suffix": "", "dropout": null})") ==
        wanted);
    CHECK(ids("truncation", R"({"max_length": 1, "stride": 0})") == wanted);
    CHECK(ids("padding", R"({"strategy": {"Fixed": 99}})") == wanted);
    // Of a pair that comes twice the last rank counts; merges before the vocabulary.
    CHECK(ids("model", R"({"merges": ["a b", "b a", "a b"],
        "vocab": {"a": 0, "b": 1, "ab": 2, "ba": 3}, "type": "BPE"})") == Ids{0, 3, 1, 0, 4, 1});
    // A word that is a piece is this piece, though no merge leads to it.
    const std::string unmerged =
        R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "abab": 3}, "merges": ["a b"])";
    CHECK(ids("model", unmerged + "}") == Ids{2, 2, 0, 4, 1});
    CHECK(ids("model", unmerged + R"(, "ignore_merges": true})") == wanted);
}

TEST_CASE("tokenizer files: a merge may cross a space", "[text][tokenizer]") {
    Folder folder;
    folder.write("tokenizer.json", R"({"model": {"type": "BPE", "merges": [["a", "\u2581"]],
        "vocab": {"\u2581": 0, "a": 1, "a\u2581": 2}}})");
    CHECK(Tokenizer::open(folder.path).encode("a\u2581a") == Ids{2, 1});
}

TEST_CASE("tokenizer files: a space before the first word, each, or none", "[text][tokenizer]") {
    const std::map<std::string, Ids> schemes = {
        {"first", {2, 3, 1, 2}}, {"always", {2, 3, 2, 2}}, {"never", {1, 3, 1, 2}}};
    for (const auto& [scheme, wanted] : schemes)
        for (const std::string split : {"true", "false"}) {
            Folder folder;
            folder.write("tokenizer.json", R"({"added_tokens": [{"id": 3, "content": "<end>"}],
                "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "split": )" +
                                               split + R"(, "prepend_scheme": ")" + scheme + R"("},
                "model": {"type": "BPE", "merges": [["\u2581", "a"]],
                "vocab": {"\u2581": 0, "a": 1, "\u2581a": 2}}})");
            CAPTURE(scheme, split);
            CHECK(Tokenizer::open(folder.path).encode("a<end>a a") == wanted);
        }
}

TEST_CASE("tokenizer files: what cannot be read is one line with file and field", "[text][tokenizer]") {
    CHECK(error({}).starts_with("has no tokenizer.json"));
    CHECK(error({{"vocab.json", "{}"}}).find("no vocab.txt") != std::string::npos);
    CHECK(error({{"tokenizer.model", "x"}}).find("AutoTokenizer") != std::string::npos);
    CHECK(error({{"tokenizer.json", small()}}) == "no error");
    CHECK(error({{"tokenizer.json", small().substr(0, 100)}}).starts_with("tokenizer.json: byte 1"));
    CHECK(error({{"tokenizer.json", "[]"}}) == "tokenizer.json: must be an object: got []");
    struct Row {
        std::string key, value, wanted;
    };
    const std::vector<Row> table = {
        {"model", R"({"type": "Uni\ngram", "vocab": [["a", -1.5]]})",
         R"(model.type "Uni\ngram" is not supported; BPE, WordLevel, WordPiece are)"},
        {"model", R"({"type": "BPE", "vocab": {}, "merges": []})", "model.vocab must not be empty"},
        {"model", "7", "model"},
        {"model", R"({"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []})",
         "the vocabulary: no piece has the id 1, although there are 2 pieces"},
        {"model", R"({"type": "BPE", "vocab": {"a": 0, "b": 2}, "merges": []})",
         "the vocabulary: no piece has the id 1"},
        {"model", R"({"type": "BPE", "vocab": {"a": 0, "b": 4000000000}, "merges": []})",
         "model.vocab.b must be a whole number from 0 to 2147483647"},
        {"model", R"({"type": "BPE", "vocab": {"a": -1}, "merges": []})",
         "model.vocab.a must be a whole number from 0"},
        {"model", R"({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]})",
         R"(merges[0] is "a" and "b", but "ab" is not in the vocabulary)"},
        {"model", R"({"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "c"]]})",
         R"(but "c" is not in the vocabulary)"},
        {"model", R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a b c"]})",
         "merges[0] must be two pieces"},
        {"model", R"({"type": "BPE", "vocab": {"a": 0}, "merges": [["a"]]})", "merges[0] must be two pieces"},
        {"model", R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "unk_token": "?\n"})",
         R"(unk_token "?\n" is not in)"},
        {"model", R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1})", "model.dropout"},
        {"model", R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "end_of_word_suffix": "</w>"})",
         "model.end_of_word_suffix is not supported in BPE"},
        {"model", R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "speed": 1})",
         "model.speed is not supported"},
        {"model",
         R"({"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "a", "continuing_subword_prefix": "##"})",
         "model.max_input_chars_per_word is missing"},
        {"added_tokens", R"([{"id": 5, "content": "<e\nnd>"}])",
         R"(added_tokens[0].id is 5, but "<e\nnd>" has the id 4)"},
        {"added_tokens", R"([{"id": 4, "content": ""}])", "added_tokens[0].content must not be empty"},
        {"added_tokens", R"([{"id": 4, "content": "x", "bold": true}])",
         "added_tokens[0].bold is not supported"},
        {"added_tokens", R"({"a": 4})", "added_tokens"},
        {"normalizer", R"({"type": "NFKC\n"})", R"(normalizer.type "NFKC\n" is not supported)"},
        {"normalizer",
         R"({"type": "Sequence",
            "normalizers": [{"type": "Replace", "pattern": {"Regex": "a"}, "content": ""}]})",
         "normalizer.normalizers[0].pattern must be a string"},
        {"normalizer", R"({"type": "NFC", "fast": true})", "normalizer.fast is not supported"},
        {"normalizer", R"({"type": "BertNormalizer", "clean_text": 1})", "normalizer.lowercase is missing"},
        {"pre_tokenizer", R"({"type": "Whitespace\n"})",
         R"(pre_tokenizer.type "Whitespace\n" is not supported)"},
        {"pre_tokenizer",
         R"({"type": "Split", "pattern": {"Regex": "\\s+"}, "behavior": "Isolated", "invert": false})",
         "pre_tokenizer.pattern is none of the expressions"},
        {"pre_tokenizer",
         R"({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel", "add_prefix_space": true},
            {"type": "Digits", "individual_digits": true}]})",
         "pre_tokenizer.pretokenizers[1] comes after ByteLevel"},
        {"pre_tokenizer", R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "la\nst"})",
         R"(pre_tokenizer.prepend_scheme must be always, first or never: got "la\nst")"},
        {"pre_tokenizer", R"({"type": "Metaspace", "replacement": ""})",
         "pre_tokenizer.replacement must not be empty"},
        {"post_processor", R"({"type": "Other"})", "post_processor.type \"Other\" is not supported"},
        {"post_processor", R"({"type": "BertProcessing", "sep": ["x", 9], "cls": ["y", 1]})",
         "post_processor has the id 9, but there are 5 pieces"},
        {"post_processor",
         R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x", "type_id": 0}}],
            "pair": [], "special_tokens": {}})",
         "post_processor.single[0].SpecialToken.id \"x\" is not among"},
        {"decoder", R"({"type": "CTC\n"})", R"(decoder.type "CTC\n" is not supported)"},
        {"decoder", R"({"type": "Strip", "content": " ", "start": 1, "stop": 1})",
         "decoder.stop is not supported"},
        {"decoder", R"({"type": "Strip", "content": "", "start": 999999999, "stop": 0})",
         "decoder.content must not be empty"},
        {"decoder", R"({"type": "Metaspace", "replacement": ""})", "decoder.replacement must not be empty"},
        {"decoder", "[[[[[[[[[[[[]]]]]]]]]]]]", "decoder"},
        {"sparkle", R"({"a": 1})", "sparkle is not supported"}};
    for (const Row& row : table) {
        CAPTURE(row.key, row.value);
        const std::string line = error(row.key, row.value);
        CHECK(line.starts_with("tokenizer.json: "));
        CHECK(line.find('\n') == line.npos);
        CHECK_THAT(line, tests::containing(row.wanted));
    }
}

TEST_CASE("tokenizer files: older files that cannot be read", "[text][tokenizer]") {
    const std::string vocab = R"({"a": 0, "b": 1, "ab": 2})", bert = "[UNK]\n[SEP]\n[PAD]\n[CLS]\n[MASK]\n";
    struct Row {
        std::map<std::string, std::string> files;
        std::string wanted;
    };
    const std::vector<Row> table = {
        {{{"vocab.json", vocab}, {"merges.txt", "#version: 0.2\na b\n"}}, "no error"},
        {{{"vocab.json", vocab}, {"merges.txt", "#version: 0.2\na\n"}},
         "merges.txt:2: a line must have two symbols"},
        {{{"vocab.json", vocab}, {"merges.txt", "b a\n"}},
         R"(merges.txt: merges[0] is "b" and "a", but "ba")"},
        {{{"tokenizer.json", "{}"}}, "tokenizer.json: model is missing; it must be an object"},
        {{{"vocab.json", R"({"a": 0, "a": 1})"}, {"merges.txt", ""}},
         R"(vocab.json: byte 10: "a" comes twice)"},
        {{{"vocab.json", vocab},
          {"merges.txt", "a b\n"},
          {"tokenizer_config.json", R"({"tokenizer_class": "CLIPTokenizer"})"}},
         "tokenizer_config.json: tokenizer_class \"CLIPTokenizer\" is not supported without a "
         "tokenizer.json"},
        {{{"vocab.json", vocab},
          {"merges.txt", "a b\n"},
          {"tokenizer_config.json", R"({"added_tokens_decoder": {"7": {"content": "x"}}})"}},
         "added_tokens_decoder.7 has a token whose id is 3"},
        {{{"vocab.json", vocab}, {"merges.txt", "a b\n"}, {"added_tokens.json", R"({"x": 7})"}},
         "added_tokens.json: x has a token whose id is 3"},
        {{{"vocab.json", vocab}, {"merges.txt", "a b\n"}, {"added_tokens.json", R"({"x": "3"})"}},
         "added_tokens.json: x must be a whole number"},
        {{{"vocab.json", vocab}, {"merges.txt", "a b\n"}, {"added_tokens.json", R"(["x"])"}},
         "added_tokens.json: must be an object"},
        {{{"vocab.txt", bert}}, "no error"},
        {{{"vocab.txt", bert + "a\na\n"}}, R"(vocab.txt: "a" is in the vocabulary twice)"},
        {{{"vocab.txt", "a\nb\n"}}, "vocab.txt: unk_token \"[UNK]\" is not in the vocabulary"},
        {{{"vocab.txt", bert}, {"tokenizer_config.json", R"({"do_lower_case": "yes"})"}},
         "tokenizer_config.json: do_lower_case must be true or false"},
        {{{"vocab.txt", bert}, {"tokenizer_config.json", "{"}}, "tokenizer_config.json: byte"}};
    for (const Row& row : table) {
        CAPTURE(row.files);
        CHECK_THAT(error(row.files), tests::containing(row.wanted));
    }
}
