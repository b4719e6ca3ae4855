// Files that are not, or not quite, safetensors files: each is refused with a line that says why.
#include <sys/stat.h>
#include <unistd.h>

#include "nn/checkpoint/json.h"
#include "nn/checkpoint/utf8.h"
#include "tests/nn/checkpoint/files.h"

using namespace plaingrad;       // NOLINT
using namespace nn::checkpoint;  // NOLINT
using namespace tests;           // NOLINT

namespace {

// Opening a file with this header is refused for this reason, in one line that begins with the file's name.
void refuses(const std::string& header, const std::string& reason, const std::string& data = "") {
    const std::string error = complaint(file_of(header, data));
    INFO(header.substr(0, 200) << " -> " << error);
    CHECK(contains(error, reason));
    CHECK(error.starts_with("m.safetensors: "));
    CHECK(!contains(error, "\n"));
    CHECK(error.size() < 500);
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return "{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return "{\"x\":" + entry(dtype, shape, offsets) + "}";
}

// A small file with everything that a header can have.
std::string small_file() {
    return file_of(R"({"__metadata__":{"k":"v\u00e9\n"},"a":)" + entry("F32", "[2,1]", "[0,8]") +
                       R"(, "b":)" + entry("I64", "[]", "[8,16]") + R"(,"e":)" +
                       entry("BF16", "[0]", "[16,16]") + "} ",
                   std::string(16, '\1'));
}

// Reads everything that can be read.
void read_all(const SafeTensors& file) {
    for (const Entry& e : file.entries())
        error_of([&] { file.tensor(e.name); });
}

}  // namespace

TEST_CASE("safetensors: files that are too short, or with an impossible header", "[nn][checkpoint]") {
    CHECK(
        complaint("") ==
        "m.safetensors: this is no safetensors file, or it is cut off: of its 0 bytes, the first 8 would be "
        "the length of its header, 0");
    const auto cut = [](const std::string& bytes, uint64_t length) {
        CHECK(
            contains(complaint(bytes), autograd::join(" it is cut off: of its ", bytes.size(), " bytes, ")));
        CHECK(contains(complaint(bytes), autograd::join(" would be the length of its header, ", length)));
    };
    cut("\1", 1);
    cut(std::string(7, '\0'), 0);
    cut(raw(uint64_t(0x3c)), 60);
    cut(raw(~uint64_t(0)), ~uint64_t(0));
    cut(raw(uint64_t(100'000'000)), 100'000'000);
    cut(raw(~uint64_t(7)), ~uint64_t(7));  // 8 + N would be 0
    cut(raw(uint64_t(3)) + "{}", 3);
    cut("#version: 0.2\nl o\nlo w</w>\n", 0x6e6f697372657623);
    for (const auto& [bytes, what] : {std::pair("PK\x03\x04 and so on", "in torch.save's format"),
                                      {"\x80\x02\x8a\x0al\xfc", "in torch.save's format"},
                                      {"GGUF\x03 and so on", "a file of llama.cpp"},
                                      {"\x89HDF\r\n\x1a\n", "in a format of TensorFlow or Flax"},
                                      {"<!DOCTYPE html><html>", "an HTML page, not the file"},
                                      {"<!doctype html><html>", "an HTML page, not the file"},
                                      {"<html>", "an HTML page, not the file"}})
        CHECK(contains(complaint(bytes), autograd::join("m.safetensors: this is ", what)));
    CHECK(contains(complaint("version https://git-lfs.github.com/spec/v1"),
                   "m.safetensors: Git LFS has not fetched this file yet"));
    CHECK(contains(complaint(raw(uint64_t(0))), "expected a value, found the end"));
}

// What is UTF-8, and what is JSON, say the tests of JSON.
TEST_CASE("safetensors: a header of another form, a tensor with an invalid description", "[nn][checkpoint]") {
    const std::string one = entry("U8", "[1]", "[0,1]"), other = entry("U8", "[1]", "[1,2]");
    const auto of_shape = [](const std::string& shape) { return tensor("F32", shape, "[0,16]"); };
    const auto of_dtype = [](const std::string& dtype) { return tensor(dtype, "[4]", "[0,16]"); };
    const auto of_offsets = [](const std::string& offsets) { return tensor("F32", "[4]", offsets); };
    const std::pair<std::string, const char*> table[] = {
        {"\xff", "m.safetensors: damaged, or no safetensors file: its header: byte 0 is not UTF-8"},
        {"{", "header: byte 1: expected \", found the end"},
        {"[]", "damaged, or no safetensors file: its header: must be an object: got []"},
        {"null", "must be an object"},
        {"{}x", "something follows the last brace"},
        {std::string("{}\0", 3), "something follows the last brace"},
        {"{\"x\":1}", "x must be an object: got 1"},
        {"{\"__metadata__\":{\"k\":1}}", "__metadata__.k must be a string"},
        {"{\"__metadata__\":{\"k\":null}}", "it must be a string"},
        {"{\"__metadata__\":{\"k\":{}}}", "must be a string: got {}"},
        {"{\"__metadata__\":[]}", "must be an object: got []"},
        {R"({"__metadata__":{"k":"v","k":"v"}})", "\"k\" comes twice"},
        {R"({"__metadata__":{},"__metadata__":{}})", "\"__metadata__\" comes twice"},
        {std::string(1000000, '['), "more than 128 objects and arrays"},
        {"{\"a\":" + std::string(1000000, '{'), "expected \""},
        {"{\"x\":{}}", "x must have a dtype, a shape and data_offsets"},
        {R"({"x":{"dtype":"F32","shape":[4]}})", "must have a dtype"},
        {R"({"x":{"dtype":"F32","data_offsets":[0,16]}})", "must have a dtype"},
        {R"({"x":{"shape":[4],"data_offsets":[0,16]}})", "must have a dtype"},
        {R"({"x":{"dtype":"F32","dtype":"F32","shape":[4],"data_offsets":[0,16]}})", "\"dtype\" comes twice"},
        {R"({"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16],"y":1}})",
         "x must have a dtype, a shape and data_offsets, and nothing else"},
        {of_dtype("F33"), "has the dtype \"F33\", which is not read here"},
        {of_dtype("f32"), "has the dtype \"f32\", which is not read here"},
        {of_dtype(""), "has the dtype \"\", which is not read here"},
        {tensor("F8_E4M3", "[16]", "[0,16]"), "has the dtype \"F8_E4M3\", which is not read here"},
        {of_shape("4"), "x.shape must be a list: got 4"},
        {of_shape("[4"), "expected ,"},
        {of_shape("[-4]"), "x.shape[0] must be a whole number from 0"},
        {of_shape("[\"4\"]"), "x.shape[0] must be a whole number"},
        {of_shape("[4.0]"), "x.shape[0] must be a whole number"},
        {of_shape("[[4]]"), "x.shape[0] must be a whole number"},
        {of_offsets("[0]"), "data_offsets must be two numbers"},
        {of_offsets("[]"), "data_offsets must be two numbers"},
        {of_offsets("[0,16,16]"), "data_offsets must be two numbers"},
        {"{\"x\":" + one + ",\"x\":" + other + "}", "\"x\" comes twice"},
        {"{\"x\":" + one + ",\"\\u0078\":" + other + "}", "\"x\" comes twice"}};
    for (const auto& [header, reason] : table)
        refuses(header, reason, std::string(16, '\0'));
}

