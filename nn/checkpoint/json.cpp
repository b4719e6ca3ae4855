#include "nn/checkpoint/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "nn/checkpoint/metadata.h"
#include "nn/utf8.h"

namespace plaingrad::nn::checkpoint {
namespace {

// JSON's named escapes: \n is kEscaped[i] where kEscapes[i] is n.
constexpr std::string_view kEscapes = "\"\\/bfnrt", kEscaped = "\"\\/\b\f\n\r\t";
constexpr std::string_view kDigits = "0123456789", kInNumbers = "0123456789+-.eE";

unsigned byte(char c) { return static_cast<unsigned char>(c); }

// -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
bool is_number(std::string_view text) {
    const auto take = [&](std::string_view any) {  // one character, if it is one of these
        const bool found = !text.empty() && any.find(text[0]) != any.npos;
        text.remove_prefix(found ? 1 : 0);
        return found;
    };
    const auto digits = [&] {
        const bool found = take(kDigits);
        while (take(kDigits)) {
        }
        return found;
    };
    take("-");
    bool right = take("0") || digits();
    if (take("."))
        right = digits() && right;
    if (take("eE")) {
        take("+-");
        right = digits() && right;
    }
    return right && text.empty();
}

}  // namespace

JsonReader::JsonReader(std::string text, std::string where, std::string part, std::string hint)
    : text_(std::move(text)), where_(std::move(where)), part_(std::move(part)), hint_(std::move(hint)) {
    const std::size_t wrong = find_invalid_utf8(text_);
    check_file(wrong == text_.npos, where_, ": byte ", wrong, part_, " is not UTF-8", hint_);
    check_file(!text_.starts_with("\xef\xbb\xbf"), where_, ": byte 0", part_,
               ": a byte order mark, which JSON does not allow; save the file without", hint_);
}

std::string JsonReader::text_of(const std::string& path) {
    InputFile file(path);
    check_file(file.size() <= JsonReader::kMaxBytes, path, ": ", file.size(),
               " bytes are too many for a JSON file of a model; up to ", JsonReader::kMaxBytes, " are read");
    std::string text;
    file.append_to(text, file.size());
    return text;
}

JsonReader::Kind JsonReader::kind() {
    skip_space();
    switch (at_ < text_.size() ? text_[at_] : '\0') {
        case '{':
            return Kind::object;
        case '[':
            return Kind::array;
        case '"':
            return Kind::string;
        case 't':
        case 'f':
            return Kind::boolean;
        case 'n':
            return Kind::null;
        default:
            break;
    }
    if (kInNumbers.find(text_[at_]) == kInNumbers.npos)
        fail_expected("a value");
    return Kind::number;
}

// An escape is longer than its character, so the text is decoded where it stands.
std::string_view JsonReader::string() {
    expect("\"");
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' && byte(text_[at_]) >= 0x20)
        ++at_;  // to the end of most strings
    std::size_t end = at_;
    for (char c = next(); c != '"'; c = next()) {
        require(byte(c) >= 0x20, "a control character in a string must be escaped");
        if (c == '\\') {
            std::string character;
            append_utf8(character, escape());
            end += character.copy(&text_[end], character.size());
        } else {
            text_[end++] = c;
        }
    }
    return std::string_view(text_).substr(begin, end - begin);
}

int64_t JsonReader::integer() { return whole("-0123456789", "a whole number"); }
int64_t JsonReader::count() { return whole(kDigits, "a whole number, 0 or more"); }

double JsonReader::real() {
    const std::optional<double> value = parse_real(std::string(number(kInNumbers, "a number")));
    require(value.has_value(), "this number is too large");
    return *value;
}

bool JsonReader::boolean() {
    const bool yes = accept("true");
    if (!yes && !accept("false"))
        fail_expected("true or false");
    return yes;
}

bool JsonReader::null() { return accept("null"); }

std::string_view JsonReader::skip() {
    struct Level {
        const char* close;
        std::vector<std::string_view> keys = {};
    };
    std::vector<Level> levels;  // that are open
    skip_space();
    const std::size_t begin = at_;
    for (;;) {
        const Kind now = kind();
        bool first = now == Kind::object || now == Kind::array;  // whether a level's first value comes next
        if (first) {
            require(levels.size() < kMaxLevels, "more than ", kMaxLevels,
                    " objects and arrays lie in each other");
            ++at_;
            levels.push_back({now == Kind::object ? "}" : "]"});
        } else {
            skip_single(now);
        }
        for (; !levels.empty() && accept(levels.back().close); levels.pop_back(), first = false)
            check_keys(levels.back().keys);
        if (levels.empty())
            return std::string_view(text_).substr(begin, at_ - begin);
        if (!first)
            expect(",");
        if (*levels.back().close == '}')
            levels.back().keys.push_back(key());
    }
}

void JsonReader::skip_single(Kind kind) {
    if (kind == Kind::string)
        string();
    else if (kind == Kind::number)
        number(kInNumbers, "a number");
    else if (kind == Kind::boolean)
        boolean();
    else
        expect("null");
}

void JsonReader::end() {
    skip_space();
    require(at_ == text_.size(), "something follows the last brace");
}

void JsonReader::fail(const std::string& complaint) const {
    throw FileError(autograd::join(where_, ": byte ", at_, part_,
                                   key_.empty() ? "" : ", in " + shown(key_, 40), ": ", complaint, hint_));
}

void JsonReader::fail_expected(std::string_view what) const {
    const std::string_view rest = std::string_view(text_).substr(at_);
    const std::size_t token = std::min(rest.find_first_not_of(kInNumbers), rest.size());
    const std::size_t length = token > 0 || rest.empty() ? token : first_code_point(rest).length;
    fail(autograd::join("expected ", what, ", found ",
                        rest.empty() ? "the end" : shown(rest.substr(0, length))));
}

void JsonReader::skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
        ++at_;
}

