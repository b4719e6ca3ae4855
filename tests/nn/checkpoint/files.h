// What the tests of checkpoints share: hand-made files.
#pragma once

#include <cstdint>
#include <string>

#include "nn/checkpoint/safetensors.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/folder.h"

namespace plaingrad::tests {

template <class T>
std::string raw(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

// A file with this header and this data.
inline std::string file_of(const std::string& header, const std::string& data = "") {
    return raw(static_cast<uint64_t>(header.size())) + header + data;
}

// A file with the tensor "x" of this dtype and shape.
inline std::string one_tensor(const std::string& dtype, const std::string& shape, const std::string& data) {
    return file_of("{\"x\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape + "],\"data_offsets\":[0," +
                       std::to_string(data.size()) + "]}}",
                   data);
}

// A new file each time, as the one before may still be open.
inline nn::checkpoint::SafeTensors opened(const std::string& bytes) {
    static const Folder folder;
    std::filesystem::remove(folder / "m.safetensors");
    return nn::checkpoint::read(folder.write("m.safetensors", bytes));
}

// The tensors of a file, to write them in another way.
inline std::vector<nn::checkpoint::StateEntry> items_of(const std::string& path) {
    const nn::checkpoint::SafeTensors file = nn::checkpoint::read(path);
    std::vector<nn::checkpoint::StateEntry> items;
    for (const nn::checkpoint::Entry& entry : file.entries())
        items.push_back({entry.name, file.tensor(entry.name)});
    return items;
}

// The error of opening these bytes, without the folder; "" if they are a safetensors file.
inline std::string complaint(const std::string& bytes) {
    const std::string error = error_of([&] { opened(bytes); });
    return error.empty() ? "" : error.substr(error.find("m.safetensors: "));
}

}  // namespace plaingrad::tests
