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
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "autograd/tensor.h"
#include "nn/checkpoint/file.h"
#include "nn/checkpoint/header.h"

namespace plaingrad::nn::checkpoint {

using autograd::Tensor;

// A whole file in memory, after all checks.
class SafeTensors {
public:
    // From the bytes of a file. Throws FileError naming `where` unless all of them together are a valid
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

private:
    std::string_view bytes(const Entry& entry) const;

    friend SafeTensors read(const std::string& path);
    SafeTensors(std::string bytes, std::string where, std::size_t data, Header header);

    std::string bytes_, where_;
    std::size_t data_ = 0;  // where the header ends
    Header header_;
    std::unordered_map<std::string, std::size_t> by_name_;  // of the header's entries
};

// Throws FileError naming the file if it cannot be read, or is not a safetensors file. The header is checked
// against the file's size before memory is allocated for the rest.
SafeTensors read(const std::string& path);

// A tensor to write: as F32 (F64 in the double build).
struct Item {
    std::string name;
    Tensor tensor;
};

// Replaces the file in one step (file.h). Names and metadata are UTF-8. Throws Error naming the file if it
// cannot be written; if two tensors have the same name, or one is called "__metadata__"; or if a Tensor
// is empty.
void write(const std::string& path, const std::vector<Item>& items, const Metadata& metadata = {});

}  // namespace plaingrad::nn::checkpoint
