#include "models/text/tokenizer/tokenizer_config.h"

#include <algorithm>

#include "models/text/tokenizer/pipeline.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::models::text::tokenizer {

using nn::checkpoint::check_file;
using nn::checkpoint::in_folder;

// No members if there is no such file.
static Json read(const std::string& path) {
    return nn::checkpoint::exists(path) ? Json::open(path) : Json("{}", path);
}

TokenizerConfig TokenizerConfig::open(const std::string& folder) {
    TokenizerConfig all;
    all.config_ = read(in_folder(folder, "tokenizer_config.json"));
    const bool whole =
        !all.config_["added_tokens_decoder"].is_null();  // then transformers reads no other file
    all.map_ = read(whole ? "" : in_folder(folder, "special_tokens_map.json"));
    return all;
}

// Of the first file that has it; or else a null.
Json TokenizerConfig::member(std::string_view name) const {
    return config_[name].is_null() ? map_[name] : config_[name];
}

// A token is its content, or an object that has it.
static AddedToken special(const Json& token) {
    if (token.kind() != Json::Kind::object)
        return {.content = token.text(), .special = true};
    AddedToken special = AddedTokens::from(token);
    special.normalized = token["normalized"].boolean_or(false);
    special.special = true;
    return special;
}

std::optional<std::string> TokenizerConfig::token(std::string_view name) const {
    const Json token = member(name);
    return token.is_null() ? std::nullopt : std::optional(special(token).content);
}

std::vector<AddedToken> TokenizerConfig::special_tokens() const {
    std::vector<AddedToken> tokens;
    for (const char* name : kTokens)
        if (const Json token = member(name); !token.is_null())
            tokens.push_back(special(token));
    for (const Json* file : {&config_, &map_})
        if (const Json more = (*file)["additional_special_tokens"]; !more.is_null())
            for (const Json& token : more.items())
                tokens.push_back(special(token));
    return tokens;
}

// ---- folders without a tokenizer.json

