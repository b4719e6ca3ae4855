// JSON (RFC 8259), read strictly, and written: the header of a safetensors file, and the files beside one.
//
//     const Json config = Json::open("config.json");
//     const int64_t n_layers = config["n_layer"].count();
//     for (const Json& id : config["eos_token_id"].items())
//         ends.push_back(id.count());
//     config.check_all_used();  // refuses by name what nobody has asked for
//
// A text is read at once. Its values lie in one list, 40 bytes each, and its strings stay where they are: a
// tokenizer's file may have 20 MB. There are limits for its size, its depth and the number of its values.
//
// Each error is a FileError: `FILE: byte N: ...` for what is no JSON, `FILE: model.vocab ...` for a value
// that is not as it should be. A name that comes twice is refused, and so is text that is not UTF-8, and what
// Python's json takes although it is no JSON: NaN, half of a surrogate pair.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nn/checkpoint/file.h"

namespace plaingrad::nn::checkpoint {

// The whole text as a number; no value if it is not a number, or too large. A real number may be "inf". The
// decimal point is "." here and below, whatever the host program's locale.
std::optional<int64_t> parse_integer(std::string_view text);
std::optional<double> parse_real(const std::string& text);

// The fewest digits that identify the number: 0.1, not 0.10000000000000001.
std::string to_text(float value);
std::string to_text(double value);
inline std::string to_text(int64_t value) { return std::to_string(value); }
inline std::string to_text(const std::string& value) { return value; }
std::string to_text(const std::vector<int64_t>& values);  // "4 5 6"

// A value, which keeps the whole text alive.
class Json {
public:
    enum class Kind : uint8_t { object, array, string, number, boolean, null };

    static constexpr std::size_t kMaxLevels = 128;
    static constexpr std::size_t kMaxValues = std::size_t{1} << 23;
    static constexpr int64_t kMaxBytes = int64_t{1} << 26;  // twice the largest tokenizer.json we know of

    Json() : Json("null", "") {}
    Json(std::string text, std::string where);  // a whole text; in errors `where` is the file
    // A file of up to kMaxBytes.
    static Json open(const std::string& path) { return {read_file(path, kMaxBytes), path}; }

    Kind kind() const;
    bool is_null() const { return kind() == Kind::null; }
    bool is_missing() const { return missing_.has_value(); }  // a null that no file has
    using Items = std::vector<Json>;
    Items items() const { return inner(Kind::array, "a list"); }
    Items members() const { return inner(Kind::object, "an object"); }  // in order; all are then asked for
    // The member of an object; a null if there is none.
    Json operator[](std::string_view name) const;
    std::string_view name() const;  // in its object

    // The value. Throws FileError if it is of another kind. With a default: also for null.
    std::string text() const { return std::string(view()); }
    std::string_view view() const;  // valid as long as any value of the whole text
    std::string nonempty_text() const;
    // A whole number, written as one: neither 12.0 nor 1e3.
    int64_t between(int64_t least, int64_t most) const;
    int64_t integer() const { return between(INT64_MIN, INT64_MAX); }
    int64_t count(int64_t most = INT64_MAX) const { return between(0, most); }
    double real() const;  // any number that a double can hold
    bool boolean() const;
    std::string text_or(const std::string& otherwise) const { return is_null() ? otherwise : text(); }
    bool boolean_or(bool otherwise) const { return is_null() ? otherwise : boolean(); }

    // For messages: 12, "a"; of what has items only [...] or {...}, unless it is empty.
    std::string shown() const;
    void ignore() const;  // as if all in it had been asked for
    // Throws FileError if a member of an object, or of one in it, was not asked for: an option that is not
    // honoured would change what is computed without a word.
    void check_all_used() const;
    // For what is JSON, but not as it should be. The complaint follows the value's name.
    template <class... Parts>
    void require(bool condition, const Parts&... complaint) const {
        if (!condition) [[unlikely]]
            fail(autograd::join(complaint...));
    }

private:
    class Whole;
    struct Value;
    Json(std::shared_ptr<const Whole> whole, std::size_t index, std::optional<std::string> missing = {})
        : whole_(std::move(whole)), index_(index), missing_(std::move(missing)) {}

    const Value& value() const;
    std::string path() const;
    Items inner(Kind kind, const char* what) const;
    void expect(Kind kind, const char* what) const;
    [[noreturn]] void fail(const std::string& complaint) const;

    std::shared_ptr<const Whole> whole_;
    std::size_t index_ = 0;  // of whole_'s values
    // This is the null for a name that the object at index_ does not have.
    std::optional<std::string> missing_;
};

// A value that is written: its text, without white space.
//
//     JsonText::object({{"type", "Sequence"}, {"sizes", JsonText::array({1, 2.5, nullptr})}}).text
struct JsonText {
    using Member = std::pair<std::string, JsonText>;

    JsonText(std::nullptr_t) : text("null") {}
    JsonText(bool value) : text(value ? "true" : "false") {}
    JsonText(std::integral auto value) : text(std::to_string(value)) {}
    JsonText(std::floating_point auto value) : JsonText(real(static_cast<double>(value), to_text(value))) {}
    JsonText(std::string_view value);
    JsonText(const std::string& value) : JsonText(std::string_view(value)) {}
    JsonText(const char* value) : JsonText(std::string_view(value)) {}
    template <class T>
    JsonText(const std::vector<T>& values)
        : JsonText(array(std::vector<JsonText>(values.begin(), values.end()))) {}

    static JsonText rounded(double value, int digits);  // null if it is not finite
    // lines: each item on a line of its own.
    static JsonText array(const std::vector<JsonText>& items, bool lines = false);
    static JsonText object(const std::vector<Member>& members, bool lines = false);

    std::string text;

private:
    struct Written {
        std::string text;
    };
    JsonText(Written json) : text(std::move(json.text)) {}
    // The fewest digits that identify the number, with a point: in Python 1 is no float. Null if not finite.
    static JsonText real(double value, std::string text);
};

// The text as a JSON string with quotes. `shown` shortens it for messages, to `most` bytes: a name in a file
// may have megabytes.
std::string quote(std::string_view text);
std::string shown(std::string_view text, std::size_t most = 100);
// "a, b, c"
std::string listed(const std::vector<std::string>& words, const char* between = ", ");
// Only the first five of many, to keep a line short: "a, b, c, d, e, and 3 more".
std::string listed_few(std::vector<std::string> words);

}  // namespace plaingrad::nn::checkpoint
