#include "nn/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <tuple>

#include "autograd/base/check.h"
#include "autograd/base/list.h"
#include "autograd/base/text_stream.h"
#include "autograd/ops.h"
#include "autograd/weight.h"
#include "nn/checkpoint/utf8.h"

namespace plaingrad::nn::checkpoint {
namespace {

using autograd::check;
using autograd::join;
using autograd::kRealIsDouble;
using autograd::Shape;

static_assert(std::endian::native == std::endian::little, "numbers go to the file as they are in memory");

bool is_utf8(std::string_view text) { return nn::checkpoint::find_invalid_utf8(text) == text.npos; }

constexpr int64_t kLengthBytes = 8;
constexpr uint64_t kLongestHeader = 100'000'000;  // the limit of the reference implementation

// Numbers in files for which C++ has no type.
struct Half {  // sign, 5 bits of exponent, 10 of fraction
    uint16_t bits;
    operator float() const {
        const uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023;
        if (exponent == 0)  // zeros and subnormals
            return std::copysign(static_cast<float>(fraction) * 0x1p-24f, std::bit_cast<float>(sign));
        const uint32_t wide = exponent == 31 ? 255 : exponent - 15 + 127;  // infinities and NaN stay
        return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
    }
};
struct BrainFloat {  // the upper half of a float
    uint16_t bits;
    operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};
// The bytes need not be aligned: a header may have any length.
template <class Stored>
void convert(std::string_view from, Real* to) {
    for (std::size_t i = 0; i < from.size() / sizeof(Stored); ++i) {
        Stored stored;
        std::memcpy(&stored, from.data() + i * sizeof(Stored), sizeof(Stored));
        to[i] = static_cast<Real>(stored);
    }
}

// (The spec has others, which we do not read: floats of 4 to 8 bits, and complex.)
constexpr DType kDTypes[] = {{"BOOL", 1},
                             {"U8", 1},
                             {"I8", 1},
                             {"I16", 2},
                             {"U16", 2},
                             {"F16", 2, convert<Half>},
                             {"BF16", 2, convert<BrainFloat>},
                             {"I32", 4},
                             {"U32", 4},
                             {"F32", 4, convert<float>},
                             {"F64", 8, convert<double>},
                             {"I64", 8},
                             {"U64", 8}};
constexpr std::string_view kOurs = kRealIsDouble ? "F64" : "F32";

template <class T>
std::string_view bytes_of(const T* data, int64_t n) {
    return {reinterpret_cast<const char*>(data), static_cast<std::size_t>(n) * sizeof(T)};
}

constexpr const char* kAdapter =
    "an adapter (LoRA), which only changes another model; merge the two in Python: "
    "peft.AutoPeftModelForCausalLM.from_pretrained(FOLDER).merge_and_unload().save_pretrained(NEW)";
constexpr const char* kLlamaCpp =
    "a file of llama.cpp, which is not read; "
    "take the folder that it was made from, with config.json and model.safetensors";
constexpr const char* kTorch =
    "in torch.save's format, which is not read; "
    "convert it in Python, with the class that config.json names in \"architectures\": "
    "transformers.CLASS.from_pretrained(FOLDER).save_pretrained(FOLDER), "
    "or without config.json: safetensors.torch.save_file(state_dict, \"...\")";
constexpr const char* kTensorFlow =
    "in a format of TensorFlow or Flax, which is not read; "
    "take the model's model.safetensors instead, if there is one, "
    "or convert it in Python with transformers 4: "
    "transformers.CLASS.from_pretrained(FOLDER, from_tf=True).save_pretrained(FOLDER); "
    "from_flax=True for .msgpack";
constexpr const char* kHtml =
    "an HTML page, not the file; download it again: on its page there is a link for that";
constexpr Foreign kForeign[] = {
    {"", "adapter_config.json", kAdapter},
    {"", "adapter_model.safetensors", kAdapter},
    {"", "adapter_model.bin", kAdapter},
    {"GGUF", "", kLlamaCpp},
    {"", ".gguf", kLlamaCpp},
    {"PK\x03\x04", "", kTorch},  // Portuguese texts, too, have names with .pt
    {"\x80\x02", "", kTorch},
    {"", ".bin", kTorch},
    {"", ".bin.index.json", kTorch},
    {"", ".pth", kTorch},
    {"", ".ckpt", kTorch},
    {"\x89HDF", "", kTensorFlow},
    {"", ".h5", kTensorFlow},
    {"", ".msgpack", kTensorFlow},
    {"<!", "", kHtml},
    {"<html", "", kHtml},
    {"", ".safetensors",
     "neither model.safetensors nor listed by model.safetensors.index.json; "
     "if it is one of several, download that index, too; if it is the whole model, rename it"},
};

int64_t header_length(const InputFile& file, const std::string& where) {
    const std::string bytes = file.read(0, std::min<int64_t>(file.size(), kLengthBytes));
    // The upper half of a length is zero; theirs is not. (A header of 640 bytes also begins with "\x80\x02".)
    const bool is_length = bytes.ends_with(std::string_view("\0\0\0\0", 4));
    for (const Foreign& other : foreign_files())
        check_file(is_length || other.begin.empty() || !bytes.starts_with(other.begin), where, ": this is ",
                   other.words);
    check_file(bytes.size() >= kLengthBytes, where, ": ", bytes.size(),
               " bytes are too few for a safetensors file, which begins with 8 for the length of its header");
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), kLengthBytes);
    check_file(
        length <= kLongestHeader, where,
        ": this is no safetensors file: its first 8 bytes would be the length of a header, and are beyond "
        "the format's limit of ",
        kLongestHeader);
    const int64_t rest = file.size() - kLengthBytes;
    check_file(static_cast<int64_t>(length) <= rest, where, ": the header needs ", length,
               " bytes: there are ", rest, "; the file is cut off, or is no safetensors file");
    return static_cast<int64_t>(length);
}

