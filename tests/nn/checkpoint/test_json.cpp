// JSON: all of RFC 8259's grammar is read, everything else is refused with one line that names file, byte and
// key.
#include "nn/checkpoint/json.h"

#include "nn/utf8.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/folder.h"

using namespace plaingrad;       // NOLINT
using namespace nn::checkpoint;  // NOLINT
using namespace tests;           // NOLINT

namespace {

// Writes what it reads: no white space, strings as `quote` has them, and numbers as the bits of the double.
// This recurses as deep as the text goes, as only a test may.
std::string rewritten(JsonReader& json) {
    using Kind = JsonReader::Kind;
    std::string out;
    const auto item = [&](const std::string& text) { out += (out.size() > 1 ? "," : "") + text; };
    switch (json.kind()) {
        case Kind::object:
            out = "{";
            json.object([&](std::string_view key) { item(quote(key) + ":" + rewritten(json)); });
            return out + "}";
        case Kind::array:
            out = "[";
            json.array([&] { item(rewritten(json)); });
            return out + "]";
        case Kind::string:
            return quote(json.string());
        case Kind::boolean:
            return json.boolean() ? "true" : "false";
        case Kind::null:
            if (!json.null())
                json.skip();  // which says what is wrong
            return "null";
        case Kind::number:
            break;
    }
    const double value = json.real();
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return std::to_string(bits);
}

std::string rewritten(const std::string& text) {
    JsonReader json(text, "f.json");
    std::string out = rewritten(json);
    json.end();
    return out;
}

// The error of reading the text; "" if there is none. Skipping it must give the same, which names no key.
std::string complaint_about(const std::string& text) {
    const std::string read = error_of([&] { rewritten(text); });
    if (contains(read, "this number is too large"))
        return read;  // which only matters to those who read it
    const std::string skipped = error_of([&] {
        JsonReader json(text, "f.json");
        json.skip();
        json.end();
    });
    INFO(text.substr(0, 200) << " -> " << read << " -> " << skipped);
    const std::size_t key = std::min(read.find(", in \""), read.size());
    CHECK(skipped.substr(0, key) == read.substr(0, key));
    CHECK((skipped.size() >= key && read.ends_with(skipped.substr(key))));
    return skipped;
}

void refuses(const std::string& text, const std::string& reason) {
    const std::string error = complaint_about(text);
    INFO(text.substr(0, 200) << " -> " << error);
    CHECK(error.starts_with("f.json: byte "));
    CHECK(contains(error, reason));
    CHECK_FALSE(contains(error, "\n"));
    CHECK(error.size() < 500);
}

}  // namespace

