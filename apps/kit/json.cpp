#include "apps/kit/json.h"

#include <charconv>
#include <cmath>

#include "models/text/lines.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::kit {

std::string json(double value) {
    char text[40];
    if (!std::isfinite(value))
        return "null";
    return {text, std::to_chars(text, std::end(text), value, std::chars_format::general, 4).ptr};
}

std::string json(int64_t value) { return std::to_string(value); }

std::string json(const std::string& text) {
    int64_t replaced = 0;
    return nn::checkpoint::quote(models::text::replace_invalid_utf8(text, replaced));
}

std::string base64(const std::string& bytes) {
    constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        uint32_t group = 0;  // three bytes are four digits
        for (std::size_t k = i; k < i + 3; ++k)
            group = group << 8 | (k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0);
        for (std::size_t k = 0; k < 4; ++k)
            text += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63];
    }
    return text;
}

}  // namespace plaingrad::kit
