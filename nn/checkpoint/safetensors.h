// Tensors with names, in files that every safetensors reader opens.
//
//     write("model.safetensors", {{"norm.gain", gain}}, {{"epoch", "3"}});
//     const SafeTensors file = read("model.safetensors");
//     file.tensor("norm.gain");
//     file.metadata().at("epoch");
//
// A file has the length of its header in 8 bytes, the header, and the numbers, row-major and little-endian,
// one tensor after the other. The header is JSON:
//
//     {"__metadata__":{"epoch":"3"},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/tensor.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::nn::checkpoint {

using autograd::Real;
using autograd::Tensor;

// The kind of a tensor's numbers.
struct DType {
    const char* name;
    int64_t size;                                           // in bytes
    void (*convert)(std::string_view from, Real* to) = {};  // none: these are no floating-point numbers
};

struct Entry {
    std::string name;
    const DType* dtype = {};
    std::vector<int64_t> shape = {};  // any number of sizes; none for a scalar
    int64_t begin = 0, end = 0;       // the position of its bytes after the header
    std::string meant = {};           // see SafeTensors::rename
};

// Texts that a file holds besides its tensors.
using Metadata = std::map<std::string, std::string>;

// Throws FileError, which says what it is and what to do, for a file that is often taken for one that is read
// here, and has such first bytes, or such a name.
void refuse_foreign(const std::string& path, std::string_view begin, std::string_view name);

// The name without the prefixes of torch.compile and DistributedDataParallel:
// "module._orig_mod.layers.0.weight".
std::string without_wrappers(std::string name);

// A file that is open, after all checks: its tensors fill it without holes or overlaps. Its numbers are read
// when they are wanted.
class SafeTensors {
public:
    const std::string& path() const { return path_; }
    const Metadata& metadata() const { return metadata_; }
    const std::vector<Entry>& entries() const { return entries_; }  // in the order of their bytes
    const Entry* find(std::string_view name) const;                 // nullptr if there is none

    // For files whose names vary: each tensor gets the name that is meant, rename(name). A model that has no
    // tensor of its own name takes it for that one (state_dict.h). "": it is to be ignored, as a buffer
    // without weights. Without this call it is the name without_wrappers.
    template <class Rename>
    void rename(const Rename& rename) {
        for (Entry& entry : entries_)
            entry.meant = rename(entry.name);
    }

    // A copy of an F16, BF16, F32 or F64 tensor, rounded to Real. Throws FileError for a name that is not
    // there, another dtype, or more than Shape::kMaxRank sizes. (A model's file may also hold whole numbers,
    // such as positions 0, 1, 2, ...; they are not read here.)
    Tensor tensor(std::string_view name) const;
    // The same for some of the numbers that an entry has, `n` of them from number `first` on. Several threads
    // may read at once.
    void copy(const Entry& entry, int64_t first, int64_t n, Real* to) const;

private:
    friend SafeTensors read(const std::string& path);
    SafeTensors() = default;

    std::string path_;
    std::shared_ptr<const InputFile> file_;
    int64_t begin_ = 0;  // of the numbers
    std::vector<Entry> entries_;
    Metadata metadata_;
};

// Opens a file, and keeps it open: a file that replaces it (file.h) does not change what is read. Throws
// FileError naming the file if it cannot be read, or is not a safetensors file; duplicate names and unknown
// dtypes or fields are refused, too. Memory is allocated for the header only.
SafeTensors read(const std::string& path);

// One tensor of a file: one of ours, transposed or not, some of its columns, or several side by side. (Ours
// are (in, out), PyTorch's are (out, in). BERT has separate matrices for queries, keys and values, which here
// are columns of one; PyTorch's cross-attention has one, where here the queries' is apart.) A matrix has such
// parts only if it is transposed: they are rows of the file's.
struct StateEntry {
    std::string name;
    Tensor tensor;  // a handle: reading a file writes into it
    bool transposed = false;
    int64_t first = 0, columns = -1;  // of the last dimension; -1: all
    std::vector<Tensor> beside = {};  // whose columns follow, in the file's tensor
};

// The sizes that an entry has in the file,
std::vector<int64_t> sizes_of(const StateEntry& entry);
// and its numbers: a tensor without a graph, and a copy only where numbers are rearranged.
Tensor in_file_order(const StateEntry& entry);

// Replaces the file in one step (file.h). Numbers are written as F32 (F64 in the double build), and
// rearranged one entry after the other: a large model needs no second copy in memory. Names and metadata are
// UTF-8. Throws Error if the file cannot be written; if two tensors have the same name, or one is called
// "__metadata__"; or if a Tensor is empty, or packed (autograd/weight.h).
void write(const std::string& path, const std::vector<StateEntry>& entries, const Metadata& metadata = {});

// ---- numbers and words in the metadata
//
// One visit of a struct's fields both writes and reads them:
//
//     template <class Epoch, class Field>
//     void visit_fields(Epoch& epoch, Field& field) {
//         field("number", epoch.number);
//         field("loss_sum", epoch.loss_sum);
//     }
//     FieldWriter write{metadata, "epoch."};
//     visit_fields(epoch, write);  // "epoch.number" -> "12"
//     Fields read{file.metadata(), "epoch.", file.path()};
//     visit_fields(epoch, read);
//
// A field that is missing from the file leaves the variable as it is, at its default: so a new field makes no
// file unreadable.

struct FieldWriter {
    Metadata& metadata;
    std::string prefix = {};  // of every name

    template <class Value>
    void operator()(const std::string& name, const Value& value) {
        metadata[prefix + name] = to_text(value);
    }
};

// The text as a value of this type, if it is one.
inline std::optional<std::string> parsed(const std::string& text, const std::string&) { return text; }
inline std::optional<int64_t> parsed(const std::string& text, int64_t) { return parse_integer(text); }
inline std::optional<double> parsed(const std::string& text, double) { return parse_real(text); }
std::optional<std::vector<int64_t>> parsed(const std::string& text, const std::vector<int64_t>&);  // "4 5 6"

struct Fields {
    const Metadata& metadata;
    std::string prefix = {};  // of every name
    std::string where = {};   // the file

    bool has(const std::string& name) const { return metadata.contains(prefix + name); }
    // Throws FileError, naming the file and the field, for a text that is not such a value.
    template <class Value>
    void operator()(const std::string& name, Value& value) const {
        if (!has(name))
            return;
        const std::string& text = metadata.at(prefix + name);
        const std::optional<Value> found = parsed(text, value);
        check_file(found.has_value(), where, ": ", prefix, name, " cannot be ", shown(text));
        value = *found;
    }
};

}  // namespace plaingrad::nn::checkpoint