// The right side was printed by Python 3 from json.loads(text), in the form of `rewritten`: the bits of a
// number x are struct.unpack("<Q", struct.pack("<d", x)).
TEST_CASE("json: values, compared with Python's", "[nn][checkpoint][json]") {
    const std::pair<std::string, std::string> table[] = {
        {"null", "null"},
        {"true", "true"},
        {" false ", "false"},
        {"0", "0"},
        {"-0", "9223372036854775808"},
        {"-0.0", "9223372036854775808"},
        {"1", "4607182418800017408"},
        {"-1", "13830554455654793216"},
        {"12345678901234567890", "4892433759222981601"},
        {"1.5", "4609434218613702656"},
        {"0.1", "4591870180066957722"},
        {"1e5", "4681608360884174848"},
        {"1E5", "4681608360884174848"},
        {"1e+5", "4681608360884174848"},
        {"1e-5", "4532020583610935537"},
        {"1.5E-05", "4534972062662729065"},
        {"10000.0", "4666723172467343360"},
        {"1e-12", "4427486594234968593"},
        {"1e22", "4936209963552724370"},
        {"1e23", "4950912855330343670"},
        {"123456789.123456789", "4728057454355442549"},
        {"4.9e-324", "1"},
        {"2.2250738585072014e-308", "4503599627370496"},
        {"1.7976931348623157e308", "9218868437227405311"},
        {"1e-400", "0"},
        {"0.30000000000000004", "4599075939470750516"},
        {"9007199254740993", "4845873199050653696"},
        {"5e-06", "4527516983983565041"},
        {R"("")", R"("")"},
        {R"("a")", R"("a")"},
        {R"("\"\\\/\b\f\n\r\t")", R"("\"\\/\b\f\n\r\t")"},
        {R"("\u0041\u00e9\u4e2d\uFFFF\uffff")", R"("Aé中￿￿")"},
        {R"("\ud83d\uDE00")", R"("😀")"},
        {R"("é中😀")", R"("é中😀")"},
        {R"("\u0000")", R"("\u0000")"},
        {R"("\u2028/")", R"(" /")"},
        {"\"\x7f\"", "\"\x7f\""},
        {R"("\\u0041")", R"("\\u0041")"},
        {"[]", "[]"},
        {"[ ]", "[]"},
        {"{}", "{}"},
        {"{ }", "{}"},
        {"[1]", "[4607182418800017408]"},
        {"[1,2]", "[4607182418800017408,4611686018427387904]"},
        {" [ 1 , 2 ] ", "[4607182418800017408,4611686018427387904]"},
        {"[[],[[]],{}]", "[[],[[]],{}]"},
        {R"({"a":1})", R"({"a":4607182418800017408})"},
        {R"({"b":1,"a":2})", R"({"b":4607182418800017408,"a":4611686018427387904})"},
        {" {\n\t\"a\" :\r[ {\"b\" : null} , true ] } ", R"({"a":[{"b":null},true]})"},
        {R"({"":""})", R"({"":""})"},
        {R"({"\u0061\n":[false]})", R"({"a\n":[false]})"},
        {R"([null,true,false,0,"",[],{}])", R"([null,true,false,0,"",[],{}])"},
        {R"({"a":{"a":{"a":[{"a":0}]}}})", R"({"a":{"a":{"a":[{"a":0}]}}})"},
        {R"({"archi": ["GPT2"], "n_inner": null, "eps": 1e-05})",
         "{\"archi\":[\"GPT2\"],\"n_inner\":null,\"eps\":4532020583610935537}"},
    };
    for (const auto& [text, expected] : table) {
        INFO(text);
        CHECK(complaint_about(text) == "");
        CHECK(rewritten(text) == expected);
    }
}

TEST_CASE("json: whole numbers", "[nn][checkpoint][json]") {
    const auto integer = [](const std::string& text) { return JsonReader(text, "f.json").integer(); };
    const auto count = [](const std::string& text) { return JsonReader(text, "f.json").count(); };
    CHECK(integer(" 0") == 0);
    CHECK(integer("-0") == 0);
    CHECK(integer("-12") == -12);
    CHECK(integer("9223372036854775807") == INT64_MAX);
    CHECK(integer("-9223372036854775808") == INT64_MIN);
    CHECK(count("9223372036854775807") == INT64_MAX);
    for (const std::string wrong :
         {"1.0", "1e3", "01", "--1", "+1", "1-", "-", "", "\"1\"", "true", "1.5.2", "[1]"}) {
        CHECK(contains(error_of([&] { integer(wrong); }), "f.json: byte 0: expected a whole number, found "));
        CHECK(contains(error_of([&] { count(wrong); }), "expected a whole number, 0 or more, found "));
    }
    CHECK(contains(error_of([&] { count("-1"); }), "expected a whole number, 0 or more, found \"-1\""));
    CHECK(contains(error_of([&] { count("-0"); }), "expected a whole number, 0 or more"));
    for (const std::string large :
         {"9223372036854775808", "-9223372036854775809", "100000000000000000000000"})
        CHECK(contains(error_of([&] { integer(large); }), "this number is too large"));
    CHECK(contains(error_of([] { JsonReader("1e400", "f.json").real(); }), "this number is too large"));
    CHECK(JsonReader("1e-400", "f.json").real() == 0);
    CHECK(JsonReader("12", "f.json").real() == 12);
}

