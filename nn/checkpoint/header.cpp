#include "nn/checkpoint/header.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

#include "nn/checkpoint/file.h"
#include "nn/utf8.h"

namespace plaingrad::nn::checkpoint {
namespace {

struct NameAndSize {
    const char* name;
    int64_t size;
};
constexpr NameAndSize kDTypes[] = {{"BOOL", 1}, {"U8", 1},   {"I8", 1},  {"I16", 2}, {"U16", 2},
                                   {"F16", 2},  {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},
                                   {"F64", 8},  {"I64", 8},  {"U64", 8}};

// JSON's named escapes: \n is kEscaped[i] where kEscapes[i] is n.
constexpr std::string_view kEscapes = "\"\\/bfnrt", kEscaped = "\"\\/\b\f\n\r\t";

unsigned byte(char c) { return static_cast<unsigned char>(c); }

// Parses the text from its start; each function reads what must come next, after any white space. There is no
// recursion, so a file cannot choose its depth.
class Reader {
public:
    Reader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

    const std::string& where() const { return where_; }

    template <class... Parts>
    void require(bool condition, const Parts&... complaint) const {
        check_file(condition, where_, ": byte ", at_, " of the header: ", complaint...,
                   "; the file is damaged, or is no safetensors file");
    }

    // {"key":value,...}, where member(key) reads the value.
    template <class Member>
    void object(const Member& member) {
        std::set<std::string> keys;
        list('{', '}', [&] {
            const auto [key, is_new] = keys.insert(string());
            require(is_new, shown(*key), " comes twice");
            expect(':');
            member(*key);
        });
    }

    std::vector<int64_t> integers() {
        std::vector<int64_t> values;
        list('[', ']', [&] { values.push_back(integer()); });
        return values;
    }

    std::string string() {
        std::string out;
        expect('"');
        for (char c = next(); c != '"'; c = next()) {
            require(byte(c) >= 0x20, "a control character in a string must be escaped");
            if (c == '\\')
                nn::append_utf8(out, escape());
            else
                out.push_back(c);
        }
        return out;
    }

    void end() {
        skip_space();
        require(at_ == text_.size(), "something follows the last brace");
    }

private:
    template <class Item>
    void list(char open, char close, const Item& item) {
        expect(open);
        for (bool first = true; !accept(close); first = false) {
            if (!first)
                expect(',');
            item();
        }
    }

    void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size()); }

    bool accept(char c) {
        skip_space();
        const bool found = text_.substr(at_, 1) == std::string_view(&c, 1);
        at_ += found ? 1 : 0;
        return found;
    }

    void expect(char c) {
        if (!accept(c))
            require(false, "expected ", c, ", found ",
                    at_ < text_.size() ? shown(text_.substr(at_, 1)) : "its end");
    }

    char next() {
        require(at_ < text_.size(), "it ends within a string");
        return text_[at_++];
    }

    uint32_t escape() {
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
        const std::string_view digits = text_.substr(at_, 4);
        const char* stop = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
        require(stop == digits.data() + 4, "four hexadecimal digits must follow \\u");
        at_ += 4;
        return value;
    }

    int64_t integer() {
        skip_space();
        int64_t value = 0;
        const char* from = text_.data() + at_;
        const auto [stop, error] = std::from_chars(from, text_.data() + text_.size(), value);
        require(error != std::errc::result_out_of_range, "this number is too large");
        const bool zeros = stop - from > 1 && *from == '0';
        require(stop != from && *from != '-' && !zeros, "expected a whole number, 0 or more");
        at_ += static_cast<std::size_t>(stop - from);
        return value;
    }

    std::string_view text_;
    const std::string& where_;
    std::size_t at_ = 0;
};

DType parse_dtype(Reader& json, const std::string& tensor) {
    const std::string name = json.string();
    const auto* found =
        std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](auto& d) { return d.name == name; });
    check_file(found != std::end(kDTypes), json.where(), ": tensor ", shown(tensor), " has the dtype ",
               shown(name),
               ", which is not read here; in Python, convert it to float32 or bfloat16 and save it again");
    return static_cast<DType>(found - kDTypes);
}

Entry parse_entry(Reader& json, const std::string& name) {
    Entry entry = {.name = name};
    int fields = 0;
    json.object([&](const std::string& key) {
        ++fields;
        if (key == "dtype") {
            entry.dtype = parse_dtype(json, name);
        } else if (key == "shape") {
            entry.shape = json.integers();
        } else {
            json.require(key == "data_offsets", "a tensor has no field ", shown(key));
            const std::vector<int64_t> offsets = json.integers();
            json.require(offsets.size() == 2, "data_offsets must be two numbers");
            std::tie(entry.begin, entry.end) = std::pair(offsets[0], offsets[1]);
        }
    });
    json.require(fields == 3, "tensor ", shown(name), " must have a dtype, a shape and data_offsets");
    return entry;
}

