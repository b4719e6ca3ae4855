// The pieces of a vocabulary and their ids, and two models that only look up: whole words, and WordPiece.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace plaingrad::models::text::tokenizer {

using Ids = std::vector<int32_t>;
using Strings = std::vector<std::string>;

// To look up views in a map of strings.
struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

class Vocabulary {
public:
    static constexpr int32_t kNone = -1;
    // A limit for pieces and ids, far above any vocabulary: a broken file cannot ask for more memory.
    static constexpr int64_t kMost = int64_t{1} << 20;

    // Whether the piece is new. Throws FileError naming `where` for one too many, and for an id above kMost.
    // id: 0 or more.
    bool add(std::string_view piece, int64_t id, const std::string& where);

    int32_t id(std::string_view piece) const {  // kNone if there is no such piece
        const auto entry = ids_.find(piece);
        return entry == ids_.end() ? kNone : entry->second;
    }
    int64_t size() const { return std::ssize(ids_); }

    // The pieces in the order of their ids. Throws FileError naming `where` if two have one id, or if an id
    // from 0 on has none.
    Strings in_order(const std::string& where) const;

    // From now on no piece has one of the ids below `end`.
    void hide(int32_t end) {
        std::erase_if(ids_, [&](const auto& entry) { return entry.second < end; });
    }

private:
    std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
};

// Each word has an id, or is unknown.
struct WordLevel {
    std::shared_ptr<const Vocabulary> words;
    int32_t unk = Vocabulary::kNone;

    void append(std::string_view word, Ids& ids) const;
};

// A word is written with the longest piece that it begins with, then the longest that the rest begins with,
// and so on. Wu et al. 2016, "Google's Neural Machine Translation System", §4.1; as BERT has it.
struct WordPiece {
    std::shared_ptr<const Vocabulary> pieces;
    int32_t unk;           // for a whole word, if a part of it has no piece
    std::string prefix;    // what pieces begin with inside of a word, as "##"
    int64_t longest_word;  // longer words are unknown

    void append(std::string_view word, Ids& ids) const;
};

}  // namespace plaingrad::models::text::tokenizer
