#include "models/hugging_face/keys.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "autograd/base/mapped.h"
#include "nn/checkpoint/metadata.h"

namespace plaingrad::models::hugging_face {
namespace {

using nn::checkpoint::quote;
using nn::checkpoint::shown;
using Kind = Json::Kind;

// ---- Values.

// Sizes and numbers of something, whose products fit into 64 bits. Whether they are right, the shapes of the
// tensors will tell.
int64_t size(const Json& json, int64_t least = 1, int64_t most = INT32_MAX) {
    const int64_t n = json.count();
    json.require(n >= least && n <= most, "must be between ", least, " and ", most, ": got ", n);
    return n;
}
int64_t size_or_null(const Json& json) { return json.is_null() ? 0 : size(json, 1, 1 << 20); }
// Each layer takes memory before a tensor of it was found.
int64_t layers(const Json& json) { return size(json, 0, 10'000); }

double positive(const Json& json) {
    const double value = json.real();
    json.require(value > 0, "must be positive: got ", value);
    return value;
}

Real rate(const Json& json) {
    const auto value = static_cast<Real>(json.is_null() ? 0 : json.real());  // which may round up to 1
    json.require(value >= 0 && value < 1, "must be in [0, 1): got ", value);
    return value;
}

std::vector<int64_t> ids(const Json& json) {
    std::vector<int64_t> all;
    if (json.kind() == Kind::array)
        all = autograd::mapped(json.items(), &Json::integer);
    else if (!json.is_null())
        all.push_back(json.integer());
    return all;
}
std::optional<int64_t> id(const Json& json) {
    return json.is_null() ? std::nullopt : std::optional(json.integer());
}

nn::Activation activation(const Json& json) {
    using enum nn::Activation;
    static const std::map<std::string_view, nn::Activation> names = {{"relu", relu},
                                                                     {"gelu", gelu},
                                                                     {"gelu_python", gelu},
                                                                     {"gelu_new", gelu_tanh},
                                                                     {"gelu_pytorch_tanh", gelu_tanh},
                                                                     {"gelu_python_tanh", gelu_tanh},
                                                                     {"silu", silu},
                                                                     {"swish", silu}};
    const auto found = names.find(json.view());
    json.require(found != names.end(), json.shown(),
                 " is not supported; there are relu, gelu, gelu_new, gelu_pytorch_tanh and silu");
    return found->second;
}

// {"0":"negative","1":"positive"}: all numbers from 0, in any order.
std::vector<std::string> labels(const Json& json) {
    std::map<std::string, std::string, std::less<>> by_number;
    for (const Json& label : json.is_null() ? Json::Items() : json.members())
        by_number[std::string(label.name())] = label.text();
    std::set<std::string_view> different;  // each is a key of "label2id"
    std::vector<std::string> all;
    for (std::size_t i = 0; i < by_number.size(); ++i) {
        const auto label = by_number.find(std::to_string(i));
        json.require(label != by_number.end(), "must have the numbers from 0 as keys: there is no \"", i,
                     "\"");
        json.require(different.insert(label->second).second, "has two classes with the label ",
                     shown(label->second));
        all.push_back(label->second);
    }
    return all;
}

RopeKeys rope(const Json& json) {
    RopeKeys r;
    for (const Json& value : json.is_null() ? Json::Items() : json.members()) {
        const std::string_view key = value.name();
        r.given = true;
        if (key == "rope_type" || key == "type") {
            std::string& type = key == "type" ? r.type : r.rope_type;
            type = value.text();
            value.require(type == "default" || type == "linear" || type == "llama3", shown(type),
                          " is not supported; there are default, linear and llama3");
        } else if (key == "rope_theta")
            r.theta = positive(value);
        else if (key == "factor")
            r.factor = positive(value);
        else if (key == "low_freq_factor")
            r.low_freq_factor = positive(value);
        else if (key == "high_freq_factor")
            r.high_freq_factor = positive(value);
        else if (key == "original_max_position_embeddings")
            r.original_length = size(value);
        else
            value.require(key == "partial_rotary_factor" && value.real() == 1,
                          "is not supported; whole heads are rotated, by one base and one factor");
    }
    return r;
}

struct Architecture {
    std::string_view name;
    Family family;
    Head head;
};
constexpr Architecture kArchitectures[] = {
    {"GPT2LMHeadModel", Family::gpt2, Head::language_model},
    {"GPT2Model", Family::gpt2, Head::none},
    {"BertForMaskedLM", Family::bert, Head::masked_language_model},
    {"BertForPreTraining", Family::bert, Head::masked_language_model},  // its second head is not read
    {"BertForSequenceClassification", Family::bert, Head::classifier},
    {"BertModel", Family::bert, Head::none},
    {"LlamaForCausalLM", Family::llama, Head::language_model},
    {"LlamaModel", Family::llama, Head::none},
    {"MistralForCausalLM", Family::mistral, Head::language_model},
    {"MistralModel", Family::mistral, Head::none},
    {"Qwen2ForCausalLM", Family::qwen2, Head::language_model},
    {"Qwen2Model", Family::qwen2, Head::none},
};

// The first of the list names the class that wrote the weights.
void architectures(const Json& json, Keys& k) {
    std::vector<std::string> names;
    if (!json.is_null())
        names = autograd::mapped(json.items(), &Json::text);
    k.names_head = !names.empty();
    if (names.empty())
        return;
    std::string known;
    for (const Architecture& a : kArchitectures)
        if (a.family == k.family) {
            if (a.name == names[0]) {
                k.head = a.head;
                return;
            }
            known.append(known.empty() ? "" : ", ").append(a.name);
        }
    json.require(false, shown(names[0]), " is not supported; there are ", known);
}

std::vector<bool> layer_types(const Json& json) {
    std::vector<bool> slides;
    for (const Json& type : json.is_null() ? Json::Items() : json.items()) {
        slides.push_back(type.view() == "sliding_attention");
        type.require(slides.back() || type.view() == "full_attention", type.shown(),
                     " is not supported; full_attention and sliding_attention are");
    }
    return slides;
}

// A value as JSON, to compare it with one of a few characters, and to show it.
std::string text_of(const Json& json) {
    return json.kind() == Kind::number ? nn::checkpoint::to_text(json.real()) : json.shown();
}

// ---- The table: what each key means here. It has all keys of GPT2Config().to_dict() in transformers 5,
// those of the other families, and those that older files have.

// Honoured: has `read`. Refused unless it has one value: has `only`. Else ignored, as it changes no logits.
struct Key {
    std::string_view name;
    unsigned families;
    void (*read)(const Json&, Keys&) = nullptr;
    const char* only = nullptr;
    const char* why = "";
};
using J = const Json;

consteval Key refused(std::string_view name, unsigned families, const char* only, const char* why) {
    return {name, families, nullptr, only, why};
}
consteval Key ignored(std::string_view name, unsigned families, const char* why) {
    return {name, families, nullptr, nullptr, why};
}

constexpr Key kKeys[] = {
    {"architectures", kAll, architectures},
    {"vocab_size", kAll, [](J& j, Keys& k) { k.vocabulary = size(j); }},
    {"n_positions", kGpt2, [](J& j, Keys& k) { k.max_length = size(j); }},
    {"max_position_embeddings", kAll, [](J& j, Keys& k) { k.max_length = size(j); }},
    {"n_layer", kGpt2, [](J& j, Keys& k) { k.n_layers = layers(j); }},
    {"num_hidden_layers", kAll, [](J& j, Keys& k) { k.n_layers = layers(j); }},
    {"n_embd", kGpt2, [](J& j, Keys& k) { k.d_model = size(j); }},
    {"hidden_size", kAll, [](J& j, Keys& k) { k.d_model = size(j); }},
    {"n_head", kGpt2, [](J& j, Keys& k) { k.n_heads = size(j); }},
    {"num_attention_heads", kAll, [](J& j, Keys& k) { k.n_heads = size(j); }},
    {"num_key_value_heads", kRotary, [](J& j, Keys& k) { k.n_kv_heads = size_or_null(j); }},
    {"head_dim", kRotary, [](J& j, Keys& k) { k.head_dim = size_or_null(j); }},
    {"n_inner", kGpt2, [](J& j, Keys& k) { k.d_ff = size_or_null(j); }},
    {"intermediate_size", kBert | kRotary, [](J& j, Keys& k) { k.d_ff = size(j); }},
    {"activation_function", kGpt2, [](J& j, Keys& k) { k.activation = activation(j); }},
    {"hidden_act", kBert | kRotary, [](J& j, Keys& k) { k.activation = activation(j); }},
    {"layer_norm_epsilon", kGpt2, [](J& j, Keys& k) { k.norm_eps = positive(j); }},
    {"layer_norm_eps", kBert, [](J& j, Keys& k) { k.norm_eps = positive(j); }},
    {"rms_norm_eps", kRotary, [](J& j, Keys& k) { k.norm_eps = positive(j); }},
    {"attention_bias", kLlama, [](J& j, Keys& k) { k.qkv_bias = k.attention_out_bias = j.boolean(); }},
    {"mlp_bias", kLlama, [](J& j, Keys& k) { k.feed_forward_bias = j.boolean(); }},
    {"tie_word_embeddings", kAll, [](J& j, Keys& k) { k.tied = j.boolean(); }},
    {"rope_theta", kRotary, [](J& j, Keys& k) { k.rope_theta = positive(j); }},
    {"rope_parameters", kRotary, [](J& j, Keys& k) { k.rope_parameters = rope(j); }},
    {"rope_scaling", kRotary, [](J& j, Keys& k) { k.rope_scaling = rope(j); }},
    {"original_max_position_embeddings", kRotary, [](J& j, Keys& k) { k.rope_original_length = size(j); }},
    {"sliding_window", kMistral | kQwen2,
     [](J& j, Keys& k) { k.sliding_window = j.is_null() ? std::nullopt : std::optional(size(j)); }},
    {"use_sliding_window", kQwen2, [](J& j, Keys& k) { k.use_sliding_window = j.boolean(); }},
    {"max_window_layers", kQwen2, [](J& j, Keys& k) { k.max_window_layers = size(j, 0); }},
    {"layer_types", kQwen2, [](J& j, Keys& k) { k.sliding_layers = layer_types(j); }},
    {"type_vocab_size", kBert, [](J& j, Keys& k) { k.token_types = size(j); }},
    {"id2label", kBert, [](J& j, Keys& k) { k.labels = labels(j); }},
    {"num_labels", kBert, [](J& j, Keys& k) { k.n_labels = size(j, 1, 1 << 16); }},
    {"problem_type", kBert, [](J& j, Keys& k) { k.problem_type = j.text_or(""); }},
    {"bos_token_id", kAll, [](J& j, Keys& k) { k.start_id = id(j); }},
    {"eos_token_id", kAll, [](J& j, Keys& k) { k.end_ids = ids(j); }},
    {"pad_token_id", kAll, [](J& j, Keys& k) { k.pad_id = id(j); }},
    {"embd_pdrop", kGpt2, [](J& j, Keys& k) { k.dropout.embeddings = rate(j); }},
    {"resid_pdrop", kGpt2, [](J& j, Keys& k) { k.dropout.sublayers = rate(j); }},
    {"attn_pdrop", kGpt2, [](J& j, Keys& k) { k.dropout.attention = rate(j); }},
    {"hidden_dropout_prob", kBert,
     [](J& j, Keys& k) { k.dropout.embeddings = k.dropout.sublayers = rate(j); }},
    {"attention_probs_dropout_prob", kBert, [](J& j, Keys& k) { k.dropout.attention = rate(j); }},
    {"attention_dropout", kRotary, [](J& j, Keys& k) { k.dropout.attention = rate(j); }},
    {"classifier_dropout", kBert,
     [](J& j, Keys& k) { k.own_classifier_dropout = j.is_null() ? std::nullopt : std::optional(rate(j)); }},

    refused("scale_attn_weights", kGpt2, "true", "scores are divided by the root of a head's size"),
    refused("scale_attn_by_inverse_layer_idx", kGpt2, "false", "no layer scales its scores by its number"),
    refused("add_cross_attention", kGpt2 | kBert, "false", "there is no second text to attend to"),
    refused("is_encoder_decoder", kAll, "false", "there is one stack"),
    refused("is_decoder", kBert, "false", "each token sees all others"),
    refused("position_embedding_type", kBert, "\"absolute\"", "transformers 5 has no other"),
    refused("partial_rotary_factor", kRotary, "1", "whole heads are rotated"),
    refused("rope_interleaved", kRotary, "false", "the two halves of a head are pairs, not neighbours"),
    refused("use_mrope", kQwen2, "false", "a text has one position a token"),
    refused("pruned_heads", kGpt2 | kBert, "{}", "all layers have the same heads"),
    refused("per_layer_config", kAll, "null", "all layers are alike"),
    refused("quantization_config", kAll, "null", "weights are float32, float16 or bfloat16"),
    refused("compression_config", kAll, "null", "weights are float32, float16 or bfloat16"),

    ignored("model_type", kAll, "is read before all others"),
    ignored("dtype", kAll, "the file of the weights says of what type they are; we compute in float32"),
    ignored("torch_dtype", kAll, "the older name of dtype"),
    ignored("initializer_range", kAll, "is for initial values"),
    ignored("reorder_and_upcast_attn", kGpt2, "is for half precision"),
    ignored("pretraining_tp", kLlama, "splits products, for many processes; transformers 5 does not use it"),
    ignored("chunk_size_feed_forward", kAll, "saves memory"),
    ignored("gradient_checkpointing", kAll, "saves memory in training"),
    ignored("use_cache", kAll, "saves time in generation"),
    ignored("return_dict", kAll, "is about Python's return values"),
    ignored("output_attentions", kAll, "is about Python's return values"),
    ignored("output_hidden_states", kAll, "is about Python's return values"),
    ignored("label2id", kAll, "is id2label the other way round"),
    ignored("id2label", kAll & ~kBert, "names classes, which these models do not have here"),
    ignored("num_labels", kAll & ~kBert, "counts classes"),
    ignored("problem_type", kAll & ~kBert, "is about classes"),
    ignored("summary_type", kGpt2, "is for GPT2DoubleHeadsModel, which is not read"),
    ignored("summary_use_proj", kGpt2, "as summary_type"),
    ignored("summary_activation", kGpt2, "as summary_type"),
    ignored("summary_proj_to_labels", kGpt2, "as summary_type"),
    ignored("summary_first_dropout", kGpt2, "as summary_type"),
    ignored("n_ctx", kGpt2, "an older name of n_positions, which files have beside it"),
    ignored("task_specific_params", kAll, "is for pipelines"),
    ignored("_name_or_path", kAll, "says where it came from"),
    ignored("transformers_version", kAll, "says who wrote it"),
};

}  // namespace

static constexpr std::size_t kMostNotes = 10;

void Unknown::add(std::string_view name) {
    if (++count <= kMostNotes)
        names.append(count == 1 ? "" : ", ").append(shown(name, 40));
}

void Unknown::note(std::vector<std::string>& notes) const {
    const std::string more = count > kMostNotes ? autograd::join(" and ", count - kMostNotes, " more") : "";
    if (count > 0)
        notes.push_back("keys that transformers does not know are ignored: " + names + more);
}

std::vector<int32_t> valid_ids(const std::string& name, const std::vector<int64_t>& ids, int64_t vocabulary,
                               std::vector<std::string>& notes) {
    std::vector<int32_t> valid;
    std::size_t others = 0;
    for (const int64_t id : ids)
        if (id >= 0 && id < vocabulary)
            valid.push_back(static_cast<int32_t>(id));
        else if (++others <= kMostNotes)
            notes.push_back(
                autograd::join(name, " ", id, " is ignored: there are the ids 0 to ", vocabulary - 1));
    if (others > kMostNotes)
        notes.push_back(autograd::join(name, ": ", others - kMostNotes, " more ids are ignored"));
    return valid;
}

// Of GPT2Config(), BertConfig(), LlamaConfig(), MistralConfig() and Qwen2Config() in transformers 5.
Keys defaults(Family family) {
    const struct {
        int64_t vocabulary, max_length, n_layers, d_model, n_heads, n_kv_heads, d_ff;
        nn::Activation activation;
        double norm_eps;
        std::optional<int64_t> start, end, pad;
    } kDefaults[] = {
        {50257, 1024, 12, 768, 12, 0, 0, nn::Activation::gelu_tanh, 1e-5, 50256, 50256, {}},
        {30522, 512, 12, 768, 12, 0, 3072, nn::Activation::gelu, 1e-12, {}, {}, 0},
        {32000, 2048, 32, 4096, 32, 0, 11008, nn::Activation::silu, 1e-6, 1, 2, {}},
        {32000, 131072, 32, 4096, 32, 8, 14336, nn::Activation::silu, 1e-6, 1, 2, {}},
        {151936, 32768, 32, 4096, 32, 32, 22016, nn::Activation::silu, 1e-6, {}, {}, {}},
    };
    static_assert(std::size(kDefaults) == std::size(kFamilyNames));
    const auto& d = kDefaults[static_cast<std::size_t>(family)];
    const bool bert = family == Family::bert, older = bert || family == Family::gpt2;
    Keys k;
    k.family = family;
    k.head = bert ? Head::masked_language_model : Head::language_model;
    std::tie(k.vocabulary, k.max_length, k.n_layers) = std::tie(d.vocabulary, d.max_length, d.n_layers);
    std::tie(k.d_model, k.n_heads, k.n_kv_heads) = std::tie(d.d_model, d.n_heads, d.n_kv_heads);
    std::tie(k.d_ff, k.activation, k.norm_eps) = std::tie(d.d_ff, d.activation, d.norm_eps);
    std::tie(k.start_id, k.pad_id) = std::tie(d.start, d.pad);
    if (d.end)
        k.end_ids = {*d.end};
    k.tied = k.attention_out_bias = k.feed_forward_bias = older;
    k.qkv_bias = older || family == Family::qwen2;
    k.token_types = bert ? 2 : 0;
    k.dropout = {.embeddings = Real(older ? 0.1 : 0),
                 .sublayers = Real(older ? 0.1 : 0),
                 .attention = Real(older ? 0.1 : 0)};
    return k;
}

std::string_view architecture(Family family, Head head) {
    for (const Architecture& a : kArchitectures)
        if (a.family == family && a.head == head)
            return a.name;
    throw autograd::Error(autograd::join("[hugging_face] ", kFamilyNames[static_cast<int>(family)],
                                         " has no class with this head; see models/hugging_face.h"));
}

void read_key(const Json& json, Keys& keys) {
    const std::string_view name = json.name();
    const auto* key = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const Key& k) {
        return k.name == name && (k.families & of(keys.family)) != 0;
    });
    if (key == std::end(kKeys)) {
        keys.unknown.add(name);
    } else if (key->read != nullptr) {
        key->read(json, keys);
    } else if (key->only != nullptr) {
        const std::string value = text_of(json);
        json.require(value == key->only, "must be ", key->only, ", as ", key->why, ": got ", value);
    }
}

}  // namespace plaingrad::models::hugging_face
