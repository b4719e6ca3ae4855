// The parts of a tokenizer.json in forms that the golden ones do not have.
#include <map>

#include "models/text/tokenizer.h"
#include "nn/checkpoint/file.h"
#include "nn/checkpoint/utf8.h"
#include "tests/catch.h"
#include "tests/folder.h"

using namespace plaingrad;  // NOLINT
using models::text::Tokenizer;
using tests::Folder;
using Ids = std::vector<int32_t>;

namespace {

using Members = std::map<std::string, std::string>;

// Each byte of "abé <>0xZ48_" is a piece of its own, and so are <0x41> and some that only look like it.
const std::string kModel =
    R"({"type": "BPE", "merges": [], "vocab": {"a": 0, "b": 1, "é": 2, " ": 3, "_": 4, "<0x41>": 5,
        "<0xZZ>": 6, "<0x41x": 7, "##a": 8}})";

Tokenizer opened(Members members) {
    members.try_emplace("model", kModel);
    std::string json;
    for (const auto& [name, value] : members)
        json += (json.empty() ? "{\"" : ",\"") + name + "\":" + value;
    Folder folder;
    folder.write("tokenizer.json", json + "}");
    return Tokenizer::open(folder.path);
}

std::string complaint(const std::string& member, const std::string& value) {
    try {
        opened({{member, value}});
    } catch (const nn::checkpoint::FileError& error) {
        return error.what();
    }
    return "no error";
}

std::string split(const std::string& behavior, const std::string& invert) {
    const std::string gpt2 =
        R"('s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+)";
    return R"({"type": "Split", "pattern": {"Regex": ")" + gpt2 + R"("}, "behavior": ")" + behavior +
           R"(", "invert": )" + invert + "}";
}

std::string replace(const std::string& from, const std::string& to) {
    return R"({"type": "Replace", "pattern": {"String": ")" + from + R"("}, "content": ")" + to + "\"}";
}

std::string sequence(const std::string& member, const std::string& a, const std::string& b) {
    return R"({"type": "Sequence", ")" + member + "\": [" + a + ", " + b + "]}";
}

}  // namespace

TEST_CASE("tokenizer parts: an added token may have to be a word of its own", "[text][tokenizer]") {
    const Tokenizer t = opened({{"added_tokens", R"([{"id": 9, "content": "<w>", "single_word": true}])"}});
    CHECK(t.encode("<w>") == Ids{9});
    CHECK(t.encode("a <w>") == Ids{0, 3, 9});
    CHECK(t.encode("a<w>") == Ids{0});  // the signs have no pieces
    CHECK(t.encode("<w>a") == Ids{0});
    CHECK(t.encode("\u00e9<w>") == Ids{2});                    // two bytes
    CHECK(t.encode("\u4eba<w>") == Ids{});                     // three
    CHECK(t.encode("\u201c<w>\u201d a") == Ids{9, 3, 0});      // quotes are no word
    CHECK(t.encode("\xff\x80\x80\x80\x80<w>") == Ids{9});      // nor is what is no UTF-8
    CHECK(t.encode("\U0001f600<w> \U0001f600") == Ids{9, 3});  // four
}

TEST_CASE("tokenizer parts: a normalizer may leave nothing", "[text][tokenizer]") {
    const std::string gone = replace(" ", ""), prefix = R"({"type": "Prepend", "prepend": "_"})";
    CHECK(opened({{"normalizer", gone}}).encode(" ") == Ids{});
    CHECK(opened({{"normalizer", gone}}).encode(" a ") == Ids{0});
    CHECK(opened({{"normalizer", sequence("normalizers", gone, prefix)}}).encode(" ") == Ids{});
    CHECK(opened({{"normalizer", sequence("normalizers", gone, prefix)}}).encode(" a") == Ids{4, 0});
    // An added token of which nothing is left is found nowhere, and written as nothing, as by the library.
    const Tokenizer t = opened({{"normalizer", replace("<n>", "")},
                                {"added_tokens", R"([{"id": 9, "content": "<n>", "normalized": true}])"}});
    CHECK(t.encode("a<n>b") == Ids{0, 1});
    CHECK(t.encode(std::string("a\0b", 3)) == Ids{0, 1});  // a NUL is not its first byte
    CHECK(t.decode({0, 9}) == "a ");
}

