// Values as JSON.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace plaingrad::kit {

std::string json(double value);  // four digits, enough for a picture; null if it is not finite
std::string json(int64_t value);
std::string json(const std::string& text);  // each byte that is not UTF-8 becomes U+FFFD
template <class T>
std::string json(const std::vector<T>& values) {
    std::string text;
    for (const T& value : values)
        text += (text.empty() ? "" : ",") + json(value);
    return "[" + text + "]";
}

// {"name":value,...}; the values are JSON.
std::string json_object(std::initializer_list<std::pair<const char*, std::string>> members);

std::string base64(const std::string& bytes);

}  // namespace plaingrad::kit
