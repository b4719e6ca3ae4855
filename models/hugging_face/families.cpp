#include "models/hugging_face/families.h"

#include "models/presets.h"

namespace plaingrad::models::hugging_face {
namespace {

template <class T>
std::vector<T> operator+(std::vector<T> a, const std::vector<T>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

// Under the names that most families have.
const std::vector<Key> kSizes = {{"max_position_embeddings", positions}, {"hidden_size", width},
                                 {"num_hidden_layers", layer_count},     {"num_attention_heads", head_count},
                                 {"intermediate_size", inner_width},     {"hidden_act", activation}};

// The values of missing keys: a model, and its special ids. -1: none.
ConfigJson usual(const Config& model, int32_t start, const std::vector<int32_t>& ends, int32_t pad = -1) {
    ConfigJson c;
    static_cast<Config&>(c) = model;
    c.max_positions = model.max_length;
    c.start = start;
    c.specials = {.start = 0, .ends = ends, .pad = pad, .never = {}};
    return c;
}

// ---- Llama, Mistral and Qwen2, which differ in little.

Config rotary_model(int64_t vocabulary, int64_t max_length, int64_t n_kv_heads, int64_t d_ff) {
    Config c = llama();
    c.vocabulary = vocabulary;
    c.max_length = max_length;
    c.n_layers = c.block.n_heads = 32;
    c.block.d_model = 4096;
    c.block.n_kv_heads = n_kv_heads;
    c.block.d_ff = d_ff;
    c.block.norm_eps = Real(1e-6);
    c.block.rotary = {};
    c.block.attention_out_bias = c.tied = false;
    return c;
}

Family rotary_family(const std::string& name, const std::string& of_class, const ConfigJson& usual,
                     const std::vector<Key>& own) {
    return {
        .name = name,
        .architectures = {{of_class + "ForCausalLM", Kind::causal}, {of_class + "Model", Kind::causal, true}},
        .usual = usual,
        .keys = kSizes +
                std::vector<Key>{{"num_key_value_heads", kv_heads},
                                 {"head_dim", head_width},
                                 {"rms_norm_eps", norm_eps},
                                 {"rope_theta", rope_theta},
                                 {"rope_scaling", rope},
                                 {"attention_dropout", attention_dropout}} +
                own,
        .refused = {{"partial_rotary_factor", "1", "whole heads are rotated"},
                    {"rope_interleaved", "false", "the two halves of a head are pairs, not neighbours"}},
        .ignored = {"rope_parameters", "original_max_position_embeddings"},  // read with rope_scaling
        .prefix = "model.",
        .layers = "layers.",
        .stack = {{"embed_tokens", "embedding.tokens"}, {"norm", "encoder.norm"}},
        .layer = {{"input_layernorm", "norm1"},
                  {"self_attn.q_proj", "self_attention.in_proj", Columns::query},
                  {"self_attn.k_proj", "self_attention.in_proj", Columns::key},
                  {"self_attn.v_proj", "self_attention.in_proj", Columns::value},
                  {"self_attn.o_proj", "self_attention.out_proj"},
                  {"post_attention_layernorm", "norm2"},
                  {"mlp.gate_proj", "feed_forward.linear1", Columns::gate},
                  {"mlp.up_proj", "feed_forward.linear1", Columns::up},
                  {"mlp.down_proj", "feed_forward.linear2"}},
        .head = {{"lm_head", "output", Columns::all, Kind::causal}},
        .heads = {"lm_head.", "score."}};
}

Family llama_family() {
    Family f = rotary_family("llama", "Llama", usual(rotary_model(32000, 2048, 0, 11008), 1, {2}),
                             {{"attention_bias", attention_bias}, {"mlp_bias", feed_forward_bias}});
    f.ignored.push_back("pretraining_tp");  // splits products, for many processes; transformers 5 ignores it
    return f;
}

Family mistral_family() {
    ConfigJson c = usual(rotary_model(32000, 131072, 8, 14336), 1, {2});
    c.window = 4096;
    return rotary_family("mistral", "Mistral", c, {{"sliding_window", window}});
}

Family qwen2_family() {
    ConfigJson c = usual(rotary_model(151936, 32768, 32, 22016), -1, {});
    c.block.attention_bias = true;
    Family f = rotary_family("qwen2", "Qwen2", c, {});
    f.refused =
        f.refused + std::vector<Refused>{{"use_mrope", "false", "a text has one position a token"},
                                         {"use_sliding_window", "false", "each token sees all before it"}};
    // What they say of windows holds only with use_sliding_window.
    f.ignored = f.ignored + Ignored{"sliding_window", "max_window_layers", "layer_types"};
    return f;
}

// ---- GPT-2 and BERT.

Family gpt2_family() {
    return {
        .name = "gpt2",
        .architectures = {{"GPT2LMHeadModel", Kind::causal}, {"GPT2Model", Kind::causal, true}},
        .usual = usual(gpt2(), 50256, {50256}),
        .keys = {{"n_positions", positions, "max_position_embeddings"},
                 {"n_embd", width, "hidden_size"},
                 {"n_layer", layer_count, "num_hidden_layers"},
                 {"n_head", head_count, "num_attention_heads"},
                 {"n_inner", inner_width_or_four},
                 {"activation_function", activation},
                 {"layer_norm_epsilon", norm_eps},
                 {"embd_pdrop", embedding_dropout},
                 {"resid_pdrop", sublayer_dropout},
                 {"attn_pdrop", attention_dropout}},
        .refused = {{"scale_attn_weights", "true", "scores are divided by the root of a head's size"},
                    {"scale_attn_by_inverse_layer_idx", "false", "no layer scales its scores by its number"},
                    {"add_cross_attention", "false", "there is no second text to attend to"},
                    {"pruned_heads", "{}", "all layers have the same heads"}},
        // n_ctx is an older name of n_positions, which files have beside it. A summary is
        // GPT2DoubleHeadsModel's, which is not read.
        .ignored = {"n_ctx", "reorder_and_upcast_attn", "summary_type", "summary_use_proj",
                    "summary_activation", "summary_proj_to_labels", "summary_first_dropout"},
        .prefix = "transformer.",
        .layers = "h.",
        .stack = {{"wte", "embedding.tokens"}, {"wpe", "embedding.positions"}, {"ln_f", "encoder.norm"}},
        .layer = {{"ln_1", "norm1"},
                  {"attn.c_attn", "self_attention.in_proj"},
                  {"attn.c_proj", "self_attention.out_proj"},
                  {"ln_2", "norm2"},
                  {"mlp.c_fc", "feed_forward.linear1"},
                  {"mlp.c_proj", "feed_forward.linear2"}},
        .head = {{"lm_head", "output", Columns::all, Kind::causal}},
        .heads = {"lm_head.", "score."},
        .transposed = false};
}

Family bert_family() {
    return {.name = "bert",
            .architectures = {{"BertForMaskedLM", Kind::masked},
                              {"BertForPreTraining", Kind::masked},  // its second head is not read
                              {"BertForSequenceClassification", Kind::classifier},
                              {"BertModel", Kind::encoder, true}},
            .usual = usual(bert(), -1, {}, 0),
            .keys = kSizes + std::vector<Key>{{"layer_norm_eps", norm_eps},
                                              {"type_vocab_size", token_types},
                                              {"hidden_dropout_prob", hidden_dropout},
                                              {"attention_probs_dropout_prob", attention_dropout},
                                              {"classifier_dropout", pooled_dropout}},
            .refused = {{"add_cross_attention", "false", "there is no second text to attend to"},
                        {"is_decoder", "false", "each token sees all others"},
                        {"position_embedding_type", "\"absolute\"", "transformers 5 has no other"},
                        {"pruned_heads", "{}", "all layers have the same heads"}},
            .prefix = "bert.",
            .layers = "encoder.layer.",
            .stack = {{"embeddings.word_embeddings", "embedding.tokens"},
                      {"embeddings.position_embeddings", "embedding.positions"},
                      {"embeddings.token_type_embeddings", "embedding.types"},
                      {"embeddings.LayerNorm", "embedding.norm"}},
            .layer = {{"attention.self.query", "self_attention.in_proj", Columns::query},
                      {"attention.self.key", "self_attention.in_proj", Columns::key},
                      {"attention.self.value", "self_attention.in_proj", Columns::value},
                      {"attention.output.dense", "self_attention.out_proj"},
                      {"attention.output.LayerNorm", "norm1"},
                      {"intermediate.dense", "feed_forward.linear1"},
                      {"output.dense", "feed_forward.linear2"},
                      {"output.LayerNorm", "norm2"}},
            .head = {{"bert.pooler.dense", "pooler", Columns::all, Kind::classifier},
                     {"pooler.dense", "pooler", Columns::all, Kind::encoder},
                     {"classifier", "output", Columns::all, Kind::classifier},
                     {"cls.predictions.transform.dense", "transform", Columns::all, Kind::masked},
                     {"cls.predictions.transform.LayerNorm", "norm", Columns::all, Kind::masked},
                     {"cls.predictions.bias", "output.bias", Columns::all, Kind::masked, true},
                     {"cls.predictions.decoder.bias", "output.bias", Columns::all, Kind::masked},
                     {"cls.predictions.decoder.weight", "output.weight", Columns::all, Kind::masked}},
            .heads = {"cls.", "classifier."}};
}

// With the keys that all families have, around its own.
Family whole(Family f) {
    f.keys = std::vector<Key>{{"architectures", architectures}, {"vocab_size", vocabulary}} + f.keys +
             std::vector<Key>{{"id2label", labels},           {"label2id", label_numbers},
                              {"problem_type", problem_type}, {"tie_word_embeddings", tied},
                              {"bos_token_id", start_id},     {"eos_token_id", end_ids},
                              {"pad_token_id", pad_id}};
    f.refused = f.refused + std::vector<Refused>{
                                {"is_encoder_decoder", "false", "there is one stack"},
                                {"per_layer_config", "null", "all layers are alike"},
                                {"quantization_config", "null", "weights are float32, float16 or bfloat16"},
                                {"compression_config", "null", "weights are float32, float16 or bfloat16"}};
    f.ignored =
        f.ignored + Ignored{// The file of the weights says of what type they are; we compute in float32.
                            "model_type", "dtype", "torch_dtype",
                            // For training, for other tasks, and for saving memory or time.
                            "initializer_range", "num_labels", "task_specific_params",
                            "chunk_size_feed_forward", "gradient_checkpointing", "use_cache",
                            // Python's return values, and who wrote the file.
                            "return_dict", "output_attentions", "output_hidden_states", "_name_or_path",
                            "transformers_version"};
    for (const Key& key : f.keys)
        f.ignored.insert(f.ignored.end(), {key.name, key.other});
    return f;
}

}  // namespace

const std::vector<Family>& families() {
    static const std::vector<Family> all = {whole(gpt2_family()), whole(bert_family()), whole(llama_family()),
                                            whole(mistral_family()), whole(qwen2_family())};
    return all;
}

const Family& family_of(const std::string& name) {
    for (const Family& family : families())
        if (family.name == name)
            return family;
    throw autograd::Error(autograd::join("[hugging_face] there is no family ", name));
}

}  // namespace plaingrad::models::hugging_face
