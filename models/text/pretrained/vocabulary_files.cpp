// The files from before tokenizer.json: a vocabulary, and for byte-pair encoding the merges. What they do not
// say, the models' own code knew.
#include <algorithm>

#include "models/text/lines.h"
#include "models/text/pretrained/builder.h"
#include "models/text/pretrained/tokenizer_config.h"
#include "nn/checkpoint/metadata.h"

namespace plaingrad::models::text::pretrained {
namespace {

using nn::checkpoint::check_file;
using nn::checkpoint::in_folder;
using nn::checkpoint::JsonReader;
using nn::checkpoint::parse_integer;

// The tokenizer_class in tokenizer_config.json without the "Fast" at its end; `otherwise` if there is none.
std::string class_of(const TokenizerConfig& config, const std::string& otherwise,
                     std::initializer_list<std::string_view> known) {
    const Part& part = config["tokenizer_class"];
    std::string name = part.text_or(otherwise);
    if (name.ends_with("Fast"))
        name.resize(name.size() - 4);
    part.require(std::find(known.begin(), known.end(), name) != known.end(), nn::checkpoint::shown(name),
                 " is not supported without a tokenizer.json");
    return name;
}

const AddedToken* found(const std::vector<AddedToken>& tokens, const std::string& content) {
    const auto at = std::find_if(tokens.begin(), tokens.end(),
                                 [&](const AddedToken& token) { return token.content == content; });
    return at == tokens.end() ? nullptr : &*at;
}

// "added_tokens_decoder" has tokens by their ids; added_tokens.json, in older folders, has ids by the tokens.
// A token of the latter is special if it is one of `named`, and has no other properties.
void add_numbered_tokens(Builder& builder, const std::string& folder, const Part& decoder,
                         const std::vector<AddedToken>& named) {
    const bool older = decoder.is_null();
    const Part file = older ? TokenizerConfig::added_tokens(folder) : decoder;
    std::vector<std::pair<int64_t, const Part*>> tokens;
    for (const Part& part : file.items())
        tokens.emplace_back(older ? part.integer() : parse_integer(part.name()).value_or(-1), &part);
    std::stable_sort(tokens.begin(), tokens.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [number, part] : tokens) {
        const bool special = found(named, part->name()) != nullptr;
        const AddedToken from_older = {.content = part->name(), .normalized = !special, .special = special};
        const int32_t id = builder.add(older ? from_older : AddedTokens::from(*part));
        part->require(number == id, "has a token whose id is ", id);
    }
}

// Those that have no id yet come behind all that have one.
void add_tokens(Builder& builder, const std::string& folder, const TokenizerConfig& config,
                std::initializer_list<std::string> defaults) {
    const std::vector<AddedToken> listed = config.special_tokens();
    std::vector<AddedToken> named;
    for (const std::string& content : defaults) {
        const AddedToken* const token = found(listed, content);
        named.push_back(token == nullptr ? AddedToken{.content = content, .special = true} : *token);
    }
    named.insert(named.end(), listed.begin(), listed.end());
    add_numbered_tokens(builder, folder, config["added_tokens_decoder"], named);
    for (const AddedToken& token : named)
        if (builder.all.added.find(token.content) == nullptr)
            builder.add(token);
}

Pipeline from_merges(const std::string& folder, const TokenizerConfig& config) {
    const bool qwen =
        class_of(config, "GPT2Tokenizer", {"GPT2Tokenizer", "Qwen2Tokenizer"}) == "Qwen2Tokenizer";
    const std::string path = in_folder(folder, "vocab.json"), merges = in_folder(folder, "merges.txt");
    Builder builder(path);
    JsonReader json = JsonReader::open(path);
    json.object([&](std::string_view piece) { builder.add_piece(piece, json.count()); });
    json.end();
    const ByteLevel bytes{config["add_prefix_space"].flag_or(false)};
    builder.all.pre_tokenizer.steps = {bytes, Split{PreTokens::gpt2}};
    if (qwen) {  // each of whose words gets the space
        builder.all.pre_tokenizer.steps = {Split{PreTokens::qwen2}, bytes};
        builder.all.normalizer.steps = {Nfc{}};
    }
    builder.all.decoder.steps = {BytesOfCharacters{}};
    const std::vector<std::string> lines = lines_of(nn::checkpoint::read_file(merges), merges);
    BpeModel::Rules rules;
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (!lines[i].starts_with("#version")) {
            const auto rule = BpeModel::rule(lines[i]);
            check_file(rule.has_value(), merges, ":", i + 1,
                       ": a line must be two pieces with a space between");
            rules.push_back(*rule);
        }
    builder.set_bpe({}, rules, merges);
    add_tokens(builder, folder, config, {"<|endoftext|>"});
    return builder.finish();
}

Pipeline from_vocab_txt(const std::string& folder, const TokenizerConfig& config) {
    class_of(config, "BertTokenizer", {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"});
    const std::string path = in_folder(folder, "vocab.txt");
    Builder builder(path);
    int64_t id = 0;
    for (const std::string& line : lines_of(nn::checkpoint::read_file(path), path))
        builder.add_piece(line, id++);
    const bool lower_case = config["do_lower_case"].flag_or(true);
    builder.all.normalizer.steps = {BertNormalizer{true, config["tokenize_chinese_chars"].flag_or(true),
                                                   config["strip_accents"].flag_or(lower_case), lower_case}};
    builder.all.pre_tokenizer.steps = {BertWords{}};
    builder.all.decoder.steps = {WordPieces{}};
    const std::string unk = config.token("unk_token").value_or("[UNK]");
    const std::string cls = config.token("cls_token").value_or("[CLS]");
    const std::string sep = config.token("sep_token").value_or("[SEP]");
    builder.set_word_piece({.unk_token = unk});
    add_tokens(builder, folder, config,
               {unk, sep, config.token("pad_token").value_or("[PAD]"), cls,
                config.token("mask_token").value_or("[MASK]")});
    builder.all.around = Template::bert(builder.all.added.find(cls)->id, builder.all.added.find(sep)->id);
    return builder.finish();
}

}  // namespace

Pipeline from_vocabulary_files(const std::string& folder) {
    const TokenizerConfig config = TokenizerConfig::open(folder);
    const auto has = [&](const char* name) { return nn::checkpoint::exists(in_folder(folder, name)); };
    if (has("vocab.json") && has("merges.txt"))
        return from_merges(folder, config);
    check_file(
        has("vocab.txt"), folder, " has no tokenizer.json, no vocab.json with merges.txt, and no vocab.txt",
        has("tokenizer.model") ? "; a tokenizer.model is not read: in Python, "
                                 "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER) writes "
                                 "tokenizer.json"
                               : "");
    return from_vocab_txt(folder, config);
}

}  // namespace plaingrad::models::text::pretrained
