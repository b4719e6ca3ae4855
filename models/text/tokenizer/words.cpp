// A vocabulary, and the models that look up words in it.
#include <map>

#include "models/text/tokenizer/model.h"
#include "models/text/unicode.h"

namespace plaingrad::models::text::tokenizer {

Strings Vocabulary::in_order(const std::string& where) const {
    std::vector<const std::string*> found(ids_.size());
    for (const auto& [piece, id] : ids_)
        if (id < size())
            found[static_cast<std::size_t>(id)] = &piece;
    Strings all;
    for (const std::string* piece : found) {
        check_file(piece != nullptr, where, ": no piece has the id ", all.size(), ", although there are ",
                   size(), " pieces; ids must be 0, 1, 2 and so on, each once");
        all.push_back(*piece);
    }
    return all;
}

void WordLevel::append(std::string_view word, Ids& ids, const Dropout&) const {
    ids.push_back(words->id(word, unk));
}

void WordPiece::append(std::string_view word, Ids& ids, const Dropout&) const {
    const std::size_t before = ids.size();
    bool known = static_cast<int64_t>(nn::checkpoint::columns_of(word)) <= longest_word;
    std::string part(word);  // what is left, with the prefix
    for (std::size_t begin = 0; known && part.size() > begin; begin = prefix.size()) {
        std::size_t end = part.size();
        int32_t id = pieces->id(part);
        while (id == Vocabulary::kNone && --end > begin)
            id = pieces->id(std::string_view(part).substr(0, end));
        known = id != Vocabulary::kNone;
        ids.push_back(id);
        part.replace(0, end, prefix);
    }
    if (!known) {
        ids.resize(before);
        ids.push_back(unk);
    }
}

// ---- a classifier's features

namespace {

// How many bytes the first `count` characters of a word have.
std::size_t first_bytes(std::string_view word, int64_t count) {
    std::size_t bytes = 0;
    for (const Character& c : Characters(word))
        bytes += count-- > 0 ? c.bytes.size() : 0;
    return bytes;
}

// The parts of words are written with < and >, and pairs with a space, so that no word of a text is spelled
// like one: < and > are always words of their own.
std::string look(const std::string& word) {
    std::string shape;
    for (const Character& c : Characters(word))
        shape += is_number(c.code) ? '0' : 'a';
    if (shape.find('0') != shape.npos)
        return '<' + shape + '>';
    const char32_t first = nn::checkpoint::first_code_point(word).code;
    const std::size_t end = first_bytes(word, std::ssize(shape) - 3);
    return (to_lower(first) != first ? "<^-" : "<-") + lower_characters(word.substr(end)) + '>';
}

std::string beginning(const std::string& word) {
    return '<' + lower_characters(word.substr(0, first_bytes(word, 4))) + "->";
}

std::string spelled(const std::string& word, bool keep_case) {
    return keep_case ? word : lower_characters(word);
}

}  // namespace

void Features::append(const Strings& all, Ids& ids, Dropout& dropout) const {
    Dropout never;
    const auto add = [&](const std::string& feature, Dropout& drop) {
        if (const int32_t id = vocabulary->id(feature); id != Vocabulary::kNone && !drop())
            ids.push_back(id);
    };
    Strings words;
    for (const std::string& word : all)
        if (std::ssize(words) < max_words) {
            words.push_back(spelled(word, keep_case));
            add(words.back(), dropout);
            ids.push_back(vocabulary->id(look(word), unk));
            add(beginning(word), never);
        }
    for (std::size_t i = 1; i < words.size(); ++i)
        add(words[i - 1] + ' ' + words[i], dropout);
}

Strings Features::learn(const std::vector<Strings>& texts, int64_t least, int64_t least_pairs,
                        bool keep_case) {
    std::map<std::string, int64_t> words, parts, pairs;
    for (const Strings& text : texts) {
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
    Strings all;
    const auto keep = [&](const std::map<std::string, int64_t>& counts, int64_t enough) {
        for (const auto& [feature, count] : counts)
            if (count >= enough)
                all.push_back(feature);
    };
    keep(words, least);
    keep(parts, 2);
    if (least_pairs > 0)
        keep(pairs, least_pairs);
    return all;
}

}  // namespace plaingrad::models::text::tokenizer
