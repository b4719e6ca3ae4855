#include "models/hugging_face/tensors.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

namespace plaingrad::models::hugging_face {
namespace {

using nn::checkpoint::replaced;

// A linear layer of theirs may be some columns of one of ours.
enum class Part { all, query, key, value, gate, up };
using enum Part;

// The first column, and how many there are; -1: all.
std::pair<int64_t, int64_t> columns(Part part, const BlockConfig& b) {
    const int64_t queries = b.n_heads * b.head_dim, keys = b.n_kv_heads * b.head_dim;
    return part == query   ? std::pair(int64_t{0}, queries)
           : part == key   ? std::pair(queries, keys)
           : part == value ? std::pair(queries + keys, keys)
           : part == gate  ? std::pair(int64_t{0}, b.d_ff)
           : part == up    ? std::pair(b.d_ff, b.d_ff)
                           : std::pair(int64_t{0}, int64_t{-1});
}

// A layer of the file, and ours.
struct Row {
    unsigned families;
    const char *theirs, *ours;
    Part part = all;
};

constexpr Row kStack[] = {
    {kGpt2, "wte", "embedding.tokens"},
    {kGpt2, "wpe", "embedding.positions"},
    {kGpt2, "ln_f", "encoder.norm"},
    {kBert, "embeddings.word_embeddings", "embedding.tokens"},
    {kBert, "embeddings.position_embeddings", "embedding.positions"},
    {kBert, "embeddings.token_type_embeddings", "embedding.types"},
    {kBert, "embeddings.LayerNorm", "embedding.norm"},
    {kRotary, "embed_tokens", "embedding.tokens"},
    {kRotary, "norm", "encoder.norm"},
};

// Of each layer of the stack.
constexpr Row kLayer[] = {
    {kGpt2, "ln_1", "norm1"},
    {kGpt2, "attn.c_attn", "self_attention.in_proj"},
    {kGpt2, "attn.c_proj", "self_attention.out_proj"},
    {kGpt2, "ln_2", "norm2"},
    {kGpt2, "mlp.c_fc", "feed_forward.linear1"},
    {kGpt2, "mlp.c_proj", "feed_forward.linear2"},

    {kBert, "attention.self.query", "self_attention.in_proj", query},
    {kBert, "attention.self.key", "self_attention.in_proj", key},
    {kBert, "attention.self.value", "self_attention.in_proj", value},
    {kBert, "attention.output.dense", "self_attention.out_proj"},
    {kBert, "attention.output.LayerNorm", "norm1"},
    {kBert, "intermediate.dense", "feed_forward.linear1"},
    {kBert, "output.dense", "feed_forward.linear2"},
    {kBert, "output.LayerNorm", "norm2"},

    {kRotary, "input_layernorm", "norm1"},
    {kRotary, "self_attn.q_proj", "self_attention.in_proj", query},
    {kRotary, "self_attn.k_proj", "self_attention.in_proj", key},
    {kRotary, "self_attn.v_proj", "self_attention.in_proj", value},
    {kRotary, "self_attn.o_proj", "self_attention.out_proj"},
    {kRotary, "post_attention_layernorm", "norm2"},
    {kRotary, "mlp.gate_proj", "feed_forward.linear1", gate},
    {kRotary, "mlp.up_proj", "feed_forward.linear1", up},
    {kRotary, "mlp.down_proj", "feed_forward.linear2"},
};

// Before the names of the stack, unless there is nothing else; and before those of its layers.
struct Prefixes {
    std::string stack, layers;
};
Prefixes prefixes(Family family) {
    return family == Family::gpt2   ? Prefixes{"transformer.", "h."}
           : family == Family::bert ? Prefixes{"bert.", "encoder.layer."}
                                    : Prefixes{"model.", "layers."};
}

// The entries of these parameters, layer by layer.
struct Builder {
    Builder(const ConfigJson& config, const std::vector<nn::NamedParameter>& parameters) : c(config) {
        for (const nn::NamedParameter& p : parameters)
            ours.emplace(p.name, p);
    }