const DType* parse_dtype(const Json& entry, const std::string& where) {
    const std::string name = entry["dtype"].text();
    const auto* found =
        std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](auto& d) { return d.name == name; });
    check_file(found != std::end(kDTypes), where, ": tensor ", shown(entry.name()), " has the dtype ",
               shown(name),
               ", which is not read here; in Python, convert it to float32 or bfloat16 and save it again");
    return found;
}

std::vector<int64_t> counts(const Json& list) {
    return autograd::mapped(list.items(), [](const Json& item) { return item.count(); });
}

Entry parse_entry(const Json& json, const std::string& where) {
    json.require(json.members().size() == 3, "must have a dtype, a shape and data_offsets, and nothing else");
    const std::vector<int64_t> offsets = counts(json["data_offsets"]);
    json["data_offsets"].require(offsets.size() == 2, "must be two numbers");
    std::string name(json.name());
    return {.name = name,
            .dtype = parse_dtype(json, where),
            .shape = counts(json["shape"]),
            .begin = offsets[0],
            .end = offsets[1],
            .meant = without_wrappers(name)};
}

// The number of bytes for its shape and dtype.
int64_t byte_count(const Entry& entry, const std::string& where) {
    int64_t numbers = 1, bytes = 0;
    bool fits = true, empty = false;
    for (const int64_t size : entry.shape) {  // counts a 0 as 1: {0, 2^62, 4} is also too large
        empty = empty || size == 0;
        fits = fits && !__builtin_mul_overflow(numbers, std::max<int64_t>(size, 1), &numbers);
    }
    fits = fits && !__builtin_mul_overflow(empty ? 0 : numbers, entry.dtype->size, &bytes);
    check_file(fits, where, ": tensor ", shown(entry.name), " has more bytes than 64 bits can count");
    return bytes;
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

void check_entry(const StateEntry& entry, const std::string& path) {
    check(is_utf8(entry.name), path, ": a tensor has a name that is not UTF-8");
    check(entry.name != "__metadata__", path,
          ": no tensor can have the name \"__metadata__\"; give it another");
    check(entry.tensor.defined(), path, ": tensor ", shown(entry.name), " is empty: it was never assigned");
    check(!autograd::is_packed(entry.tensor), path, ": tensor ", shown(entry.name),
          " is packed, for computing only; load the model again without packing to save it");
}

}  // namespace

std::span<const Foreign> foreign_files() { return kForeign; }

std::string without_wrappers(std::string name) {
    const std::string compiled = "_orig_mod.", parallel = "module.";
    while (name.find(compiled) != name.npos)
        name.erase(name.find(compiled), compiled.size());
    while (name.starts_with(parallel))
        name.erase(0, parallel.size());
    return name;
}

