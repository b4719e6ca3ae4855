#include "models/text/pretrained/builder.h"

namespace plaingrad::models::text::pretrained {

using nn::checkpoint::check_file;
using nn::checkpoint::shown;

void Builder::add_piece(std::string_view piece, int64_t id) {
    if (!pieces_->add(piece, id, where_))
        check_file(false, where_, ": ", shown(piece), " is in the vocabulary twice");
}

// U+2581, which stands for a space in the vocabularies of SentencePiece.
static constexpr std::string_view kSpace = "\xe2\x96\x81";

// Without pre-tokens a text is one word. It may be cut before its spaces if no merge crosses them, which
// makes long texts many times faster. (If unknown characters were left out, two spaces could become
// neighbours: then it is not cut.)
void Builder::cut_at_spaces(const BpeOptions& options, const BpeModel::Rules& rules) {
    bool whole = !options.ignore_merges && pieces_->id(kSpace) != Pieces::kNone && !options.unk_token.empty();
    for (const PreTokenizer::Step& step : all.pre_tokenizer.steps) {
        const auto* meta = std::get_if<Metaspace>(&step);
        whole = whole && meta != nullptr && !meta->split;
    }
    if (whole && keeps_apart(rules, kSpace))
        all.pre_tokenizer.steps.push_back(WordsAfter{std::string(kSpace)});
}

void Builder::set_bpe(BpeOptions options, const BpeModel::Rules& rules, const std::string& file) {
    all.tokens = pieces_->in_order(where_ + ": the vocabulary");
    options.byte_level = all.pre_tokenizer.is_byte_level();
    cut_at_spaces(options, rules);
    all.is_bpe = true;
    all.model = [model = std::make_shared<const BpeModel>(pieces_, std::move(options), rules,
                                                          file.empty() ? where_ : file)](
                    std::string_view word, std::vector<int32_t>& ids) { model->append(word, ids); };
}

void Builder::set_word_piece(WordPieceOptions options) {
    all.tokens = pieces_->in_order(where_ + ": the vocabulary");
    all.model = [model = std::make_shared<const WordPieceModel>(pieces_, std::move(options), where_)](
                    std::string_view word, std::vector<int32_t>& ids) { model->append(word, ids); };
}

int32_t Builder::add(AddedToken token) {
    token.id = pieces_->id(token.content);
    if (token.id == Pieces::kNone) {
        added_.add(token.content, pieces_->size() + added_.size(), where_);
        token.id = added_.id(token.content);
    }
    all.added.add(token, all.normalizer);
    return token.id;
}

Pipeline Builder::finish() {
    all.tokens.resize(static_cast<std::size_t>(pieces_->size() + added_.size()));
    all.special.resize(all.tokens.size());
    for (const AddedToken& token : all.added.all()) {
        const auto id = static_cast<std::size_t>(token.id);
        all.tokens[id] = token.pattern;
        all.special[id] = token.special && token.pattern == token.content;  // so it is in the library
    }
    for (const auto* items : {&all.around.single, &all.around.pair})
        for (const Template::Item& item : *items)
            check_file(item.is_text || item.id < std::ssize(all.tokens), where_,
                       ": post_processor has the id ", item.id, ", but there are ", all.tokens.size(),
                       " pieces and added tokens");
    return std::move(all);
}

}  // namespace plaingrad::models::text::pretrained
