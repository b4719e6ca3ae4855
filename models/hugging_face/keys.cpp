#include "models/hugging_face/keys.h"

#include <algorithm>
#include <map>
#include <set>

#include "autograd/base/list.h"
#include "models/presets.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::models::hugging_face {
namespace {

using autograd::join;
using nn::checkpoint::quote;
using nn::checkpoint::shown;

// ---- Values.

// Sizes and numbers of something, whose products fit into 64 bits. Whether they are right, the shapes of the
// tensors will tell.
int64_t between(const Json& json, int64_t least, int64_t most) {
    const int64_t n = json.count();
    json.require(n >= least && n <= most, "must be between ", least, " and ", most, ": got ", n);
    return n;
}
int64_t size(const Json& json) { return between(json, 1, INT32_MAX); }
int64_t size_or_null(const Json& json) { return json.is_null() ? 0 : between(json, 1, 1 << 20); }
// Each layer takes memory before a tensor of it was found.
int64_t layers(const Json& json) { return between(json, 0, 10'000); }

bool boolean(const Json& json) { return json.boolean(); }

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
    if (json.kind() == Json::Kind::array)
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
    Kind kind;
    bool bare = false;
};
constexpr Architecture kArchitectures[] = {
    {"GPT2LMHeadModel", Family::gpt2, Kind::causal},
    {"GPT2Model", Family::gpt2, Kind::causal, true},
    {"BertForMaskedLM", Family::bert, Kind::masked},
    {"BertForPreTraining", Family::bert, Kind::masked},  // its second head is not read
    {"BertForSequenceClassification", Family::bert, Kind::classifier},
    {"BertModel", Family::bert, Kind::encoder, true},
    {"LlamaForCausalLM", Family::llama, Kind::causal},
    {"LlamaModel", Family::llama, Kind::causal, true},
    {"MistralForCausalLM", Family::mistral, Kind::causal},
    {"MistralModel", Family::mistral, Kind::causal, true},
    {"Qwen2ForCausalLM", Family::qwen2, Kind::causal},
    {"Qwen2Model", Family::qwen2, Kind::causal, true},
};

// The first of the list names the class that wrote the weights.
void architectures(const Json& json, Keys& k) {
    std::vector<std::string> names;
    if (!json.is_null())
        names = autograd::mapped(json.items(), &Json::text);
    k.names_class = !names.empty();
    if (names.empty())
        return;
    std::string known;
    for (const Architecture& a : kArchitectures)
        if (a.family == k.family) {
            if (a.name == names[0]) {
                k.kind = a.kind;
                k.bare = a.bare;
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
    return json.kind() == Json::Kind::number ? nn::checkpoint::to_text(json.real()) : json.shown();
}

// ---- Values, written.

template <class T>
std::string json_of(const T& value) {
    return JsonText(value).text;
}
std::string json_of(nn::Activation value) {
    using enum nn::Activation;
    return json_of(value == relu        ? "relu"
                   : value == gelu      ? "gelu"
                   : value == gelu_tanh ? "gelu_new"
                                        : "silu");
}
std::string id_or_null(int32_t id) { return id < 0 ? "null" : json_of(id); }

std::string ends_of(const ConfigJson& c) {
    const std::vector<int32_t>& ends = c.specials.ends;
    return ends.empty() ? "null" : ends.size() == 1 ? json_of(ends[0]) : json_of(ends);
}

// Of a classifier: {"0":"negative","1":"positive"}, or the other way round.
std::string labels_of(const ConfigJson& c, bool by_number) {
    if (c.kind != Kind::classifier)
        return "";
    std::vector<JsonText::Member> all;
    for (std::size_t i = 0; i < c.labels.size(); ++i)
        by_number ? all.emplace_back(std::to_string(i), c.labels[i]) : all.emplace_back(c.labels[i], i);
    return JsonText::object(all).text;
}

std::string layer_types_of(const ConfigJson& c) {
    std::vector<std::string> all;
    for (const bool slides : c.sliding_layers)
        all.push_back(slides ? "sliding_attention" : "full_attention");
    return c.window > 0 ? json_of(all) : "";
}

// transformers 5 reads the older names of rotary positions, too.
std::string rope_scaling_of(const ConfigJson& c) {
    const nn::RotaryOptions& r = c.block.rotary;
    if (r.scaling == nn::RotaryScaling::linear)
        return JsonText::object({{"rope_type", "linear"}, {"factor", r.factor}}).text;
    if (r.scaling == nn::RotaryScaling::llama3)
        return JsonText::object({{"rope_type", "llama3"},
                                 {"factor", r.factor},
                                 {"low_freq_factor", r.low_frequency_factor},
                                 {"high_freq_factor", r.high_frequency_factor},
                                 {"original_max_position_embeddings", r.original_length}})
            .text;
    return "null";
}

// ---- The table: what each key means here, in the order in which they are written. It has all keys of
// GPT2Config().to_dict() in transformers 5, those of the other families, and those that older files have.

// Honoured: has `read`. Refused unless it has one value: has `only`. Else ignored, as it changes no logits.
// Written: has `write`, and the text is not empty.
struct Key {
    std::string_view name;
    unsigned families;
    void (*read)(const Json&, Keys&) = nullptr;
    std::string (*write)(const ConfigJson&) = nullptr;
    const char* only = nullptr;
    const char* why = "";
};
using J = const Json;
using C = ConfigJson;

constexpr Key refused(std::string_view name, unsigned families, const char* only, const char* why) {
    return {name, families, nullptr, nullptr, only, why};
}
constexpr Key ignored(std::string_view name, unsigned families, const char* why,
                      std::string (*write)(const ConfigJson&) = nullptr) {
    return {name, families, nullptr, write, nullptr, why};
}

// A key that is one member: visit(f, config) calls f(config.member, how to read it).
struct Reader {
    const Json& json;
    template <class T, class R>
    void operator()(T& member, R (*read)(const Json&)) const {
        member = static_cast<T>(read(json));
    }
};
struct Writer {
    std::string& text;
    template <class T, class R>
    void operator()(const T& member, R (*)(const Json&)) const {
        text = json_of(member);
    }
};
template <class Visit>
constexpr Key member(std::string_view name, unsigned families, Visit) {
    return {name, families, [](const Json& json, Keys& k) { Visit()(Reader{json}, k); },
            [](const ConfigJson& c) {
                std::string text;
                Visit()(Writer{text}, c);
                return text;
            }};
}
constexpr auto kMaxPositionsKey = [](auto f, auto& c) { f(c.max_positions, size); };
constexpr auto kLayersKey = [](auto f, auto& c) { f(c.n_layers, layers); };
constexpr auto kWidthKey = [](auto f, auto& c) { f(c.block.d_model, size); };
constexpr auto kHeadsKey = [](auto f, auto& c) { f(c.block.n_heads, size); };
constexpr auto kActivationKey = [](auto f, auto& c) { f(c.block.activation, activation); };
constexpr auto kEpsKey = [](auto f, auto& c) { f(c.block.norm_eps, positive); };
constexpr auto kAttentionDropoutKey = [](auto f, auto& c) { f(c.block.dropout.attention, rate); };
// Only read: GPT-2's sizes under the names that the others have, as transformers takes them.
template <class Visit>
constexpr Key other_name(std::string_view name, unsigned families, Visit visit) {
    Key key = member(name, families, visit);
    key.write = nullptr;
    return key;
}
constexpr unsigned kNotGpt2 = kBert | kRotary;

constexpr Key kKeys[] = {
    ignored("model_type", kAll, "is read before all others",
            [](const C& c) { return quote(kFamilyNames[static_cast<int>(c.family)]); }),
    {"architectures", kAll, architectures, [](const C& c) { return "[" + quote(architecture(c)) + "]"; }},
    ignored("torch_dtype", kAll, "the older name of dtype", [](const C&) { return quote("float32"); }),
    member("vocab_size", kAll, [](auto f, auto& c) { f(c.vocabulary, size); }),
    member("n_positions", kGpt2, kMaxPositionsKey),
    member("max_position_embeddings", kNotGpt2, kMaxPositionsKey),
    other_name("max_position_embeddings", kGpt2, kMaxPositionsKey),
    member("n_embd", kGpt2, kWidthKey),
    member("hidden_size", kNotGpt2, kWidthKey),
    other_name("hidden_size", kGpt2, kWidthKey),
    member("n_layer", kGpt2, kLayersKey),
    member("num_hidden_layers", kNotGpt2, kLayersKey),
    other_name("num_hidden_layers", kGpt2, kLayersKey),
    member("n_head", kGpt2, kHeadsKey),
    member("num_attention_heads", kNotGpt2, kHeadsKey),
    other_name("num_attention_heads", kGpt2, kHeadsKey),
    member("num_key_value_heads", kRotary, [](auto f, auto& c) { f(c.block.n_kv_heads, size_or_null); }),
    member("head_dim", kRotary, [](auto f, auto& c) { f(c.block.head_dim, size_or_null); }),
    member("n_inner", kGpt2, [](auto f, auto& c) { f(c.block.d_ff, size_or_null); }),
    member("intermediate_size", kNotGpt2, [](auto f, auto& c) { f(c.block.d_ff, size); }),
    member("activation_function", kGpt2, kActivationKey),
    member("hidden_act", kNotGpt2, kActivationKey),
    member("layer_norm_epsilon", kGpt2, kEpsKey),
    member("layer_norm_eps", kBert, kEpsKey),
    member("rms_norm_eps", kRotary, kEpsKey),
    {"attention_bias", kLlama,
     [](J& j, Keys& k) { k.block.attention_bias = k.block.attention_out_bias = j.boolean(); },
     [](const C& c) { return json_of(c.block.attention_bias); }},
    member("mlp_bias", kLlama, [](auto f, auto& c) { f(c.block.feed_forward_bias, boolean); }),
    {"rope_theta", kRotary, [](J& j, Keys& k) { k.rope_theta = positive(j); },
     [](const C& c) { return json_of(c.block.rotary.base); }},
    {"rope_parameters", kRotary, [](J& j, Keys& k) { k.rope_parameters = rope(j); }},
    {"rope_scaling", kRotary, [](J& j, Keys& k) { k.rope_scaling = rope(j); }, rope_scaling_of},
    {"original_max_position_embeddings", kRotary, [](J& j, Keys& k) { k.rope_original_length = size(j); }},
    {"sliding_window", kMistral | kQwen2,
     [](J& j, Keys& k) { k.sliding_window = j.is_null() ? std::nullopt : std::optional(size(j)); },
     [](const C& c) { return c.window > 0 ? json_of(c.window) : "null"; }},
    {"use_sliding_window", kQwen2, [](J& j, Keys& k) { k.use_sliding_window = j.boolean(); },
     [](const C& c) { return json_of(c.window > 0); }},
    {"max_window_layers", kQwen2, [](J& j, Keys& k) { k.max_window_layers = between(j, 0, INT32_MAX); }},
    {"layer_types", kQwen2, [](J& j, Keys& k) { k.sliding_layers = layer_types(j); }, layer_types_of},
    member("type_vocab_size", kBert, [](auto f, auto& c) { f(c.token_types, size); }),
    member("embd_pdrop", kGpt2, [](auto f, auto& c) { f(c.block.dropout.embeddings, rate); }),
    member("resid_pdrop", kGpt2, [](auto f, auto& c) { f(c.block.dropout.sublayers, rate); }),
    member("attn_pdrop", kGpt2, kAttentionDropoutKey),
    {"hidden_dropout_prob", kBert,
     [](J& j, Keys& k) { k.block.dropout.embeddings = k.block.dropout.sublayers = rate(j); },
     [](const C& c) { return json_of(c.block.dropout.sublayers); }},
    member("attention_probs_dropout_prob", kBert, kAttentionDropoutKey),
    member("attention_dropout", kRotary, kAttentionDropoutKey),
    {"classifier_dropout", kBert, [](J& j, Keys& k) { k.pooled_dropout = j.is_null() ? -1 : rate(j); },
     [](const C& c) { return c.pooled_dropout < 0 ? "null" : json_of(c.pooled_dropout); }},
    {"id2label", kBert, [](J& j, Keys& k) { k.labels = labels(j); },
     [](const C& c) { return labels_of(c, true); }},
    ignored("label2id", kAll, "is id2label the other way round",
            [](const C& c) { return labels_of(c, false); }),
    {"num_labels", kBert, [](J& j, Keys& k) { k.n_labels = between(j, 1, 1 << 16); }},
    {"problem_type", kBert, [](J& j, Keys& k) { k.problem_type = j.text_or(""); },
     [](const C& c) {
         return c.kind == Kind::classifier ? quote("single_label_classification") : std::string();
     }},
    member("tie_word_embeddings", kAll, [](auto f, auto& c) { f(c.tied, boolean); }),
    {"bos_token_id", kAll, [](J& j, Keys& k) { k.start_id = id(j); },
     [](const C& c) { return id_or_null(c.start); }},
    {"eos_token_id", kAll, [](J& j, Keys& k) { k.end_ids = ids(j); }, ends_of},
    {"pad_token_id", kAll, [](J& j, Keys& k) { k.pad_id = id(j); },
     [](const C& c) { return id_or_null(c.specials.pad); }},

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

    ignored("dtype", kAll, "the file of the weights says of what type they are; we compute in float32"),
    ignored("initializer_range", kAll, "is for initial values"),
    ignored("reorder_and_upcast_attn", kGpt2, "is for half precision"),
    ignored("pretraining_tp", kLlama, "splits products, for many processes; transformers 5 does not use it"),
    ignored("chunk_size_feed_forward", kAll, "saves memory"),
    ignored("gradient_checkpointing", kAll, "saves memory in training"),
    ignored("use_cache", kAll, "saves time in generation"),
    ignored("return_dict", kAll, "is about Python's return values"),
    ignored("output_attentions", kAll, "is about Python's return values"),
    ignored("output_hidden_states", kAll, "is about Python's return values"),
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

// Of GPT2Config(), BertConfig(), LlamaConfig(), MistralConfig() and Qwen2Config() in transformers 5. The
// first two are the presets.
Keys defaults(Family family) {
    Keys k;
    k.family = family;
    static_cast<Config&>(k) = family == Family::gpt2 ? gpt2() : family == Family::bert ? bert() : llama();
    if (family == Family::gpt2) {
        k.start_id = 50256;
        k.end_ids = {50256};
        k.block.d_ff = 0;
    } else if (family == Family::bert) {
        k.pad_id = 0;
    } else {
        const bool qwen2 = family == Family::qwen2, mistral = family == Family::mistral;
        k.vocabulary = qwen2 ? 151936 : 32000;
        k.max_length = qwen2 ? 32768 : mistral ? 131072 : 2048;
        k.n_layers = k.block.n_heads = 32;
        k.block.d_model = 4096;
        k.block.n_kv_heads = qwen2 ? 32 : mistral ? 8 : 0;
        k.block.d_ff = qwen2 ? 22016 : mistral ? 14336 : 11008;
        k.block.norm_eps = Real(1e-6);
        k.block.rotary = {};
        k.block.attention_bias = qwen2;
        k.block.attention_out_bias = k.tied = false;
        if (!qwen2) {
            k.start_id = 1;
            k.end_ids = {2};
        }
    }
    k.max_positions = k.max_length;
    return k;
}

std::string_view architecture(const ConfigJson& c) {
    if (c.family == Family::plaingrad)
        return name_of(c.kind);
    for (const Architecture& a : kArchitectures)
        if (a.family == c.family && a.kind == c.kind && a.bare == c.bare)
            return a.name;
    throw autograd::Error(join("[hugging_face] ", kFamilyNames[static_cast<int>(c.family)], " has no ",
                               name_of(c.kind), "; see models/saved.h"));
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

std::string written(const ConfigJson& config) {
    std::string text;
    const auto add = [&](std::string_view name, const std::string& value) {
        text += join(text.empty() ? "{\n  " : ",\n  ", quote(name), ": ", value);
    };
    if (config.family == Family::plaingrad) {
        add("model_type", quote("plaingrad"));
        for (const auto& [name, value] : fields_of(config))
            add(name, value);
        if (config.kind == Kind::classifier)
            add("labels", json_of(config.labels));
        if (config.kind == Kind::causal)
            add("lines", json_of(config.lines));
    }
    for (const Key& key : kKeys)
        if ((key.families & of(config.family)) != 0 && key.write != nullptr)
            if (const std::string value = key.write(config); !value.empty())
                add(key.name, value);
    return text + "\n}\n";
}

}  // namespace plaingrad::models::hugging_face
