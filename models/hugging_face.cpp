#include "models/hugging_face.h"

namespace plaingrad::models {
namespace {

const NameRules kGpt2 = {
    {"backbone.embedding.tokens.", "transformer.wte."},
    {"backbone.embedding.positions.", "transformer.wpe."},
    {"backbone.encoder.layers.", "transformer.h."},
    {"backbone.encoder.norm.", "transformer.ln_f."},
    {"output.", "lm_head."},
    {"self_attention.in_proj.", "attn.c_attn."},
    {"self_attention.out_proj.", "attn.c_proj."},
    {"feed_forward.linear1.", "mlp.c_fc."},
    {"feed_forward.linear2.", "mlp.c_proj."},
    {"norm1.", "ln_1."},
    {"norm2.", "ln_2."},
};

const NameRules kBert = {
    {"backbone.embedding.tokens.", "bert.embeddings.word_embeddings."},
    {"backbone.embedding.positions.", "bert.embeddings.position_embeddings."},
    {"backbone.embedding.norm.", "bert.embeddings.LayerNorm."},
    {"transform.", "cls.predictions.transform.dense."},
    {"output.bias", "cls.predictions.bias"},
    {"output.table", "cls.predictions.decoder.weight"},
    {"self_attention.in_proj.", "attention.self.in_proj."},  // three in the file: see split_in_proj
    {"self_attention.out_proj.", "attention.output.dense."},
    {"feed_forward.linear1.", "intermediate.dense."},
    {"feed_forward.linear2.", "output.dense."},
    {"norm1.", "attention.output.LayerNorm."},
    {"norm2.", "output.LayerNorm."},
    {"norm.", "cls.predictions.transform.LayerNorm."},
    {"backbone.encoder.layers.", "bert.encoder.layer."},
};

// GPT2Model's files lack the prefix "transformer." of GPT2LMHeadModel's. attn.bias and attn.masked_bias are
// causal masks.
std::string gpt2_name(std::string name) {
    name = nn::checkpoint::without_wrappers(std::move(name));
    if (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"))
        return "";
    return name.starts_with("transformer.") || name.starts_with("lm_head.") ? name : "transformer." + name;
}

// Old files call a norm's parameters gamma and beta. The pooler and the second head were for pairs of
// sentences.
std::string bert_name(std::string name) {
    name = nn::checkpoint::without_wrappers(std::move(name));
    if (!name.starts_with("bert.") && !name.starts_with("cls."))
        name = "bert." + name;
    if (name.starts_with("bert.pooler.") || name.starts_with("cls.seq_relationship.") ||
        name.ends_with(".position_ids"))
        return "";
    return replaced(name, {{"LayerNorm.gamma", "LayerNorm.weight"}, {"LayerNorm.beta", "LayerNorm.bias"}});
}

// Our projections of queries, keys and values are the columns of one matrix. Makes three entries of them.
void split_in_proj(const StateEntry& entry, std::size_t at, int64_t d_model, std::vector<StateEntry>& out) {
    int64_t first = 0;
    for (const char* const name : {"query.", "key.", "value."}) {
        StateEntry part = entry;
        part.name.replace(at, std::string("in_proj.").size(), name);
        part.first = first;
        part.columns = d_model;
        out.push_back(part);
        first += d_model;
    }
}

}  // namespace

StateDict gpt2_state_dict(const LanguageModel& model) {
    const StackConfig& c = model.config;
    check(c.block.norm == NormPlacement::pre && c.block.activation == nn::Activation::gelu_tanh &&
              !c.block.scale_embeddings,
          "[gpt2_state_dict] GPT-2 has its norms before the sub-layers, GELU's tanh form and embeddings that "
          "are not scaled, unlike this model; start its configuration from gpt2()");
    return {.entries = renamed(all_parameters(model), kGpt2, false), .canonical = gpt2_name};
}

StateDict bert_state_dict(const MaskedLanguageModel& model) {
    const StackConfig& c = model.config;
    check(c.block.norm == NormPlacement::post && !c.final_norm &&
              c.block.activation == nn::Activation::gelu && c.block.positions == nn::Positions::learned &&
              !c.block.scale_embeddings,
          "[bert_state_dict] BERT has its norms after the sub-layers and none at the end, GELU, learned "
          "positions and embeddings that are not scaled, unlike this model; start its configuration from "
          "bert()");
    StateDict state = {.entries = {}, .canonical = bert_name};
    for (const StateEntry& entry : renamed(all_parameters(model), kBert, true)) {
        const std::size_t at = entry.name.find("in_proj.");
        if (at == entry.name.npos)
            state.entries.push_back(entry);
        else
            split_in_proj(entry, at, c.block.d_model, state.entries);
    }
    if (c.block.output_bias)  // newer versions of transformers also save it under this second name
        state.entries.push_back({"cls.predictions.decoder.bias", model.output.bias});
    state.entries.push_back(
        {"bert.embeddings.token_type_embeddings.weight", Tensor::zeros({2, c.block.d_model})});
    return state;
}

Metadata load_bert(const std::string& path, const MaskedLanguageModel& model) {
    const StateDict state = bert_state_dict(model);
    Metadata metadata = load(path, state);
    const Tensor& types = state.entries.back().tensor;  // (2, d_model)
    Tensor positions = model.backbone.embedding.positions.table;
    Real* p = positions.mutable_data();
    for (int64_t i = 0; i < positions.numel(); ++i)
        p[i] += types.data()[i % types.size(1)];
    return metadata;
}

}  // namespace plaingrad::models
