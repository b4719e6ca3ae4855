// Puts a Pipeline together from what its files say, and checks that the parts fit.
#pragma once

#include "models/text/pretrained/bpe_model.h"
#include "models/text/pretrained/pipeline.h"
#include "models/text/pretrained/word_piece_model.h"

namespace plaingrad::models::text::pretrained {

// All functions throw FileError naming `where`, the file.
class Builder {
public:
    explicit Builder(std::string file) : where_(std::move(file)) {}

    // Adds a piece of the model; all of them come before set_bpe or set_word_piece.
    void add_piece(std::string_view piece, int64_t id);
    // After the pre-tokenizer. Both check that the ids are 0, 1, 2 and so on. file: of the rules, if another.
    void set_bpe(BpeOptions options, const BpeModel::Rules& rules, const std::string& file = "");
    void set_word_piece(WordPieceOptions options);
    // After the normalizer. A token that has no id yet gets the next one. Returns it.
    int32_t add(AddedToken token);

    Pipeline finish();

    Pipeline all;

private:
    void cut_at_spaces(const BpeOptions& options, const BpeModel::Rules& rules);

    std::string where_;
    std::shared_ptr<Pieces> pieces_ = std::make_shared<Pieces>();
    Pieces added_;  // the tokens that are no pieces
};

}  // namespace plaingrad::models::text::pretrained
