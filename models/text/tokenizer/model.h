// What makes ids of words: the models of a tokenizer, and the vocabulary in which they look pieces up.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autograd/base/random.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::models::text::tokenizer {

using nn::checkpoint::check_file;
using nn::checkpoint::JsonText;
using nn::checkpoint::shown;
using Ids = std::vector<int32_t>;
using Strings = std::vector<std::string>;

// The names of the ids that are reserved in what is learned here (models/text/specials.h).
inline const Strings kReserved = {"<pad>", "<sos>", "<eos>", "<unk>"};

// To look up views in a map of strings.
struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

class Vocabulary {
public:
    static constexpr int32_t kNone = -1;

    // Whether the piece is new. id: 0 or more.
    bool add(std::string_view piece, int64_t id) {
        return ids_.try_emplace(std::string(piece), static_cast<int32_t>(id)).second;
    }

    int32_t id(std::string_view piece, int32_t if_none = kNone) const {
        const auto entry = ids_.find(piece);
        return entry == ids_.end() ? if_none : entry->second;
    }
    int64_t size() const { return std::ssize(ids_); }

    // The pieces in the order of their ids. Throws FileError naming `where` if an id from 0 on has none.
    Strings in_order(const std::string& where) const;

    // From now on no piece has one of the ids below `end`.
    void hide(int32_t end) {
        std::erase_if(ids_, [&](const auto& entry) { return entry.second < end; });
    }

private:
    std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
};

// Of BPE: in each round, each place where a rule applies is skipped with probability p, so that a model sees
// many splits of a word. Provilkov, Emelianenko & Voita 2020, "BPE-Dropout: Simple and Effective Subword
// Regularization", §3.1.
struct Dropout {
    double p = 0;
    autograd::Rng rng = autograd::Rng(0);
    uint64_t drawn = 0;
    bool operator()() { return p > 0 && rng.uniform(drawn++) < p; }
};

// Each word has an id, or is unknown.
struct WordLevel {
    std::shared_ptr<const Vocabulary> words;
    int32_t unk = Vocabulary::kNone;

    void append(std::string_view word, Ids& ids, const Dropout&) const;
};

// A word is written with the longest piece that it begins with, then the longest that the rest begins with,
// and so on. Wu et al. 2016, "Google's Neural Machine Translation System", §4.1; as BERT has it.
struct WordPiece {
    std::shared_ptr<const Vocabulary> pieces;
    int32_t unk;           // for a whole word, if a part of it has no piece
    std::string prefix;    // what pieces begin with inside of a word, as "##"
    int64_t longest_word;  // longer words are unknown

    void append(std::string_view word, Ids& ids, const Dropout&) const;
};

// ---- byte-pair encoding
//
// Byte-pair encoding: the symbols of a word are merged, pair by pair, as long as a rule applies. A rule says
// which two symbols are merged; its rank is its place in the list. Sennrich, Haddow & Birch 2016, "Neural
// Machine Translation of Rare Words with Subword Units", §3.2. At first the symbols are bytes (GPT-2, Llama
// 3, Qwen2), or characters (Llama 2: without a piece, their bytes), or characters with `</w>` on a word's
// last one (subword-nmt).

// The rules: which two adjacent symbols become one, and in which order. Symbols are ids from 0 on. A hash
// table with open addressing: a text asks for a pair or two a byte.
class PairTable {
public:
    static constexpr int32_t kNone = std::numeric_limits<int32_t>::max();
    struct Merge {
        int32_t rank = kNone;  // kNone: the two stay apart; otherwise the smallest one comes first
        int32_t merged = -1;
    };

    static uint64_t key(int32_t left, int32_t right) {
        return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
    }
    Merge find(int32_t left, int32_t right) const {
        for (std::size_t at = place(key(left, right));; at = (at + 1) & mask())
            if (slots_[at].key == key(left, right) || slots_[at].key == kEmpty)
                return slots_[at].merge;
    }
    void set(int32_t left, int32_t right, Merge merge);  // also replaces one

    // Merges the first of the pairs with the smallest rank, and repeats, until no pair has a rank. With
    // dropout each round merges all places of its pair that are not skipped.
    void apply(Ids& word, Dropout& dropout) const;

private:
    static constexpr uint64_t kEmpty = ~uint64_t{0};
    struct Slot {
        uint64_t key = kEmpty;
        Merge merge;
    };

    std::size_t mask() const { return slots_.size() - 1; }
    std::size_t place(uint64_t key) const { return (key * 0x9e3779b97f4a7c15u >> 32) & mask(); }
    void apply_to_long(Ids& word) const;

