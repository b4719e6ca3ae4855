#include "models/text/pretrained/word_piece_model.h"

#include "nn/checkpoint/json.h"
#include "nn/utf8.h"

namespace plaingrad::models::text::pretrained {

WordPieceModel::WordPieceModel(std::shared_ptr<const Pieces> pieces, WordPieceOptions options,
                               const std::string& where)
    : pieces_(std::move(pieces)), options_(std::move(options)), unk_(pieces_->id(options_.unk_token)) {
    nn::checkpoint::check_file(unk_ != Pieces::kNone, where, ": unk_token ",
                               nn::checkpoint::shown(options_.unk_token), " is not in the vocabulary");
}

void WordPieceModel::append(std::string_view word, std::vector<int32_t>& ids) const {
    const std::size_t before = ids.size();
    bool known = static_cast<int64_t>(nn::columns_of(word)) <= options_.max_input_chars_per_word;
    std::string part(word);  // what is left, with the prefix
    for (std::size_t prefix = 0; known && part.size() > prefix;) {
        std::size_t end = part.size();
        int32_t id = pieces_->id(part);
        while (id == Pieces::kNone && --end > prefix)
            id = pieces_->id(std::string_view(part).substr(0, end));
        known = id != Pieces::kNone;
        if (known)
            ids.push_back(id);
        prefix = options_.continuing_subword_prefix.size();
        part.replace(0, end, options_.continuing_subword_prefix);
    }
    if (!known) {
        ids.resize(before);
        ids.push_back(unk_);
    }
}

}  // namespace plaingrad::models::text::pretrained
