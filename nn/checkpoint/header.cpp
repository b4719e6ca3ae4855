#include "nn/checkpoint/header.h"

#include <algorithm>
#include <tuple>

#include "nn/checkpoint/json.h"

namespace plaingrad::nn::checkpoint {
namespace {

struct NameAndSize {
    const char* name;
    int64_t size;
};
constexpr NameAndSize kDTypes[] = {{"BOOL", 1}, {"U8", 1},   {"I8", 1},  {"I16", 2}, {"U16", 2},
                                   {"F16", 2},  {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},
                                   {"F64", 8},  {"I64", 8},  {"U64", 8}};

DType parse_dtype(JsonReader& json, std::string_view tensor) {
    const std::string_view name = json.string();
    const auto* found =
        std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](auto& d) { return d.name == name; });
    check_file(found != std::end(kDTypes), json.where(), ": tensor ", shown(tensor), " has the dtype ",
               shown(name),
               ", which is not read here; in Python, convert it to float32 or bfloat16 and save it again");
    return static_cast<DType>(found - kDTypes);
}

std::vector<int64_t> counts(JsonReader& json) {
    std::vector<int64_t> values;
    json.array([&] { values.push_back(json.count()); });
    return values;
}

Entry parse_entry(JsonReader& json, std::string_view name) {
    Entry entry = {.name = std::string(name)};
    int fields = 0;
    json.object([&](std::string_view key) {
        ++fields;
        if (key == "dtype") {
            entry.dtype = parse_dtype(json, name);
        } else if (key == "shape") {
            entry.shape = counts(json);
        } else {
            json.require(key == "data_offsets", "a tensor has no field ", shown(key));
            const std::vector<int64_t> offsets = counts(json);
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

Header parse_header(std::string_view text, int64_t data_bytes, const std::string& where) {
    Header header;
    JsonReader json(std::string(text), where, " of the header",
                    "; the file is damaged, or is no safetensors file");
    json.object([&](std::string_view name) {
        if (name == "__metadata__")
            json.object([&](std::string_view key) { header.metadata[std::string(key)] = json.string(); });
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
