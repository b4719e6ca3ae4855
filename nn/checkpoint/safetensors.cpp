#include "nn/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
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
using autograd::kRealIsDouble;
using autograd::Shape;

static_assert(std::endian::native == std::endian::little, "numbers go to the file as they are in memory");

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

constexpr const char* kAdapter =
    "an adapter (LoRA), which only changes another model; merge the two in Python: "
    "peft.AutoPeftModelForCausalLM.from_pretrained(FOLDER).merge_and_unload().save_pretrained(NEW)";
constexpr const char* kTorch =
    "in torch.save's format; convert it in Python, with the class that config.json names: "
    "transformers.CLASS.from_pretrained(FOLDER).save_pretrained(NEW), or a state_dict alone: "
    "safetensors.torch.save_file(state_dict, \"...\")";
constexpr const char* kTensorFlow =
    "in a format of TensorFlow or Flax; take the model's model.safetensors, if there is one, or convert it "
    "in Python with transformers 4: transformers.CLASS.from_pretrained(FOLDER, from_tf=True)"
    ".save_pretrained(NEW); from_flax=True for .msgpack";
constexpr const char* kHtml = "an HTML page, not the file that it is about; download that file";
// What is often taken for a file that is read here. A file is known by its first bytes, one in a folder by
// the end of its name. (As the length of a header, these bytes would be beyond the limit, or next to it.)
struct Foreign {
    std::string_view begin, end;  // "": none
    const char* what;
};
constexpr Foreign kForeign[] = {
    {"", "adapter_config.json", kAdapter},
    {"", "adapter_model.safetensors", kAdapter},
    {"", "adapter_model.bin", kAdapter},
    {"GGUF", ".gguf", "a file of llama.cpp; take the folder that it was made from, with model.safetensors"},
    {"PK\x03\x04", ".bin", kTorch},  // Portuguese texts, too, have names with .pt
    {"\x80\x02\x8a\x0a", ".bin.index.json", kTorch},
    {"", ".pth", kTorch},
    {"", ".ckpt", kTorch},
    {"\x89HDF", ".h5", kTensorFlow},
    {"", ".msgpack", kTensorFlow},
    {"<!DO", "", kHtml},
    {"<!do", "", kHtml},
    {"<htm", "", kHtml},
    {"", ".safetensors",
     "not called model.safetensors, nor listed by a model.safetensors.index.json; if it is one of several, "
     "download that index, too; if it is the whole model, rename it"},
};

int64_t header_length(const InputFile& file, const std::string& where) {
    const std::string bytes = file.read(0, std::min<int64_t>(file.size(), kLengthBytes));
    refuse_foreign(where, bytes, "");
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), bytes.size());
    const int64_t rest = file.size() - kLengthBytes;
    check_file(length <= kLongestHeader && static_cast<int64_t>(length) <= rest, where,
               ": this is no safetensors file, or it is cut off: of its ", file.size(),
               " bytes, the first 8 would be the length of its header, ", length);
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

// The number of bytes for its shape and dtype; of one that could not be counted, more than any file has.
int64_t byte_count(const Entry& entry) {
    int64_t bytes = entry.dtype->size;
    for (const int64_t size : entry.shape)  // counts a 0 as 1: {0, 2^62, 4} is also too large
        if (__builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes))
            return std::numeric_limits<int64_t>::max();
    return std::count(entry.shape.begin(), entry.shape.end(), 0) > 0 ? 0 : bytes;
}

// Each tensor begins where the last one ended: no byte is read twice, and none can hide between them.
void check_layout(const std::vector<Entry>& in_order, int64_t data_bytes, const std::string& where) {
    int64_t at = 0;
    for (const Entry& entry : in_order) {
        const int64_t needed = byte_count(entry);
        check_file(entry.begin == at && entry.end - at == needed, where, ": tensor ", shown(entry.name),
                   " of this shape and dtype must have ", needed, " bytes from byte ", at,
                   " on: its data_offsets are ", entry.begin, " to ", entry.end, "; the file is damaged");
        at = entry.end;
    }
    check_file(
        at == data_bytes, where, ": the tensors need ", at, " bytes after the header: there are ", data_bytes,
        at > data_bytes ? "; the file is cut off" : "; the file is damaged, or something was added to it");
}

}  // namespace

void refuse_foreign(const std::string& path, std::string_view begin, std::string_view name) {
    for (const Foreign& other : kForeign)
        check_file((other.begin.empty() || !begin.starts_with(other.begin)) &&
                       (other.end.empty() || !name.ends_with(other.end)),
                   path, ": this is ", other.what);
}

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
    const Json json(all.file_->read(kLengthBytes, length),
                    path + ": damaged, or no safetensors file: its header");
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
    const int64_t size = entry.dtype->size, at = begin_ + entry.begin + first * size;
    if (entry.dtype->name == kOurs) {
        file_->read_to(reinterpret_cast<char*>(to), at, n * size);
        return;
    }
    std::string bytes(static_cast<std::size_t>(std::min(n, kPiece) * size), '\0');
    for (int64_t done = 0; done < n; done += kPiece) {
        const int64_t length = std::min(kPiece, n - done) * size;
        file_->read_to(bytes.data(), at + done * size, length);
        entry.dtype->convert(std::string_view(bytes).substr(0, static_cast<std::size_t>(length)), to + done);
    }
}

Tensor SafeTensors::tensor(std::string_view name) const {
    const Entry* entry = find(name);
    check_file(entry != nullptr, path_, ": there is no tensor ", shown(name));
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
    check((entry.columns < 0 && entry.beside.empty()) || entry.transposed || sizes.size() == 1, "tensor ",
          shown(entry.name), ": only of transposed matrices and of vectors a file has parts");
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
    // In the reference's order: of tensors of one dtype, that is by name.
    std::map<std::string_view, const StateEntry*> sorted;
    for (const StateEntry& entry : entries)
        check(entry.name != "__metadata__" && sorted.emplace(entry.name, &entry).second, path,
              ": there is something else with the name ", shown(entry.name), " of a tensor; give it another");
    std::vector<JsonText::Member> header;
    if (!metadata.empty())
        header.emplace_back("__metadata__", JsonText::object({metadata.begin(), metadata.end()}));
    int64_t end = 0;
    for (const auto& [name, entry] : sorted) {
        check(entry->tensor.defined() && !autograd::is_packed(entry->tensor), path, ": tensor ", shown(name),
              " is empty, or packed, for computing only; load the model again without packing to save it");
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
    check(length <= kLongestHeader && find_invalid_utf8(text) == text.npos, path,
          ": names and metadata must be UTF-8, and of up to ", kLongestHeader, " bytes: got ", length);
    NewFile file(path);
    file.write({reinterpret_cast<const char*>(&length), kLengthBytes});
    file.write(text);
    for (const auto& [name, entry] : sorted) {
        const Tensor numbers = in_file_order(*entry);
        file.write({reinterpret_cast<const char*>(numbers.data()),
                    static_cast<std::size_t>(numbers.numel()) * sizeof(Real)});
    }
    file.put_in_place();
}

std::optional<std::vector<int64_t>> parsed(const std::string& text, const std::vector<int64_t>&) {
    std::vector<int64_t> values;
    autograd::TextInput words(text);
    for (std::string word; words >> word;)
        if (const std::optional<int64_t> value = parse_integer(word))
            values.push_back(*value);
        else
            return {};
    return values;
}

}  // namespace plaingrad::nn::checkpoint
