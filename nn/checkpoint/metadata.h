// Numbers, switches and words in a file's metadata, where everything is text. One visit of a struct's fields
// both writes and reads them:
//
//     template <class Config, class Field>
//     void visit_fields(Config& config, Field& field) {
//         field("d_model", config.d_model);
//         field("norm", config.norm, {"post", "pre"});  // the names of an enum's values, in their order
//     }
//     FieldWriter write{metadata, "config."};
//     visit_fields(config, write);  // "config.d_model" -> "512", "config.norm" -> "post"
//     FieldReader read{file.metadata(), "config.", file.path()};
//     visit_fields(config, read);
//
// A field that is missing from the file leaves the variable as it is, at its default: so a file that was
// saved before the field existed can still be read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

using Names = std::span<const char* const>;

struct FieldWriter {
    Metadata& metadata;
    std::string prefix = {};  // of every name

    void operator()(const std::string& name, const std::string& value) { metadata[prefix + name] = value; }
    void operator()(const std::string& name, const char* value) { metadata[prefix + name] = value; }
    void operator()(const std::string& name, int64_t value) { (*this)(name, std::to_string(value)); }
    void operator()(const std::string& name, int32_t value) { (*this)(name, std::to_string(value)); }
    template <class Integer>                                                       // int32_t or int64_t
    void operator()(const std::string& name, const std::vector<Integer>& values);  // "4 5 6"
    void operator()(const std::string& name, bool value) {
        (*this)(name, std::string(value ? "true" : "false"));
    }
    void operator()(const std::string& name, float value) { (*this)(name, to_text(value)); }
    void operator()(const std::string& name, double value) { (*this)(name, to_text(value)); }
    // Throws Error for a value that has no name.
    template <class Enum>
    void operator()(const std::string& name, Enum value, const Names& names) {
        const auto i = static_cast<std::size_t>(value);
        autograd::check(i < names.size(), "[metadata] ", prefix, name, ": value ", i,
                        " of this enum has no name");
        (*this)(name, std::string(names[i]));
    }
};

// Each call throws FileError, naming the file and the field, for a text that is not such a value. NaN is
// refused.
struct FieldReader {
    const Metadata& metadata;
    std::string prefix = {};  // of every name
    std::string where = {};   // the file

    void operator()(const std::string& name, std::string& value) const;
    void operator()(const std::string& name, int64_t& value) const;
    void operator()(const std::string& name, int32_t& value) const;
    template <class Integer>  // int32_t or int64_t
    void operator()(const std::string& name, std::vector<Integer>& values) const;
    void operator()(const std::string& name, bool& value) const;
    void operator()(const std::string& name, float& value) const;
    void operator()(const std::string& name, double& value) const;
    template <class Enum>
    void operator()(const std::string& name, Enum& value, const Names& names) const {
        value = static_cast<Enum>(choose(name, static_cast<std::size_t>(value), names));
    }

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
    std::size_t choose(const std::string& name, std::size_t otherwise, const Names& names) const;
};

}  // namespace plaingrad::nn::checkpoint