// Each tensor begins where the last one ended: no byte is read twice, and none can hide between them.
void check_layout(const std::vector<Entry>& in_order, int64_t data_bytes, const std::string& where) {
    int64_t at = 0;
    for (const Entry& entry : in_order) {
        check_file(entry.begin == at && entry.end >= at, where, ": tensor ", shown(entry.name),
                   " must begin at byte ", at, ", where the last one ended: its data_offsets are ",
                   entry.begin, " to ", entry.end, "; the file is damaged");
        at = entry.end;
        const int64_t needed = byte_count(entry, where);
        check_file(at - entry.begin == needed, where, ": tensor ", shown(entry.name),
                   " of this shape and dtype has ", needed, " bytes: its data_offsets give it ",
                   at - entry.begin, "; the file is damaged");
    }
    check_file(
        at == data_bytes, where, ": the tensors need ", at, " bytes after the header: there are ", data_bytes,
        at > data_bytes ? "; the file is cut off" : "; the file is damaged, or something was added to it");
}

}  // namespace

const char* name_of(DType dtype) { return kDTypes[static_cast<int>(dtype)].name; }
int64_t size_of(DType dtype) { return kDTypes[static_cast<int>(dtype)].size; }

int64_t byte_count(const Entry& entry, const std::string& where) {
    int64_t numbers = 1, bytes = 0;
    bool fits = true, empty = false;
    for (const int64_t size : entry.shape) {  // counts a 0 as 1: {0, 2^62, 4} is also too large
        empty = empty || size == 0;
        fits = fits && size >= 0 && !__builtin_mul_overflow(numbers, std::max<int64_t>(size, 1), &numbers);
    }
    fits = fits && !__builtin_mul_overflow(empty ? 0 : numbers, size_of(entry.dtype), &bytes);
    check_file(fits, where, ": tensor ", shown(entry.name),
               " has a negative size, or more bytes than 64 bits can count");
    return bytes;
}

std::string quote(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
        const std::size_t i =
            c == '/' ? kEscaped.npos : kEscaped.find(c);  // a slash may be escaped, but need not be
        if (i != kEscaped.npos)
            out.append({'\\', kEscapes[i]});
        else if (byte(c) < 0x20)
            out.append("\\u00").append({digits[byte(c) >> 4], digits[byte(c) & 15]});
        else
            out.push_back(c);
    }
    return out + '"';
}

std::string shown(std::string_view text) {
    std::size_t length = std::min<std::size_t>(text.size(), 100);
    while (length > 0 && length < text.size() && (byte(text[length]) & 0xc0) == 0x80)
        --length;  // do not cut a character
    return quote(text.substr(0, length)) + (length < text.size() ? "..." : "");
}

Header parse_header(std::string_view text, int64_t data_bytes, const std::string& where) {
    check_file(nn::find_invalid_utf8(text) == text.npos, where,
               ": the header is not UTF-8; the file is damaged, or is no safetensors file");
    Header header;
    Reader json(text, where);
    json.object([&](const std::string& name) {
        if (name == "__metadata__")
            json.object([&](const std::string& key) { header.metadata[key] = json.string(); });
        else
            header.entries.push_back(parse_entry(json, name));
    });
    json.end();
    std::sort(header.entries.begin(), header.entries.end(), [](const Entry& a, const Entry& b) {
        return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    check_layout(header.entries, data_bytes, where);
    return header;
}

// Uses std::to_string, as a stream would write 1,000 in some locales.
std::string format_header(const Header& header) {
    std::string text;
    const auto item =
        [&](const std::string& part) {  // an item of a list, after a comma unless it is the first
            text.append(text.back() == '{' || text.back() == '[' ? "" : ",").append(part);
        };
    text.append(header.metadata.empty() ? "{" : "{\"__metadata__\":{");
    for (const auto& [key, value] : header.metadata)
        item(quote(key).append(":").append(quote(value)));
    text += header.metadata.empty() ? "" : "}";
    for (const Entry& entry : header.entries) {
        item(quote(entry.name) + ":{\"dtype\":" + quote(name_of(entry.dtype)) + ",\"shape\":[");
        for (const int64_t size : entry.shape)
            item(std::to_string(size));
        text.append("],\"data_offsets\":[").append(std::to_string(entry.begin));
        item(std::to_string(entry.end).append("]}"));
    }
    text += '}';
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
}

}  // namespace plaingrad::nn::checkpoint
