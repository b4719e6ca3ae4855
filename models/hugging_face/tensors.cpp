#include "models/hugging_face/tensors.h"

#include <algorithm>
#include <map>
#include <set>

namespace plaingrad::models::hugging_face {
namespace {

using nn::checkpoint::replaced;
using Use = FileTensor::Use;

// The sizes that occur in shapes.
struct Sizes {
    explicit Sizes(const ConfigJson& c)
        : width(c.block.d_model),
          queries(c.block.n_heads * c.block.head_dim),
          keys(c.block.n_kv_heads * c.block.head_dim),
          hidden(c.block.d_ff),
          vocabulary(c.vocabulary),
          positions(c.max_length),
          types(c.token_types),
          classes(c.classes) {}
    int64_t zero = 0, width, queries, keys, hidden, vocabulary, positions, types, classes;
    int64_t queries_keys = queries + keys, joint = queries + 2 * keys;
};
using Size = int64_t Sizes::*;
constexpr Size kZero = &Sizes::zero, kWidth = &Sizes::width, kQueries = &Sizes::queries,
               kKeyWidth = &Sizes::keys, kHidden = &Sizes::hidden, kQueriesKeys = &Sizes::queries_keys;
using Bias = bool BlockConfig::*;
constexpr Bias kQkv = &BlockConfig::attention_bias, kOut = &BlockConfig::attention_out_bias,
               kFf = &BlockConfig::feed_forward_bias;

enum class Layout {
    table,   // weight (in, out), which here is called `table`
    norm,    // weight (in), here `gain`, and bias (in)
    rms,     // the same without bias
    linear,  // weight (out, in) and bias (out)
    conv1d,  // weight (in, out) and bias (out)
};
using enum Layout;

// A layer of the file, and ours. A linear layer may be a part of one of ours: the columns from `first`.
struct Row {
    unsigned families;
    const char *theirs, *ours;
    Layout layout;
    Size in = kWidth, out = kWidth;
    Bias bias = nullptr;  // nullptr: there always is one
    Size first = nullptr;
};

constexpr Row kStack[] = {
    {kGpt2, "wte", "embedding.tokens", table, &Sizes::vocabulary},
    {kGpt2, "wpe", "embedding.positions", table, &Sizes::positions},
    {kGpt2, "ln_f", "encoder.norm", norm},
    {kBert, "embeddings.word_embeddings", "embedding.tokens", table, &Sizes::vocabulary},
    {kBert, "embeddings.position_embeddings", "embedding.positions", table, &Sizes::positions},
    {kBert, "embeddings.token_type_embeddings", "embedding.types", table, &Sizes::types},
    {kBert, "embeddings.LayerNorm", "embedding.norm", norm},
    {kRotary, "embed_tokens", "embedding.tokens", table, &Sizes::vocabulary},
    {kRotary, "norm", "encoder.norm", rms},
};

// Of each layer of the stack.
constexpr Row kLayer[] = {
    {kGpt2, "ln_1", "norm1", norm},
    {kGpt2, "attn.c_attn", "self_attention.in_proj", conv1d, kWidth, &Sizes::joint},
    {kGpt2, "attn.c_proj", "self_attention.out_proj", conv1d, kQueries, kWidth},
    {kGpt2, "ln_2", "norm2", norm},
    {kGpt2, "mlp.c_fc", "feed_forward.linear1", conv1d, kWidth, kHidden},
    {kGpt2, "mlp.c_proj", "feed_forward.linear2", conv1d, kHidden, kWidth},

    {kBert, "attention.self.query", "self_attention.in_proj", linear, kWidth, kQueries, kQkv, kZero},
    {kBert, "attention.self.key", "self_attention.in_proj", linear, kWidth, kKeyWidth, kQkv, kQueries},
    {kBert, "attention.self.value", "self_attention.in_proj", linear, kWidth, kKeyWidth, kQkv, kQueriesKeys},
    {kBert, "attention.output.dense", "self_attention.out_proj", linear, kQueries, kWidth},
    {kBert, "attention.output.LayerNorm", "norm1", norm},
    {kBert, "intermediate.dense", "feed_forward.linear1", linear, kWidth, kHidden},
    {kBert, "output.dense", "feed_forward.linear2", linear, kHidden, kWidth},
    {kBert, "output.LayerNorm", "norm2", norm},

    {kRotary, "input_layernorm", "norm1", rms},
    {kRotary, "self_attn.q_proj", "self_attention.in_proj", linear, kWidth, kQueries, kQkv, kZero},
    {kRotary, "self_attn.k_proj", "self_attention.in_proj", linear, kWidth, kKeyWidth, kQkv, kQueries},
    {kRotary, "self_attn.v_proj", "self_attention.in_proj", linear, kWidth, kKeyWidth, kQkv, kQueriesKeys},
    {kRotary, "self_attn.o_proj", "self_attention.out_proj", linear, kQueries, kWidth, kOut},
    {kRotary, "post_attention_layernorm", "norm2", rms},
    {kRotary, "mlp.gate_proj", "feed_forward.linear1", linear, kWidth, kHidden, kFf, kZero},
    {kRotary, "mlp.up_proj", "feed_forward.linear1", linear, kWidth, kHidden, kFf, kHidden},
    {kRotary, "mlp.down_proj", "feed_forward.linear2", linear, kHidden, kWidth, kFf},
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

// The weight of a row, and its bias if it has one.
void add(std::vector<FileTensor>& all, const ConfigJson& c, const std::string& theirs,
         const std::string& ours, const Row& row) {
    const Sizes sizes(c);
    const int64_t in = sizes.*row.in, out = sizes.*row.out;
    const bool is_norm = row.layout == norm || row.layout == rms;
    const bool is_linear = row.layout == linear || row.layout == conv1d;
    FileTensor tensor = {.name = theirs + ".weight",
                         .shape = {in, out},
                         .parameter = ours + (is_norm     ? ".gain"
                                              : is_linear ? ".weight"
                                                          : ".table"),
                         .transposed = row.layout == linear};
    if (is_norm)
        tensor.shape = {in};
    else if (tensor.transposed)
        tensor.shape = {out, in};
    if (row.first != nullptr) {
        tensor.first = sizes.*row.first;
        tensor.columns = out;
    }
    all.push_back(tensor);
    if (row.layout != norm && (!is_linear || (row.bias != nullptr && !(c.block.*row.bias))))
        return;
    tensor.name = theirs + ".bias";
    tensor.parameter = ours + ".bias";
    tensor.shape = {is_norm ? in : out};
    tensor.transposed = false;
    all.push_back(tensor);
}

void add_head(std::vector<FileTensor>& all, const ConfigJson& c, const std::string& prefix) {
    const auto row = [&](const std::string& theirs, const char* ours, Layout layout, Size in, Size out) {
        add(all, c, theirs, ours, {0, nullptr, nullptr, layout, in, out});
    };
    if (c.kind == Kind::encoder || c.kind == Kind::classifier)
        row(prefix + "pooler.dense", "pooler", linear, kWidth, kWidth);
    if (c.kind == Kind::classifier)
        row("classifier", "output", linear, kWidth, &Sizes::classes);
    if (c.kind == Kind::causal && !c.bare)
        row("lm_head", "output", table, &Sizes::vocabulary, kWidth);
    if (c.kind == Kind::masked) {
        row("cls.predictions.transform.dense", "transform", linear, kWidth, kWidth);
        row("cls.predictions.transform.LayerNorm", "norm", norm, kWidth, kWidth);
        // If the tables are not tied, neither are the biases, and the decoder's is the one that counts.
        all.push_back({.name = "cls.predictions.bias",
                       .shape = {c.vocabulary},
                       .parameter = "output.bias",
                       .use = c.tied ? Use::read_and_written : Use::written});
        all.push_back({.name = "cls.predictions.decoder.bias",
                       .shape = {c.vocabulary},
                       .parameter = "output.bias",
                       .use = c.tied ? Use::read : Use::read_and_written});
        row("cls.predictions.decoder", "output", table, &Sizes::vocabulary, kWidth);
    }
    if (c.tied && all.back().parameter == "output.table")
        all.back().use = Use::read;
}

bool starts_with_any(const std::string& name, std::initializer_list<const char*> starts) {
    return std::any_of(starts.begin(), starts.end(),
                       [&](const char* start) { return name.starts_with(start); });
}

}  // namespace

std::vector<FileTensor> tensors(const ConfigJson& c) {
    const Prefixes names = prefixes(c.family);
    const std::string prefix = c.bare ? "" : names.stack;
    std::vector<FileTensor> all;
    for (const Row& row : kStack)
        if ((row.families & of(c.family)) != 0)
            add(all, c, prefix + row.theirs, autograd::join("backbone.", row.ours), row);
    for (int64_t i = 0; i < c.n_layers; ++i)
        for (const Row& row : kLayer)
            if ((row.families & of(c.family)) != 0)
                add(all, c, autograd::join(prefix, names.layers, i, ".", row.theirs),
                    autograd::join("backbone.encoder.layers.", i, ".", row.ours), row);
    add_head(all, c, prefix);
    return all;
}

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
    std::map<std::string, Tensor> ours;
    for (const nn::NamedParameter& p : parameters)
        ours.emplace(p.name, p.tensor);
    std::set<const Real*> named;
    nn::checkpoint::StateDict state;
    state.canonical = [config](std::string name) { return canonical_name(config, std::move(name)); };
    const char* const family = kFamilyNames[static_cast<int>(config.family)];
    for (const FileTensor& t : tensors(config)) {
        const auto found = ours.find(t.parameter);
        check(found != ours.end(), "[hugging_face] this model is not ", family, ": it lacks the parameter ",
              t.parameter);
        named.insert(found->second.data());
        if (t.use != (direction == Direction::reading ? Use::written : Use::read))
            state.entries.push_back({t.name, found->second, t.transposed, t.first, t.columns});
    }
    for (const nn::NamedParameter& p : parameters)
        check(named.contains(p.tensor.data()), "[hugging_face] this model is not ", family,
              ", which has no parameter ", p.name);
    return state;
}

}  // namespace plaingrad::models::hugging_face
