#include "nn/checkpoint/json.h"

#include <clocale>
#if __has_include(<xlocale.h>)
#include <xlocale.h>  // where macOS has strtod_l
#endif

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>

#include "autograd/base/list.h"
#include "nn/checkpoint/utf8.h"

namespace plaingrad::nn::checkpoint {
namespace {

// JSON's named escapes: \n is kEscaped[i] where kEscapes[i] is n.
constexpr std::string_view kEscapes = "\"\\/bfnrt", kEscaped = "\"\\/\b\f\n\r\t";
constexpr std::string_view kDigits = "0123456789", kInNumbers = "0123456789+-.eE";

unsigned byte(char c) { return static_cast<unsigned char>(c); }

bool are_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of(kDigits) == text.npos;
}

// -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
bool is_number(std::string_view text) {
    text.remove_prefix(text.starts_with('-') ? 1 : 0);
    const std::size_t e = std::min(text.find_first_of("eE"), text.size()),
                      point = std::min(text.find('.'), e);
    const std::string_view whole = text.substr(0, point), fraction = text.substr(point, e - point);
    std::string_view exponent = text.substr(e);
    if (exponent.size() > 1 && (exponent[1] == '+' || exponent[1] == '-'))
        exponent.remove_prefix(1);
    return are_digits(whole) && (whole.size() == 1 || whole[0] != '0') &&
           (fraction.empty() || are_digits(fraction.substr(1))) &&
           (exponent.empty() || are_digits(exponent.substr(1)));
}

// A member's name in a path. One that could not be told from its surroundings, or is very long, is quoted.
std::string inner_path(const std::string& path, std::string_view name) {
    const std::string quoted = shown(name);
    return path + (path.empty() ? "" : ".") + (quoted.size() == name.size() + 2 ? std::string(name) : quoted);
}

}  // namespace

// Values in the order of the text: those in an array or an object come right behind it.
struct Json::Value {
    std::string_view name;
    std::string_view text;  // of a string what it says, of others what stands there, as Json::shown
    uint32_t end;           // the index of the first value that is not in this one
    Kind kind;
    mutable bool used = false;
};

// A whole text, and the values that were read from it.
class Json::Whole {
public:
    Whole(std::string json, std::string file) : text(std::move(json)), where(std::move(file)) {
        const std::size_t wrong = find_invalid_utf8(text);
        check_file(wrong == text.npos, where, ": byte ", wrong, " is not UTF-8");
        require(!text.starts_with("\xef\xbb\xbf"),
                "a byte order mark, which JSON does not allow; save the file without");
        values.reserve(text.size() / 16);
        read({}, 0);
        skip_space();
        require(at_ == text.size(), "something follows the last brace");
    }

    std::string text, where;
    std::vector<Value> values = {};

private:
    void read(std::string_view name, std::size_t levels) {
        skip_space();
        const std::size_t index = values.size();
        require(index < kMaxValues, "more than ", kMaxValues, " values");
        values.push_back({name, {}, static_cast<uint32_t>(index + 1), Kind::null});
        const char open = at_ < text.size() ? text[at_] : ' ';
        if (open != '{' && open != '[') {
            std::tie(values[index].kind, values[index].text) = single(open);
            return;
        }
        require(levels < kMaxLevels, "more than ", kMaxLevels, " objects and arrays lie in each other");
        ++at_;
        const bool is_object = open == '{';
        for (bool first = true; !accept(is_object ? "}" : "]"); first = false) {
            if (!first)
                expect(",");
            read(is_object ? key() : std::string_view(), levels + 1);
        }
        Value& value = values[index];
        value.kind = is_object ? Kind::object : Kind::array;
        value.end = static_cast<uint32_t>(values.size());
        if (value.end > index + 1)
            value.text = is_object ? "{...}" : "[...]";
        else
            value.text = is_object ? "{}" : "[]";
        if (is_object)
            check_names(index);
    }

