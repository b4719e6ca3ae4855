// tokenizer.json, the file of Hugging Face's `tokenizers`. What its schema cannot say are types of ours:
//
//     model         SubwordNMT    BPE whose vocabulary lacks some pieces that rules make (model.h)
//                   Features      of a classifier (model.h)
//     normalizer    PlainSigns    (normalizer.cpp)
//     pre_tokenizer, decoder
//                   Joiners       (joiners.cpp)
#include "models/text/tokenizer/pipeline.h"

#include <algorithm>

#include "models/text/specials.h"

namespace plaingrad::models::text::tokenizer {
namespace {

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
    std::string where;
    Pipeline all = {};
    std::shared_ptr<Vocabulary> pieces = std::make_shared<Vocabulary>();
    Vocabulary added = {};  // the tokens that are no pieces

    int32_t id_of_unk(const std::string& piece) {
        check_file(pieces->id(piece) != Vocabulary::kNone, where, ": unk_token ", shown(piece),
                   " is not in the vocabulary");
        return pieces->id(piece);
    }

    void set_bpe(const Json& model, bool splits_again) {
        const BpeOptions options = {.byte_level = all.splitter.byte_level,
                                    .byte_fallback = model["byte_fallback"].boolean_or(false),
                                    .fuse_unk = model["fuse_unk"].boolean_or(false),
                                    .ignore_merges = model["ignore_merges"].boolean_or(false),
                                    .end_of_word = model["end_of_word_suffix"].text_or(""),
                                    .splits_again = splits_again};
        const std::string unk = model["unk_token"].text_or("");
        model["end_of_word_suffix"].require(splits_again || options.end_of_word.empty(),
                                            "is not supported in BPE");
        model["continuing_subword_prefix"].require(model["continuing_subword_prefix"].text_or("").empty(),
                                                   "is not supported in BPE");
        model["dropout"].require(model["dropout"].is_null() || model["dropout"].real() == 0,
                                 "is not supported");
        const Bpe::Rules rules = model["merges"].is_null() ? Bpe::Rules() : read_rules(model["merges"]);
        // Without pre-tokens a text is one word. It may be cut before its spaces if no merge crosses them,
        // which makes long texts many times faster. (If unknown characters were left out, two spaces could
        // become neighbours: then it is not cut.)
        const bool crosses = std::any_of(rules.begin(), rules.end(), [](const Bpe::Rule& rule) {
            return !rule.first.ends_with(kSpace) && rule.second.starts_with(kSpace);
        });
        if (!all.splitter.cuts && !crosses && !options.ignore_merges && !unk.empty() &&
            pieces->id(kSpace) != Vocabulary::kNone)
            all.splitter.cut_before(std::string(kSpace));
        all.unk = unk.empty() ? Vocabulary::kNone : id_of_unk(unk);
        all.model = Bpe(pieces, all.unk, options, rules, where);
    }

    void set_model(const Json& model) {
        const Json longest = model["max_input_chars_per_word"];
        // Files of 2020 lack the type.
        const std::string type = model["type"].text_or(!model["merges"].is_null() ? "BPE"
                                                       : longest.is_null()        ? "unknown"
                                                                                  : "WordPiece");
        const bool bpe = type == "BPE" || type == "SubwordNMT";
        model["type"].require(bpe || type == "WordPiece" || type == "WordLevel" || type == "Features",
                              shown(type), " is not supported; BPE, WordLevel, WordPiece are");
        for (const Json& piece : model["vocab"].members())
            pieces->add(piece.name(), piece.count(INT32_MAX));
        model["vocab"].require(pieces->size() > 0, "must not be empty");
        all.tokens = pieces->in_order(where + ": the vocabulary");
        if (bpe)
            return set_bpe(model, type == "SubwordNMT");
        const std::string unk = model["unk_token"].text();
        if (type == "WordPiece") {
            const std::string prefix = model["continuing_subword_prefix"].text();
            all.model = WordPiece{pieces, all.unk = id_of_unk(unk), prefix, longest.count()};
        } else if (type == "Features") {
            model["max_words"].require(model["max_words"].count() > 0, "must be at least 1");
            const bool keep_case = model["keep_case"].boolean();
            all.model = Features{pieces, all.unk = id_of_unk(unk), model["max_words"].count(), keep_case};
        } else {
            all.model = WordLevel{pieces, all.unk = id_of_unk(unk)};
        }
    }