bool JsonReader::accept(std::string_view token) {
    skip_space();
    const bool found = text_.compare(at_, token.size(), token) == 0;
    at_ += found ? token.size() : 0;
    return found;
}

void JsonReader::expect(std::string_view token) {
    if (!accept(token))
        fail_expected(token);
}

std::string_view JsonReader::key() {
    const std::string_view name = string();
    expect(":");
    return name;
}

// At the end of their object: to sort them once takes a fifth of the time of a set.
void JsonReader::check_keys(std::vector<std::string_view>& keys) {
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice == keys.end())
        return;
    at_ = static_cast<std::size_t>(std::max(twice[0].data(), twice[1].data()) - text_.data());
    fail(shown(*twice) + " comes twice");
}

char JsonReader::next() {
    require(at_ < text_.size(), "it ends within a string");
    return text_[at_++];
}

char32_t JsonReader::escape() {
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

uint32_t JsonReader::hex4() {
    uint32_t value = 0;
    const std::string_view digits = std::string_view(text_).substr(at_, 4);
    const char* stop = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
    require(stop == digits.data() + 4, "four hexadecimal digits must follow \\u");
    at_ += 4;
    return value;
}

// A number of these characters only.
std::string_view JsonReader::number(std::string_view characters, const char* expected) {
    skip_space();
    const std::size_t stop = std::min(text_.find_first_not_of(kInNumbers, at_), text_.size());
    const std::string_view token = std::string_view(text_).substr(at_, stop - at_);
    if (!is_number(token) || token.find_first_not_of(characters) != token.npos)
        fail_expected(expected);
    at_ = stop;
    return token;
}

int64_t JsonReader::whole(std::string_view characters, const char* expected) {
    const std::optional<int64_t> value = parse_integer(number(characters, expected));
    require(value.has_value(), "this number is too large");
    return *value;
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

std::string shown_name(std::string_view text) {
    const bool is_plain = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._ ") == text.npos;
    return is_plain && text.size() < 60 ? std::string(text) : shown(text);
}

}  // namespace plaingrad::nn::checkpoint