    // Its first character decides.
    std::pair<Kind, std::string_view> single(char first) {
        if (first == '"')
            return {Kind::string, string()};
        if (kInNumbers.find(first) != kInNumbers.npos)
            return {Kind::number, number()};
        for (const char* const word : {"true", "false", "null"})
            if (accept(word))
                return {*word == 'n' ? Kind::null : Kind::boolean, word};
        fail_expected("a value");
    }

    // An escape is longer than its character, so the text is decoded where it stands.
    std::string_view string() {
        expect("\"");
        const std::size_t begin = at_;
        while (at_ < text.size() && text[at_] != '"' && text[at_] != '\\' && byte(text[at_]) >= 0x20)
            ++at_;  // to the end of most strings
        std::size_t end = at_;
        for (char c = next(); c != '"'; c = next()) {
            require(byte(c) >= 0x20, "a control character in a string must be escaped");
            if (c == '\\') {
                std::string character;
                append_utf8(character, escape());
                end += character.copy(&text[end], character.size());
            } else {
                text[end++] = c;
            }
        }
        return std::string_view(text).substr(begin, end - begin);
    }

    std::string_view key() {
        name_ = string();
        expect(":");
        return name_;
    }

    std::string_view number() {
        const std::size_t stop = std::min(text.find_first_not_of(kInNumbers, at_), text.size());
        const std::string_view token = std::string_view(text).substr(at_, stop - at_);
        if (!is_number(token))
            fail_expected("a number");
        at_ = stop;
        return token;
    }

    // At the end of their object: to sort them once takes a fifth of the time of a set.
    void check_names(std::size_t object) {
        std::vector<std::string_view> names;
        for (std::size_t i = object + 1; i < values.size(); i = values[i].end)
            names.push_back(values[i].name);
        std::sort(names.begin(), names.end());
        const auto twice = std::adjacent_find(names.begin(), names.end());
        if (twice == names.end())
            return;
        at_ = static_cast<std::size_t>(std::max(twice[0].data(), twice[1].data()) - text.data());
        name_ = {};
        fail(checkpoint::shown(*twice) + " comes twice");
    }

    char next() {
        require(at_ < text.size(), "it ends within a string");
        return text[at_++];
    }

    char32_t escape() {
        const char c = next();
        if (c != 'u') {
            const std::size_t i = kEscapes.find(c);
            require(i != kEscapes.npos, "there is no such escape");
            return byte(kEscaped[i]);
        }
        const uint32_t first = hex4();
        if (first >> 11 != 0x1b)  // not d800 to dfff
            return first;
        // A character beyond U+FFFF is two such escapes.
        const bool pair = first < 0xdc00 && next() == '\\' && next() == 'u';
        const uint32_t second = pair ? hex4() : 0;
        require(second >> 10 == 0x37, "half of a surrogate pair stands alone");
        return 0x10000 + ((first & 0x3ff) << 10 | (second & 0x3ff));
    }

    uint32_t hex4() {
        uint32_t value = 0;
        const std::string_view digits = std::string_view(text).substr(at_, 4);
        const char* stop = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
        require(stop == digits.data() + 4, "four hexadecimal digits must follow \\u");
        at_ += 4;
        return value;
    }

    void skip_space() {
        while (at_ < text.size() &&
               (text[at_] == ' ' || text[at_] == '\n' || text[at_] == '\t' || text[at_] == '\r'))
            ++at_;
    }

    bool accept(std::string_view token) {  // whether it comes next, after white space; then it is read
        skip_space();
        const bool found = text.compare(at_, token.size(), token) == 0;
        at_ += found ? token.size() : 0;
        return found;
    }

    void expect(std::string_view token) {
        if (!accept(token))
            fail_expected(token);
    }

    template <class... Parts>
    void require(bool condition, const Parts&... complaint) const {
        if (!condition) [[unlikely]]
            fail(autograd::join(complaint...));
    }

