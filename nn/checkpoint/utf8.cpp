#include "nn/checkpoint/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace plaingrad::nn::checkpoint {

std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) -> unsigned {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
    };
    const unsigned first = byte(0);
    const bool never_first = (first >= 0x80 && first < 0xc2) || first > 0xf4;
    const std::size_t length = never_first ? 0 : first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    // The second byte's range is narrower after these four: no overlong forms, surrogates, or too large ones.
    const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    bool valid = length <= 1 || (byte(1) >= low && byte(1) <= high);
    for (std::size_t i = 2; i < length; ++i)
        valid = valid && byte(i) >= 0x80 && byte(i) <= 0xbf;
    return valid ? length : 0;
}

std::size_t find_invalid_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        uint64_t eight =
            ~uint64_t{0};  // bytes; most texts are mostly ASCII, where the first bit of each is 0
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

CodePoint first_code_point(std::string_view text) {
    const std::size_t length = utf8_length(text.substr(0, 4));
    if (length == 0)
        return {U'\xfffd', 1};
    constexpr unsigned data_bits[] = {0, 0x7f, 0x1f, 0xf, 7};
    char32_t code = static_cast<unsigned char>(text[0]) & data_bits[length];
    for (std::size_t i = 1; i < length; ++i)
        code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
    return {code, length};
}

void append_utf8(std::string& text, char32_t code) {
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr char32_t mark[] = {0, 0xc0, 0xe0, 0xf0};
    text.push_back(static_cast<char>(mark[more] | code >> (6 * more)));
    for (int i = more - 1; i >= 0; --i)
        text.push_back(static_cast<char>(0x80 | (code >> (6 * i) & 0x3f)));
}

}  // namespace plaingrad::nn::checkpoint