TEST_CASE("safetensors: sizes too large for memory, and offsets with holes or a wrong end",
          "[nn][checkpoint]") {
    constexpr const char *kTooMany = "of this shape and dtype must have 9223372036854775807 bytes",
                         *kWhole = "must be a whole number from 0 to 9223372036854775807: got ",
                         *kWrongPlace = "from byte 0 on: its data_offsets are";
    struct Row {
        const char *dtype, *shape, *offsets, *reason;
        std::size_t bytes = 0;
    };
    const Row table[] = {
        {"I32", "[2,18446744073709551614]", "[0,16]", kWhole, 16},
        {"I32", "[9223372036854775808]", "[0,0]", kWhole},
        {"U8", "[1]", "[0,99999999999999999999]", kWhole, 1},
        {"I32", "[2,9223372036854775807]", "[0,16]", kTooMany, 16},
        {"I32", "[9223372036854775807]", "[0,16]", kTooMany, 16},
        {"I64", "[4294967296,4294967296]", "[0,0]", kTooMany},  // 2^64: wraps to 0
        {"I64", "[2305843009213693952]", "[0,0]", kTooMany},    // so does 2^61 * 8
        {"U8", "[9223372036854775807]", "[0,1]", kTooMany, 1},
        {"U8", "[9223372036854775807]", "[0,9223372036854775807]", "the file is cut off", 1},
        {"I32", "[2,2]", "[0,4]", "tensor \"x\" of this shape and dtype must have 16 bytes", 4},
        {"I32", "[2,2]", "[0,16]", "need 16 bytes after the header: there are 14; the file is cut", 14},
        {"I32", "[2,2]", "[0,16]", "there are 18; the file is damaged, or something was added", 18},
        {"U8", "[4]", "[0,16]", "must have 4 bytes from byte 0 on: its data_offsets are 0 to 16", 16},
        {"U8", "[8]", "[8,16]", kWrongPlace, 16},
        {"U8", "[8]", "[8,0]", kWrongPlace, 16},
        {"U8", "[0]", "[1,0]", kWrongPlace}};
    for (const Row& r : table)
        refuses(tensor(r.dtype, r.shape, r.offsets), r.reason, std::string(r.bytes, '\0'));
}

