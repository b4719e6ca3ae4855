#include "models/text/tokenizer/vocabulary.h"

#include <algorithm>

#include "nn/checkpoint/json.h"
#include "nn/checkpoint/utf8.h"

namespace plaingrad::models::text::tokenizer {

using nn::checkpoint::check_file;
using nn::checkpoint::shown;

bool Vocabulary::add(std::string_view piece, int64_t id, const std::string& where) {
    if (size() >= kMost || id >= kMost)
        check_file(false, where, ": the vocabulary has more than ", kMost,
                   " pieces, or an id that is not below that: ", shown(piece), " has ", id);
    return ids_.try_emplace(std::string(piece), static_cast<int32_t>(id)).second;
}

Strings Vocabulary::in_order(const std::string& where) const {
    std::vector<const std::string*> found(ids_.size());
    for (const auto& [piece, id] : ids_) {
        if (id >= size())
            continue;  // another id has no piece then
        const std::string*& other = found[static_cast<std::size_t>(id)];
        if (other != nullptr)
            check_file(false, where, ": the id ", id, " belongs to two pieces, ",
                       shown(std::min(*other, piece)), " and ", shown(std::max(*other, piece)));
        other = &piece;
    }
    Strings all;
    for (const std::string* piece : found) {
        check_file(piece != nullptr, where, ": no piece has the id ", all.size(), ", although there are ",
                   size(), " pieces; ids must be 0, 1, 2 and so on");
        all.push_back(*piece);
    }
    return all;
}

void WordLevel::append(std::string_view word, Ids& ids) const {
    const int32_t id = words->id(word);
    ids.push_back(id == Vocabulary::kNone ? unk : id);
}

void WordPiece::append(std::string_view word, Ids& ids) const {
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

}  // namespace plaingrad::models::text::tokenizer
