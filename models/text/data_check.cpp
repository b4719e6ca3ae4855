#include "models/text/data_check.h"

#include <algorithm>
#include <unordered_set>

namespace plaingrad::models::text {
namespace {

// Calls f(character, code point) for each character. A byte that is not UTF-8 counts as U+FFFD.
template <class F>
void for_each_character(std::string_view text, F f) {
    while (!text.empty()) {
        const nn::CodePoint first = nn::first_code_point(text);
        f(text.substr(0, first.length), static_cast<uint32_t>(first.code));
        text.remove_prefix(first.length);
    }
}

// What a corpus contains. Sentences are stored as hashes: the probability that any two of a million different
// ones have the same hash is 3e-8.
class Contents {
public:
    bool add(const SentencePair& pair) {  // whether the pair is new
        sources_.insert(hash_(pair.source));
        for_each_character(pair.source, [&](std::string_view, uint32_t code) { source_[code] = true; });
        for_each_character(pair.target, [&](std::string_view, uint32_t code) { target_[code] = true; });
        return pairs_.insert(hash_(pair.source + '\t' + pair.target)).second;
    }
    // Records in `found` whether this corpus has the pair and its source, and which characters it lacks.
    void look_up(const SentencePair& pair, CorpusCheck& found) const {
        if (pairs_.contains(hash_(pair.source + '\t' + pair.target)))
            found.pairs_learned.add(pair.line);
        if (sources_.contains(hash_(pair.source)))
            found.sources_learned.add(pair.line);
        look_up(pair.source, pair.line, source_, found.unseen_source);
        look_up(pair.target, pair.line, target_, found.unseen_target);
    }

private:
    static void look_up(std::string_view text, int64_t line, const std::vector<bool>& seen,
                        UnseenCharacters& unseen) {
        for_each_character(text, [&](std::string_view character, uint32_t code) {
            if (!seen[code])
                ++unseen.try_emplace(code, UnseenCharacter{std::string(character), 0, line})
                      .first->second.times;
        });
    }

    std::hash<std::string> hash_;
    std::unordered_set<std::size_t> pairs_, sources_;
    std::vector<bool> source_ = std::vector<bool>(0x110000), target_ = source_;  // by code point
};

CorpusCheck check_corpus(const ParallelText& text, Contents& contents, const Contents* training) {
    CorpusCheck found = {.files = text.files(),
                         .no_text = text.no_text,
                         .no_source = text.no_source,
                         .no_target = text.no_target,
                         .replaced = text.replaced};
    const auto has_replaced = [](const std::string& side) {
        return side.find("\xef\xbf\xbd") != std::string::npos;  // U+FFFD
    };
    for (const SentencePair& pair : text.pairs) {
        const PairLength length = {std::ssize(split_words(pair.source)),
                                   std::ssize(split_words(pair.target))};
        const auto [shorter, longer] = std::minmax(length.source, length.target);
        found.lengths.push_back(length);
        if (longer > kUneven * shorter)
            found.uneven.add(pair.line);
        if (text.replaced > 0 && (has_replaced(pair.source) || has_replaced(pair.target)))
            found.not_utf8.add(pair.line);
        if (!contents.add(pair))
            found.duplicates.add(pair.line);
        if (training != nullptr)
            training->look_up(pair, found);
    }
    return found;
}

}  // namespace

DataCheck check_data(const ParallelText& training, const ParallelText* validation) {
    Contents learned, held_out;
    DataCheck found = {check_corpus(training, learned, nullptr)};
    if (validation != nullptr)
        found.validation = check_corpus(*validation, held_out, &learned);
    return found;
}

}  // namespace plaingrad::models::text
