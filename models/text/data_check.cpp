#include "models/text/data_check.h"

#include <algorithm>
#include <unordered_set>

#include "autograd/base/check.h"

namespace plaingrad::models::text {
namespace {

// Texts are stored as hashes: the probability that any two of a million different ones have the same hash is
// 3e-8.
struct Contents {
    std::unordered_set<std::size_t> pairs, sources;
    std::unordered_set<char32_t> source_characters, target_characters;
};

std::size_t hash_of(const std::string& text) { return std::hash<std::string>()(text); }
std::size_t hash_of(const SentencePair& pair) { return hash_of(pair.source + '\t' + pair.target); }

// f(character): true to go on. A byte that is not UTF-8 counts as U+FFFD.
template <class F>
bool all_characters(std::string_view text, F f) {
    while (!text.empty()) {
        const nn::CodePoint first = nn::first_code_point(text);
        if (!f(first.code))
            return false;
        text.remove_prefix(first.length);
    }
    return true;
}

Contents contents_of(const ParallelText& text) {
    Contents all;
    for (const SentencePair& pair : text.pairs) {
        all.pairs.insert(hash_of(pair));
        all.sources.insert(hash_of(pair.source));
        all_characters(pair.source, [&](char32_t c) { return all.source_characters.insert(c), true; });
        all_characters(pair.target, [&](char32_t c) { return all.target_characters.insert(c), true; });
    }
    return all;
}

bool is_uneven(const SentencePair& pair) {
    const std::size_t source = split_words(pair.source).size(), target = split_words(pair.target).size();
    return std::max(source, target) > kUneven * std::min(source, target);
}

bool has_replaced(const std::string& text) { return text.find("\xef\xbf\xbd") != text.npos; }  // U+FFFD

}  // namespace

std::vector<Finding> check_data(const ParallelText& text, const ParallelText* training) {
    std::vector<Finding> all = {{"skipped, no text on either side", text.no_text},
                                {"skipped, no source", text.no_source},
                                {"skipped, no target", text.no_target}};
    const auto add = [&](const std::string& what, const auto& is_found) {
        all.push_back({what, {}});
        for (const SentencePair& pair : text.pairs)
            if (is_found(pair))
                all.back().lines.add(pair.line);
    };
    if (text.replaced > 0)
        add("with bytes that are not UTF-8, read as U+FFFD",
            [](const SentencePair& pair) { return has_replaced(pair.source) || has_replaced(pair.target); });
    add(autograd::join("one side more than ", kUneven, " times as long as the other"), is_uneven);
    std::unordered_set<std::size_t> earlier;
    add("duplicates of an earlier pair",
        [&](const SentencePair& pair) { return !earlier.insert(hash_of(pair)).second; });
    if (training != nullptr) {
        const Contents learned = contents_of(*training);
        add("pairs that are in the training data",
            [&](const SentencePair& pair) { return learned.pairs.contains(hash_of(pair)); });
        add("sources that are in the training data",
            [&](const SentencePair& pair) { return learned.sources.contains(hash_of(pair.source)); });
        const auto is_new = [](const std::string& side, const std::unordered_set<char32_t>& known) {
            return !all_characters(side, [&](char32_t c) { return known.contains(c); });
        };
        add("sources with characters never seen in training",
            [&](const SentencePair& pair) { return is_new(pair.source, learned.source_characters); });
        add("targets with characters never seen in training",
            [&](const SentencePair& pair) { return is_new(pair.target, learned.target_characters); });
    }
    std::erase_if(all, [](const Finding& f) { return f.lines.count == 0; });
    return all;
}

std::string report(const ParallelText& text, const std::vector<Finding>& found) {
    std::string all =
        autograd::join(text.files(), ": ", text.pairs.size(), text.pairs.size() == 1 ? " pair" : " pairs");
    for (const Finding& f : found)
        all += autograd::join("; ", f.what, ": ", f.lines.count,
                              f.lines.count == 1 ? " (line " : " (first in line ", f.lines.first, ")");
    return all;
}

}  // namespace plaingrad::models::text
