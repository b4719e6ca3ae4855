#include "models/text/tokenizer/pre_tokens.h"

#include <array>

#include "models/text/unicode.h"
#include "nn/utf8.h"

namespace plaingrad::models::text::tokenizer {
namespace {

enum class Kind : unsigned char { letter, number, space, line_break, sign };
struct Character {
    Kind kind;
    std::size_t length;
};

Kind character_kind(char32_t c) {
    const bool breaks = c == '\n' || c == '\r';
    return is_letter(c)   ? Kind::letter
           : is_number(c) ? Kind::number
           : breaks       ? Kind::line_break
           : is_space(c)  ? Kind::space
                          : Kind::sign;
}

using Ascii = std::array<Kind, 128>;
Ascii ascii_kinds() {
    Ascii kinds;
    for (char32_t c = 0; c < kinds.size(); ++c)
        kinds[c] = character_kind(c);
    return kinds;
}

// Of the text from `at` on, which must not be empty.
Character character(std::string_view text, std::size_t at) {
    static const Ascii ascii = ascii_kinds();
    if (const auto byte = static_cast<unsigned char>(text[at]); byte < ascii.size())
        return {ascii[byte], 1};
    const auto [code, length] = nn::first_code_point(text.substr(at));
    return {character_kind(code), length};
}

bool is_white(Kind kind) { return kind == Kind::space || kind == Kind::line_break; }

// The end of a run of characters that begins at `at`, of at most `most`.
template <class Belongs>
std::size_t run(std::string_view text, std::size_t at, Belongs belongs, int most = -1) {
    for (; at < text.size() && most != 0; --most) {
        const Character c = character(text, at);
        if (!belongs(c.kind))
            break;
        at += c.length;
    }
    return at;
}

std::size_t run(std::string_view text, std::size_t at, Kind kind, int most = -1) {
    return run(
        text, at, [&](Kind k) { return k == kind; }, most);
}

// 's|'t|'re|'ve|'m|'ll|'d: how many bytes of the text, 0 if it begins otherwise. Without case, U+017F, a long
// s, is an s too.
std::size_t contraction(std::string_view text, bool ignore_case) {
    if (text[0] != '\'' || text.size() == 1)
        return 0;
    const auto small = [&](std::size_t i) {
        const char c = i < text.size() ? text[i] : '\0';
        return ignore_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    const char first = small(1), second = small(2);
    if (first == 's' || first == 't' || first == 'm' || first == 'd')
        return 2;
    if ((second == 'e' && (first == 'r' || first == 'v')) || (first == 'l' && second == 'l'))
        return 3;
    return ignore_case && text.substr(1).starts_with("\xc5\xbf") ? 3 : 0;
}

// \s+(?!\S)|\s+: the last character of white space is left to the word after it, unless it is the only one.
std::size_t white_space(std::string_view text) {
    std::size_t last = 0, end = 0;
    while (end < text.size()) {
        const Character c = character(text, end);
        if (!is_white(c.kind))
            break;
        last = end;
        end += c.length;
    }
    return end < text.size() && last > 0 ? last : end;
}

std::size_t gpt2_length(std::string_view text) {
    if (const std::size_t length = contraction(text, false); length > 0)
        return length;
    const std::size_t start = text[0] == ' ' && text.size() > 1 ? 1 : 0;
    const Kind first = character(text, start).kind;
    return is_white(first) ? white_space(text) : run(text, start, first);
}

std::size_t llama3_length(std::string_view text, int digits) {
    if (const std::size_t length = contraction(text, true); length > 0)
        return length;
    const Character first = character(text, 0);
    const std::size_t before = first.kind == Kind::space || first.kind == Kind::sign ? first.length : 0;
    if (const std::size_t end = run(text, before, Kind::letter); end > before)
        return end;
    if (first.kind == Kind::number)
        return run(text, 0, Kind::number, digits);
    const std::size_t space = text[0] == ' ' ? 1 : 0;
    if (const std::size_t end = run(text, space, Kind::sign); end > space)
        return run(text, end, Kind::line_break);
    // \s*[\r\n]+: white space up to its last line break.
    const std::size_t breaks = text.substr(0, run(text, 0, is_white)).find_last_of("\r\n") + 1;  // npos is -1
    return breaks > 0 ? breaks : white_space(text);
}

}  // namespace

std::string_view expression(PreTokens kind) {
    switch (kind) {
        case PreTokens::gpt2:
            return R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
        case PreTokens::llama3:
            return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
                   R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
        default:
            return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
                   R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    }
}

std::optional<PreTokens> pre_tokens_of(std::string_view text) {
    for (const PreTokens kind : {PreTokens::gpt2, PreTokens::llama3, PreTokens::qwen2})
        if (expression(kind) == text)
            return kind;
    return std::nullopt;
}

std::string_view first_pre_token(std::string_view text, PreTokens kind) {
    return text.substr(0, kind == PreTokens::gpt2 ? gpt2_length(text)
                                                  : llama3_length(text, kind == PreTokens::llama3 ? 3 : 1));
}

}  // namespace plaingrad::models::text::tokenizer
