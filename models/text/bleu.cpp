#include "models/text/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "autograd/base/check.h"
#include "models/text/lines.h"
#include "models/text/unicode.h"

namespace plaingrad::models::text {

namespace {

using Words = std::vector<std::string>;

// At white space as Python does, for which it includes U+001C to U+001F, the separators of records.
Words split_as_python(std::string_view text) {
    const auto words = split(text, [](char32_t c) { return is_space(c) || (c >= 0x1c && c <= 0x1f); });
    return {words.begin(), words.end()};
}

bool is_stop(char c) { return c == '.' || c == ','; }
// ASCII punctuation and the space, but not the apostrophe, comma, hyphen and full stop.
bool is_punctuation(char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return c >= ' ' && c <= '~' && !letter && !is_digit(c) && !is_stop(c) && c != '\'' && c != '-';
}

// Puts a space between the two characters of each pair that `fits`, and `before` and `after` around them.
// Goes from left to right; pairs do not overlap.
template <class Fits>
std::string separate(const std::string& line, const Fits& fits, std::string_view before,
                     std::string_view after) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (i + 1 == line.size() || !fits(line[i], line[i + 1])) {
            text += line[i];
            continue;
        }
        text.append(before).append({line[i], ' ', line[i + 1]}).append(after);
        ++i;
    }
    return text;
}

Words words_of(std::string_view line, const BleuOptions& o) {
    const std::string text = o.lower_case ? lower_case(line) : std::string(line);
    return o.tokenized ? split_as_python(text) : tokenize_13a(text);
}

using Counts = std::map<Words, int64_t>;

// Of 1 to 4 words.
Counts count_ngrams(const Words& words) {
    Counts counts;
    for (auto first = words.begin(); first != words.end(); ++first)
        for (auto end = first; end != words.end() && end - first < 4;)
            ++counts[Words(first, ++end)];
    return counts;
}

// Adds one sentence.
void count(BleuScore& sum, const Words& hypothesis, const Words& reference) {
    sum.hyp_len += std::ssize(hypothesis);
    sum.ref_len += std::ssize(reference);
    const Counts wanted = count_ngrams(reference);
    for (const auto& [ngram, times] : count_ngrams(hypothesis)) {
        sum.totals[ngram.size() - 1] += times;
        const auto place = wanted.find(ngram);
        sum.matches[ngram.size() - 1] += place == wanted.end() ? 0 : std::min(times, place->second);
    }
}

}  // namespace

// Each rule is one pass from left to right over the result of the rule before. The rules concern only ASCII,
// so they can look at bytes. Other punctuation is not split off, and neither is &apos;.
Words tokenize_13a(std::string_view text) {
    std::string line(text.substr(0, text.find_last_not_of(" \t\n\v\f\r\x1c\x1d\x1e\x1f") + 1));
    constexpr std::string_view replacements[][2] = {{"<skipped>", ""}, {"-\n", ""},    {"\n", " "},
                                                    {"&quot;", "\""},  {"&amp;", "&"}, {"&lt;", "<"},
                                                    {"&gt;", ">"}};
    for (const auto& [from, to] : replacements)
        line = replace_all(line, from, to);
    std::string spaced = " ";
    for (const char c : line)
        spaced += is_punctuation(c) ? std::string{' ', c, ' '} : std::string{c};
    line = spaced + ' ';
    // Split off full stops and commas, except within a number, and a hyphen after a digit.
    line = separate(
        line, [](char a, char b) { return !is_digit(a) && is_stop(b); }, "", " ");
    line = separate(
        line, [](char a, char b) { return is_stop(a) && !is_digit(b); }, " ", "");
    line = separate(
        line, [](char a, char b) { return is_digit(a) && b == '-'; }, "", " ");
    return split_as_python(line);
}

BleuScore bleu(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references,
               const BleuOptions& o) {
    autograd::check(references.size() == hypotheses.size(),
                    "[bleu] each translation needs its reference: got ", hypotheses.size(),
                    " translations and ", references.size(), " references");
    BleuScore sum;
    for (std::size_t i = 0; i < hypotheses.size(); ++i)
        count(sum, words_of(hypotheses[i], o), words_of(references[i], o));
    return bleu_from_counts(sum, o);
}

BleuScore bleu_from_counts(BleuScore s, const BleuOptions& o) {
    s.score = 0;
    s.precisions = {};
    const double ratio = static_cast<double>(s.ref_len) / static_cast<double>(s.hyp_len);
    s.bp = s.hyp_len >= s.ref_len ? 1 : std::exp(1 - ratio);  // without any words: exp(-inf), which is 0
    if (s.matches == std::array<int64_t, 4>{})
        return s;
    double missing = 1, logs = 0;  // matches of an order that has none; sum of ln of the precisions
    for (std::size_t order = 0; order < 4; ++order) {
        const auto matches = static_cast<double>(s.matches[order]);
        const auto total = static_cast<double>(s.totals[order]);
        if (total == 0)
            return s;
        if (matches == 0)
            missing = o.tokenized ? 0 : missing / 2;
        s.precisions[order] = 100 * (matches > 0 ? matches : missing) / total;
        logs += std::log(s.precisions[order]);  // of 0: -inf, and the score is 0
    }
    s.score = s.bp * std::exp(logs / 4);
    return s;
}

std::string to_string(const BleuScore& s, const BleuOptions& o) {
    const double ratio = s.ref_len > 0 ? static_cast<double>(s.hyp_len) / static_cast<double>(s.ref_len) : 0;
    char text[200];
    std::snprintf(text, sizeof text,
                  o.tokenized
                      ? "BLEU4 = %.2f, %.1f/%.1f/%.1f/%.1f (BP=%.3f, ratio=%.3f, syslen=%lld, reflen=%lld)"
                      : " = %.1f %.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %lld ref_len = %lld)",
                  s.score, s.precisions[0], s.precisions[1], s.precisions[2], s.precisions[3], s.bp, ratio,
                  static_cast<long long>(s.hyp_len), static_cast<long long>(s.ref_len));
    return o.tokenized ? text
                       : autograd::join("BLEU|nrefs:1|case:", o.lower_case ? "lc" : "mixed",
                                        "|eff:no|tok:13a|smooth:exp|version:2.6.0", text);
}

}  // namespace plaingrad::models::text