TEST_CASE("json: members in their order, and another kind of value than expected", "[nn][checkpoint][json]") {
    JsonReader json(R"( {"a" : [1, -2,{ }] ,"b":null,"c":{"d":"e\u0041"},"f":1} )", "f.json");
    std::string order;
    json.object([&](std::string_view key) {
        order += key;
        if (key == "a" || key == "f")
            json.skip();
        else if (key == "b")
            CHECK(json.null());
        else
            json.object(
                [&](std::string_view inner) { order += std::string(inner) + std::string(json.string()); });
    });
    json.end();
    CHECK(order == "abcdeAf");

    const auto error = [](const std::string& text, const auto& read) {
        return error_of([&] {
            JsonReader reader(text, "f.json", " of it", "; so there");
            reader.object([&](std::string_view) { read(reader); });
        });
    };
    CHECK(error("{\"k\": 12}", [](JsonReader& r) { r.string(); }) ==
          "f.json: byte 6 of it, in \"k\": expected \", found \"12\"; so there");
    CHECK(contains(error("{\"k\":\"x\"}", [](JsonReader& r) { r.real(); }),
                   "expected a number, found \"\\\"\""));
    CHECK(contains(error("{\"k\":1}", [](JsonReader& r) { r.boolean(); }),
                   "expected true or false, found \"1\""));
    CHECK(contains(error("{\"k\":é}", [](JsonReader& r) { r.boolean(); }), "found \"é\""));
    CHECK(contains(error("{\"k\":{}}", [](JsonReader& r) { r.array([] {}); }), "expected [, found \"{\""));
    CHECK(contains(error("{\"k\":[]}", [](JsonReader& r) { r.object([](std::string_view) {}); }),
                   "expected {, found \"[\""));
    CHECK(contains(error("{\"k\":[1,2]}",
                         [](JsonReader& r) { r.array([&] { r.require(r.count() < 2, "below ", 2); }); }),
                   "f.json: byte 9 of it, in \"k\": below 2; so there"));
    CHECK_FALSE(JsonReader("\"null\"", "f.json").null());
    // Of a long key, the first 40 bytes tell which one it is.
    const auto in_key = [&](std::size_t length) {
        return error("{\"" + std::string(length, 'k') + "\":1}", [](JsonReader& r) { r.boolean(); });
    };
    CHECK(contains(in_key(40), "in \"" + std::string(40, 'k') + "\": expected"));
    CHECK(contains(in_key(41), "in \"" + std::string(40, 'k') + "\"...: expected"));
}

TEST_CASE("json: strings stay where they are", "[nn][checkpoint][json]") {
    JsonReader json(R"(["a\n\u00e9\ud83d\ude00b", "", "é", "\"", "\u0000"])", "f.json");
    std::vector<std::string_view> all;
    json.array([&] { all.push_back(json.string()); });
    CHECK(all == std::vector<std::string_view>{"a\né\U0001f600b", "", "é", "\"", std::string_view("\0", 1)});
}

TEST_CASE("json: what is no JSON", "[nn][checkpoint][json]") {
    refuses("", "byte 0: expected a value, found the end");
    refuses(" \n", "byte 2: expected a value, found the end");
    for (const std::string wrong : {"nul",
                                    "nulll",
                                    "True",
                                    "None",
                                    "tru",
                                    "falsee",
                                    "truefalse",
                                    "NaN",
                                    "Infinity",
                                    "-Infinity",
                                    "undefined",
                                    "'a'",
                                    "a",
                                    "\xef\xbb\xbf{}",
                                    "/**/1",
                                    "1//",
                                    "#",
                                    "{a:1}",
                                    "{1:1}",
                                    "{'a':1}",
                                    "{\"a\"}",
                                    "{\"a\":}",
                                    "{\"a\":1,}",
                                    "{,}",
                                    "{\"a\":1 \"b\":2}",
                                    "{\"a\" 1}",
                                    "{\"a\":1",
                                    "{\"a\":1,",
                                    "{\"a\":",
                                    "{\"a\"",
                                    "{\"a",
                                    "{\"",
                                    "{",
                                    "}",
                                    "{]",
                                    "{\"a\":1]",
                                    "{\"a\":[}",
                                    "[",
                                    "]",
                                    "[}",
                                    "[1",
                                    "[1,",
                                    "[1,]",
                                    "[,1]",
                                    "[,]",
                                    "[1 2]",
                                    "[1,,2]",
                                    "[1;2]",
                                    "[[1]",
                                    "[1]]",
                                    "{}{}",
                                    "[][]",
                                    "1 2",
                                    "\"a\"\"b\"",
                                    "1,",
                                    ",1",
                                    ":",
                                    "\v1",
                                    "\f1",
                                    "1\xc2\xa0",
                                    "\xe2\x80\xa8"
                                    "1",
                                    "\\u0031",
                                    "\"a\" b"})
        refuses(wrong, "");
    refuses("\xef\xbb\xbf{}", "byte 0: a byte order mark, which JSON does not allow");
    refuses(std::string("\0", 1), "expected a value");
    refuses(std::string("1\0", 2), "something follows");
    refuses(std::string("[1\0]", 4), "expected ,");
    for (const std::string wrong :
         {"+1",  "01",    "-01",   "00",  "1.", ".1", "-.1", "-",     "1e", "1e+", "1.e1", "1e1.5",
          "--1", "1.2.3", "1e2e3", "1-2", "1+", "e1", "E",   "1E+-2", "-e", "0.",  "1eE1"})
        refuses(wrong, "byte 0: expected a number, found \"" + wrong + "\"");
    for (const std::string wrong : {"0x10", "1_000", "1a", "١", "1f"})
        refuses(wrong, "");
    for (char wrong = 0; wrong < 0x20; ++wrong)
        refuses(std::string("\"a") + wrong + "\"", "a control character in a string must be escaped");
}