    // After the normalizer. A token that has no id yet gets the next one. Returns it.
    int32_t add(AddedToken token) {
        token.id = pieces->id(token.content);
        if (token.id == Vocabulary::kNone) {
            if (added.add(token.content, std::ssize(all.tokens)))
                all.tokens.push_back(token.content);
            token.id = added.id(token.content);
        }
        all.added.add(token, all.normalizer);
        return token.id;
    }

    void finish() {
        all.special.resize(all.tokens.size());
        for (const AddedToken& token : all.added.all()) {
            const auto id = static_cast<std::size_t>(token.id);
            all.tokens[id] = token.pattern;
            all.special[id] = token.special && token.pattern == token.content;  // so it is in the library
        }
        // Of words that were learned here, none has a reserved id.
        if (std::holds_alternative<WordLevel>(all.model) && all.tokens.size() >= kReserved.size() &&
            std::equal(kReserved.begin(), kReserved.end(), all.tokens.begin()))
            pieces->hide(kFirstFreeId);
        if (const Bpe* bpe = std::get_if<Bpe>(&all.model); bpe != nullptr && all.unk != Vocabulary::kNone)
            all.tokens[static_cast<std::size_t>(all.unk)] += bpe->options().end_of_word;
        for (const auto* items : {&all.around.single, &all.around.pair})
            for (const Template::Item& item : *items)
                check_file(item.is_text || item.id < std::ssize(all.tokens), where,
                           ": post_processor has the id ", item.id, ", but there are ", all.tokens.size(),
                           " pieces and added tokens");
    }
};

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
            const int32_t id = builder.add(AddedToken::from(part));
            part["id"].require(part["id"].integer() == id, "is ", part["id"].integer(), ", but ",
                               part["content"].shown(), " has the id ", id);
        }
    root.check_all_used();
    builder.finish();
    return std::move(builder.all);
}

// ---- writing

// A piece and a merge a line, as people look for them.
std::string json_of(const FileText& file) {
    std::vector<JsonText> tokens;
    for (const AddedToken& token : file.added_tokens)
        tokens.push_back(JsonText::object({{"id", token.id},
                                           {"content", token.content},
                                           {"single_word", token.single_word},
                                           {"lstrip", token.lstrip},
                                           {"rstrip", token.rstrip},
                                           {"normalized", token.normalized},
                                           {"special", token.special}}));
    return "{\n\"version\":\"1.0\",\n\"truncation\":null,\n\"padding\":null,\n\"added_tokens\":" +
           JsonText::array(tokens).text + ",\n\"normalizer\":" + file.normalizer +
           ",\n\"pre_tokenizer\":" + file.pre_tokenizer + ",\n\"post_processor\":" + file.post_processor +
           ",\n\"decoder\":" + file.decoder + ",\n\"model\":" + file.model + "\n}\n";
}

std::string model_text(const std::string& options, const Strings& pieces) {
    std::vector<JsonText::Member> vocabulary;
    for (const std::string& piece : pieces)
        vocabulary.emplace_back(piece, vocabulary.size());
    return "{" + options + ",\"vocab\":" + JsonText::object(vocabulary, true).text + "}";
}

std::string bpe_text(const std::string& options, const Strings& pieces, const std::vector<MergeRule>& rules) {
    std::vector<JsonText> merges;
    for (const auto& [left, right] : rules)
        merges.emplace_back(left + " " + right);
    return model_text(options + ",\"merges\":" + JsonText::array(merges, true).text, pieces);
}

}  // namespace plaingrad::models::text::tokenizer
