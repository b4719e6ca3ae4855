#include "models/text/tokenizer/pipeline.h"

#include <algorithm>

namespace plaingrad::models::text::tokenizer {

using nn::checkpoint::in_folder;

// No members if there is no such file.
static Json read(const std::string& path) {
    return nn::checkpoint::exists(path) ? Json::open(path) : Json("{}", path);
}

// A token is its content, or an object that has it.
static AddedToken special(const Json& token) {
    if (token.kind() != Json::Kind::object)
        return {.content = token.text(), .special = true};
    AddedToken special = AddedToken::from(token);
    special.normalized = token["normalized"].boolean_or(false);
    special.special = true;
    return special;
}

TokenizerConfig::TokenizerConfig(const std::string& folder_)
    : folder(folder_), json(read(in_folder(folder, "tokenizer_config.json"))) {
    // With an added_tokens_decoder transformers reads no other file.
    const bool whole = !json["added_tokens_decoder"].is_null();
    const Json map = read(whole ? "" : in_folder(folder, "special_tokens_map.json"));
    for (const char* name :
         {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"})
        if (const Json token = json[name].is_null() ? map[name] : json[name]; !token.is_null()) {
            special_tokens.push_back(special(token));
            named[name] = special_tokens.back().content;
        }
    for (const Json* file : {&std::as_const(json), &map})
        if (const Json more = (*file)["additional_special_tokens"]; !more.is_null())
            for (const Json& token : more.items())
                special_tokens.push_back(special(token));
}

// ---- folders without a tokenizer.json

namespace {

// The tokenizer_class in tokenizer_config.json without the "Fast" at its end; `otherwise` if there is none.
std::string class_of(const TokenizerConfig& config, const std::string& otherwise,
                     std::initializer_list<std::string_view> known) {
    const Json part = config.json["tokenizer_class"];
    std::string name = part.text_or(otherwise);
    if (name.ends_with("Fast"))
        name.resize(name.size() - 4);
    part.require(std::find(known.begin(), known.end(), name) != known.end(), nn::checkpoint::shown(name),
                 " is not supported without a tokenizer.json");
    return name;
}

// The tokens of a folder in the order of their ids: those that it numbers, then the defaults and those that
// it only names. One that is no piece gets an id behind all others.
std::vector<AddedToken> tokens_of(const Strings& pieces, const TokenizerConfig& config,
                                  std::initializer_list<std::string> defaults) {
    std::vector<AddedToken> named, all;
    for (const std::string& content : defaults) {
        const AddedToken* const token = found(config.special_tokens, content);
        named.push_back(token == nullptr ? AddedToken{.content = content, .special = true} : *token);
    }
    named.insert(named.end(), config.special_tokens.begin(), config.special_tokens.end());
    Vocabulary ids;
    for (const std::string& piece : pieces)
        ids.add(piece, ids.size());
    const auto add = [&](AddedToken token) {
        ids.add(token.content, ids.size());
        token.id = ids.id(token.content);
        all.push_back(token);
        return token.id;
    };
    for (const auto& [number, part] : config.numbered) {
        // In added_tokens.json a token has no properties. There it is special if it has a name.
        const std::string name(part.name());
        const bool special = found(named, name) != nullptr, older = part.kind() == Json::Kind::number;
        const AddedToken from_older = {.content = name, .normalized = !special, .special = special};
        const int32_t id = add(older ? from_older : AddedToken::from(part));
        part.require(number == id, "has a token whose id is ", id);
    }
    for (const AddedToken& token : named)
        if (found(all, token.content) == nullptr)
            add(token);
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    return all;
}

std::string byte_level(bool add_prefix_space, bool use_regex) {
    return JsonText::object({{"type", "ByteLevel"},
                             {"add_prefix_space", add_prefix_space},
                             {"trim_offsets", false},
                             {"use_regex", use_regex}})
        .text;
}

Tokenizer from_merges(const TokenizerConfig& config) {
    const bool qwen =
        class_of(config, "GPT2Tokenizer", {"GPT2Tokenizer", "Qwen2Tokenizer"}) == "Qwen2Tokenizer";
    const std::string path = in_folder(config.folder, "vocab.json"),
                      merges = in_folder(config.folder, "merges.txt");
    Vocabulary vocabulary;
    for (const Json& piece : Json::open(path).members())
        vocabulary.add(piece.name(), piece.count(INT32_MAX));
    const Strings pieces = vocabulary.in_order(path + ": the vocabulary");
    const bool space = config.json["add_prefix_space"].boolean_or(false);
    FileText file =
        byte_level_text(pieces, read_codes(nn::checkpoint::read_file(merges), merges, false), space);
    file.added_tokens = tokens_of(pieces, config, {"<|endoftext|>"});
    if (qwen) {  // each of whose words gets the space
        file.normalizer = R"({"type":"NFC"})";
        file.pre_tokenizer = R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":)" +
                             nn::checkpoint::quote(kQwen2.expression) +
                             R"(},"behavior":"Isolated","invert":false},)" + byte_level(space, false) + "]}";
    }
    return Tokenizer(json_of(file), merges);
}

Tokenizer from_vocab_txt(const TokenizerConfig& config) {
    class_of(config, "BertTokenizer", {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"});
    const std::string path = in_folder(config.folder, "vocab.txt");
    const Strings pieces = lines_of(nn::checkpoint::read_file(path), path);
    Vocabulary seen;
    for (const std::string& piece : pieces)
        check_file(seen.add(piece, seen.size()), path, ": ", nn::checkpoint::shown(piece),
                   " is in the vocabulary twice");
    return Tokenizer(json_of(bert_text(pieces, config)), path);
}

}  // namespace

FileText byte_level_text(const Strings& pieces, const std::vector<MergeRule>& rules, bool add_prefix_space) {
    const std::string bytes = byte_level(add_prefix_space, true);
    return {.model = bpe_text(R"("type":"BPE")", pieces, rules), .pre_tokenizer = bytes, .decoder = bytes};
}

FileText bert_text(const Strings& pieces, const TokenizerConfig& config) {
    const auto name = [&](const char* token, const char* otherwise) {
        const auto known = config.named.find(token);
        return known == config.named.end() ? otherwise : known->second;
    };
    const std::string unk = name("unk_token", "[UNK]"), cls = name("cls_token", "[CLS]"),
                      sep = name("sep_token", "[SEP]");
    const std::vector<AddedToken> tokens =
        tokens_of(pieces, config, {unk, sep, name("pad_token", "[PAD]"), cls, name("mask_token", "[MASK]")});
    const auto numbered = [&](const std::string& token) {
        return JsonText::array({token, found(tokens, token)->id});
    };
    const bool lower_case = config.json["do_lower_case"].boolean_or(true);
    return {
        .model = model_text(R"("type":"WordPiece","unk_token":)" + nn::checkpoint::quote(unk) +
                                R"(,"continuing_subword_prefix":"##","max_input_chars_per_word":100)",
                            pieces),
        .normalizer = JsonText::object(
                          {{"type", "BertNormalizer"},
                           {"clean_text", true},
                           {"handle_chinese_chars", config.json["tokenize_chinese_chars"].boolean_or(true)},
                           {"strip_accents", config.json["strip_accents"].boolean_or(lower_case)},
                           {"lowercase", lower_case}})
                          .text,
        .pre_tokenizer = R"({"type":"BertPreTokenizer"})",
        .post_processor =
            JsonText::object({{"type", "BertProcessing"}, {"sep", numbered(sep)}, {"cls", numbered(cls)}})
                .text,
        .decoder = R"({"type":"WordPiece","prefix":"##","cleanup":true})",
        .added_tokens = tokens};
}

Tokenizer from_older_files(TokenizerConfig config) {
    const std::string& folder = config.folder;
    const auto has = [&](const char* name) { return nn::checkpoint::exists(in_folder(folder, name)); };
    check_file((has("vocab.json") && has("merges.txt")) || has("vocab.txt"), folder,
               " has no tokenizer.json, no vocab.json with merges.txt, and no vocab.txt",
               has("tokenizer.model")
                   ? "; a tokenizer.model is not read: in Python, "
                     "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER) writes "
                     "tokenizer.json"
                   : "");
    // "added_tokens_decoder" has tokens by their ids; added_tokens.json, in older folders, ids by the tokens.
    if (const Json decoder = config.json["added_tokens_decoder"]; !decoder.is_null())
        for (const Json& part : decoder.members())
            config.numbered.emplace(nn::checkpoint::parse_integer(part.name()).value_or(-1), part);
    else
        for (const Json& part : read(in_folder(folder, "added_tokens.json")).members())
            config.numbered.emplace(part.integer(), part);
    return has("vocab.json") && has("merges.txt") ? from_merges(config) : from_vocab_txt(config);
}

}  // namespace plaingrad::models::text::tokenizer
