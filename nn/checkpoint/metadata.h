// Numbers and words in a file's metadata, where everything is text. One visit of a struct's fields both
// writes and reads them:
//
//     template <class Epoch, class Field>
//     void visit_fields(Epoch& epoch, Field& field) {
//         field("number", epoch.number);
//         field("loss_sum", epoch.loss_sum);
//     }
//     FieldWriter write{metadata, "epoch."};
//     visit_fields(epoch, write);  // "epoch.number" -> "12"
//     FieldReader read{file.metadata(), "epoch.", file.path()};
//     visit_fields(epoch, read);
//
// A field that is missing from the file leaves the variable as it is, at its default: so a file that was
// saved before the field existed can still be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/checkpoint/file.h"
#include "nn/checkpoint/header.h"

namespace plaingrad::nn::checkpoint {

// The whole text as a number; no value if it is not a number, or too large. A real number may be "inf" or
// "nan". The decimal point is "." here and below, whatever the host program's locale.
std::optional<int64_t> parse_integer(std::string_view text);
std::optional<double> parse_real(const std::string& text);

// The fewest digits that identify the number: 0.1, not 0.10000000000000001.
std::string to_text(float value);
std::string to_text(double value);

struct FieldWriter {
    Metadata& metadata;
    std::string prefix = {};  // of every name

    void operator()(const std::string& name, const std::string& value) { metadata[prefix + name] = value; }
    void operator()(const std::string& name, int64_t value) { (*this)(name, std::to_string(value)); }
    void operator()(const std::string& name, const std::vector<int64_t>& values);  // "4 5 6"
    void operator()(const std::string& name, double value) { (*this)(name, to_text(value)); }
};

// Each call throws FileError, naming the file and the field, for a text that is not such a value. NaN is
// refused.
struct FieldReader {
    const Metadata& metadata;
    std::string prefix = {};  // of every name
    std::string where = {};   // the file

    void operator()(const std::string& name, std::string& value) const;
    void operator()(const std::string& name, int64_t& value) const;
    void operator()(const std::string& name, std::vector<int64_t>& values) const;
    void operator()(const std::string& name, double& value) const;

    bool has(const std::string& name) const { return find(name) != nullptr; }
    // For fields that must be there.
    const std::string& required(const std::string& name) const;
    template <class Value>
    Value required_as(const std::string& name) const {
        required(name);
        Value value = {};
        (*this)(name, value);
        return value;
    }

private:
    const std::string* find(const std::string& name) const;
};

}  // namespace plaingrad::nn::checkpoint