TEST_CASE("tokenizer parts: BERT's normalizer, each part on or off", "[text][tokenizer]") {
    const auto ids = [](const std::string& clean, const std::string& chinese) {
        const std::string model =
            R"({"type": "WordPiece", "unk_token": "?", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
                "vocab": {"?": 0, "a": 1, "\u4eba": 2, "##\u4eba": 3, "##\u0001": 4, "##a": 5}})";
        return opened({{"model", model},
                       {"pre_tokenizer", R"({"type": "BertPreTokenizer"})"},
                       {"normalizer", R"({"type": "BertNormalizer", "lowercase": false, "clean_text": )" +
                                          clean + R"(, "handle_chinese_chars": )" + chinese + "}"}})
            .encode(
                "a\u4eba a\x01"
                "a");
    };
    CHECK(ids("true", "true") == Ids{1, 2, 1, 5});
    CHECK(ids("true", "false") == Ids{1, 3, 1, 5});
    CHECK(ids("false", "true") == Ids{1, 2, 1, 4, 5});
}

TEST_CASE("tokenizer parts: BERT's blocks of ideographs, from the first to the last one",
          "[text][tokenizer]") {
    const Tokenizer t =
        opened({{"model", R"({"type": "WordPiece", "unk_token": "?", "continuing_subword_prefix": "##",
                       "max_input_chars_per_word": 100, "vocab": {"?": 0, "a": 1}})"},
                {"pre_tokenizer", R"({"type": "BertPreTokenizer"})"},
                {"normalizer", R"({"type": "BertNormalizer", "lowercase": false, "clean_text": false,
                            "handle_chinese_chars": true})"}});
    const auto is_a_word = [&](char32_t c) {
        std::string text = "a";
        nn::checkpoint::append_utf8(text, c);
        return t.encode(text + "a") == Ids{1, 0, 1};
    };
    for (const auto& [first, last] : std::vector<std::pair<char32_t, char32_t>>{{0x3400, 0x4dbf},
                                                                                {0x4e00, 0x9fff},
                                                                                {0xf900, 0xfaff},
                                                                                {0x20000, 0x2a6df},
                                                                                {0x2a700, 0x2b81f},
                                                                                {0x2b920, 0x2ceaf},
                                                                                {0x2f800, 0x2fa1f}}) {
        CAPTURE(static_cast<uint32_t>(first));
        CHECK((is_a_word(first) && is_a_word(last)));
        CHECK_FALSE((is_a_word(first - 1) || is_a_word(last + 1)));
    }
}

TEST_CASE("tokenizer parts: a text that is a piece is not cut where merges are ignored",
          "[text][tokenizer]") {
    const auto ids = [](const std::string& ignored) {
        return opened(
                   {{"model", R"({"type": "BPE", "merges": [["\u2581", "a"], ["\u2581", "b"]], "vocab":
                                 {"\u2581": 0, "a": 1, "b": 2, "\u2581a": 3,
                                 "\u2581b": 4, "\u2581a\u2581b": 5, "?": 6},
                                 "unk_token": "?", "ignore_merges": )" +
                                  ignored + "}"},
                    {"pre_tokenizer", R"({"type": "Metaspace", "replacement": "\u2581", "split": false})"}})
            .encode("a b");
    };
    CHECK(ids("true") == Ids{5});
    CHECK(ids("false") == Ids{3, 4});
}

TEST_CASE("tokenizer parts: a text is not cut before a space that is unknown", "[text][tokenizer]") {
    const Tokenizer t =
        opened({{"model", R"({"type": "BPE", "merges": [], "vocab": {"?": 0, "a": 1, "b": 2},
                              "unk_token": "?", "fuse_unk": true})"},
                {"pre_tokenizer", R"({"type": "Metaspace", "replacement": "\u2581", "split": false})"}});
    CHECK(t.encode("a x b") == Ids{0, 1, 0, 2});  // the space, x and the other space are one unknown piece
}

TEST_CASE("tokenizer parts: a text says whether it lost its end", "[text][tokenizer]") {
    const Tokenizer t = opened({});
    CHECK_FALSE(t.encode_texts({"a b"}).cut);
    CHECK_FALSE(t.encode_texts({"a b"}, {.max_length = 3}).cut);
    CHECK(t.encode_texts({"a b"}, {.max_length = 2}).cut);
    CHECK(t.encode_texts({"a b"}, {.max_length = 2}).ids == Ids{0, 3});
}

