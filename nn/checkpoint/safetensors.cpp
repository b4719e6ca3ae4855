#include "nn/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>

#include "autograd/base/check.h"
#include "autograd/ops.h"
#include "autograd/weight.h"
#include "nn/checkpoint/file.h"
#include "nn/checkpoint/json.h"
#include "nn/checkpoint/utf8.h"

namespace plaingrad::nn::checkpoint {
namespace {

using autograd::check;
using autograd::join;
using autograd::kRealIsDouble;
using autograd::Shape;

static_assert(std::endian::native == std::endian::little, "numbers go to the file as they are in memory");

bool is_utf8(std::string_view text) { return nn::checkpoint::find_invalid_utf8(text) == text.npos; }

constexpr std::size_t kLengthBytes = 8;
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
// nullptr: these are no real numbers. (No table: files may be read before main, when it might not be there.)
using Conversion = void(std::string_view from, Real* to);
Conversion* conversion_of(DType type) {
    switch (type) {
        case DType::F16:
            return convert<Half>;
        case DType::BF16:
            return convert<BrainFloat>;
        case DType::F32:
            return convert<float>;
        case DType::F64:
            return convert<double>;
        default:
            return nullptr;
    }
}

constexpr DType kOurs = kRealIsDouble ? DType::F64 : DType::F32;

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
    {"PK\x03\x04", ".pt", kTorch},  // Portuguese texts, too, have names with .pt
    {"\x80\x02", ".pt", kTorch},
    {"", ".bin", kTorch},
    {"", ".bin.index.json", kTorch},
    {"", ".pth", kTorch},
    {"", ".ckpt", kTorch},
    {"\x89HDF", "", kTensorFlow},
    {"", ".h5", kTensorFlow},
    {"", ".msgpack", kTensorFlow},
    {"version ", "", "the pointer of Git LFS to a file, not the file; `git lfs pull` downloads it"},
    {"<!", "", kHtml},
    {"<html", "", kHtml},
    {"", ".safetensors",
     "neither model.safetensors nor listed by model.safetensors.index.json; "
     "if it is one of several, download that index, too; if it is the whole model, rename it"},
};

// From the first bytes of a file of `size` bytes.
std::size_t header_length(std::string_view bytes, int64_t size, const std::string& where) {
    // The upper half of a length is zero; theirs is not. (A header of 640 bytes also begins with "\x80\x02".)
    const bool is_length = bytes.substr(0, kLengthBytes).ends_with(std::string_view("\0\0\0\0", 4));
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
    const uint64_t rest = static_cast<uint64_t>(size) - kLengthBytes;
    check_file(length <= rest, where, ": the header needs ", length, " bytes: there are ", rest,
               "; the file is cut off, or is no safetensors file");
    return length;
}

// What the header says of an entry, without the place of its numbers.
Entry header_entry(const StateEntry& from, const std::string& path) {
    check(is_utf8(from.name), path, ": a tensor has a name that is not UTF-8");
    check(from.name != "__metadata__", path,
          ": no tensor can have the name \"__metadata__\"; give it another");
    check(from.tensor.defined(), path, ": tensor ", shown(from.name), " is empty: it was never assigned");
    check(!autograd::is_packed(from.tensor), path, ": tensor ", shown(from.name),
          " is packed, for computing only; load the model again without packing to save it");
    return {.name = from.name, .dtype = kOurs, .shape = sizes_of(from)};
}

}  // namespace

std::span<const Foreign> foreign_files() { return kForeign; }

SafeTensors::SafeTensors(ReadAt read_at, std::string where, Header header)
    : read_at_(std::move(read_at)), where_(std::move(where)), header_(std::move(header)) {
    for (std::size_t i = 0; i < entries().size(); ++i)
        by_name_.emplace(entries()[i].name, i);
}

