#include "models/text/tokenizer/features.h"

#include <algorithm>
#include <map>

#include "models/text/unicode.h"
#include "nn/utf8.h"

namespace plaingrad::models::text::tokenizer {
namespace {

// How many bytes the first `count` characters of a word have, and its last ones.
std::size_t first_bytes(std::string_view word, int count) {
    std::size_t end = 0;
    for (; count > 0 && end < word.size(); --count)
        end += nn::first_code_point(word.substr(end)).length;
    return end;
}
std::size_t last_bytes(std::string_view word, int count) {
    const auto all = static_cast<int>(nn::columns_of(word));
    return word.size() - first_bytes(word, std::max(0, all - count));
}

// The parts of words are written with < and >, and pairs with a space, so that no word of a text is spelled
// like one: < and > are always words of their own.
std::string look(const std::string& word) {
    std::string shape;
    bool has_digits = false;
    for (std::size_t at = 0; at < word.size();) {
        const auto [code, length] = nn::first_code_point(std::string_view(word).substr(at));
        has_digits = has_digits || is_number(code);
        shape += is_number(code) ? '0' : 'a';
        at += length;
    }
    if (has_digits)
        return '<' + shape + '>';
    const char32_t first = nn::first_code_point(word).code;
    return (to_lower(first) != first ? "<^-" : "<-") +
           lower_characters(word.substr(word.size() - last_bytes(word, 3))) + '>';
}

std::string beginning(const std::string& word) {
    return '<' + lower_characters(word.substr(0, first_bytes(word, 4))) + "->";
}

std::string spelled(const std::string& word, bool keep_case) {
    return keep_case ? word : lower_characters(word);
}

}  // namespace

Features::Features(std::shared_ptr<const Vocabulary> features, FeatureOptions options,
                   const std::string& where)
    : features_(std::move(features)),
      options_(std::move(options)),
      unk_(features_->id_of_unk(options_.unk_token, where)) {}

void Features::append(const std::vector<std::string>& all, std::vector<int32_t>& ids,
                      Dropout& dropout) const {
    Dropout never;
    const auto add = [&](const std::string& feature, Dropout& drop) {
        if (const int32_t id = features_->id(feature); id != Vocabulary::kNone && !drop())
            ids.push_back(id);
    };
    std::vector<std::string> words;
    for (const std::string& word : all)
        if (std::ssize(words) < options_.max_words) {
            words.push_back(spelled(word, options_.keep_case));
            add(words.back(), dropout);
            const int32_t id = features_->id(look(word));
            ids.push_back(id == Vocabulary::kNone ? unk_ : id);
            add(beginning(word), never);
        }
    for (std::size_t i = 1; i < words.size(); ++i)
        add(words[i - 1] + ' ' + words[i], dropout);
}

std::vector<std::string> Features::learn(const std::vector<std::vector<std::string>>& texts, int64_t least,
                                         int64_t pairs_least, bool keep_case) {
    std::map<std::string, int64_t> words, parts, pairs;
    for (const std::vector<std::string>& text : texts) {
        std::string before;
        for (const std::string& word : text) {
            const std::string now = spelled(word, keep_case);
            ++words[now];
            ++parts[look(word)];
            ++parts[beginning(word)];
            if (!before.empty())
                ++pairs[before + ' ' + now];
            before = now;
        }
    }
    std::vector<std::string> all;
    const auto keep = [&](const std::map<std::string, int64_t>& counts, int64_t enough) {
        for (const auto& [feature, count] : counts)
            if (count >= enough)
                all.push_back(feature);
    };
    keep(words, least);
    keep(parts, 2);
    if (pairs_least > 0)
        keep(pairs, pairs_least);
    return all;
}

}  // namespace plaingrad::models::text::tokenizer
