#include "models/text/tokenizer/steps.h"

#include <charconv>
#include <cstdint>

#include "models/text/lines.h"
#include "models/text/unicode.h"

namespace plaingrad::models::text::tokenizer {

using nn::checkpoint::CodePoint;
using nn::checkpoint::first_code_point;

namespace {

constexpr std::string_view kJoiner = "\xef\xbf\xad", kCode = "\xef\xbc\x85";  // U+FFED, U+FF05

// Of two tokens, the lesser one gets the joiner; the second if they are equal.
enum class TokenKind { symbol, number, word };

TokenKind kind_of(char32_t c) {
    return is_letter(c) ? TokenKind::word : is_number(c) ? TokenKind::number : TokenKind::symbol;
}

// The length in bytes of the first token of a text.
std::size_t token_length(std::string_view text) {
    const CodePoint first = first_code_point(text);
    const TokenKind kind = kind_of(first.code);
    std::size_t length = first.length;
    while (kind != TokenKind::symbol && length < text.size()) {
        const CodePoint next = first_code_point(text.substr(length));
        if (kind_of(next.code) != kind && !(kind == TokenKind::word && is_mark(next.code)))
            break;
        length += next.length;
    }
    return length;
}

bool needs_code(char32_t c) { return is_space(c) || c == U'\xffed' || c == U'\xff05'; }

std::string encoded(char32_t c) {
    char digits[8];
    const auto end = std::to_chars(digits, digits + sizeof digits, static_cast<uint32_t>(c), 16).ptr;
    return std::string(kCode).append(digits, end);
}

// The text of a token without joiners.
std::string decoded(const std::string& token) {
    uint32_t c = 0;
    const char* end = token.data() + token.size();
    if (!token.starts_with(kCode))
        return token;
    const auto [read, error] = std::from_chars(token.data() + kCode.size(), end, c, 16);
    if (error != std::errc() || read != end || !needs_code(c) || c == '\n')
        return token;
    std::string text;
    nn::checkpoint::append_utf8(text, c);
    return text;
}

}  // namespace

std::string tokenize(std::string_view line) {
    std::string tokens;
    TokenKind before = TokenKind::symbol;
    bool adjacent = false;  // to a token, with no space between
    for (std::size_t at = 0, length = 0; at < line.size(); at += length) {
        if (adjacent && line[at] == ' ' && at + 1 < line.size()) {
            tokens += ' ';
            adjacent = false;
            length = 1;
            continue;
        }
        const char32_t c = first_code_point(line.substr(at)).code;
        length = token_length(line.substr(at));
        if (adjacent && before < kind_of(c))
            tokens.append(kJoiner).append(" ");
        else if (adjacent)
            tokens.append(" ").append(kJoiner);
        tokens += needs_code(c) ? encoded(c) : std::string(line.substr(at, length));
        before = kind_of(c);
        adjacent = true;
    }
    return tokens;
}

std::string detokenize(std::string_view tokens) {
    std::string line;
    bool joined = true;  // to what comes next
    for (const std::string& token : split_words(tokens)) {
        joined = joined || token.starts_with(kJoiner);
        line.append(joined ? "" : " ").append(decoded(replace_all(token, kJoiner, "")));
        joined = token.ends_with(kJoiner);
    }
    return line;
}

}  // namespace plaingrad::models::text::tokenizer
