// Tensors with names, in files that every safetensors reader opens.
//
//     write("model.safetensors", {{"norm.gain", gain}}, {{"epoch", "3"}});
//     const SafeTensors file = read("model.safetensors");
//     file.tensor("norm.gain");
//     file.metadata().at("epoch");
//
// A file has the length of its header in 8 bytes, the header (header.h), and the numbers, row-major and
// little-endian, one tensor after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "autograd/tensor.h"
#include "nn/checkpoint/file.h"
#include "nn/checkpoint/header.h"

namespace plaingrad::nn::checkpoint {

using autograd::Real;
using autograd::Tensor;

// What is often taken for a file that is read here. A file is known by its first bytes, one in a folder by
// the end of its name, and by both if there are both. The first of the table that fits counts.
struct Foreign {
    std::string_view begin, end;  // "": none
    const char* words;            // after "this is"
};
std::span<const Foreign> foreign_files();

// A file that is open, after all checks. Its numbers are read when they are wanted.
class SafeTensors {
public:
    // From the bytes of a whole file. Throws FileError naming `where` unless all of them together are a valid
    // safetensors file.
    SafeTensors(std::string bytes, std::string where);

    const std::string& path() const { return where_; }
    const Metadata& metadata() const { return header_.metadata; }
    const std::vector<Entry>& entries() const { return header_.entries; }  // in the order of the file
    const Entry* find(std::string_view name) const;                        // nullptr if there is none

    // Whether `tensor` can read it, which means that it has floating-point numbers.
    static bool is_real(const Entry& entry);

    // A copy of an F16, BF16, F32 or F64 tensor, rounded to Real. Throws FileError for a name that is not
    // there, another dtype, or more than Shape::kMaxRank sizes. (A model's file may also hold whole numbers,
    // such as positions 0, 1, 2, ...; they are not read here.)
    Tensor tensor(std::string_view name) const;
    // The same for some of its numbers, `n` of them from number `first` on. Several threads may read at once.
    // Throws Error for numbers that the entry does not have.
    void copy(const Entry& entry, int64_t first, int64_t n, Real* to) const;

private:
    // Reads n bytes, the first of them `at` bytes after the header.
    using ReadAt = std::function<void(int64_t at, char* to, int64_t n)>;

    friend SafeTensors read(const std::string& path);
    SafeTensors(ReadAt read_at, std::string where, Header header);

    ReadAt read_at_;
    std::string where_;
    Header header_;
    std::unordered_map<std::string, std::size_t> by_name_;  // of the header's entries
};

// Opens a file, and keeps it open: a file that replaces it (file.h) does not change what is read. Throws
// FileError naming the file if it cannot be read, or is not a safetensors file. Memory is allocated for the
// header only.
SafeTensors read(const std::string& path);

// One tensor of a file: one of ours, transposed or not, some of its columns, or several side by side. (Ours
// are (in, out), PyTorch's are (out, in). BERT has separate matrices for queries, keys and values, which here
// are columns of one; PyTorch's cross-attention has one, where here the queries' is apart.)
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
// UTF-8. Throws Error naming the file if it cannot be written; if two tensors have the same name, or one is
// called "__metadata__"; or if a Tensor is empty,
// or packed (nn/packing.h).
void write(const std::string& path, const std::vector<StateEntry>& entries, const Metadata& metadata = {});

}  // namespace plaingrad::nn::checkpoint
