// tokenizer.json, the file of Hugging Face's `tokenizers`.
#include "models/text/pretrained/builder.h"

namespace plaingrad::models::text::pretrained {
namespace {

using nn::checkpoint::check_file;
using nn::checkpoint::JsonReader;
using Kind = JsonReader::Kind;

// "a b", or ["a", "b"].
BpeModel::Rules read_rules(JsonReader& json) {
    BpeModel::Rules rules;
    json.array([&] {
        std::optional<BpeModel::Rule> rule;
        if (json.kind() == Kind::string) {
            rule = BpeModel::rule(json.string());
        } else {
            std::vector<std::string_view> two;
            json.array([&] { two.push_back(json.string()); });
            if (two.size() == 2)
                rule = BpeModel::Rule(two[0], two[1]);
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
    BpeModel::Rules rules;
    bool has_rules = false;
};

Model read_model(JsonReader& json) {
    Model model;
    model.options = Part::read(json, "model", [&](std::string_view name) {
        if (name == "vocab" && json.kind() == Kind::object)
            json.object([&](std::string_view piece) {
                json.require(std::ssize(model.vocabulary) < Pieces::kMost, "more than ", Pieces::kMost,
                             " pieces");
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

void set_model(Builder& builder, const Model& file) {
    const Part& model = file.options;
    const Part& characters = model["max_input_chars_per_word"];
    // Files of 2020 lack the type.
    const std::string type = model["type"].text_or(file.has_rules         ? "BPE"
                                                   : characters.is_null() ? "unknown"
                                                                          : "WordPiece");
    model["type"].require(type == "BPE" || type == "WordPiece", nn::checkpoint::shown(type),
                          " is not supported; BPE, WordPiece are");
    model.require(!file.vocabulary.empty(), "has no vocab");
    for (const auto& [piece, id] : file.vocabulary)
        builder.add_piece(piece, id);
    if (type == "WordPiece")
        return builder.set_word_piece(
            {model["unk_token"].text(), model["continuing_subword_prefix"].text(), characters.integer()});
    BpeOptions options;
    options.byte_fallback = model["byte_fallback"].flag_or(false);
    options.fuse_unk = model["fuse_unk"].flag_or(false);
    options.ignore_merges = model["ignore_merges"].flag_or(false);
    options.unk_token = model["unk_token"].text_or("");
    for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
        model[affix].require(model[affix].text_or("").empty(), "is not supported in BPE");
    model["dropout"].require(model["dropout"].is_null() || model["dropout"].integer() == 0,
                             "is not supported");
    builder.set_bpe(std::move(options), file.rules);
}

}  // namespace

Pipeline from_tokenizer_json(const std::string& path) {
    JsonReader json = JsonReader::open(path);
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
    Builder builder(path);
    builder.all.normalizer = Normalizer::from(root["normalizer"]);
    builder.all.pre_tokenizer = PreTokenizer::from(root["pre_tokenizer"]);
    builder.all.around = Template::from(root["post_processor"]);
    builder.all.decoder = Decoder::from(root["decoder"]);
    check_file(has_model, path, ": there is no \"model\"");
    set_model(builder, model);
    model.options.check_all_used();
    if (const Part& added = root["added_tokens"]; !added.is_null())
        for (const Part& part : added.items()) {
            const int32_t id = builder.add(AddedTokens::from(part));
            part["id"].require(part["id"].integer() == id, "is ", part["id"].integer(), ", but ",
                               nn::checkpoint::shown(part["content"].text()), " has the id ", id);
        }
    root.check_all_used();
    return builder.finish();
}

}  // namespace plaingrad::models::text::pretrained