    std::string family() const { return kFamilyNames[static_cast<int>(c.family)]; }
    // Returns whether the model has this parameter.
    bool add_tensor(const std::string& theirs, const std::string& name, Part part = all) {
        const auto found = ours.find(name);
        if (found == ours.end())
            return false;
        const nn::NamedParameter& p = found->second;
        const auto [first, n] = columns(part, c.block);
        entries.push_back({theirs, p.tensor, p.is_matrix && c.family != Family::gpt2, first, n});
        named.insert(p.tensor.data());
        return true;
    }
    // A layer's weight, and its bias if it has one.
    void add(const std::string& theirs, const std::string& name, Part part = all) {
        const std::string weight = theirs + ".weight";
        check(add_tensor(weight, name + ".weight", part) || add_tensor(weight, name + ".table", part) ||
                  add_tensor(weight, name + ".gain", part),
              "[hugging_face] this model is not ", family(), ": it lacks the parameter ", name);
        add_tensor(theirs + ".bias", name + ".bias", part);
    }
    void add_rows(std::span<const Row> rows, const std::string& theirs, const std::string& name) {
        for (const Row& row : rows)
            if ((row.families & of(c.family)) != 0)
                add(theirs + row.theirs, name + row.ours, row.part);
    }
    // What follows the stack. The second names of tied weights may be in a file; transformers does not write
    // them. If BERT's tables are not tied, neither are the biases, and the decoder's is the one that counts;
    // transformers writes the other one, too.
    void add_head(const std::string& prefix, bool reading) {
        const bool also_tied = reading || !c.tied;
        if (c.kind == Kind::encoder || c.kind == Kind::classifier)
            add(prefix + "pooler.dense", "pooler");
        if (c.kind == Kind::classifier)
            add("classifier", "output");
        if (c.kind == Kind::causal && !c.bare && also_tied)
            add("lm_head", "output");
        if (c.kind != Kind::masked)
            return;
        add("cls.predictions.transform.dense", "transform");
        add("cls.predictions.transform.LayerNorm", "norm");
        if (c.tied || !reading)
            add_tensor("cls.predictions.bias", "output.bias");
        if (also_tied) {
            add_tensor("cls.predictions.decoder.bias", "output.bias");
            add_tensor("cls.predictions.decoder.weight", "output.table");
        }
    }

    const ConfigJson& c;
    std::map<std::string, nn::NamedParameter> ours = {};
    std::vector<nn::checkpoint::StateEntry> entries = {};
    std::set<const Real*> named = {};
};

bool starts_with_any(const std::string& name, std::initializer_list<const char*> starts) {
    return std::any_of(starts.begin(), starts.end(),
                       [&](const char* start) { return name.starts_with(start); });
}

}  // namespace

std::string canonical_name(const ConfigJson& c, std::string name) {
    name = nn::checkpoint::without_wrappers(std::move(name));
    const std::string prefix = prefixes(c.family).stack;
    const bool of_head = starts_with_any(name, {"lm_head.", "cls.", "classifier.", "score."});
    if (!of_head && name.starts_with(prefix))
        name.erase(0, prefix.size());
    if (!of_head && !c.bare)
        name.insert(0, prefix);
    // Buffers: masks, position numbers, frequencies.
    for (const char* const end : {".attn.bias", ".attn.masked_bias", ".position_ids", ".rotary_emb.inv_freq"})
        if (("." + name).ends_with(end))
            return "";
    // What is not used: heads of a bare model, the head for pairs of sentences, the pooler where there is no
    // classifier, and the bias that is not the decoder's.
    if ((of_head && c.bare) || name.starts_with("cls.seq_relationship.") ||
        (c.kind == Kind::masked &&
         (name.starts_with("bert.pooler.") || (!c.tied && name == "cls.predictions.bias"))))
        return "";
    return replaced(name, {{"LayerNorm.gamma", "LayerNorm.weight"}, {"LayerNorm.beta", "LayerNorm.bias"}});
}

nn::checkpoint::StateDict state_dict(const ConfigJson& config,
                                     const std::vector<nn::NamedParameter>& parameters, Direction direction) {
    const Prefixes names = prefixes(config.family);
    const std::string prefix = config.bare ? "" : names.stack;
    Builder all(config, parameters);
    all.add_rows(kStack, prefix, "backbone.");
    for (int64_t i = 0; i < config.n_layers; ++i)
        all.add_rows(kLayer, autograd::join(prefix, names.layers, i, "."),
                     autograd::join("backbone.encoder.layers.", i, "."));
    all.add_head(prefix, direction == Direction::reading);
    for (const nn::NamedParameter& p : parameters)
        check(all.named.contains(p.tensor.data()), "[hugging_face] this model is not ", all.family(),
              ", which has no parameter ", p.name);
    return std::move(all.entries);
}

}  // namespace plaingrad::models::hugging_face
