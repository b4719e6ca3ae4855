// The header of a safetensors file: which tensors there are, and where their bytes are. It is JSON:
//
//     {"__metadata__":{"epoch":"3"},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace plaingrad::nn::checkpoint {

// The spec's names in its order. (It has others, which we do not read: floats of 4 to 8 bits, and complex.)
enum class DType { BOOL, U8, I8, I16, U16, F16, BF16, I32, U32, F32, F64, I64, U64 };

const char* name_of(DType dtype);
int64_t size_of(DType dtype);  // in bytes

struct Entry {
    std::string name;
    DType dtype = DType::F32;
    std::vector<int64_t> shape = {};  // any number of sizes; none for a scalar
    int64_t begin = 0, end = 0;       // the position of its bytes after the header
};

using Metadata = std::map<std::string, std::string>;

struct Header {
    std::vector<Entry> entries;  // in the order of their bytes
    Metadata metadata;
};

// Throws FileError naming `where` (the file) unless the text is as above and the tensors fill `data_bytes`
// without holes or overlaps. White space is allowed everywhere; duplicate keys and unknown dtypes or fields
// are not.
Header parse_header(std::string_view text, int64_t data_bytes, const std::string& where);

// The text, padded with spaces to a multiple of 8 bytes.
std::string format_header(const Header& header);

// The number of bytes for its shape and dtype. Throws FileError for a negative size, or if 64 bits cannot
// hold it.
int64_t byte_count(const Entry& entry, const std::string& where);

}  // namespace plaingrad::nn::checkpoint
