#include "models/text/tokenizer/steps.h"

#include "models/text/lines.h"
#include "models/text/unicode.h"

namespace plaingrad::models::text::tokenizer {
namespace {

// The blocks of CJK ideographs that BERT's authors list. (They are not all there are.)
bool is_chinese(char32_t c) {
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
           (c >= 0x2a700 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0x2f800 && c <= 0x2fa1f);
}

std::string clean(std::string_view text) {
    std::string out;
    for (const auto& [c, bytes] : Characters(text))
        if (c == '\t' || c == '\n' || c == '\r' || (is_space(c) && !is_bert_control(c)))
            out.push_back(' ');
        else if (c != 0 && c != U'\xfffd' && !is_bert_control(c))
            out.append(bytes);
    return out;
}

std::string space_chinese(std::string_view text) {
    std::string out;
    for (const auto& [c, bytes] : Characters(text)) {
        const std::string_view space = is_chinese(c) ? " " : "";
        out.append(space).append(bytes).append(space);
    }
    return out;
}

std::string strip_accents(std::string_view text) {
    std::string out;
    for (const auto& [c, bytes] : Characters(text))
        if (!is_bert_accent(c))
            out.append(bytes);
    return out;
}

// BERT's. Devlin et al. 2019, tokenization.py of its authors.
std::function<std::string(std::string)> bert_from(const Json& part) {
    const bool lower_case = part["lowercase"].boolean();
    const bool cleans =
        part["clean_text"].boolean();  // removes control characters, makes white space a space
    const bool spaces = part["handle_chinese_chars"].boolean();        // puts spaces around each
    const bool strips = part["strip_accents"].boolean_or(lower_case);  // decomposes, and removes marks
    return [=](std::string text) {
        if (cleans)
            text = clean(text);
        if (spaces)
            text = space_chinese(text);
        if (strips)
            text = strip_accents(nfd(text));
        return lower_case ? lower_characters(text) : text;
    };
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

// A type of ours: typographic quotes, dashes and full-width forms as a keyboard types them; and each
// character of a writing system without spaces between words as a word.
std::string plain_signs(std::string_view text) {
    std::string out;
    for (const auto& [c, bytes] : Characters(text))
        if (const std::string_view sign = typed(c); !sign.empty())
            out.append(sign);
        else if (c >= 0xff01 && c <= 0xff5e)  // full-width forms of ASCII
            out.push_back(static_cast<char>(c - 0xff00 + 0x20));
        else if (is_unspaced(c))
            out.append(" ").append(bytes).append(" ");
        else
            out.append(bytes);
    return out;
}

std::function<std::string(std::string)> normalizer_step(const Json& part) {
    const std::string_view type = part["type"].view();
    if (type == "BertNormalizer")
        return bert_from(part);
    if (type == "Prepend")
        return [prefix = part["prepend"].text()](const std::string& text) {
            return text.empty() ? text : prefix + text;
        };
    if (type == "Replace")
        return Replace(part);
    if (type == "Lowercase")
        return lower_characters;
    if (type == "PlainSigns")
        return plain_signs;
    part["type"].require(type == "NFC", nn::checkpoint::shown(type),
                         " is not supported; BertNormalizer, Lowercase, NFC, Prepend, Replace are");
    return nfc;
}

}  // namespace

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

Replace::Replace(const Json& part) {
    const Json pattern = part["pattern"]["String"];
    part["pattern"].require(!pattern.is_null() && !pattern.view().empty(),
                            "must be a string, such as {\"String\": \" \"}");
    from = pattern.text();
    to = part["content"].text();
}

Normalizer Normalizer::from(const Json& part) {
    Normalizer all;
    for (const Json& step : steps_of(part, "normalizers")) {
        all.steps.push_back(normalizer_step(step));
        all.lower_case = all.lower_case || step["type"].view() == "Lowercase";
    }
    return all;
}

std::string Normalizer::operator()(std::string_view text) const {
    std::string out(text);
    for (const auto& step : steps)
        out = step(std::move(out));
    return out;
}

}  // namespace plaingrad::models::text::tokenizer