TEST_CASE("safetensors: several tensors with holes or overlaps", "[nn][checkpoint]") {
    const std::string data(16, '\0');
    refuses("{}", "the tensors need 0 bytes after the header: there are 1", "a");
    std::string ten = "{";
    for (char name = 'a'; name < 'a' + 10; ++name)
        ten += std::string(name == 'a' ? "" : ",") + "\"" + name + "\":" + entry("I32", "[2,2]", "[0,16]");
    refuses(
        ten + "}",
        "tensor \"b\" of this shape and dtype must have 16 bytes from byte 16 on: its data_offsets are 0 to "
        "16; the file is damaged",
        data);
    const auto pair = [](const std::string& first, const std::string& second) {
        return "{\"a\":" + entry("U8", "[8]", first) + ",\"b\":" + entry("U8", "[8]", second) + "}";
    };
    CHECK(complaint(file_of(pair("[0,8]", "[8,16]"), data)) == "");
    CHECK(complaint(file_of(pair("[8,16]", "[0,8]"), data)) == "");
    CHECK(complaint(file_of(
              "{\"a\":" + entry("U8", "[16]", "[0,16]") + ",\"e\":" + entry("U8", "[0]", "[0,0]") + "}",
              data)) == "");
    refuses(pair("[0,8]", "[7,15]"), "from byte 8 on: its data_offsets are", data);
    refuses(pair("[0,8]", "[9,17]"), "from byte 8 on: its data_offsets are", data + "a");
    refuses(pair("[0,8]", "[8,8]"), "must have 8 bytes from byte 8 on: its data_offsets are 8 to 8", data);
    // Of two that overlap, the later one is at the wrong place, in whichever order the header has them.
    const std::string outer = "\"a\":" + entry("U8", "[16]", "[0,16]"),
                      inner = "\"b\":" + entry("U8", "[4]", "[4,8]");
    for (const std::string& both : {outer + "," + inner, inner + "," + outer})
        refuses(
            "{" + both + "}",
            "tensor \"b\" of this shape and dtype must have 4 bytes from byte 16 on: its data_offsets are 4 "
            "to 8",
            data);
    refuses("{\"a\":" + entry("U8", "[8]", "[0,8]") + ",\"b\":" + entry("U8", "[0]", "[8,7]") + "}",
            "from byte 8 on: its data_offsets are", data.substr(8));
}

