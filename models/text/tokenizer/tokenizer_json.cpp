// tokenizer.json, the file of Hugging Face's `tokenizers`. What its schema cannot say are types of ours:
//
//     model         SubwordNMT    BPE whose vocabulary lacks some pieces that rules make (bpe.h)
//                   Features      of a classifier (features.h)
//     normalizer    PlainSigns    (normalizer.h)
//     pre_tokenizer, decoder
//                   Joiners       (joiners.h)
#include "models/text/specials.h"
#include "models/text/tokenizer/pipeline.h"

namespace plaingrad::models::text::tokenizer {
namespace {

using nn::checkpoint::check_file;
using nn::checkpoint::shown;

// "a b", or ["a", "b"]. The pieces are views into the file's text.
Bpe::Rules read_rules(const Json& merges) {
    Bpe::Rules rules;
    for (const Json& item : merges.items()) {
        std::optional<Bpe::Rule> rule;
        if (item.kind() == Json::Kind::string)
            rule = Bpe::rule(item.view());
        else if (const Json::Items two = item.items(); two.size() == 2)
            rule = Bpe::Rule(two[0].view(), two[1].view());
        item.require(rule.has_value(), "must be two pieces");
        rules.push_back(*rule);
    }
    return rules;
}

// U+2581, which stands for a space in the vocabularies of SentencePiece.
constexpr std::string_view kSpace = "\xe2\x96\x81";

// Puts a Pipeline together from its parts, and checks that they fit.
struct Builder {
    Pipeline all = {};
    std::string where;
    std::shared_ptr<Vocabulary> pieces = std::make_shared<Vocabulary>();
    Vocabulary added = {};  // the tokens that are no pieces

