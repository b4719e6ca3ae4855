// The pieces of a model's vocabulary and their ids, as a file has them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace plaingrad::models::text::tokenizer {

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
    // Throws FileError naming `where` if there is no such piece.
    int32_t id_of_unk(const std::string& unk_token, const std::string& where) const;
    int64_t size() const { return static_cast<int64_t>(ids_.size()); }

    // The pieces in the order of their ids. Throws FileError naming `where` if two have one id, or if an id
    // from 0 on has none.
    std::vector<std::string> in_order(const std::string& where) const;

    // From now on no piece has one of the ids below `end`.
    void hide(int32_t end) {
        std::erase_if(ids_, [&](const auto& entry) { return entry.second < end; });
    }

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
};

}  // namespace plaingrad::models::text::tokenizer
