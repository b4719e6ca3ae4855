// JSON (RFC 8259), read strictly: the header of a safetensors file, and the files beside one in a folder from
// Hugging Face.
//
//     JsonReader json = JsonReader::open("config.json");
//     json.object([&](std::string_view key) {
//         if (key == "n_layer")
//             n_layers = json.count();
//         else if (key == "eos_token_id")
//             json.array([&] { ends.push_back(json.count()); });
//         else
//             json.skip();
//     });
//     json.end();
//
// Values are read in the order in which they come, and no tree of them is built: a tokenizer's file may have
// 20 MB. The code that reads decides how deep it goes. A file cannot: nothing recurses, and `skip` goes down
// kMaxLevels and no further.
//
// Each error is a FileError, `FILE: byte N, in "KEY": ...`. A key that comes twice is refused, and so is text
// that is not UTF-8, and what Python's json takes although it is no JSON: NaN, half of a surrogate pair.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nn/checkpoint/file.h"

namespace plaingrad::nn::checkpoint {

class JsonReader {
public:
    enum class Kind { object, array, string, number, boolean, null };

    static constexpr std::size_t kMaxLevels = 128;
    static constexpr int64_t kMaxBytes = int64_t{1} << 26;  // twice the largest tokenizer.json we know of

    // A whole text. In errors `where` is the file, `part` follows the position, and `hint` ends the line.
    JsonReader(std::string text, std::string where, std::string part = "", std::string hint = "");
    // A file of up to kMaxBytes.
    static JsonReader open(const std::string& path) { return {text_of(path), path}; }
    static std::string text_of(const std::string& path);

    JsonReader(const JsonReader&) = delete;
    JsonReader& operator=(const JsonReader&) = delete;

    const std::string& where() const { return where_; }

    // Of the value that comes next. (Its first character decides: the rest may be wrong.)
    Kind kind();

    // {"key":value,...}: member(key) must read the value.
    template <class Member>
    void object(const Member& member) {
        std::vector<std::string_view> keys;
        expect("{");
        for (bool first = true; !accept("}"); first = false) {
            if (!first)
                expect(",");
            keys.push_back(key());
            const std::string_view outer = std::exchange(key_, keys.back());
            member(key_);
            key_ = outer;
        }
        check_keys(keys);
    }

    // [value,...]: item() must read a value.
    template <class Item>
    void array(const Item& item) {
        expect("[");
        for (bool first = true; !accept("]"); first = false) {
            if (!first)
                expect(",");
            item();
        }
    }

    // Keys too are such views: valid as long as the reader.
    std::string_view string();
    int64_t integer();  // a whole number, written as one: 12, but neither 12.0 nor 1e3
    int64_t count();    // the same without a sign
    double real();      // any number that a double can hold
    bool boolean();
    bool null();  // whether the next value is null, which is then read
    // Any value, checked as strictly as one that is read. Returns its text as the file has it, except for
    // strings with escapes: they have been decoded in place, so what stands there is not their text.
    std::string_view skip();

    void end();  // nothing but white space may follow

    // For what is JSON, but not as it should be.
    template <class... Parts>
    void require(bool condition, const Parts&... complaint) const {
        if (!condition) [[unlikely]]
            fail(autograd::join(complaint...));
    }

private:
    [[noreturn]] void fail(const std::string& complaint) const;
    [[noreturn]] void fail_expected(std::string_view what) const;
    void skip_space();
    bool accept(std::string_view token);  // whether it comes next, after white space; then it is read
    void expect(std::string_view token);
    void skip_single(Kind kind);
    std::string_view key();
    void check_keys(std::vector<std::string_view>& keys);
    char next();
    char32_t escape();
    uint32_t hex4();
    std::string_view number(std::string_view characters, const char* expected);
    int64_t whole(std::string_view characters, const char* expected);

    std::string text_, where_, part_, hint_;
    std::size_t at_ = 0;
    std::string_view key_;  // of the innermost object that is being read
};

// The text as a JSON string with quotes. `shown` shortens it for messages, to `most` bytes: a name in a file
// may have megabytes.
std::string quote(std::string_view text);
std::string shown(std::string_view text, std::size_t most = 100);
// As it is if it looks like a name of ours, else as `shown`.
std::string shown_name(std::string_view text);

}  // namespace plaingrad::nn::checkpoint