    [[noreturn]] void fail(const std::string& complaint) const {
        const std::string after = name_.empty() ? "" : ", after " + checkpoint::shown(name_, 40);
        throw FileError(autograd::join(where, ": byte ", at_, after, ": ", complaint));
    }

    [[noreturn]] void fail_expected(std::string_view what) const {
        const std::string_view rest = std::string_view(text).substr(at_);
        const std::size_t token = std::min(rest.find_first_not_of(kInNumbers), rest.size());
        const std::size_t length = token > 0 || rest.empty() ? token : first_code_point(rest).length;
        fail(autograd::join("expected ", what, ", found ",
                            rest.empty() ? "the end" : checkpoint::shown(rest.substr(0, length))));
    }

    std::size_t at_ = 0;
    std::string_view name_;  // the last one that was read
};

// ---- numbers

std::optional<int64_t> parse_integer(std::string_view text) {
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && stop == text.data() + text.size();
    return whole ? std::optional(value) : std::nullopt;
}

// With strtod_l, as from_chars for real numbers is missing in older libraries. It would also take hexadecimal
// numbers and leading spaces.
std::optional<double> parse_real(const std::string& text) {
    const bool infinite = text == "inf" || text == "-inf";
    if (text.empty() || (!infinite && text.find_first_not_of(kInNumbers) != text.npos))
        return {};
    static const locale_t kClassic = newlocale(LC_ALL_MASK, "C", nullptr);
    char* stop = nullptr;
    const double value = strtod_l(text.c_str(), &stop, kClassic);
    const bool whole = stop == text.c_str() + text.size();
    return whole && (infinite || std::isfinite(value)) ? std::optional(value) : std::nullopt;
}

template <class T>
static std::string shortest(T value) {
    char text[40];
    return {text, std::to_chars(text, std::end(text), value, std::chars_format::general).ptr};
}
std::string to_text(float value) { return shortest(value); }
std::string to_text(double value) { return shortest(value); }
std::string to_text(const std::vector<int64_t>& values) {
    return listed(autograd::mapped(values, [](int64_t value) { return std::to_string(value); }), " ");
}

// ---- values

Json::Json(std::string text, std::string where)
    : whole_(std::make_shared<const Whole>(std::move(text), std::move(where))) {}

const Json::Value& Json::value() const {
    static const Value missing = {{}, "null", 0, Kind::null};  // end: nothing is in it
    return missing_ ? missing : whole_->values[index_];
}
Json::Kind Json::kind() const { return value().kind; }
std::string_view Json::name() const { return value().name; }

Json::Items Json::inner(Kind kind, const char* what) const {
    expect(kind, what);
    Items all;
    for (std::size_t i = index_ + 1; i < value().end; i = whole_->values[i].end) {
        whole_->values[i].used = true;
        all.push_back(Json(whole_, i));
    }
    return all;
}

Json Json::operator[](std::string_view name) const {
    expect(Kind::object, "an object");
    for (std::size_t i = index_ + 1; i < value().end; i = whole_->values[i].end)
        if (whole_->values[i].name == name) {
            whole_->values[i].used = true;
            return {whole_, i};
        }
    return {whole_, index_, std::string(name)};
}

std::string Json::path() const {
    std::string path;
    for (std::size_t at = 0; at != index_;) {  // goes down to the item in which this value is
        const bool is_array = whole_->values[at].kind == Kind::array;
        int64_t number = 0;
        for (++at; whole_->values[at].end <= index_; at = whole_->values[at].end)
            ++number;
        path = is_array ? autograd::join(path, "[", number, "]") : inner_path(path, whole_->values[at].name);
    }
    return missing_ ? inner_path(path, *missing_) : path;
}

void Json::fail(const std::string& complaint) const {
    const std::string name = path();
    throw FileError(autograd::join(whole_->where, ": ", name, name.empty() ? "" : " ", complaint));
}

void Json::expect(Kind kind, const char* what) const {
    if (value().kind != kind)
        fail(is_null() ? autograd::join("is missing; it must be ", what)
                       : autograd::join("must be ", what, ": got ", shown()));
}

