#include "models/pytorch.h"

#include <algorithm>

namespace plaingrad::models {
namespace {

const NameRules kPyTorch = {
    {"backbone.", ""},
    {"embedding.tokens.", "embedding."},
    {"embedding.positions.", "positions."},  // src_embedding.positions. -> src_positions.
    {"embedding.types.", "types."},
    {"embedding.norm.", "embedding_norm."},
    {"self_attention.", "self_attn."},
    {"cross_attention.", "multihead_attn."},
    {"feed_forward.", ""},
    {"in_proj.", "in_proj_"},
    {"q_proj.", "in_proj_"},  // with kv_proj at its right: one matrix in PyTorch
    {"kv_proj.", "in_proj_"},
};

}  // namespace

std::vector<StateEntry> renamed(const std::vector<nn::NamedParameter>& parameters, const NameRules& rules,
                                bool transposed) {
    std::vector<StateEntry> found;
    for (const nn::NamedParameter& p : parameters) {
        std::string name = replaced(p.name, rules);
        for (const char* const ours : {"gain", "table"})
            if (name.ends_with(ours))
                name = replaced(name, {{ours, "weight"}});
        const auto same = std::find_if(found.begin(), found.end(),
                                       [&](const StateEntry& entry) { return entry.name == name; });
        if (same != found.end())
            same->beside.push_back(p.tensor);
        else
            found.push_back({name, p.tensor, transposed && p.is_matrix});
    }
    return found;
}

StateDict pytorch_state_dict(const std::vector<nn::NamedParameter>& parameters, bool of_transformer) {
    NameRules rules = kPyTorch;
    if (of_transformer) {
        rules.push_back({"encoder.", "transformer.encoder."});
        rules.push_back({"decoder.", "transformer.decoder."});
    }
    return renamed(parameters, rules, true);
}

}  // namespace plaingrad::models