SafeTensors::SafeTensors(std::string bytes, std::string where) {
    const auto size = static_cast<int64_t>(bytes.size());
    const std::size_t length = header_length(bytes, size, where), data = kLengthBytes + length;
    Header header = parse_header(std::string_view(bytes).substr(kLengthBytes, length),
                                 size - static_cast<int64_t>(data), where);
    auto read_at = [bytes = std::move(bytes), data](int64_t at, char* to, int64_t n) {
        std::copy_n(bytes.data() + data + at, n, to);
    };
    *this = SafeTensors(std::move(read_at), std::move(where), std::move(header));
}

SafeTensors read(const std::string& path) {
    const auto file = std::make_shared<InputFile>(path);
    std::string bytes;
    file->append_to(bytes, std::min<int64_t>(file->size(), kLengthBytes));
    const std::size_t length = header_length(bytes, file->size(), path);
    file->append_to(bytes, static_cast<int64_t>(length));
    const int64_t left = file->left(), data = file->size() - left;
    Header header = parse_header(std::string_view(bytes).substr(kLengthBytes), left, path);
    const auto read_at = [file, data](int64_t at, char* to, int64_t n) { file->read_at(data + at, to, n); };
    return SafeTensors(read_at, path, std::move(header));
}

const Entry* SafeTensors::find(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? nullptr : &entries()[found->second];
}

bool SafeTensors::is_real(const Entry& entry) { return conversion_of(entry.dtype) != nullptr; }

void SafeTensors::copy(const Entry& entry, int64_t first, int64_t n, Real* to) const {
    constexpr int64_t kPiece = int64_t{1} << 16;  // numbers, to stay in the cache
    const int64_t size = size_of(entry.dtype), all = (entry.end - entry.begin) / size;
    autograd::check(first >= 0 && first <= all && n >= 0 && n <= all - first, "[SafeTensors] of the entry's ",
                    all, " numbers there are no ", n, " from ", first, " on");
    const int64_t at = entry.begin + first * size;
    if (entry.dtype == kOurs) {
        read_at_(at, reinterpret_cast<char*>(to), n * size);
        return;
    }
    Conversion* const conversion = conversion_of(entry.dtype);
    autograd::check(conversion != nullptr, "[SafeTensors] the entry holds no floating-point numbers");
    std::string bytes(static_cast<std::size_t>(std::min(n, kPiece) * size), '\0');
    for (int64_t done = 0; done < n; done += kPiece) {
        const int64_t length = std::min(kPiece, n - done) * size;
        read_at_(at + done * size, bytes.data(), length);
        conversion(std::string_view(bytes).substr(0, static_cast<std::size_t>(length)), to + done);
    }
}

Tensor SafeTensors::tensor(std::string_view name) const {
    const Entry* entry = find(name);
    check_file(entry != nullptr, where_, ": there is no tensor ", shown(name), "; this file has ",
               entries().size(), entries().empty() ? "" : ", the first is " + shown(entries()[0].name));
    check_file(is_real(*entry), where_, ": tensor ", shown(name),
               " must hold floating-point numbers: its dtype is ", name_of(entry->dtype));
    check_file(entry->shape.size() <= Shape::kMaxRank, where_, ": tensor ", shown(name), " has ",
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
    Header header = {.entries = {}, .metadata = metadata};
    int64_t at = 0;
    for (const auto& [name, entry] : sorted) {
        Entry& next = header.entries.emplace_back(header_entry(*entry, path));
        next.begin = at;
        next.end = at +=
            std::accumulate(next.shape.begin(), next.shape.end(), size_of(kOurs), std::multiplies<>());
    }
    const std::string text = format_header(header);
    const uint64_t length = text.size();
    check(length <= kLongestHeader, path, ": names and metadata take ", length,
          " bytes: the format's limit is ", kLongestHeader);
    auto next = sorted.begin();
    Tensor numbers;
    replace_file(path, 2 + sorted.size(), [&](std::size_t i) {
        if (i < 2)
            return i == 0 ? bytes_of(&length, 1) : std::string_view(text);
        numbers = {};  // before the next one is made
        numbers = in_file_order(*next++->second);
        return bytes_of(numbers.data(), numbers.numel());
    });
}

}  // namespace plaingrad::nn::checkpoint
