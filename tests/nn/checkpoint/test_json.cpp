// JSON: all of RFC 8259's grammar is read, everything else is refused with one line that names the place.
#include "nn/checkpoint/json.h"

#include <bit>
#include <cmath>
#include <functional>
#include <sstream>

#include "nn/checkpoint/utf8.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/folder.h"

using namespace plaingrad;       // NOLINT
using namespace nn::checkpoint;  // NOLINT
using namespace tests;           // NOLINT

namespace {

// Writes what it reads: no white space, strings as `quote` has them, and numbers as the bits of the double.
// This recurses as deep as the text goes, as only a test may.
std::string rewritten(const Json& json) {
    using Kind = Json::Kind;
    std::string out;
    const auto item = [&](const std::string& text) { out += (out.size() > 1 ? "," : "") + text; };
    switch (json.kind()) {
        case Kind::object:
            out = "{";
            for (const Json& member : json.members())
                item(quote(member.name()) + ":" + rewritten(member));
            return out + "}";
        case Kind::array:
            out = "[";
            for (const Json& inner : json.items())
                item(rewritten(inner));
            return out + "]";
        case Kind::string:
            return quote(json.text());
        case Kind::boolean:
            return json.boolean() ? "true" : "false";
        case Kind::null:
            return "null";
        case Kind::number:
            break;
    }
    return std::to_string(std::bit_cast<uint64_t>(json.real()));
}

Json parsed(const std::string& text) { return {text, "f.json"}; }

// The error of reading the text; "" if there is none.
std::string complaint_about(const std::string& text) {
    return error_of([&] { parsed(text); });
}

// The words of a text, in which _ stands for a blank.
std::vector<std::string> words(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> all;
    for (std::string word; in >> word; all.push_back(word))
        std::replace(word.begin(), word.end(), '_', ' ');
    return all;
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
    for (const std::string& text : words(
             "0 -0 -0.0 1 -1 12345678901234567890 1.5 0.1 1e5 1E5 1e+5 1e-5 1.5E-05 10000.0 1e-12 1e22 1e23 "
             "123456789.123456789 4.9e-324 2.2250738585072014e-308 1.7976931348623157e308 1e-400 "
             "0.30000000000000004 9007199254740993 5e-06")) {
        INFO(text);  // numbers as the C library reads them, which rounds correctly
        CHECK(std::bit_cast<uint64_t>(parsed(text).real()) ==
              std::bit_cast<uint64_t>(std::strtod(text.c_str(), nullptr)));
    }
    const std::pair<std::string, std::string> table[] = {
        {"null", "null"},
        {"true", "true"},
        {" false ", "false"},
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
        CHECK(rewritten(parsed(text)) == expected);
    }
}

TEST_CASE("json: whole numbers", "[nn][checkpoint][json]") {
    const auto integer = [](const std::string& text) { return parsed(text).integer(); };
    const auto count = [](const std::string& text, int64_t most = INT64_MAX) {
        return parsed(text).count(most);
    };
    CHECK((integer(" 0") == 0 && integer("-0") == 0 && integer("-12") == -12));
    CHECK(integer("9223372036854775807") == INT64_MAX);
    CHECK(integer("-9223372036854775808") == INT64_MIN);
    CHECK(count("9223372036854775807") == INT64_MAX);
    CHECK(count("7", 7) == 7);
    for (const std::string wrong : {"1.0", "1e3", "1E3", "\"1\"", "true", "[1]", "{}"}) {
        CHECK(contains(error_of([&] { integer(wrong); }), "f.json: must be a whole number"));
        CHECK(contains(error_of([&] { count(wrong); }), "f.json: must be a whole number"));
    }
    CHECK(error_of([&] { integer("null"); }) == "f.json: is missing; it must be a whole number");
    CHECK(error_of([&] { count("-1"); }) ==
          "f.json: must be a whole number from 0 to 9223372036854775807: got -1");
    CHECK(error_of([&] { count("8", 7); }) == "f.json: must be a whole number from 0 to 7: got 8");
    for (const std::string large :
         {"9223372036854775808", "-9223372036854775809", "100000000000000000000000"})
        CHECK(error_of([&] { integer(large); }) == "f.json: must be a whole number: got " + large);
    CHECK(error_of([] { parsed("1e400").real(); }) == "f.json: is too large: 1e400");
    CHECK(parsed("1e-400").real() == 0);
    CHECK(parsed("12").real() == 12);
}

TEST_CASE("json: members in their order, and each value's name in errors", "[nn][checkpoint][json]") {
    const Json json = parsed(R"( {"b" : [1, -2,{"x y":"" }] ,"a":null,"c":{"d":"e\u0041"},"f":1} )");
    std::string order;
    for (const Json& member : json.members())
        order += member.name();
    CHECK(order == "bacf");
    CHECK(json["c"]["d"].text() == "eA");
    CHECK(json["b"].items().size() == 3);
    CHECK((json["a"].is_null() && json["none"].is_null() && !json["f"].is_null()));
    CHECK((json["a"].boolean_or(true) && json["none"].text_or("x") == "x" &&
           json["c"]["d"].text_or("") == "eA"));
    struct Wrong {
        std::function<void(const Json&)> read;
        std::string said;
    };
    const Wrong table[] = {
        {[](const Json& j) { j["f"].text(); }, "f must be a string: got 1"},
        {[](const Json& j) { j["c"]["d"].real(); }, "c.d must be a number: got \"eA\""},
        {[](const Json& j) { j["c"]["d"].boolean(); }, "c.d must be true or false: got \"eA\""},
        {[](const Json& j) { j["c"]["e"].text(); }, "c.e is missing; it must be a string"},
        {[](const Json& j) { j["no"]["e"]; }, "no is missing; it must be an object"},
        {[](const Json& j) { j["b"].items()[1].count(3); },
         "b[1] must be a whole number from 0 to 3: got -2"},
        {[](const Json& j) { j["b"].items()[2].members()[0].nonempty_text(); }, "b[2].x y must not be empty"},
        {[](const Json& j) { j["c"].items(); }, "c must be a list: got {...}"},
        {[](const Json& j) { j["b"].members(); }, "b must be an object: got [...]"},
        {[](const Json& j) { j.require(false, "is ", 1); }, "is 1"},
        // The null for a missing name knows where it is missing.
        {[](const Json& j) { j["b"].items()[2][std::string("none")]["c"]; },
         "b[2].none is missing; it must be an object"},
    };
    for (const Wrong& wrong : table)
        CHECK(error_of([&] { wrong.read(json); }) == "f.json: " + wrong.said);
    CHECK((parsed(" [ ] ").shown() == "[]" && parsed("{}").shown() == "{}"));
    const Json none = parsed("[{}]").items()[0]["a"];  // keeps the text alive
    none.ignore();
    CHECK((none.is_null() && none.name().empty() && none.shown() == "null"));
    // A name that could not be told from its surroundings; of a long one the beginning.
    CHECK(error_of([] { parsed(R"({"a\n":1})").members()[0].text(); }) ==
          "f.json: \"a\\n\" must be a string: got 1");
    CHECK(contains(error_of([] { parsed("{\"" + std::string(101, 'k') + "\":1}").members()[0].text(); }),
                   "f.json: \"" + std::string(100, 'k') + "\"... must be"));
    CHECK(complaint_about("{\"k\":1 x") == "f.json: byte 7, after \"k\": expected ,, found \"x\"");
    CHECK(contains(complaint_about("{\"" + std::string(41, 'k') + "\":x}"),
                   "after \"" + std::string(40, 'k') + "\"...: expected a value"));
}

TEST_CASE("json: what nobody has asked for is refused", "[nn][checkpoint][json]") {
    const std::string text = R"({"a":1,"b":{"c":[{"d":2}]},"n":null})";
    const auto left = [&](const auto& ask) {
        const Json json = parsed(text);
        ask(json);
        return error_of([&] { json.check_all_used(); });
    };
    CHECK(left([](const Json&) {}) == "f.json: a is not supported");
    CHECK(left([](const Json& j) { j["a"]; }) == "f.json: b is not supported");
    CHECK(left([](const Json& j) { j["a"], j["b"]; }) == "f.json: b.c is not supported");
    CHECK(left([](const Json& j) { j["a"], j["b"]["c"]; }) == "f.json: b.c[0].d is not supported");
    CHECK(left([](const Json& j) { j["a"], j["b"]["c"].items()[0]["d"]; }) == "");
    CHECK(left([](const Json& j) { j["a"], j["b"].ignore(); }) == "");
    CHECK(left([](const Json& j) { j.members(); }) == "f.json: b.c is not supported");
    CHECK(left([](const Json& j) { j["b"].ignore(); }) == "f.json: a is not supported");
}

TEST_CASE("json: strings stay where they are", "[nn][checkpoint][json]") {
    std::vector<std::string_view> all;
    const Json::Items items = parsed(R"(["a\n\u00e9\ud83d\ude00b", "", "é", "\"", "\u0000"])").items();
    for (const Json& item : items)
        all.push_back(item.view());
    CHECK(all == std::vector<std::string_view>{"a\né\U0001f600b", "", "é", "\"", std::string_view("\0", 1)});
}

