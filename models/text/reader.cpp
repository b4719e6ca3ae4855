#include "models/text/reader.h"

#include <algorithm>
#include <map>

#include "autograd/base/text_stream.h"
#include "models/text/unicode.h"
#include "nn/checkpoint/json.h"
#include "nn/checkpoint/metadata.h"

namespace plaingrad::models::text {
namespace {

bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }  // of a UTF-8 letter

std::string lower(std::string word) {
    for (char& c : word)
        c = is_capital(c) ? static_cast<char>(c - 'A' + 'a') : c;
    return word;
}

// Runs of letters and digits are words, and so is every other character: "Who's he?" is  Who ' s he ?
std::vector<std::string> split(const std::string& text) {
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

// The parts of words are written with < and >, and pairs with a space, so that no word of a text is spelled
// like one: < and > are always words of their own.
std::string look(const std::string& word) {
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
        while (at > 0 && is_continuation(word[at]));
    return (is_capital(word[0]) ? "<^-" : "<-") + lower(word.substr(at)) + '>';
}

std::string beginning(const std::string& word) {
    std::size_t end = 0;
    for (int letters = 0; letters < 4 && end < word.size(); ++letters)
        do
            ++end;
        while (end < word.size() && is_continuation(word[end]));
    return '<' + lower(word.substr(0, end)) + "->";
}

}  // namespace

std::string Reader::spelled(const std::string& word) const { return options_.keep_case ? word : lower(word); }
std::string Reader::pair(const std::string& a, const std::string& b) const {
    return spelled(a) + ' ' + spelled(b);
}

std::vector<std::string> Reader::words_of(const std::string& text) const {
    std::vector<std::string> words = split(text);
    words.resize(std::min(words.size(), static_cast<std::size_t>(options_.max_words)));
    return words;
}

bool Reader::cuts(const std::string& text) const {
    return static_cast<int64_t>(split(text).size()) > options_.max_words;
}

Reader::Reader(const std::vector<std::string>& training, const ReaderOptions& options) : options_(options) {
    std::map<std::string, int64_t> words, parts, pairs;
    for (const std::string& text : training) {
        const std::vector<std::string> all = words_of(text);
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

std::vector<int32_t> Reader::operator()(const std::string& text, double drop,
                                        const autograd::Rng& rng) const {
    std::vector<int32_t> ids(options_.first ? 1 : 0, kSos);
    uint64_t draws = 0;
    const auto add = [&](const std::string& word, double p) {
        const int32_t id = vocabulary_.id(word);
        if (id != kUnk && !(p > 0 && rng.uniform(draws++) < p))
            ids.push_back(id);
    };
    const std::vector<std::string> words = words_of(text);
    for (const std::string& word : words) {
        add(spelled(word), drop);
        ids.push_back(vocabulary_.id(look(word)));  // <unk> if unknown: every word gets an id
        add(beginning(word), 0);
    }
    for (std::size_t i = 1; i < words.size(); ++i)
        add(pair(words[i - 1], words[i]), drop);
    return ids;
}

nn::checkpoint::Metadata Reader::metadata() const {
    std::string words;  // one per line: no word has a line break
    for (int32_t id = kFirstFreeId; id < size(); ++id)
        words += vocabulary_.word(id) + '\n';
    return {{"classify.words", words}, {"classify.case", options_.keep_case ? "kept" : "lower"}};
}

Reader Reader::from_metadata(const nn::checkpoint::Metadata& metadata, ReaderOptions options,
                             const std::string& path) {
    const nn::checkpoint::FieldReader field{metadata, "classify.", path};
    const std::string& spelling = field.required("case");
    options.keep_case = spelling == "kept";
    nn::checkpoint::check_file(options.keep_case || spelling == "lower", path,
                               ": classify.case must be kept or lower: got ",
                               nn::checkpoint::shown(spelling));
    Reader reader({}, options);
    autograd::TextReader words(field.required("words"));
    for (std::string word; std::getline(words, word);)
        reader.vocabulary_.add(word);
    return reader;
}

}  // namespace plaingrad::models::text
