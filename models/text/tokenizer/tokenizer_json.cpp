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
using nn::checkpoint::JsonReader;
using nn::checkpoint::shown;

// "a b", or ["a", "b"].
Bpe::Rules read_rules(JsonReader& json) {
    Bpe::Rules rules;
    json.array([&] {
        std::optional<Bpe::Rule> rule;
        if (json.kind() == JsonReader::Kind::string) {
            rule = Bpe::rule(json.string());
        } else {
            std::vector<std::string_view> two;
            json.array([&] { two.push_back(json.string()); });
            if (two.size() == 2)
                rule = Bpe::Rule(two[0], two[1]);
        }
        check_file(rule.has_value(), json.where(), ": merges[", rules.size(), "] must be two pieces");
        rules.push_back(*rule);
    });
    return rules;
}

// "model": all but what is large in `options`.
struct Model {
    Part options;
    std::vector<std::pair<std::string_view, int64_t>> vocabulary;
    Bpe::Rules rules;
    bool has_rules = false;
};

Model read_model(JsonReader& json) {
    Model model;
    model.options = Part::read(json, "model", [&](std::string_view name) {
        if (name == "vocab" && json.kind() == JsonReader::Kind::object)
            json.object([&](std::string_view piece) {
                json.require(std::ssize(model.vocabulary) < Vocabulary::kMost, "more than ",
                             Vocabulary::kMost, " pieces");
                model.vocabulary.emplace_back(piece, json.count());
            });
        else if (name == "vocab")
            json.skip();  // of a type that is refused below
        else if (name == "merges")
            model.rules = read_rules(json);
        model.has_rules = model.has_rules || name == "merges";
        return name == "vocab" || name == "merges";
    });
    return model;
}

// U+2581, which stands for a space in the vocabularies of SentencePiece.
constexpr std::string_view kSpace = "\xe2\x96\x81";

// Puts a Pipeline together from its parts, and checks that they fit.
struct Builder {
    Pipeline all = {};
    std::string where;
    std::shared_ptr<Vocabulary> pieces = std::make_shared<Vocabulary>();
    Vocabulary added = {};  // the tokens that are no pieces

    void set_model(const Model& file);
    void set_bpe(const Model& file, const std::string& type);
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

void Builder::set_bpe(const Model& file, const std::string& type) {
    const Part& model = file.options;
    BpeOptions options = {.byte_level = has<ByteLevel>(all.splitter),
                          .byte_fallback = model["byte_fallback"].flag_or(false),
                          .fuse_unk = model["fuse_unk"].flag_or(false),
                          .ignore_merges = model["ignore_merges"].flag_or(false),
                          .unk_token = model["unk_token"].text_or(""),
                          .end_of_word = model["end_of_word_suffix"].text_or(""),
                          .splits_again = type == "SubwordNMT"};
    model["end_of_word_suffix"].require(options.splits_again || options.end_of_word.empty(),
                                        "is not supported in BPE");
    model["continuing_subword_prefix"].require(model["continuing_subword_prefix"].text_or("").empty(),
                                               "is not supported in BPE");
    model["dropout"].require(model["dropout"].is_null() || model["dropout"].integer() == 0,
                             "is not supported");
    cut_at_spaces(options, file.rules);
    all.model.emplace<Bpe>(pieces, std::move(options), file.rules, where);
}

void Builder::set_model(const Model& file) {
    const Part& model = file.options;
    const Part& characters = model["max_input_chars_per_word"];
    // Files of 2020 lack the type.
    const std::string type = model["type"].text_or(file.has_rules         ? "BPE"
                                                   : characters.is_null() ? "unknown"
                                                                          : "WordPiece");
    const bool known = type == "BPE" || type == "SubwordNMT" || type == "WordPiece" || type == "WordLevel" ||
                       type == "Features";
    model["type"].require(known, shown(type), " is not supported; BPE, WordLevel, WordPiece are");
    model.require(!file.vocabulary.empty(), "has no vocab");
    for (const auto& [piece, id] : file.vocabulary)
        if (!pieces->add(piece, id, where))
            check_file(false, where, ": ", shown(piece), " is in the vocabulary twice");
    all.tokens = pieces->in_order(where + ": the vocabulary");
    if (type == "WordPiece") {
        all.model.emplace<WordPiece>(
            pieces,
            WordPieceOptions{model["unk_token"].text(), model["continuing_subword_prefix"].text(),
                             characters.integer()},
            where);
    } else if (type == "WordLevel") {
        all.model.emplace<WordLevel>(pieces, model["unk_token"].text(), where);
    } else if (type == "Features") {
        model["max_words"].require(model["max_words"].integer() > 0, "must be at least 1");
        all.model.emplace<Features>(pieces,
                                    FeatureOptions{model["unk_token"].text(), model["max_words"].integer(),
                                                   model["keep_case"].flag()},
                                    where);
    } else {
        set_bpe(file, type);
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
    JsonReader json(text, where);
    Model model;
    bool has_model = false;
    const Part root = Part::read(json, "", [&](std::string_view name) {
        // How long a text may be, and what fills it up, is the caller's, as in transformers.
        const bool ignored = name == "version" || name == "truncation" || name == "padding";
        has_model = has_model || name == "model";
        if (name == "model")
            model = read_model(json);
        else if (ignored)
            json.skip();
        return ignored || name == "model";
    });
    json.end();
    Builder builder = {.where = where};
    builder.all.normalizer = Normalizer::from(root["normalizer"]);
    builder.all.splitter = Splitter::from(root["pre_tokenizer"]);
    builder.all.around = Template::from(root["post_processor"]);
    builder.all.decoder = Decoder::from(root["decoder"]);
    check_file(has_model, where, ": there is no \"model\"");
    builder.set_model(model);
    model.options.check_all_used();
    if (const Part& added = root["added_tokens"]; !added.is_null())
        for (const Part& part : added.items()) {
            const int32_t id = builder.add(AddedTokens::from(part));
            part["id"].require(part["id"].integer() == id, "is ", part["id"].integer(), ", but ",
                               shown(part["content"].text()), " has the id ", id);
        }
    root.check_all_used();
    builder.finish();
    return std::move(builder.all);
}

}  // namespace plaingrad::models::text::tokenizer