TEST_CASE("json: written", "[nn][checkpoint][json]") {
    using J = JsonText;
    CHECK(J::array({1, -2, true, nullptr, "a\"\n", std::string("b"), J::array({})}).text ==
          R"([1,-2,true,null,"a\"\n","b",[]])");
    CHECK(J::object({{"a\t", false}, {"b", J::object({})}, {"c", std::vector<std::vector<int64_t>>{{1}, {}}}})
              .text == R"({"a\t":false,"b":{},"c":[[1],[]]})");
    CHECK(J::object({{"a", 1}, {"b", J::array({1, 2}, true)}}, true).text ==
          "{\n\"a\":1,\n\"b\":[\n1,\n2\n]\n}");
    CHECK((J(0.1).text == "0.1" && J(0.1f).text == "0.1" && J(1.0).text == "1.0" && J(1e-9).text == "1e-09"));
    CHECK((J(std::nan("")).text == "null" && J(-HUGE_VALF).text == "null" &&
           J(INT64_MIN).text == "-9223372036854775808"));
    CHECK((J::rounded(0.123456, 4).text == "0.1235" && J::rounded(12, 4).text == "12"));
    CHECK(J::rounded(HUGE_VAL, 4).text == "null");
    for (const double value : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -123456789.123456789})
        CHECK(parsed(J(value).text).real() == value);
}

