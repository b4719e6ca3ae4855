#include "models/text/vocabulary.h"

#include "autograd/base/check.h"

namespace plaingrad::models::text {

std::vector<std::string> split_words(std::string_view sentence) {
    std::vector<std::string> words;
    constexpr std::string_view space = " \t";
    for (std::size_t at = sentence.find_first_not_of(space); at != std::string_view::npos;) {
        const std::size_t end = std::min(sentence.find_first_of(space, at), sentence.size());
        words.emplace_back(sentence.substr(at, end - at));
        at = sentence.find_first_not_of(space, end);
    }
    return words;
}

int32_t Vocabulary::add(std::string_view word) {
    const auto [entry, is_new] = ids_.try_emplace(std::string(word), static_cast<int32_t>(words_.size()));
    if (is_new)
        words_.emplace_back(word);
    return entry->second;
}

int32_t Vocabulary::id(std::string_view word) const {
    const auto entry = ids_.find(std::string(word));
    return entry == ids_.end() ? static_cast<int32_t>(kUnk) : entry->second;
}

const std::string& Vocabulary::word(int32_t id) const {
    autograd::check(id >= 0 && id < size(), "[Vocabulary] id ", id, " is outside the vocabulary of ", size());
    return words_[static_cast<std::size_t>(id)];
}

std::vector<int32_t> Vocabulary::add_all(std::string_view sentence) {
    std::vector<int32_t> ids;
    for (const std::string& word : split_words(sentence))
        ids.push_back(add(word));
    return ids;
}

std::vector<int32_t> Vocabulary::encode(std::string_view sentence) const {
    std::vector<int32_t> ids;
    for (const std::string& word : split_words(sentence))
        ids.push_back(id(word));
    return ids;
}

std::string Vocabulary::decode(const std::vector<int32_t>& ids) const {
    std::string sentence;
    for (const int32_t id : ids) {
        if (!sentence.empty())
            sentence += ' ';
        sentence += word(id);
    }
    return sentence;
}

std::vector<std::string> Vocabulary::unknown(std::string_view sentence) const {
    std::vector<std::string> words;
    for (const std::string& word : split_words(sentence))
        if (!ids_.contains(word))
            words.push_back(word);
    return words;
}

}  // namespace plaingrad::models::text
