#include "models/text/tokenizer/splitter.h"

#include "models/text/lines.h"
#include "models/text/tokenizer/joiners.h"
#include "models/text/unicode.h"
#include "nn/utf8.h"

namespace plaingrad::models::text::tokenizer {
namespace {

using Word = Splitter::Word;

// Cuts around each character that belongs to a class; `together`: a run of them is one word. (Neither a text
// here nor a word of it is ever empty.)
template <class Belongs>
void isolate(std::string_view text, Belongs belongs, bool together, const Word& word) {
    std::size_t begin = 0;
    bool before = false;  // whether the last character belongs
    for (std::size_t at = 0; at < text.size();) {
        const auto [code, length] = nn::first_code_point(text.substr(at));
        const bool here = belongs(code);
        if (at > begin && (here != before || (here && !together))) {
            word(text.substr(begin, at - begin));
            begin = at;
        }
        before = here;
        at += length;
    }
    word(text.substr(begin));
}

void cut(const Split& split, std::string_view text, bool, const Word& word) {
    while (!text.empty()) {
        const std::string_view first = first_pre_token(text, split.kind);
        word(first);
        text.remove_prefix(first.size());
    }
}

void cut(const SplitAt& split, std::string_view text, bool, const Word& word) {
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(split.mark, begin), text.size());
        if (end > begin)
            word(text.substr(begin, end - begin));
        begin = end + split.mark.size();
    }
}

void cut(const Digits& digits, std::string_view text, bool, const Word& word) {
    isolate(text, is_numeric, !digits.individual_digits, word);
}

void cut(const BertWords&, std::string_view text, bool, const Word& word) {
    isolate(text, is_space, true, [&](std::string_view part) {
        if (!is_space(nn::first_code_point(part).code))
            isolate(part, is_bert_punctuation, false, word);
    });
}

void cut(const ByteLevel& bytes, std::string_view text, bool, const Word& word) {
    if (bytes.add_prefix_space && !text.starts_with(' '))
        word(std::string(" ").append(text));
    else
        word(text);
}

void cut(const Metaspace& meta, std::string_view text, bool is_first, const Word& word) {
    std::string marked = replace_all(text, " ", meta.replacement);
    const bool wanted =
        meta.prepend == Metaspace::Prepend::always || (meta.prepend == Metaspace::Prepend::first && is_first);
    if (wanted && !marked.starts_with(meta.replacement))
        marked.insert(0, meta.replacement);
    std::size_t begin = 0;
    for (std::size_t at = 0; meta.split && (at = marked.find(meta.replacement, at)) != marked.npos;
         at += meta.replacement.size())
        if (at > begin) {
            word(std::string_view(marked).substr(begin, at - begin));
            begin = at;
        }
    word(std::string_view(marked).substr(begin));
}

void cut(const WhitespaceSplit&, std::string_view text, bool, const Word& word) {
    isolate(text, is_space, true, [&](std::string_view part) {
        if (!is_space(nn::first_code_point(part).code))
            word(part);
    });
}

// The number of spaces and tabs between two words changes nothing.
void cut(const Joiners&, std::string_view text, bool, const Word& word) {
    std::string line;
    for (const std::string& one : split_words(text))
        line.append(line.empty() ? "" : " ").append(one);
    for (const std::string& token : split_words(tokenize(line)))
        word(token);
}

void cut(const WordsAfter& words, std::string_view text, bool, const Word& word) {
    std::size_t begin = 0;
    for (std::size_t at = text.find(words.mark); at != text.npos;
         at = text.find(words.mark, at + words.mark.size()))
        if (at > begin && !text.substr(0, at).ends_with(words.mark)) {
            word(text.substr(begin, at - begin));
            begin = at;
        }
    word(text.substr(begin));
}

Splitter::Step split_from(const Json& part) {
    const bool inverted = part["invert"].boolean(), removed = part["behavior"].view() == "Removed";
    const bool isolated = part["behavior"].view() == "Isolated" && !inverted;
    if (const Json mark = part["pattern"]["String"]; !mark.is_null() && removed && !inverted)
        return SplitAt{mark.nonempty_text()};
    const Json pattern = part["pattern"]["Regex"];
    const auto kind = pattern.is_null() ? std::nullopt : pre_tokens_of(pattern.view());
    part["pattern"].require(
        kind.has_value(),
        "is none of the expressions that are supported, GPT-2's, Llama 3's and Qwen2's: got ",
        pattern.is_null() ? "none" : nn::checkpoint::shown(pattern.text()));
    // These expressions match every character, so what stands between two matches is empty.
    part["behavior"].require(isolated || (removed && inverted), "must be Isolated, or Removed with invert");
    return Split{*kind};
}

Metaspace metaspace_from(const Json& part) {
    using Prepend = Metaspace::Prepend;
    const std::string scheme =
        part["prepend_scheme"].text_or(part["add_prefix_space"].boolean_or(true) ? "always" : "never");
    part["prepend_scheme"].require(scheme == "always" || scheme == "first" || scheme == "never",
                                   "must be always, first or never: got ", nn::checkpoint::shown(scheme));
    const bool spaced = part["add_prefix_space"].boolean_or(scheme != "never");
    part["add_prefix_space"].require(spaced || scheme == "never",
                                     "is false, and prepend_scheme is not never");
    part["str_rep"].text_or("");
    return {part["replacement"].nonempty_text(),
            scheme == "always"  ? Prepend::always
            : scheme == "first" ? Prepend::first
                                : Prepend::never,
            part["split"].boolean_or(true)};
}

std::vector<Splitter::Step> splitter_steps(const Json& part) {
    const std::string_view type = part["type"].view();
    if (type == "Split")
        return {split_from(part)};
    if (type == "ByteLevel") {
        part["trim_offsets"].boolean_or(true);  // changes no id
        const ByteLevel bytes = {part["add_prefix_space"].boolean()};
        return part["use_regex"].boolean_or(true) ? std::vector<Splitter::Step>{bytes, Split{PreTokens::gpt2}}
                                                  : std::vector<Splitter::Step>{bytes};
    }
    if (type == "Digits")
        return {Digits{part["individual_digits"].boolean()}};
    if (type == "Metaspace")
        return {metaspace_from(part)};
    if (type == "WhitespaceSplit")
        return {WhitespaceSplit{}};
    if (type == "Joiners")
        return {Joiners{}};
    part["type"].require(
        type == "BertPreTokenizer", nn::checkpoint::shown(type),
        " is not supported; BertPreTokenizer, ByteLevel, Digits, Metaspace, Split, WhitespaceSplit are");
    return {BertWords{}};
}

}  // namespace

Splitter Splitter::from(const Json& part) {
    Splitter all;
    for (const Json& item : steps_of(part, "pretokenizers")) {
        const bool bytes = std::any_of(all.steps.begin(), all.steps.end(), [](const Step& step) {
            return std::holds_alternative<ByteLevel>(step);
        });
        item.require(!bytes, "comes after ByteLevel, which must be the last");
        const std::vector<Step> steps = splitter_steps(item);
        all.steps.insert(all.steps.end(), steps.begin(), steps.end());
    }
    return all;
}

void Splitter::cut(std::string_view text, bool is_first, std::size_t step, const Word& word) const {
    if (step == steps.size())
        return word(text);
    bool first = is_first;
    std::visit(
        [&](const auto& s) {
            tokenizer::cut(s, text, is_first, [&](std::string_view part) {
                cut(part, std::exchange(first, false), step + 1, word);
            });
        },
        steps[step]);
}

}  // namespace plaingrad::models::text::tokenizer
