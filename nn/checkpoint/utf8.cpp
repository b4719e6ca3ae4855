#include "nn/checkpoint/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace plaingrad::nn::checkpoint {

CodePoint first_code_point(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    const std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    // What the first byte holds of the code, and the least code that needs so many bytes.
    constexpr unsigned data_bits[] = {0, 0x7f, 0x1f, 0xf, 7}, least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool valid = (first < 0x80 || first >= 0xc0) && first < 0xf8 && length <= text.size();
    char32_t code = first & data_bits[length];
    for (std::size_t i = 1; valid && i < length; ++i) {
        valid = (byte(i) & 0xc0) == 0x80;
        code = code << 6 | (byte(i) & 0x3f);
    }
    valid = valid && code >= least[length] && code <= 0x10ffff && code >> 11 != 0x1b;  // no surrogate
    return valid ? CodePoint{code, length} : CodePoint{U'\xfffd', 1};
}

std::size_t utf8_length(std::string_view text) {
    const CodePoint first = text.empty() ? CodePoint{U'\xfffd', 1} : first_code_point(text);
    return first.code == U'\xfffd' && first.length == 1 ? 0 : first.length;
}

std::size_t find_invalid_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        // Most texts are mostly ASCII, where the first bit of each byte is 0.
        uint64_t eight = ~uint64_t{0};
        if (text.size() - at >= sizeof eight)
            std::memcpy(&eight, text.data() + at, sizeof eight);
        if ((eight & 0x8080808080808080) == 0) {
            at += sizeof eight;
            continue;
        }
        const std::size_t length = utf8_length(text.substr(at, 4));
        if (length == 0)
            return at;
        at += length;
    }
    return std::string_view::npos;
}

std::size_t columns_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void append_utf8(std::string& text, char32_t code) {
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr char32_t mark[] = {0, 0xc0, 0xe0, 0xf0};
    text.push_back(static_cast<char>(mark[more] | code >> (6 * more)));
    for (int i = more - 1; i >= 0; --i)
        text.push_back(static_cast<char>(0x80 | (code >> (6 * i) & 0x3f)));
}

}  // namespace plaingrad::nn::checkpoint