TEST_CASE("safetensors: names in messages are short and on one line", "[nn][checkpoint]") {
    for (const std::string piece : {"x", "é", "中", "\U0001f600", "\\n"}) {
        std::string name;
        for (int i = 0; i < 100000; ++i)
            name += piece;
        refuses("{\"" + name + "\":{}}", "...");
        CHECK(find_invalid_utf8(complaint(file_of("{\"" + name + "\":{}}"))) == std::string::npos);
    }
    CHECK(shown("a\nb") == R"("a\nb")");
    CHECK(shown(std::string(100, 'x')) == "\"" + std::string(100, 'x') + "\"");
    CHECK(shown(std::string(1000, '\x80')) == "\"\"...");
}

TEST_CASE("safetensors: what is read leniently", "[nn][checkpoint]") {
    for (const std::string header : {" \n\t\r{}", "{} \n\t\r", " { } ", "{\"__metadata__\" : { } }"})
        CHECK(complaint(file_of(header)) == "");
    const SafeTensors spaced = opened(
        file_of(" {\n\"x\" : {\t\"shape\" : [ 2 , 1 ] , \"data_offsets\":[ 0,4 ],\r\"dtype\" : \"F16\" } }\n",
                std::string("\0\x3c\0\xc0", 4)));
    CHECK(spaced.tensor("x").to_vector() == std::vector<Real>{1, -2});
    CHECK(spaced.tensor("x").shape() == Shape{2, 1});
    CHECK(opened(file_of(tensor("F32", "[0,2305843009213693951]", "[0,0]"))).tensor("x").numel() == 0);
    // No file has that many bytes, and no Tensor that many numbers, though one of its sizes is 0.
    for (const char* const shape : {"[0,4611686018427387904,4]", "[4611686018427387904,4,0]"})
        CHECK(contains(complaint(file_of(tensor("F32", shape, "[0,0]"))),
                       "must have 9223372036854775807 bytes"));
    CHECK(complaint(one_tensor("U8", "1,1,1,1,1,1,1,1,1,1,1,1", "a")) == "");
    CHECK(complaint(file_of("{}" + std::string(0x280 - 2, ' '))) == "");  // it begins as a pickle does
}

TEST_CASE("safetensors: cut off, doubled, or with any byte changed, a file is refused or read",
          "[nn][checkpoint]") {
    const std::string whole = small_file();
    REQUIRE(complaint(whole) == "");
    int refused = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
        INFO(at);
        CHECK(complaint(whole.substr(0, at)) != "");
        CHECK(complaint(whole + whole.substr(0, at + 1)) != "");
        for (int value = 0; value < 256; ++value) {
            std::string changed = whole;
            changed[at] = static_cast<char>(value);
            refused += error_of([&] { read_all(opened(changed)); }).empty() ? 0 : 1;
        }
    }
    CHECK(refused > 40000);
}

TEST_CASE("safetensors: files that cannot be read", "[nn][checkpoint]") {
    const Folder folder;
    const auto error = [](const std::string& path) { return error_of([&] { read(path); }); };
    CHECK(error(folder / "none") == (folder / "none") + ": cannot be opened: No such file or directory");
    CHECK(error(folder.path) == folder.path + ": this is a folder; a file is needed");
    CHECK(contains(error(""), "cannot be opened"));
    REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
    CHECK(contains(error(folder / "pipe"), "a pipe or a device"));
    REQUIRE(symlink("loop", (folder / "loop").c_str()) == 0);
    CHECK(contains(error(folder / "loop"), "cannot be opened"));
    put(folder / "empty", "");
    CHECK(contains(error(folder / "empty"), "empty: this is no safetensors file, or it is cut off"));
    put(folder / "secret", small_file());
    REQUIRE(chmod((folder / "secret").c_str(), 0) == 0);
    if (geteuid() != 0)  // who may read everything
        CHECK(contains(error(folder / "secret"), "cannot be opened: Permission denied"));
}