SafeTensors read(const std::string& path) {
    SafeTensors all;
    all.path_ = path;
    all.file_ = std::make_shared<const InputFile>(path);
    const int64_t length = header_length(*all.file_, path);
    all.begin_ = kLengthBytes + length;
    const Json json(all.file_->read(kLengthBytes, length), path + ": header",
                    "; the file is damaged, or is no safetensors file");
    for (const Json& member : json.members())
        if (member.name() != "__metadata__")
            all.entries_.push_back(parse_entry(member, path));
        else
            for (const Json& item : member.members())
                all.metadata_[std::string(item.name())] = item.text();
    std::sort(all.entries_.begin(), all.entries_.end(), [](const Entry& a, const Entry& b) {
        return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    check_layout(all.entries_, all.file_->size() - all.begin_, path);
    return all;
}

const Entry* SafeTensors::find(std::string_view name) const {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
    return found == entries_.end() ? nullptr : &*found;
}

void SafeTensors::copy(const Entry& entry, int64_t first, int64_t n, Real* to) const {
    constexpr int64_t kPiece = int64_t{1} << 16;  // numbers, to stay in the cache
    const int64_t size = entry.dtype->size, all = (entry.end - entry.begin) / size;
    autograd::check(first >= 0 && first <= all && n >= 0 && n <= all - first, path(), ": of the entry's ",
                    all, " numbers there are no ", n, " from ", first, " on");
    const int64_t at = begin_ + entry.begin + first * size;
    if (entry.dtype->name == kOurs) {
        file_->read_to(reinterpret_cast<char*>(to), at, n * size);
        return;
    }
    autograd::check(entry.dtype->convert != nullptr, path(), ": the entry holds no floating-point numbers");
    std::string bytes(static_cast<std::size_t>(std::min(n, kPiece) * size), '\0');
    for (int64_t done = 0; done < n; done += kPiece) {
        const int64_t length = std::min(kPiece, n - done) * size;
        file_->read_to(bytes.data(), at + done * size, length);
        entry.dtype->convert(std::string_view(bytes).substr(0, static_cast<std::size_t>(length)), to + done);
    }
}

Tensor SafeTensors::tensor(std::string_view name) const {
    const Entry* entry = find(name);
    check_file(entry != nullptr, path_, ": there is no tensor ", shown(name), "; this file has ",
               entries().size(), entries().empty() ? "" : ", the first is " + shown(entries()[0].name));
    check_file(entry->dtype->convert != nullptr, path_, ": tensor ", shown(name),
               " must hold floating-point numbers: its dtype is ", entry->dtype->name);
    check_file(entry->shape.size() <= Shape::kMaxRank, path_, ": tensor ", shown(name), " has ",
               entry->shape.size(), " dimensions; a Tensor has at most ", Shape::kMaxRank);
    Tensor out = Tensor::uninitialized(Shape(entry->shape.data(), static_cast<int>(entry->shape.size())));
    copy(*entry, 0, out.numel(), out.mutable_data());
    return out;
}

std::vector<int64_t> sizes_of(const StateEntry& entry) {
    std::vector<int64_t> sizes(entry.tensor.shape().begin(), entry.tensor.shape().end());
    if (entry.columns >= 0)
        sizes.back() = entry.columns;
    for (const Tensor& more : entry.beside)
        sizes.back() += more.size(-1);
    if (entry.transposed)
        std::swap(sizes[0], sizes[1]);
    return sizes;
}

Tensor in_file_order(const StateEntry& e) {
    const autograd::NoGrad no_grad;
    Tensor own = e.columns < 0 ? e.tensor : autograd::slice(e.tensor, -1, e.first, e.first + e.columns);
    for (const Tensor& more : e.beside)
        own = autograd::concat({own, more}, -1);
    return e.transposed ? autograd::transpose(own, 0, 1) : own;
}

void write(const std::string& path, const std::vector<StateEntry>& entries, const Metadata& metadata) {
    for (const auto& [key, value] : metadata)
        check(is_utf8(key) && is_utf8(value), path, ": a key or a value of the metadata is not UTF-8");
    // In the reference's order: of tensors of one dtype, that is by name.
    std::map<std::string_view, const StateEntry*> sorted;
    for (const StateEntry& entry : entries)
        check(sorted.emplace(entry.name, &entry).second, path, ": two tensors have the name ",
              shown(entry.name));
    std::vector<JsonText::Member> header;
    if (!metadata.empty())
        header.emplace_back("__metadata__", JsonText::object({metadata.begin(), metadata.end()}));
    int64_t end = 0;
    for (const auto& [name, entry] : sorted) {
        check_entry(*entry, path);
        const std::vector<int64_t> shape = sizes_of(*entry);
        const int64_t begin = end;
        end += std::accumulate(shape.begin(), shape.end(), int64_t{sizeof(Real)}, std::multiplies<>());
        header.emplace_back(
            name, JsonText::object(
                      {{"dtype", kOurs}, {"shape", shape}, {"data_offsets", JsonText::array({begin, end})}}));
    }
    std::string text = JsonText::object(header).text;
    text.append((8 - text.size() % 8) % 8, ' ');  // so that the numbers are aligned
    const uint64_t length = text.size();
    check(length <= kLongestHeader, path, ": names and metadata take ", length,
          " bytes: the format's limit is ", kLongestHeader);
    NewFile file(path);
    file.write(bytes_of(&length, 1));
    file.write(text);
    for (const auto& [name, entry] : sorted) {
        const Tensor numbers = in_file_order(*entry);
        file.write(bytes_of(numbers.data(), numbers.numel()));
    }
    file.put_in_place();
}

bool parse(const std::string& text, std::string& value) {
    value = text;
    return true;
}

bool parse(const std::string& text, int64_t& value) {
    const std::optional<int64_t> number = parse_integer(text);
    value = number.value_or(value);
    return number.has_value();
}

bool parse(const std::string& text, std::vector<int64_t>& values) {
    values.clear();
    autograd::TextInput words(text);
    for (std::string word; words >> word;)
        if (!parse(word, values.emplace_back()))
            return false;
    return true;
}

bool parse(const std::string& text, double& value) {
    const std::optional<double> number = parse_real(text);
    value = number.value_or(value);
    return number && !std::isnan(*number);
}

}  // namespace plaingrad::nn::checkpoint
