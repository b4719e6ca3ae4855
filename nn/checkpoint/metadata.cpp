#include "nn/checkpoint/metadata.h"

#include <clocale>
#if __has_include(<xlocale.h>)
#include <xlocale.h>  // where macOS has strtod_l
#endif

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "autograd/base/text_stream.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::nn::checkpoint {

std::optional<int64_t> parse_integer(std::string_view text) {
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && stop == text.data() + text.size();
    return whole ? std::optional(value) : std::nullopt;
}

// With strtod_l, as from_chars for real numbers is missing in older libraries. It would also take hexadecimal
// numbers and leading spaces.
std::optional<double> parse_real(const std::string& text) {
    constexpr const char* words[] = {"inf", "-inf", "nan", "-nan"};
    const bool word = std::find(std::begin(words), std::end(words), text) != std::end(words);
    if (text.empty() || (!word && text.find_first_not_of("0123456789+-.eE") != std::string::npos))
        return {};
    static const locale_t kClassic = newlocale(LC_ALL_MASK, "C", nullptr);
    char* stop = nullptr;
    const double value = strtod_l(text.c_str(), &stop, kClassic);
    const bool whole = stop == text.c_str() + text.size();
    return whole && (word || std::isfinite(value)) ? std::optional(value) : std::nullopt;
}

template <class T>
static std::string shortest(T value) {
    char text[40];
    return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general).ptr};
}
std::string to_text(float value) { return shortest(value); }
std::string to_text(double value) { return shortest(value); }

void FieldWriter::operator()(const std::string& name, const std::vector<int64_t>& values) {
    std::string text;
    for (const int64_t value : values)
        text.append(text.empty() ? "" : " ").append(std::to_string(value));
    (*this)(name, text);
}

const std::string* FieldReader::find(const std::string& name) const {
    const auto entry = metadata.find(prefix + name);
    return entry == metadata.end() ? nullptr : &entry->second;
}

const std::string& FieldReader::required(const std::string& name) const {
    const std::string* text = find(name);
    check_file(text != nullptr, where, ": ", prefix, name, " is missing");
    return *text;
}

void FieldReader::operator()(const std::string& name, std::string& value) const {
    if (const std::string* text = find(name))
        value = *text;
}

void FieldReader::operator()(const std::string& name, int64_t& value) const {
    if (const std::string* text = find(name)) {
        const std::optional<int64_t> number = parse_integer(*text);
        check_file(number.has_value(), where, ": ", prefix, name, " must be a whole number: got ",
                   shown(*text));
        value = *number;
    }
}

void FieldReader::operator()(const std::string& name, std::vector<int64_t>& values) const {
    const std::string* text = find(name);
    if (text == nullptr)
        return;
    values.clear();
    autograd::TextReader words(*text);
    for (std::string word; words >> word;) {
        const int64_t number = parse_integer(word).value_or(-1);
        check_file(number >= 0, where, ": ", prefix, name, " must be whole numbers from 0: got ",
                   shown(*text));
        values.push_back(number);
    }
}

void FieldReader::operator()(const std::string& name, double& value) const {
    if (const std::string* text = find(name)) {
        const std::optional<double> number = parse_real(*text);
        check_file(number && !std::isnan(*number), where, ": ", prefix, name, " must be a number: got ",
                   shown(*text));
        value = *number;
    }
}

}  // namespace plaingrad::nn::checkpoint
