#include "models/text/tokenizer/steps.h"

#include <algorithm>
#include <array>

#include "models/text/lines.h"
#include "models/text/unicode.h"

namespace plaingrad::models::text::tokenizer {

// ---- pre-tokens

namespace {

// Of a character. A sum of them is any of them.
enum Kind : unsigned char { letter = 1, number = 2, space = 4, line_break = 8, sign = 16 };
constexpr int kWhite = space + line_break;
struct Classed {
    Kind kind;
    std::size_t length;
};

Kind character_kind(char32_t c) {
    const bool breaks = c == '\n' || c == '\r';
    return is_letter(c) ? letter : is_number(c) ? number : breaks ? line_break : is_space(c) ? space : sign;
}

// Of the text from `at` on, which must not be empty.
Classed character(std::string_view text, std::size_t at) {
    static const auto ascii = [] {
        std::array<Kind, 128> kinds;
        for (char32_t c = 0; c < kinds.size(); ++c)
            kinds[c] = character_kind(c);
        return kinds;
    }();
    if (const auto byte = static_cast<unsigned char>(text[at]); byte < ascii.size())
        return {ascii[byte], 1};
    const auto [code, length] = nn::checkpoint::first_code_point(text.substr(at));
    return {character_kind(code), length};
}

// The end of a run of characters of these kinds that begins at `at`, of at most `most`.
std::size_t run(std::string_view text, std::size_t at, int kinds, int most = -1) {
    for (; at < text.size() && most != 0; --most) {
        const Classed c = character(text, at);
        if ((c.kind & kinds) == 0)
            break;
        at += c.length;
    }
    return at;
}

// 's|'t|'re|'ve|'m|'ll|'d: how many bytes of the text, 0 if it begins otherwise. Without case, U+017F, a long
// s, is an s too.
std::size_t contraction(std::string_view text, bool ignore_case) {
    if (text[0] != '\'')
        return 0;
    std::string start(text.substr(0, 3));
    for (char& c : start)
        c = ignore_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
        if (start.starts_with(ending))
            return ending.size();
    return ignore_case && start == "'\xc5\xbf" ? 3 : 0;
}

// \s+(?!\S)|\s+: the last character of white space is left to the word after it, unless it is the only one.
std::size_t white_space(std::string_view text) {
    const std::size_t end = run(text, 0, kWhite);
    const std::size_t last = end - last_character(text.substr(0, end)).bytes.size();
    return end < text.size() && last > 0 ? last : end;
}

std::size_t gpt2_length(std::string_view text) {
    if (const std::size_t length = contraction(text, false); length > 0)
        return length;
    const std::size_t start = text[0] == ' ' && text.size() > 1 ? 1 : 0;
    const Kind first = character(text, start).kind;
    return (first & kWhite) != 0 ? white_space(text) : run(text, start, first);
}

std::size_t llama3_length(std::string_view text, int digits) {
    if (const std::size_t length = contraction(text, true); length > 0)
        return length;
    const Classed first = character(text, 0);
    const std::size_t before = (first.kind & (space + sign)) != 0 ? first.length : 0;
    if (const std::size_t end = run(text, before, letter); end > before)
        return end;
    if (first.kind == number)
        return run(text, 0, number, digits);
    const std::size_t begin = text[0] == ' ' ? 1 : 0;
    if (const std::size_t end = run(text, begin, sign); end > begin)
        return run(text, end, line_break);
    // \s*[\r\n]+: white space up to its last line break.
    const std::size_t breaks = text.substr(0, run(text, 0, kWhite)).find_last_of("\r\n") + 1;  // npos is -1
    return breaks > 0 ? breaks : white_space(text);
}

}  // namespace

const PreTokens kGpt2 = {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
                         gpt2_length};
const PreTokens kLlama3 = {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
                           R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
                           [](std::string_view text) { return llama3_length(text, 3); }};
const PreTokens kQwen2 = {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
                          R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
                          [](std::string_view text) { return llama3_length(text, 1); }};

// ---- steps

namespace {

using Word = Splitter::Word;
using Cut = std::function<void(std::string_view text, bool is_first, const Word& word)>;

// Cuts around each character that belongs to a class; `together`: a run of them is one word.
template <class Belongs>
void isolate(std::string_view text, Belongs belongs, bool together, const Word& word) {
    std::size_t begin = 0;
    bool before = false;  // whether the last character belongs
    std::size_t at = 0;
    for (const auto& [code, bytes] : Characters(text)) {
        const bool here = belongs(code);
        if (at > begin && (here != before || (here && !together))) {
            word(text.substr(begin, at - begin));
            begin = at;
        }
        before = here;
        at += bytes.size();
    }
    word(text.substr(begin));
}

// Words are what stands between marks.
void split_at(std::string_view text, std::string_view mark, const Word& word) {
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(mark, begin), text.size());
        if (end > begin)
            word(text.substr(begin, end - begin));
        begin = end + mark.size();
    }
}

// A type of ours. The number of spaces and tabs between two words changes nothing.
void joiners(std::string_view text, bool, const Word& word) {
    std::string line;
    for (const std::string& one : split_words(text))
        line.append(line.empty() ? "" : " ").append(one);
    for (const std::string& token : split_words(tokenize(line)))
        word(token);
}

Cut pre_tokens(const PreTokens& kind) {
    return [first = kind.first](std::string_view text, bool, const Word& word) {
        while (!text.empty()) {
            const std::size_t length = first(text);
            word(text.substr(0, length));
            text.remove_prefix(length);
        }
    };
}