namespace {

// The tokenizer_class in tokenizer_config.json without the "Fast" at its end; `otherwise` if there is none.
std::string class_of(const TokenizerConfig& config, const std::string& otherwise,
                     std::initializer_list<std::string_view> known) {
    const Json part = config["tokenizer_class"];
    std::string name = part.text_or(otherwise);
    if (name.ends_with("Fast"))
        name.resize(name.size() - 4);
    part.require(std::find(known.begin(), known.end(), name) != known.end(), nn::checkpoint::shown(name),
                 " is not supported without a tokenizer.json");
    return name;
}

// The tokens of a folder: those that it numbers, then the defaults and those that it only names. One that is
// no piece gets an id behind all others. "added_tokens_decoder" has tokens by their ids; added_tokens.json,
// in older folders, has ids by the tokens, and no properties: of these a token is special if it has a name.
std::vector<AddedToken> tokens_of(const Strings& pieces, const std::string& folder,
                                  const TokenizerConfig& config,
                                  std::initializer_list<std::string> defaults) {
    std::vector<AddedToken> named = config.special_tokens();
    std::vector<AddedToken> first;
    for (const std::string& content : defaults) {
        const AddedToken* const token = found(named, content);
        first.push_back(token == nullptr ? AddedToken{.content = content, .special = true} : *token);
    }
    named.insert(named.begin(), first.begin(), first.end());
    const Json decoder = config["added_tokens_decoder"];
    const bool older = decoder.is_null();
    std::vector<std::pair<int64_t, Json>> numbered;
    for (const Json& part : (older ? read(in_folder(folder, "added_tokens.json")) : decoder).members())
        numbered.emplace_back(
            older ? part.integer() : nn::checkpoint::parse_integer(part.name()).value_or(-1), part);
    std::stable_sort(numbered.begin(), numbered.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    Vocabulary ids;
    for (const std::string& piece : pieces)
        ids.add(piece, ids.size(), folder);
    std::vector<AddedToken> all;
    const auto add = [&](AddedToken token) {
        ids.add(token.content, ids.size(), folder);
        token.id = ids.id(token.content);
        all.push_back(token);
        return token.id;
    };
    for (const auto& [number, part] : numbered) {
        const std::string name(part.name());
        const bool special = found(named, name) != nullptr;
        const AddedToken from_older = {.content = name, .normalized = !special, .special = special};
        const int32_t id = add(older ? from_older : AddedTokens::from(part));
        part.require(number == id, "has a token whose id is ", id);
    }
    for (const AddedToken& token : named)
        if (found(all, token.content) == nullptr)
            add(token);
    return all;
}

Tokenizer from_merges(const std::string& folder, const TokenizerConfig& config) {
    const bool qwen =
        class_of(config, "GPT2Tokenizer", {"GPT2Tokenizer", "Qwen2Tokenizer"}) == "Qwen2Tokenizer";
    const std::string path = in_folder(folder, "vocab.json"), merges = in_folder(folder, "merges.txt");
    Vocabulary vocabulary;
    for (const Json& piece : Json::open(path).members())
        vocabulary.add(piece.name(), piece.count(), path);
    const Strings pieces = vocabulary.in_order(path + ": the vocabulary");
    const auto rules = read_codes(nn::checkpoint::read_file(merges), merges, false);
    const std::string bytes =
        autograd::join(R"({"type":"ByteLevel","trim_offsets":false,"add_prefix_space":)",
                       config["add_prefix_space"].boolean_or(false) ? "true" : "false", R"(,"use_regex":)");
    FileText file = {.model = bpe_text(R"("type":"BPE")", pieces, rules),
                     .pre_tokenizer = bytes + "true}",
                     .decoder = bytes + "true}",
                     .added_tokens = tokens_of(pieces, folder, config, {"<|endoftext|>"})};
    if (qwen) {  // each of whose words gets the space
        file.normalizer = R"({"type":"NFC"})";
        file.pre_tokenizer = R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":)" +
                             nn::checkpoint::quote(expression(PreTokens::qwen2)) +
                             R"(},"behavior":"Isolated","invert":false},)" + bytes + "false}]}";
    }
    return Tokenizer(json_of(file), merges);
}

Tokenizer from_vocab_txt(const std::string& folder, const TokenizerConfig& config) {
    class_of(config, "BertTokenizer", {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"});
    const std::string path = in_folder(folder, "vocab.txt");
    const Strings pieces = lines_of(nn::checkpoint::read_file(path), path);
    Vocabulary seen;
    for (const std::string& piece : pieces)
        check_file(seen.add(piece, seen.size(), path), path, ": ", nn::checkpoint::shown(piece),
                   " is in the vocabulary twice");
    const auto token = [&](const char* name, const char* otherwise) {
        return config.token(name).value_or(otherwise);
    };
    BertText bert = {.unk = token("unk_token", "[UNK]"),
                     .cls = token("cls_token", "[CLS]"),
                     .sep = token("sep_token", "[SEP]"),
                     .lower_case = config["do_lower_case"].boolean_or(true),
                     .chinese = config["tokenize_chinese_chars"].boolean_or(true)};
    bert.strip_accents = config["strip_accents"].boolean_or(bert.lower_case);
    const std::vector<AddedToken> tokens =
        tokens_of(pieces, folder, config,
                  {bert.unk, bert.sep, token("pad_token", "[PAD]"), bert.cls, token("mask_token", "[MASK]")});
    bert.cls_id = found(tokens, bert.cls)->id;
    bert.sep_id = found(tokens, bert.sep)->id;
    FileText file = bert_text(pieces, bert);
    file.added_tokens = tokens;
    return Tokenizer(json_of(file), path);
}

}  // namespace

Tokenizer from_older_files(const std::string& folder) {
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

}  // namespace plaingrad::models::text::tokenizer
