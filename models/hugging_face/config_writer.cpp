// config.json, written. The keys are those that keys.cpp honours, and what transformers needs to know whose
// they are.
#include "models/hugging_face/config.h"
#include "models/hugging_face/keys.h"
#include "nn/checkpoint/metadata.h"

namespace plaingrad::models::hugging_face {
namespace {

using autograd::join;
using nn::checkpoint::quote;
using nn::checkpoint::to_text;

// With a point: in Python 1 is no float.
std::string real(Real value) {
    const std::string text = to_text(value);
    return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

// A JSON object, a member a line.
class Object {
public:
    void add(const std::string& key, const std::string& json) {
        text_ += join(text_.empty() ? "{\n  " : ",\n  ", quote(key), ": ", json);
    }
    void number(const std::string& key, int64_t value) { add(key, std::to_string(value)); }
    void number(const std::string& key, Real value) { add(key, real(value)); }
    void flag(const std::string& key, bool value) { add(key, value ? "true" : "false"); }
    void id(const std::string& key, int32_t id) { add(key, id < 0 ? "null" : std::to_string(id)); }
    std::string text() const { return text_ + "\n}\n"; }

private:
    std::string text_;
};

std::string ids(const std::vector<int32_t>& all) {
    std::string text;
    for (const int32_t id : all)
        text.append(text.empty() ? "" : ", ").append(std::to_string(id));
    return all.empty() ? "null" : all.size() == 1 ? text : "[" + text + "]";
}

std::string quoted_activation(const Config& c) {
    using enum nn::Activation;
    return c.activation == relu        ? "\"relu\""
           : c.activation == gelu      ? "\"gelu\""
           : c.activation == gelu_tanh ? "\"gelu_new\""
                                       : "\"silu\"";
}

void add_gpt2(Object& json, const Config& c) {
    json.number("n_positions", c.max_positions);
    json.number("n_embd", c.d_model);
    json.number("n_layer", c.n_layers);
    json.number("n_head", c.n_heads);
    json.number("n_inner", c.d_ff);
    json.add("activation_function", quoted_activation(c));
    json.number("layer_norm_epsilon", static_cast<Real>(c.norm_eps));
    json.number("embd_pdrop", c.dropout.embeddings);
    json.number("resid_pdrop", c.dropout.sublayers);
    json.number("attn_pdrop", c.dropout.attention);
}

void add_sizes(Object& json, const Config& c) {
    json.number("max_position_embeddings", c.max_positions);
    json.number("hidden_size", c.d_model);
    json.number("num_hidden_layers", c.n_layers);
    json.number("num_attention_heads", c.n_heads);
    json.number("intermediate_size", c.d_ff);
    json.add("hidden_act", quoted_activation(c));
}

void add_bert(Object& json, const Config& c) {
    add_sizes(json, c);
    json.number("layer_norm_eps", static_cast<Real>(c.norm_eps));
    json.number("type_vocab_size", c.token_types);
    json.number("hidden_dropout_prob", c.dropout.sublayers);
    json.number("attention_probs_dropout_prob", c.dropout.attention);
    if (c.head != Head::classifier)
        return;
    json.number("classifier_dropout", c.classifier_dropout);
    std::string names, numbers;
    for (std::size_t i = 0; i < c.labels.size(); ++i) {
        const std::string comma = i == 0 ? "" : ", ";
        names += join(comma, "\"", i, "\": ", quote(c.labels[i]));
        numbers += join(comma, quote(c.labels[i]), ": ", i);
    }
    json.add("id2label", "{" + names + "}");
    json.add("label2id", "{" + numbers + "}");
    json.add("problem_type", "\"single_label_classification\"");
}

std::string layer_types(const Config& c) {
    std::string text;
    for (const bool slides : c.sliding_layers)
        text.append(text.empty() ? "[" : ", ")
            .append(slides ? "\"sliding_attention\"" : "\"full_attention\"");
    return text + "]";
}

// transformers 5 reads the older names of rotary positions, too.
void add_rotary(Object& json, const Config& c) {
    const nn::RotaryOptions& r = c.rope;
    add_sizes(json, c);
    json.number("num_key_value_heads", c.n_kv_heads);
    json.number("head_dim", c.head_dim);
    json.number("rms_norm_eps", static_cast<Real>(c.norm_eps));
    json.number("attention_dropout", c.dropout.attention);
    json.number("rope_theta", r.base);
    std::string scaling = "null";
    if (r.scaling == nn::RotaryScaling::linear)
        scaling = join(R"({"rope_type": "linear", "factor": )", real(r.factor), "}");
    if (r.scaling == nn::RotaryScaling::llama3)
        scaling =
            join(R"({"rope_type": "llama3", "factor": )", real(r.factor), R"(, "low_freq_factor": )",
                 real(r.low_frequency_factor), R"(, "high_freq_factor": )", real(r.high_frequency_factor),
                 R"(, "original_max_position_embeddings": )", r.original_length, "}");
    json.add("rope_scaling", scaling);
    if (c.family == Family::llama) {
        json.flag("attention_bias", c.qkv_bias);
        json.flag("mlp_bias", c.feed_forward_bias);
    }
    if (c.family != Family::llama)
        json.add("sliding_window", c.window > 0 ? std::to_string(c.window) : "null");
    if (c.family == Family::qwen2)
        json.flag("use_sliding_window", c.window > 0);
    if (c.family == Family::qwen2 && c.window > 0)
        json.add("layer_types", layer_types(c));
}

}  // namespace

void write_config(const std::string& path, const Config& c) {
    Object json;
    json.add("model_type", quote(kFamilyNames[static_cast<int>(c.family)]));
    json.add("architectures", join("[", quote(architecture(c.family, c.head)), "]"));
    json.add("torch_dtype", "\"float32\"");
    json.number("vocab_size", c.vocabulary);
    (c.family == Family::gpt2 ? add_gpt2 : c.family == Family::bert ? add_bert : add_rotary)(json, c);
    json.flag("tie_word_embeddings", c.tied);
    json.id("bos_token_id", c.start);
    json.add("eos_token_id", ids(c.ends));
    json.id("pad_token_id", c.pad);
    nn::checkpoint::replace_file(path, {json.text()});
}

}  // namespace plaingrad::models::hugging_face
