#include "models/text/tokenizer/byte_alphabet.h"

#include "nn/utf8.h"

namespace plaingrad::models::text::tokenizer {

ByteAlphabet::ByteAlphabet() {
    char32_t other = 0x100;
    for (const bool shown : {true, false})
        for (std::size_t byte = 0; byte < 256; ++byte)
            if (shown == ((byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad))) {
                nn::append_utf8(character[byte], shown ? static_cast<char32_t>(byte) : other++);
                order.push_back(static_cast<char>(byte));
            }
}

std::string ByteAlphabet::write(std::string_view bytes) const {
    std::string text;
    for (const char byte : bytes)
        text.append(character[static_cast<unsigned char>(byte)]);
    return text;
}

std::optional<std::string> ByteAlphabet::read(std::string_view text) const {
    std::string bytes;
    while (!text.empty()) {
        const auto [code, length] = nn::first_code_point(text);
        // Of the 68 bytes that are not printable, U+0100 is the first.
        const char byte = code < 0x100   ? static_cast<char>(code)
                          : code < 0x144 ? order[188 + code - 0x100]
                                         : '\0';
        if (character[static_cast<unsigned char>(byte)] != text.substr(0, length))
            return std::nullopt;
        bytes.push_back(byte);
        text.remove_prefix(length);
    }
    return bytes;
}

const ByteAlphabet& byte_alphabet() {
    static const ByteAlphabet alphabet;
    return alphabet;
}

}  // namespace plaingrad::models::text::tokenizer