Cut split_from(const Json& part) {
    const bool inverted = part["invert"].boolean(), removed = part["behavior"].view() == "Removed";
    const bool isolated = part["behavior"].view() == "Isolated" && !inverted;
    if (const Json mark = part["pattern"]["String"]; !mark.is_null() && removed && !inverted)
        return [mark = mark.nonempty_text()](std::string_view text, bool, const Word& word) {
            split_at(text, mark, word);
        };
    const Json pattern = part["pattern"]["Regex"];
    const PreTokens* kind = nullptr;
    for (const PreTokens* one : {&kGpt2, &kLlama3, &kQwen2})
        kind = !pattern.is_null() && pattern.view() == one->expression ? one : kind;
    part["pattern"].require(
        kind != nullptr,
        "is none of the expressions that are supported, GPT-2's, Llama 3's and Qwen2's: got ",
        pattern.is_null() ? "none" : nn::checkpoint::shown(pattern.text()));
    // These expressions match every character, so what stands between two matches is empty.
    part["behavior"].require(isolated || (removed && inverted), "must be Isolated, or Removed with invert");
    return pre_tokens(*kind);
}

// Each space becomes `replacement`; with `split` a word begins at each. prepend_scheme: whether one is put
// before every text, or the first, that does not begin with one.
Cut metaspace_from(const Json& part, bool split) {
    const std::string scheme =
        part["prepend_scheme"].text_or(part["add_prefix_space"].boolean_or(true) ? "always" : "never");
    part["prepend_scheme"].require(scheme == "always" || scheme == "first" || scheme == "never",
                                   "must be always, first or never: got ", nn::checkpoint::shown(scheme));
    const bool spaced = part["add_prefix_space"].boolean_or(scheme != "never");
    part["add_prefix_space"].require(spaced || scheme == "never",
                                     "is false, and prepend_scheme is not never");
    part["str_rep"].text_or("");
    return [=, space = part["replacement"].nonempty_text()](std::string_view text, bool is_first,
                                                            const Word& word) {
        std::string marked = replace_all(text, " ", space);
        if ((scheme == "always" || (scheme == "first" && is_first)) && !marked.starts_with(space))
            marked.insert(0, space);
        std::string_view rest = marked;
        const auto next = [&] { return rest.find(space, rest.starts_with(space) ? space.size() : 0); };
        for (std::size_t at = 0; split && (at = next()) != rest.npos; rest.remove_prefix(at))
            word(rest.substr(0, at));
        word(rest);
    };
}

}  // namespace

void Splitter::add(const Json& part) {
    const std::string_view type = part["type"].view();
    const bool splits = type != "Metaspace" || part["split"].boolean_or(true);
    cuts = cuts || splits;
    if (type == "Split") {
        steps_.push_back(split_from(part));
        at_marks = at_marks || !part["pattern"]["String"].is_null();
    } else if (type == "ByteLevel") {
        part["trim_offsets"].boolean_or(true);  // changes no id
        byte_level = true;
        steps_.push_back(
            [prefix = part["add_prefix_space"].boolean()](std::string_view text, bool, const Word& word) {
                word(prefix && !text.starts_with(' ') ? std::string(" ").append(text) : text);
            });
        if (part["use_regex"].boolean_or(true))
            steps_.push_back(pre_tokens(kGpt2));
    } else if (type == "Digits") {  // numbers are words of their own
        steps_.push_back(
            [alone = part["individual_digits"].boolean()](std::string_view text, bool, const Word& word) {
                isolate(text, is_numeric, !alone, word);
            });
    } else if (type == "Metaspace") {
        steps_.push_back(metaspace_from(part, splits));
    } else if (type == "WhitespaceSplit") {
        steps_.push_back([](std::string_view text, bool, const Word& word) {
            for (const std::string_view one : split(text, is_space))
                word(one);
        });
    } else if (type == "Joiners") {
        steps_.push_back(joiners);
    } else {
        part["type"].require(
            type == "BertPreTokenizer", nn::checkpoint::shown(type),
            " is not supported; BertPreTokenizer, ByteLevel, Digits, Metaspace, Split, WhitespaceSplit are");
        steps_.push_back([](std::string_view text, bool, const Word& word) {  // each sign is a word
            for (const std::string_view some : split(text, is_space))
                isolate(some, is_bert_punctuation, false, word);
        });
    }
}

Splitter Splitter::from(const Json& part) {
    Splitter all;
    for (const Json& item : steps_of(part, "pretokenizers")) {
        item.require(!all.byte_level, "comes after ByteLevel, which must be the last");
        all.add(item);
    }
    return all;
}

void Splitter::cut_before(const std::string& mark) {
    steps_.push_back([mark](std::string_view text, bool, const Word& word) {
        std::size_t begin = 0;
        for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + mark.size()))
            if (at > begin && !text.substr(0, at).ends_with(mark)) {
                word(text.substr(begin, at - begin));
                begin = at;
            }
        word(text.substr(begin));
    });
}

void Splitter::operator()(std::string_view text, bool is_first, const Word& word, std::size_t step) const {
    if (step == steps_.size())
        return word(text);
    bool first = is_first;
    steps_[step](text, is_first,
                 [&](std::string_view part) { (*this)(part, std::exchange(first, false), word, step + 1); });
}

}  // namespace plaingrad::models::text::tokenizer