std::string_view Json::view() const {
    expect(Kind::string, "a string");
    return value().text;
}

std::string Json::nonempty_text() const {
    require(!view().empty(), "must not be empty");
    return text();
}

int64_t Json::between(int64_t least, int64_t most) const {
    expect(Kind::number, "a whole number");
    const std::optional<int64_t> number = parse_integer(value().text);
    const std::string bounds = least > INT64_MIN ? autograd::join(" from ", least, " to ", most) : "";
    require(number && *number >= least && *number <= most, "must be a whole number", bounds, ": got ",
            value().text);
    return *number;
}

double Json::real() const {
    expect(Kind::number, "a number");
    const std::optional<double> number = parse_real(std::string(value().text));
    require(number.has_value(), "is too large: ", value().text);
    return *number;
}

bool Json::boolean() const {
    expect(Kind::boolean, "true or false");
    return value().text == "true";
}

std::string Json::shown() const {
    return kind() == Kind::string ? checkpoint::shown(value().text) : std::string(value().text);
}

void Json::ignore() const {
    for (std::size_t i = index_; i < value().end; ++i)
        whole_->values[i].used = true;
}

void Json::check_all_used() const {
    for (std::size_t i = index_ + 1; i < value().end; ++i) {
        const Value& inner = whole_->values[i];
        if (!inner.used && inner.name.data() != nullptr && inner.kind != Kind::null)
            Json(whole_, i).fail("is not supported");
    }
}

// ---- text

JsonText::JsonText(std::string_view value) : text(quote(value)) {}

JsonText JsonText::real(double value, std::string text) {
    text += text.find_first_of(".e") == text.npos ? ".0" : "";
    return std::isfinite(value) ? JsonText(Written{text}) : nullptr;
}

JsonText JsonText::rounded(double value, int digits) {
    char text[40];
    char* const end = std::to_chars(text, std::end(text), value, std::chars_format::general, digits).ptr;
    return std::isfinite(value) ? JsonText(Written{{text, end}}) : nullptr;
}

static std::string within(char open, const std::vector<std::string>& items, bool lines, char close) {
    const std::string line = lines ? "\n" : "";
    return open + line + listed(items, ("," + line).c_str()) + (items.empty() ? "" : line) + close;
}

JsonText JsonText::array(const std::vector<JsonText>& items, bool lines) {
    return Written{within('[', autograd::mapped(items, &JsonText::text), lines, ']')};
}

JsonText JsonText::object(const std::vector<Member>& members, bool lines) {
    const auto write = [](const Member& m) { return quote(m.first) + ":" + m.second.text; };
    return Written{within('{', autograd::mapped(members, write), lines, '}')};
}

std::string quote(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
        if (byte(c) >= 0x20 && c != '"' && c != '\\')
            out.push_back(c);  // a slash, too, which may be escaped, but need not be
        else if (const std::size_t i = kEscaped.find(c); i != kEscaped.npos)
            out.append({'\\', kEscapes[i]});
        else
            out.append("\\u00").append({digits[byte(c) >> 4], digits[byte(c) & 15]});
    }
    return out + '"';
}

std::string shown(std::string_view text, std::size_t most) {
    std::size_t length = std::min(text.size(), most);
    while (length > 0 && length < text.size() && (byte(text[length]) & 0xc0) == 0x80)
        --length;  // do not cut a character
    return quote(text.substr(0, length)) + (length < text.size() ? "..." : "");
}

std::string listed(const std::vector<std::string>& words, const char* between) {
    std::string list;
    for (const std::string& word : words)
        list.append(&word == &words[0] ? "" : between).append(word);
    return list;
}

std::string listed_few(std::vector<std::string> words) {
    const std::size_t all = words.size();
    words.resize(std::min<std::size_t>(all, 5));
    return listed(words) + (all > 5 ? autograd::join(", and ", all - 5, " more") : "");
}

}  // namespace plaingrad::nn::checkpoint