TEST_CASE("json: what is no string, and what is no UTF-8", "[nn][checkpoint][json]") {
    for (const std::string wrong : {"\"", "\"a", "\"\\\"", "\"\\", "[\"a]"})
        refuses(wrong, "it ends within a string");
    for (const std::string wrong : {"\\x41", "\\a", "\\0", "\\'", "\\U00000041", "\\ ", "\\\n", "\\v", "\\é"})
        refuses("\"" + wrong + "\"", "there is no such escape");
    for (const std::string wrong :
         {"\\u", "\\u1", "\\u12", "\\u123", "\\u+123", "\\u-123", "\\u 123", "\\u0x1", "\\u12g4"})
        refuses("\"" + wrong + "\"", "four hexadecimal digits");
    for (const std::string wrong :
         {"\\ud800", "\\udfff", "\\ud800\\ud800", "\\ud800x", "\\udc00\\ud800", "\\ud83d\\n"})
        refuses("\"" + wrong + "\"", "half of a surrogate pair");
    for (const std::string wrong :
         {"\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "\xe4\xb8"}) {
        CHECK(complaint_about("[\"abc\", \"" + wrong + "\"]") == "f.json: byte 9 is not UTF-8");
        CHECK(complaint_about("[\"abcdefghijklmnop\", \"éé\", \"" + wrong + "\"]") ==
              "f.json: byte 30 is not UTF-8");
    }
}

// Eight bytes of ASCII are passed over at once.
TEST_CASE("json: a byte that is no UTF-8 is found wherever it is", "[nn][checkpoint][json]") {
    for (std::size_t length = 1; length < 30; ++length)
        for (std::size_t at = 0; at < length; ++at) {
            std::string text(length, 'a');
            CHECK(nn::find_invalid_utf8(text) == text.npos);
            text[at] = '\x80';
            CHECK(nn::find_invalid_utf8(text) == at);
            text.replace(at, 1, "é");
            CHECK(nn::find_invalid_utf8(text) == text.npos);
        }
}

TEST_CASE("json: a key that comes twice", "[nn][checkpoint][json]") {
    refuses(R"({"a":1,"b":2,"a":3})", "byte 14: \"a\" comes twice");
    refuses(R"({"a":1,"\u0061":3})", "byte 8: \"a\" comes twice");
    refuses(R"({"":1,"":1})", "\"\" comes twice");
    refuses(R"({"x":{"y":[{"a":1,"a":1}]}})", "\"a\" comes twice");
    CHECK(complaint_about(R"({"a":{"a":{"a":1}},"A":[{"a":1},{"a":1}]})") == "");
    std::string many = "{";
    for (int i = 0; i < 20000; ++i)
        many += "\"" + std::to_string(i) + "\":0,";
    CHECK(complaint_about(many + "\"x\":0}") == "");
    refuses(many + "\"777\":0}", "\"777\" comes twice");
}

TEST_CASE("json: a file cannot choose how deep one goes", "[nn][checkpoint][json]") {
    const auto skip = [](const std::string& text) {
        return error_of([&] {
            JsonReader json(text, "f.json");
            json.skip();
            json.end();
        });
    };
    const auto nested = [](int n, const std::string& open, const std::string& close) {
        std::string text;
        for (int i = 0; i < n; ++i)
            text += open;
        text += "1";
        for (int i = 0; i < n; ++i)
            text += close;
        return text;
    };
    CHECK(skip(nested(128, "[", "]")) == "");
    CHECK(skip(nested(128, "{\"a\":", "}")) == "");
    CHECK(skip(nested(64, "[{\"a\":", "}]")) == "");
    CHECK(skip(nested(129, "[", "]")) ==
          "f.json: byte 128: more than 128 objects and arrays lie in each other");
    for (const int n : {129, 10'000, 1'000'000}) {
        CHECK(contains(skip(nested(n, "{\"a\":", "}")), "more than 128 objects"));
        CHECK(contains(skip(nested(n, " [ ", "")), "more than 128 objects"));
    }
    CHECK(skip("[" + nested(127, "[", "]") + "," + nested(127, "[", "]") + "]") == "");
}

TEST_CASE("json: files", "[nn][checkpoint][json]") {
    const Folder folder;
    const std::string path = folder / "config.json";
    put(path, "{\"a\": [1, 2]}\n");
    JsonReader json = JsonReader::open(path);
    CHECK(json.where() == path);
    json.skip();
    json.end();
    CHECK(error_of([&] { JsonReader::open(folder / "none.json"); }) ==
          (folder / "none.json") + ": cannot be opened: No such file or directory");
    put(path, "{\"a\": [1, 2}\n");
    CHECK(error_of([&] { JsonReader::open(path).skip(); }) == path + ": byte 11: expected ,, found \"}\"");
    put(path, "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 9\n");
    CHECK(error_of([&] { JsonReader::open(path); }) ==
          path + ": Git LFS has not fetched this file yet; `git lfs pull` does");
    // Refused by its size, before anything is read: the file is a hole.
    std::filesystem::resize_file(path, 100'000'000);
    CHECK(error_of([&] { JsonReader::open(path); }) ==
          path + ": 100000000 bytes are too many for a JSON file of a model; up to 67108864 are read");
    std::filesystem::resize_file(path, 67'108'865);
    CHECK(contains(error_of([&] { JsonReader::open(path); }), ": 67108865 bytes are too many"));
    std::filesystem::resize_file(path, 67'108'864);
    CHECK(error_of([&] { JsonReader::open(path); }) == "");
}

// A fuzzer of a few lines: what comes out is a value or one line, and never a crash (under a sanitizer, too).
TEST_CASE("json: mutations of a text are read or refused", "[nn][checkpoint][json]") {
    const std::string whole = R"({"n_embd": 768, "eps": -1.5e-05, "a": [true, false, null, [], {}],)"
                              R"("s": "\u00e9\ud83d\ude00\n\"é😀", "o": {"p": {"q": "r"}}})";
    REQUIRE(complaint_about(whole) == "");
    const std::string pieces = "{}[]\",:\\u0eE+-.19tfn \x80\xc3";
    const autograd::Rng rng(1);
    uint64_t i = 0;
    const auto below = [&](std::size_t n) {
        return static_cast<std::size_t>(rng.uniform(i++) * static_cast<double>(n));
    };
    int refused = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text = whole;
        for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
            const std::size_t at = below(text.size()), length = below(8);
            switch (below(4)) {
                case 0:
                    text[at] = pieces[below(pieces.size())];
                    break;
                case 1:
                    text.erase(at, length);
                    break;
                case 2:
                    text.insert(at, 1, pieces[below(pieces.size())]);
                    break;
                default:
                    text.insert(below(text.size()), text.substr(at, length));
                    break;
            }
            text += text.empty() ? " " : "";
        }
        const std::string error = complaint_about(text);
        refused += error.empty() ? 0 : 1;
        CHECK((error.empty() || error.starts_with("f.json: byte ")));
    }
    CHECK(refused > 10'000);
    CHECK(refused < 20'000);
    for (std::size_t length = 0; length < whole.size(); ++length)
        CHECK(complaint_about(whole.substr(0, length)) != "");
}
