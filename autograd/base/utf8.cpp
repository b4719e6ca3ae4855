#include "autograd/base/utf8.h"

namespace autograd {

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
        const std::size_t length = utf8_length(text.substr(at, 4));
        if (length == 0)
            return at;
        at += length;
    }
    return std::string_view::npos;
}

}  // namespace autograd
