// Values as JSON.
#pragma once

#include <cstdint>
#include <string>
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

// Values of any of these types, [1,"a",[2,3]].
template <class... T>
std::string json_array(const T&... values) {
    std::string text;
    ((text += (text.empty() ? "[" : ",") + json(values)), ...);
    return text + "]";
}

std::string base64(const std::string& bytes);

}  // namespace plaingrad::kit
