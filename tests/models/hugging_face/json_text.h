// What transformers 5.23 writes where nothing was set, and such a text with other members.
#pragma once

#include <map>
#include <string>

#include "tests/folder.h"
#include "tests/fuzz/json_tree.h"

namespace plaingrad::tests {

// A member of tests/golden/hugging_face_defaults.json. gpt2: json.dumps(GPT2Config().to_dict()), and the same
// of the other families (of Qwen2 with two layers). generation_unset: of GenerationConfig(), and
// generation_defaults: of GenerationConfig(**GenerationConfig._get_default_generation_params()). And two
// config.json as they were published.
inline std::string golden_json(const std::string& name) {
    static fuzz::Json all = fuzz::parse_json(content("tests/golden/hugging_face_defaults.json")).value();
    return fuzz::to_text(*all.find(name));
}

// The object with these members instead of those of the same name, or added.
using Members = std::map<std::string, std::string>;
inline std::string with(const std::string& text, const Members& members) {
    fuzz::Json tree = fuzz::parse_json(text).value();
    for (const auto& [key, value] : members) {
        if (tree.find(key) == nullptr) {
            tree.keys.push_back(key);
            tree.items.emplace_back();
        }
        *tree.find(key) = {.text = value};
    }
    return fuzz::to_text(tree);
}

}  // namespace plaingrad::tests