    std::vector<Slot> slots_ = std::vector<Slot>(16);  // a power of two, at least half of it empty
    std::size_t size_ = 0;
};

// GPT-2's way to write bytes as characters that can be seen, so that a vocabulary is a text file: a printable
// byte of Latin-1 is that character, the others are the characters from U+0100 on. A space is U+0120.
struct ByteAlphabet {
    ByteAlphabet();

    std::array<std::string, 256> character;  // of each byte, in UTF-8
    std::string order;                       // all bytes, the printable ones first: the order of GPT-2's ids

    std::string write(std::string_view bytes) const;
    // The bytes; nothing if the text has a character of no byte.
    std::optional<std::string> read(std::string_view text) const;
};
const ByteAlphabet& byte_alphabet();

struct BpeOptions {
    bool byte_level = false;       // words are bytes, written in ByteAlphabet
    bool byte_fallback = false;    // a character without a piece becomes pieces <0x00> to <0xFF>
    bool fuse_unk = false;         // unknown characters in a row become one piece
    bool ignore_merges = false;    // a word that is a piece becomes that piece, whatever the merges say
    std::string end_of_word = {};  // what is appended to a word's last character, as "</w>"
    // Ids 0 to 3 are reserved: no text has them, whatever their names are. Rules may make pieces that the
    // vocabulary lacks. Such a piece is split again into the two that its rule has joined, and these again,
    // as subword-nmt does with --vocabulary.
    bool splits_again = false;
};

class Bpe {
public:
    using Rule = std::pair<std::string_view, std::string_view>;
    using Rules = std::vector<Rule>;
    // A rule that is written as "a b"; nothing if there are not two pieces.
    static std::optional<Rule> rule(std::string_view text);

    // unk: for unknown characters; kNone: they are left out. Rules in the order of their ranks. If a pair
    // comes twice, its last rank counts, as in `tokenizers`; or the first where pieces split again, as in
    // subword-nmt. Throws FileError naming `where` for a rule whose pieces, or what they make, have no id,
    // unless it splits again.
    Bpe(std::shared_ptr<Vocabulary> pieces, int32_t unk, BpeOptions options, const Rules& rules,
        const std::string& where);

    // Appends the ids of a word.
    void append(std::string_view word, Ids& ids, Dropout& dropout) const;

    const BpeOptions& options() const { return options_; }

private:
    Ids symbols(std::string_view word) const;
    void add_rule(const Rule& rule, int32_t rank, const std::string& where);
    void append_known(int32_t symbol, Ids& ids) const;
    void append_unknown(std::string_view character, bool& waits, Ids& ids) const;

    std::shared_ptr<Vocabulary> pieces_;
    int32_t unk_;
    // Symbols from size_ on are no pieces of the vocabulary. made_of_ has the two that each was made of; a
    // character was made of none.
    int32_t size_;
    std::vector<std::pair<int32_t, int32_t>> made_of_;
    BpeOptions options_;
    PairTable pairs_;
    int32_t bytes_[256];  // the id of each byte, as a symbol or where characters have none
};

// ---- a classifier's features
//
// How a classifier that learns from a few thousand lines reads a text. It has no pretrained vectors, and
// most of its words are rare. So a word is read as several ids, and something is known even about a word
// that was never seen:
//
//     Who founded Oslo ?
//     who <^-who> <who->  founded <-ded> <foun->  <^-slo>  ? <-?>  who founded
//
// the word itself, if it is frequent enough; its look: how it ends, and whether it begins with a capital
// (<^-slo>), or where its digits are (<0000>); its beginning, which it shares with its other forms (<foun->);
// and, at the end of the text, frequent pairs of adjacent words. (Oslo itself was too rare here.)

struct Features {
    std::shared_ptr<const Vocabulary> vocabulary;
    int32_t unk;        // for a look that was never seen: so every word has an id
    int64_t max_words;  // only so many words of a text are read
    bool keep_case;

    // Appends the ids of a text. dropout: how likely a word or a pair is left out as if unknown, so that the
    // model learns the parts of words and does not rely too much on a single one.
    void append(const Strings& words, Ids& ids, Dropout& dropout) const;

    // The features of a text's words in alphabetical order: words that occur `least` times, then looks and
    // beginnings that occur twice, then pairs that occur `pairs` times; 0: no pairs.
    static Strings learn(const std::vector<Strings>& texts, int64_t least, int64_t pairs, bool keep_case);
};

}  // namespace plaingrad::models::text::tokenizer
