#include "models/text/pretrained/tokenizer_config.h"

namespace plaingrad::models::text::pretrained {

using nn::checkpoint::JsonReader;

static Part read(const std::string& path) {
    if (!nn::checkpoint::exists(path)) {
        JsonReader none("{}", path);
        return Part::read(none, "");
    }
    JsonReader json = JsonReader::open(path);
    Part part = Part::read(json, "");
    json.end();
    return part;
}

TokenizerConfig TokenizerConfig::open(const std::string& folder) {
    TokenizerConfig all;
    all.config_ = read(nn::checkpoint::in_folder(folder, "tokenizer_config.json"));
    all.map_ = read(nn::checkpoint::in_folder(folder, "special_tokens_map.json"));
    return all;
}

std::optional<std::string> TokenizerConfig::token(std::string_view name) const {
    for (const Part* file : {&config_, &map_}) {
        const Part& token = (*file)[name];
        if (!token.is_null())
            return token.is(Part::Kind::object) ? token["content"].text() : token.text();
    }
    return std::nullopt;
}

}  // namespace plaingrad::models::text::pretrained