TEST_CASE("tokenizer parts: how words are cut", "[text][tokenizer]") {
    for (const std::string& wanted : {split("Isolated", "false"), split("Removed", "true")})
        CHECK(opened({{"pre_tokenizer", wanted}}).encode("a b") == Ids{0, 3, 1});
    for (const std::string& refused :
         {split("Isolated", "true"), split("Removed", "false"), split("MergedWithNext", "false")})
        CHECK_THAT(complaint("pre_tokenizer", refused),
                   tests::containing("must be Isolated, or Removed with"));
    CHECK_THAT(complaint("pre_tokenizer",
                         R"({"type": "Split", "pattern": {}, "behavior": "Isolated", "invert": false})"),
               tests::containing("Qwen2's: got none"));
    const std::string metaspace = R"({"type": "Metaspace", "replacement": "_", "add_prefix_space": )";
    CHECK(opened({{"pre_tokenizer", metaspace + "false}"}}).encode("a b") == Ids{0, 4, 1});
    CHECK(opened({{"pre_tokenizer", metaspace + "true}"}}).encode("a b") == Ids{4, 0, 4, 1});
    CHECK_THAT(complaint("pre_tokenizer", metaspace + R"(false, "prepend_scheme": "first"})"),
               tests::containing("add_prefix_space is false, and prepend_scheme is not never"));
    // A number is a word of its own, or each of its digits is: no merge joins it with a letter.
    const auto of_digits = [](const std::string& individual) {
        return opened({{"model", R"({"type": "BPE", "merges": [["a", "1"], ["1", "1"]],
                                     "vocab": {"a": 0, "1": 1, "11": 2, "a1": 3}})"},
                       {"pre_tokenizer", R"({"type": "Digits", "individual_digits": )" + individual + "}"}})
            .encode("a11a");
    };
    CHECK(of_digits("false") == Ids{0, 2, 0});
    CHECK(of_digits("true") == Ids{0, 1, 1, 0});
    // A mark that overlaps with itself: each space is one of its own.
    const std::string longer = R"({"type": "Metaspace", "replacement": "__", "prepend_scheme": "never"})";
    CHECK(
        opened({{"pre_tokenizer", longer},
                {"model", R"({"type": "BPE", "merges": [["_", "_"]], "vocab": {"_": 0, "__": 1, "a": 2}})"}})
            .encode("  a") == Ids{1, 1, 2});
}

TEST_CASE("tokenizer parts: how pieces become text", "[text][tokenizer]") {
    const auto text = [](const std::string& decoder, const Ids& ids) {
        return opened({{"decoder", decoder}}).decode(ids);
    };
    CHECK(text("null", {0, 1}) == "a b");  // as the library does without a decoder
    CHECK(text(sequence("decoders", R"({"type": "ByteFallback"})", R"({"type": "Fuse"})"), {5, 6, 7, 0}) ==
          "A<0xZZ><0x41xa");
    for (const std::string cleanup : {"true", "false"})
        CHECK(text(R"({"type": "WordPiece", "prefix": "##", "cleanup": )" + cleanup + "}", {0, 8, 1}) ==
              "aa b");
    const std::string metaspace = R"({"type": "Metaspace", "replacement": "_", "add_prefix_space": )";
    CHECK(text(metaspace + "true}", {4, 0, 4, 1}) == "a b");
    CHECK(text(metaspace + "false}", {4, 0, 4, 1}) == " a b");
    CHECK(text(R"({"type": "Metaspace", "replacement": "_"})", {4, 0, 4, 1}) == "a b");
}

TEST_CASE("tokenizer parts: fields out of their range", "[text][tokenizer]") {
    const auto item = [](const std::string& id, const std::string& type) {
        return R"({"type": "TemplateProcessing", "special_tokens": {}, "pair": [],
                   "single": [{"Sequence": {"id": ")" +
               id + R"(", "type_id": )" + type + "}}]}";
    };
    CHECK(complaint("post_processor", item("A", "0")) == "no error");
    CHECK_THAT(complaint("post_processor", item("C", "0")), tests::containing("must be A or B: got \"C\""));
    for (const std::string type : {"-1", "0.5", "1e9", "2147483648"})
        CHECK_THAT(complaint("post_processor", item("A", type)),
                   tests::containing("type_id must be a whole number"));
    const std::string bytes = R"({"type": "ByteLevel"})";
    CHECK(complaint("post_processor", sequence("processors", item("A", "0"), bytes)) == "no error");
    CHECK(complaint("post_processor", sequence("processors", bytes, item("A", "0"))) == "no error");
    CHECK_THAT(complaint("post_processor", sequence("processors", item("A", "0"), item("B", "0"))),
               tests::containing("processors[1] is the second template"));
    CHECK_THAT(complaint("normalizer", R"({"type": "Sequence", "normalizers": 3})"),
               tests::containing("must be a list"));
    CHECK_THAT(complaint("normalizer", replace("", "x")), tests::containing("pattern must be a string"));
    CHECK_THAT(complaint("normalizer", R"({"type": "Prepend", "prepend": 3})"),
               tests::containing("normalizer.prepend must be a string"));
    CHECK_THAT(complaint("model", R"({"type": "BPE", "merges": [], "vocab": {"a": 0, "b": 1048576}})"),
               tests::containing("no piece has the id 1, although"));
    CHECK_THAT(complaint("model", kModel.substr(0, kModel.size() - 1) + R"(, "dropout": 1})"),
               tests::containing("model.dropout is not supported"));
}