    void set_model(const Json& model);
    void set_bpe(const Json& model, const std::string& type);
    void cut_at_spaces(const BpeOptions& options, const Bpe::Rules& rules);
    int32_t add(AddedToken token);
    void finish();
};

// Without pre-tokens a text is one word. It may be cut before its spaces if no merge crosses them, which
// makes long texts many times faster. (If unknown characters were left out, two spaces could become
// neighbours: then it is not cut.)
void Builder::cut_at_spaces(const BpeOptions& options, const Bpe::Rules& rules) {
    bool whole =
        !options.ignore_merges && pieces->id(kSpace) != Vocabulary::kNone && !options.unk_token.empty();
    for (const Splitter::Step& step : all.splitter.steps) {
        const auto* meta = std::get_if<Metaspace>(&step);
        whole = whole && meta != nullptr && !meta->split;
    }
    if (whole && keeps_apart(rules, kSpace))
        all.splitter.steps.push_back(WordsAfter{std::string(kSpace)});
}

void Builder::set_bpe(const Json& model, const std::string& type) {
    BpeOptions options = {.byte_level = has<ByteLevel>(all.splitter),
                          .byte_fallback = model["byte_fallback"].boolean_or(false),
                          .fuse_unk = model["fuse_unk"].boolean_or(false),
                          .ignore_merges = model["ignore_merges"].boolean_or(false),
                          .unk_token = model["unk_token"].text_or(""),
                          .end_of_word = model["end_of_word_suffix"].text_or(""),
                          .splits_again = type == "SubwordNMT"};
    model["end_of_word_suffix"].require(options.splits_again || options.end_of_word.empty(),
                                        "is not supported in BPE");
    model["continuing_subword_prefix"].require(model["continuing_subword_prefix"].text_or("").empty(),
                                               "is not supported in BPE");
    model["dropout"].require(model["dropout"].is_null() || model["dropout"].real() == 0, "is not supported");
    const Bpe::Rules rules = model["merges"].is_null() ? Bpe::Rules() : read_rules(model["merges"]);
    cut_at_spaces(options, rules);
    all.model.emplace<Bpe>(pieces, std::move(options), rules, where);
}

void Builder::set_model(const Json& model) {
    const Json characters = model["max_input_chars_per_word"];
    // Files of 2020 lack the type.
    const std::string type = model["type"].text_or(!model["merges"].is_null() ? "BPE"
                                                   : characters.is_null()     ? "unknown"
                                                                              : "WordPiece");
    const bool known = type == "BPE" || type == "SubwordNMT" || type == "WordPiece" || type == "WordLevel" ||
                       type == "Features";
    model["type"].require(known, shown(type), " is not supported; BPE, WordLevel, WordPiece are");
    for (const Json& piece : model["vocab"].members())
        pieces->add(piece.name(), piece.count(), where);
    model["vocab"].require(pieces->size() > 0, "must not be empty");
    all.tokens = pieces->in_order(where + ": the vocabulary");
    if (type == "WordPiece") {
        all.model.emplace<WordPiece>(
            pieces,
            WordPieceOptions{model["unk_token"].text(), model["continuing_subword_prefix"].text(),
                             characters.count()},
            where);
    } else if (type == "WordLevel") {
        all.model.emplace<WordLevel>(pieces, model["unk_token"].text(), where);
    } else if (type == "Features") {
        model["max_words"].require(model["max_words"].count() > 0, "must be at least 1");
        all.model.emplace<Features>(pieces,
                                    FeatureOptions{model["unk_token"].text(), model["max_words"].count(),
                                                   model["keep_case"].boolean()},
                                    where);
    } else {
        set_bpe(model, type);
    }
}

// After the normalizer. A token that has no id yet gets the next one. Returns it.
int32_t Builder::add(AddedToken token) {
    token.id = pieces->id(token.content);
    if (token.id == Vocabulary::kNone && added.add(token.content, std::ssize(all.tokens), where))
        all.tokens.push_back(token.content);
    if (token.id == Vocabulary::kNone)
        token.id = added.id(token.content);
    all.added.add(token, all.normalizer);
    return token.id;
}

void Builder::finish() {
    all.special.resize(all.tokens.size());
    for (const AddedToken& token : all.added.all()) {
        const auto id = static_cast<std::size_t>(token.id);
        all.tokens[id] = token.pattern;
        all.special[id] = token.special && token.pattern == token.content;  // so it is in the library
    }
    // Of words that were learned here, none has a reserved id.
    const std::vector<std::string> reserved = {"<pad>", "<sos>", "<eos>", "<unk>"};
    if (std::holds_alternative<WordLevel>(all.model) && all.tokens.size() >= reserved.size() &&
        std::equal(reserved.begin(), reserved.end(), all.tokens.begin()))
        pieces->hide(kFirstFreeId);
    if (const Bpe* bpe = std::get_if<Bpe>(&all.model); bpe != nullptr && bpe->unk() != Vocabulary::kNone)
        all.tokens[static_cast<std::size_t>(bpe->unk())] += bpe->options().end_of_word;
    for (const auto* items : {&all.around.single, &all.around.pair})
        for (const Template::Item& item : *items)
            check_file(item.is_text || item.id < std::ssize(all.tokens), where,
                       ": post_processor has the id ", item.id, ", but there are ", all.tokens.size(),
                       " pieces and added tokens");
}

}  // namespace

Pipeline read_pipeline(const std::string& text, const std::string& where) {
    const Json root(text, where);
    // How long a text may be, and what fills it up, is the caller's, as in transformers.
    for (const char* name : {"version", "truncation", "padding"})
        root[name].ignore();
    Builder builder = {.where = where};
    builder.all.normalizer = Normalizer::from(root["normalizer"]);
    builder.all.splitter = Splitter::from(root["pre_tokenizer"]);
    builder.all.around = Template::from(root["post_processor"]);
    builder.all.decoder = Decoder::from(root["decoder"]);
    builder.set_model(root["model"]);
    root["model"].check_all_used();
    if (const Json added = root["added_tokens"]; !added.is_null())
        for (const Json& part : added.items()) {
            const int32_t id = builder.add(AddedTokens::from(part));
            part["id"].require(part["id"].integer() == id, "is ", part["id"].integer(), ", but ",
                               part["content"].shown(), " has the id ", id);
        }
    root.check_all_used();
    builder.finish();
    return std::move(builder.all);
}

}  // namespace plaingrad::models::text::tokenizer
