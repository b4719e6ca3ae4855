#include "models/text/tokenizer/tokenizer_config.h"

namespace plaingrad::models::text::tokenizer {

// No members if there is no such file.
static Json read(const std::string& path) {
    return nn::checkpoint::exists(path) ? Json::open(path) : Json("{}", path);
}

TokenizerConfig TokenizerConfig::open(const std::string& folder) {
    TokenizerConfig all;
    all.config_ = read(nn::checkpoint::in_folder(folder, "tokenizer_config.json"));
    const bool whole =
        !all.config_["added_tokens_decoder"].is_null();  // then transformers reads no other file
    all.map_ = read(whole ? "" : nn::checkpoint::in_folder(folder, "special_tokens_map.json"));
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

Json TokenizerConfig::added_tokens(const std::string& folder) {
    return read(nn::checkpoint::in_folder(folder, "added_tokens.json"));
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

}  // namespace plaingrad::models::text::tokenizer