TEST_CASE("json: what is no JSON", "[nn][checkpoint][json]") {
    refuses("", "byte 0: expected a value, found the end");
    refuses(" \n", "byte 2: expected a value, found the end");
    std::vector<std::string> all = words(R"(nul nulll True None tru falsee truefalse NaN Infinity -Infinity
        undefined 'a' a /**/1 1// # {a:1} {1:1} {'a':1} {"a"} {"a":} {"a":1,} {,} {"a":1_"b":2} {"a"_1} {"a":1
        {"a":1, {"a": {"a" {"a {" { } {] {"a":1] {"a":[} [ ] [} [1 [1, [1,] [,1] [,] [1_2] [1,,2] [1;2] [[1]
        [1]] {}{} [][] 1_2 "a""b" 1, ,1 : \u0031 "a"_b" 0x10 1f 1a ١)");
    all.insert(all.end(), {"\v1", "\f1", "1\u00a0", "1_000", "\u20281"});
    CHECK(all.size() > 60);
    for (const std::string& wrong : all)
        refuses(wrong, "");
    refuses("\xef\xbb\xbf{}", "byte 0: a byte order mark, which JSON does not allow");
    refuses(std::string("\0", 1), "expected a value");
    refuses(std::string("1\0", 2), "something follows");
    refuses(std::string("[1\0]", 4), "expected ,");
    for (const std::string& wrong :
         words("+1 01 -01 00 1. .1 -.1 - 1e 1e+ 1.e1 1e1.5 --1 1.2.3 1e2e3 1-2 1+ e1 E "
               "1E+-2 -e 0. 1eE1"))
        refuses(wrong, "byte 0: expected a number, found \"" + wrong + "\"");
    for (char wrong = 0; wrong < 0x20; ++wrong)
        refuses(std::string("\"a") + wrong + "\"", "a control character in a string must be escaped");
}

TEST_CASE("json: what is no string, and what is no UTF-8", "[nn][checkpoint][json]") {
    for (const std::string wrong : {"\"", "\"a", "\"\\\"", "\"\\", "[\"a]"})
        refuses(wrong, "it ends within a string");
    const std::pair<const char*, std::vector<std::string>> table[] = {
        {"there is no such escape",
         {"\\x41", "\\a", "\\0", "\\'", "\\U00000041", "\\ ", "\\\n", "\\v", "\\é"}},
        {"four hexadecimal digits",
         {"\\u", "\\u1", "\\u12", "\\u123", "\\u+123", "\\u-123", "\\u 123", "\\u0x1", "\\u12g4"}},
        {"half of a surrogate pair",
         {"\\ud800", "\\udc00", "\\udfff", "\\ud800\\ud800", "\\ud800\\u0041", "\\ud800x", "\\udc00\\ud800",
          "\\udc00\\udc00", "\\ud83d\\n", "\\udbff\\ue000"}}};
    for (const auto& [reason, all] : table)
        for (const std::string& wrong : all)
            refuses("\"" + wrong + "\"", reason);
    // (What is UTF-8, say the tests of lines.)
    CHECK(complaint_about("[\"abc\", \"\xc3(\"]") == "f.json: byte 9 is not UTF-8");
    CHECK(complaint_about("[\"abcdefghijklmnop\", \"éé\", \"\xe4\xb8\"]") == "f.json: byte 30 is not UTF-8");
}

// Eight bytes of ASCII are passed over at once.
TEST_CASE("json: a byte that is no UTF-8 is found wherever it is", "[nn][checkpoint][json]") {
    for (std::size_t length = 1; length < 30; ++length)
        for (std::size_t at = 0; at < length; ++at) {
            std::string text(length, 'a');
            CHECK(nn::checkpoint::find_invalid_utf8(text) == text.npos);
            text[at] = '\x80';
            CHECK(nn::checkpoint::find_invalid_utf8(text) == at);
            text.replace(at, 1, "é");
            CHECK(nn::checkpoint::find_invalid_utf8(text) == text.npos);
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
    const auto repeated = [](int n, const std::string& part) {
        std::string text;
        for (int i = 0; i < n; ++i)
            text += part;
        return text;
    };
    const auto nested = [&](int n, const std::string& open, const std::string& close) {
        return repeated(n, open) + "1" + repeated(n, close);
    };
    CHECK(complaint_about(nested(128, "[", "]")) == "");
    CHECK(complaint_about(nested(128, "{\"a\":", "}")) == "");
    CHECK(complaint_about(nested(64, "[{\"a\":", "}]")) == "");
    CHECK(complaint_about(nested(129, "[", "]")) ==
          "f.json: byte 128: more than 128 objects and arrays lie in each other");
    for (const int n : {129, 10'000, 1'000'000}) {
        CHECK(contains(complaint_about(nested(n, "{\"a\":", "}")), "more than 128 objects"));
        CHECK(contains(complaint_about(nested(n, " [ ", "")), "more than 128 objects"));
    }
    CHECK(complaint_about("[" + nested(127, "[", "]") + "," + nested(127, "[", "]") + "]") == "");
}

TEST_CASE("json: nor how many values there are", "[nn][checkpoint][json]") {
    std::string text = "[0";
    for (std::size_t i = 2; i < Json::kMaxValues; ++i)
        text += ",0";
    CHECK(complaint_about(text + "]") == "");
    CHECK(complaint_about(text + ",0]") == "f.json: byte 16777215: more than 8388608 values");
}

TEST_CASE("json: files", "[nn][checkpoint][json]") {
    const Folder folder;
    const std::string path = folder / "config.json";
    put(path, "{\"a\": [1, 2]}\n");
    CHECK(Json::open(path)["a"].items()[1].count() == 2);
    CHECK(error_of([&] { Json::open(folder / "none.json"); }) ==
          (folder / "none.json") + ": cannot be opened: No such file or directory");
    put(path, "{\"a\": [1, 2}\n");
    CHECK(error_of([&] { Json::open(path); }) == path + ": byte 11, after \"a\": expected ,, found \"}\"");
    // Refused by its size, before anything is read: the file is a hole.
    put(path, "");
    std::filesystem::resize_file(path, 100'000'000);
    CHECK(error_of([&] { Json::open(path); }) ==
          path + ": 100000000 bytes are too many; up to 67108864 are read");
    std::filesystem::resize_file(path, 67'108'865);
    CHECK(contains(error_of([&] { Json::open(path); }), ": 67108865 bytes are too many"));
    std::filesystem::resize_file(path, 67'108'864);
    CHECK(contains(error_of([&] { Json::open(path); }), ": byte 0: expected a value"));
}

// (Changed in other ways, it is read or refused by the fuzzer's targets: tests/fuzz.)
TEST_CASE("json: cut off anywhere, a text is refused", "[nn][checkpoint][json]") {
    const std::string whole = R"({"n_embd": 768, "eps": -1.5e-05, "a": [true, false, null, [], {}],)"
                              R"("s": "\u00e9\ud83d\ude00\n\"é😀", "o": {"p": {"q": "r"}}})";
    REQUIRE(complaint_about(whole) == "");
    for (std::size_t length = 0; length < whole.size(); ++length)
        CHECK(complaint_about(whole.substr(0, length)).starts_with("f.json: byte "));
}
