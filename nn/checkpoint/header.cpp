#include "nn/checkpoint/header.h"

#include <algorithm>
#include <tuple>

#include "autograd/base/list.h"
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

DType parse_dtype(const Json& entry, const std::string& where) {
    const std::string name = entry["dtype"].text();
    const auto* found =
        std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](auto& d) { return d.name == name; });
    check_file(found != std::end(kDTypes), where, ": tensor ", shown(entry.name()), " has the dtype ",
               shown(name),
               ", which is not read here; in Python, convert it to float32 or bfloat16 and save it again");
    return static_cast<DType>(found - kDTypes);
}

std::vector<int64_t> counts(const Json& list) {
    return autograd::mapped(list.items(), [](const Json& item) { return item.count(); });
}

Entry parse_entry(const Json& json, const std::string& where) {
    json.require(json.members().size() == 3, "must have a dtype, a shape and data_offsets, and nothing else");
    const std::vector<int64_t> offsets = counts(json["data_offsets"]);
    json["data_offsets"].require(offsets.size() == 2, "must be two numbers");
    return {.name = std::string(json.name()),
            .dtype = parse_dtype(json, where),
            .shape = counts(json["shape"]),
            .begin = offsets[0],
            .end = offsets[1]};
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
    const Json json(std::string(text), where + ": header",
                    "; the file is damaged, or is no safetensors file");
    for (const Json& member : json.members())
        if (member.name() != "__metadata__")
            header.entries.push_back(parse_entry(member, where));
        else
            for (const Json& item : member.members())
                header.metadata[std::string(item.name())] = item.text();
    std::sort(header.entries.begin(), header.entries.end(), [](const Entry& a, const Entry& b) {
        return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    check_layout(header.entries, data_bytes, where);
    return header;
}

std::string format_header(const Header& header) {
    std::vector<JsonText::Member> metadata(header.metadata.begin(), header.metadata.end()), all;
    if (!metadata.empty())
        all.emplace_back("__metadata__", JsonText::object(metadata));
    for (const Entry& entry : header.entries)
        all.emplace_back(entry.name,
                         JsonText::object({{"dtype", name_of(entry.dtype)},
                                           {"shape", entry.shape},
                                           {"data_offsets", JsonText::array({entry.begin, entry.end})}}));
    std::string text = JsonText::object(all).text;
    text.append((8 - text.size() % 8) % 8, ' ');
    return text;
}

}  // namespace plaingrad::nn::checkpoint
