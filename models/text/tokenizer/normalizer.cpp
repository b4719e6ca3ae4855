#include "models/text/tokenizer/normalizer.h"

#include "autograd/base/mapped.h"
#include "models/text/unicode.h"
#include "nn/utf8.h"

namespace plaingrad::models::text::tokenizer {
namespace {

// The blocks of CJK ideographs that BERT's authors list. (They are not all there are.)
bool is_chinese(char32_t c) {
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
           (c >= 0x2a700 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0x2f800 && c <= 0x2fa1f);
}

// write(out, code, bytes) for each character.
template <class Write>
std::string map(std::string_view text, Write write) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const auto [code, length] = nn::first_code_point(text.substr(at));
        write(out, code, text.substr(at, length));
        at += length;
    }
    return out;
}

std::string clean(std::string_view text) {
    return map(text, [](std::string& out, char32_t c, std::string_view bytes) {
        if (c == '\t' || c == '\n' || c == '\r' || (is_space(c) && !is_bert_control(c)))
            out.push_back(' ');
        else if (c != 0 && c != U'\xfffd' && !is_bert_control(c))
            out.append(bytes);
    });
}

std::string space_chinese(std::string_view text) {
    return map(text, [](std::string& out, char32_t c, std::string_view bytes) {
        const std::string_view space = is_chinese(c) ? " " : "";
        out.append(space).append(bytes).append(space);
    });
}

std::string strip_accents(std::string_view text) {
    return map(nfd(text), [](std::string& out, char32_t c, std::string_view bytes) {
        if (!is_bert_accent(c))
            out.append(bytes);
    });
}

// Of writing systems that put no spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, Japanese.
bool is_unspaced(char32_t c) {
    return (c >= 0x0e00 && c <= 0x0fff) || (c >= 0x1000 && c <= 0x109f) || (c >= 0x1780 && c <= 0x17ff) ||
           (c >= 0x3040 && c <= 0x30ff) || (c >= 0x31f0 && c <= 0x31ff);
}

// What a keyboard writes in place of a typographic character.
std::string_view typed(char32_t c) {
    if (c >= 0x2018 && c <= 0x201b)
        return "'";
    if ((c >= 0x201c && c <= 0x201f) || c == 0xab || c == 0xbb)
        return "\"";
    if ((c >= 0x2010 && c <= 0x2015) || c == 0x2212)
        return "-";
    return c == 0x2026 ? "..." : "";
}

std::string plain_signs(std::string_view text) {
    return map(text, [](std::string& out, char32_t c, std::string_view bytes) {
        if (const std::string_view sign = typed(c); !sign.empty())
            out.append(sign);
        else if (c >= 0xff01 && c <= 0xff5e)  // full-width forms of ASCII
            out.push_back(static_cast<char>(c - 0xff00 + 0x20));
        else if (is_unspaced(c))
            out.append(" ").append(bytes).append(" ");
        else
            out.append(bytes);
    });
}

std::string apply(const BertNormalizer& bert, std::string text) {
    if (bert.clean_text)
        text = clean(text);
    if (bert.handle_chinese_chars)
        text = space_chinese(text);
    if (bert.strip_accents)
        text = strip_accents(text);
    return bert.lowercase ? lower_characters(text) : text;
}
std::string apply(const Nfc&, std::string text) { return nfc(text); }
std::string apply(const Lowercase&, std::string text) { return lower_characters(text); }
std::string apply(const PlainSigns&, std::string text) { return plain_signs(text); }
std::string apply(const Prepend& prepend, std::string text) {
    return text.empty() ? text : prepend.prefix + text;
}
std::string apply(const Replace& replace, std::string text) {
    return replace_all(text, replace.from, replace.to);
}

}  // namespace

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
    std::string out;
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from)) {
        out.append(text.substr(0, at)).append(to);
        text.remove_prefix(at + from.size());
    }
    return out.append(text);
}

std::vector<Json> steps_of(const Json& part, const char* list) {
    if (part.is_null())
        return {};
    if (part["type"].view() != "Sequence")
        return {part};
    std::vector<Json> all;
    for (const Json& item : part[list].items())
        for (Json& step : steps_of(item, list))
            all.push_back(std::move(step));
    return all;
}

Replace replace_from(const Json& part) {
    const Json pattern = part["pattern"]["String"];
    part["pattern"].require(!pattern.is_null() && !pattern.view().empty(),
                            "must be a string, such as {\"String\": \" \"}");
    return {pattern.text(), part["content"].text()};
}

static Normalizer::Step normalizer_step(const Json& part) {
    const std::string_view type = part["type"].view();
    if (type == "BertNormalizer") {
        const bool lower_case = part["lowercase"].boolean();
        return BertNormalizer{part["clean_text"].boolean(), part["handle_chinese_chars"].boolean(),
                              part["strip_accents"].boolean_or(lower_case), lower_case};
    }
    if (type == "Prepend")
        return Prepend{part["prepend"].text()};
    if (type == "Replace")
        return replace_from(part);
    if (type == "Lowercase")
        return Lowercase{};
    if (type == "PlainSigns")
        return PlainSigns{};
    part["type"].require(type == "NFC", nn::checkpoint::shown(type),
                         " is not supported; BertNormalizer, Lowercase, NFC, Prepend, Replace are");
    return Nfc{};
}

Normalizer Normalizer::from(const Json& part) {
    return {autograd::mapped(steps_of(part, "normalizers"), normalizer_step)};
}

std::string Normalizer::operator()(std::string_view text) const {
    std::string out(text);
    for (const Step& step : steps)
        out = std::visit([&](const auto& s) { return apply(s, std::move(out)); }, step);
    return out;
}

}  // namespace plaingrad::models::text::tokenizer
