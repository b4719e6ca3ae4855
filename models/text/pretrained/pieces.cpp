#include "models/text/pretrained/pieces.h"

#include "nn/checkpoint/json.h"

namespace plaingrad::models::text::pretrained {

using nn::checkpoint::check_file;
using nn::checkpoint::shown;

bool Pieces::add(std::string_view piece, int64_t id, const std::string& where) {
    if (size() >= kMost || id >= kMost)
        check_file(false, where, ": the vocabulary has more than ", kMost,
                   " pieces, or an id that is not below that: ", shown(piece), " has ", id);
    return ids_.try_emplace(std::string(piece), static_cast<int32_t>(id)).second;
}

std::vector<std::string> Pieces::in_order(const std::string& where) const {
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

}  // namespace plaingrad::models::text::pretrained
