#include "models/text/tokenizer/vocabulary.h"

#include "nn/checkpoint/json.h"

namespace plaingrad::models::text::tokenizer {

using nn::checkpoint::check_file;
using nn::checkpoint::shown;

bool Vocabulary::add(std::string_view piece, int64_t id, const std::string& where) {
    if (size() >= kMost || id >= kMost)
        check_file(false, where, ": the vocabulary has more than ", kMost,
                   " pieces, or an id that is not below that: ", shown(piece), " has ", id);
    return ids_.try_emplace(std::string(piece), static_cast<int32_t>(id)).second;
}

int32_t Vocabulary::id_of_unk(const std::string& unk_token, const std::string& where) const {
    check_file(id(unk_token) != kNone, where, ": unk_token ", shown(unk_token), " is not in the vocabulary");
    return id(unk_token);
}

std::vector<std::string> Vocabulary::in_order(const std::string& where) const {
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
    std::vector<std::string> all;
    for (const std::string* piece : found) {
        check_file(piece != nullptr, where, ": no piece has the id ", all.size(), ", although there are ",
                   size(), " pieces; ids must be 0, 1, 2 and so on");
        all.push_back(*piece);
    }
    return all;
}

}  // namespace plaingrad::models::text::tokenizer
