// How classify reads a text. There are no pretrained vectors, and of a few thousand lines most words are
// rare: so a word is read as several ids, and something is known of each, even of one that was never seen:
//
//     Who founded Oslo ?
//     who <^-who> <who->  founded <-ded> <fou->  <^-slo>  ? <-?>  who+founded
//
// the word itself if it is frequent enough; its look: how it ends, or where its digits are, and whether it
// begins with a capital; its beginning, which it shares with its other forms; and at the end frequent pairs
// of neighbours.
#pragma once

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "autograd/random.h"
#include "models/text/vocabulary.h"

namespace plaingrad::classify {

struct ReaderOptions {
    int64_t min_count = 2, pairs = 3;  // how often words and pairs must occur to be read; pairs 0: none
    int64_t max_words = 128;           // of a longer text only the first ones are read
    bool keep_case = false;
    bool first = false;  // each text begins with <sos>
};

class Reader {
public:
    using Metadata = std::map<std::string, std::string>;
    static constexpr int64_t kIdsPerWord = 4;  // at most, <sos> included: the last word begins no pair

    Reader(const std::vector<std::string>& training, const ReaderOptions& options) : options_(options) {
        std::map<std::string, int64_t> words, parts, pairs;
        for (const std::string& text : training) {
            const std::vector<std::string> all = cut(text);
            for (std::size_t i = 0; i < all.size(); ++i) {
                ++words[spelled(all[i])];
                ++parts[look(all[i])];
                ++parts[beginning(all[i])];
                if (i > 0)
                    ++pairs[pair(all[i - 1], all[i])];
            }
        }
        const auto keep = [&](const std::map<std::string, int64_t>& counts, int64_t least) {
            for (const auto& [word, count] : counts)
                if (count >= least)
                    vocabulary_.add(word);
        };
        keep(words, options.min_count);
        keep(parts, 2);
        if (options.pairs > 0)
            keep(pairs, options.pairs);
    }

    // drop: the probability that a word or a pair is left out, as unknown ones are. In training: so that the
    // parts of words are learned, and none is relied on too much.
    std::vector<int32_t> operator()(const std::string& text, double drop = 0,
                                    const autograd::Rng& rng = autograd::Rng(0)) const {
        std::vector<int32_t> ids(options_.first ? 1 : 0, models::kSos);
        uint64_t draws = 0;
        const auto add = [&](const std::string& word, double p) {
            const int32_t id = vocabulary_.id(word);
            if (id != models::kUnk && !(p > 0 && rng.uniform(draws++) < p))
                ids.push_back(id);
        };
        const std::vector<std::string> words = cut(text);
        for (const std::string& word : words) {
            add(spelled(word), drop);
            ids.push_back(vocabulary_.id(look(word)));  // <unk> if need be: no word is passed over
            add(beginning(word), 0);
        }
        for (std::size_t i = 1; i < words.size(); ++i)
            add(pair(words[i - 1], words[i]), drop);
        return ids;
    }

    bool cuts(const std::string& text) const {
        return static_cast<int64_t>(split(text).size()) > options_.max_words;
    }
    int64_t size() const { return vocabulary_.size(); }
    const ReaderOptions& options() const { return options_; }

    // As metadata of a model, and back. A line is a word; none has a line break in it.
    std::string description() const {
        std::string words;
        for (int32_t id = models::kFirstFreeId; id < size(); ++id)
            words += vocabulary_.word(id) + '\n';
        return words;
    }
    static Reader from_description(const std::string& words, const ReaderOptions& options) {
        Reader reader({}, options);
        std::istringstream stream(words);
        for (std::string word; std::getline(stream, word);)
            reader.vocabulary_.add(word);
        return reader;
    }

    // Runs of letters and digits are words, and so is every other sign: "Who's he?" is  Who ' s he ?
    static std::vector<std::string> split(const std::string& text) {
        std::vector<std::string> words;
        bool open = false;  // the last word may grow
        for (const char c : text) {
            const bool letter =
                is_small(c) || is_capital(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80;
            if (letter && open)
                words.back() += c;
            else if (c != ' ' && c != '\t')
                words.emplace_back(1, c);
            open = letter;
        }
        return words;
    }

private:
    static bool is_small(char c) { return c >= 'a' && c <= 'z'; }
    static bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
    static bool is_digit(char c) { return c >= '0' && c <= '9'; }
    static bool is_inside(char c) {
        return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
    }  // of a UTF-8 letter

    static std::string lower(std::string word) {
        for (char& c : word)
            c = is_capital(c) ? static_cast<char>(c - 'A' + 'a') : c;
        return word;
    }

    std::vector<std::string> cut(const std::string& text) const {
        std::vector<std::string> words = split(text);
        words.resize(std::min(words.size(), static_cast<std::size_t>(options_.max_words)));
        return words;
    }

    // No word of a text can be spelled like one of its parts, for < and > are words by themselves; and none
    // has a space in it, as pairs have.
    std::string spelled(const std::string& word) const { return options_.keep_case ? word : lower(word); }
    std::string pair(const std::string& a, const std::string& b) const {
        return spelled(a) + ' ' + spelled(b);
    }

    static std::string look(const std::string& word) {
        if (std::any_of(word.begin(), word.end(), is_digit)) {
            std::string digits;
            for (const char c : word)
                digits += is_digit(c) ? '0' : 'a';
            return '<' + digits + '>';
        }
        std::size_t at = word.size();
        for (int letters = 0; letters < 3 && at > 0; ++letters)
            do
                --at;
            while (at > 0 && is_inside(word[at]));
        return (is_capital(word[0]) ? "<^-" : "<-") + lower(word.substr(at)) + '>';
    }

    static std::string beginning(const std::string& word) {
        std::size_t end = 0;
        for (int letters = 0; letters < 4 && end < word.size(); ++letters)
            do
                ++end;
            while (end < word.size() && is_inside(word[end]));
        return '<' + lower(word.substr(0, end)) + "->";
    }

    models::text::Vocabulary vocabulary_;
    ReaderOptions options_;
};

}  // namespace plaingrad::classify
