#include "models/hugging_face/config.h"

#include <algorithm>
#include <concepts>
#include <span>

#include "models/hugging_face/keys.h"

namespace plaingrad::models::hugging_face {
namespace {

using nn::checkpoint::check_file;
using nn::checkpoint::shown;

bool is_rotary(Family family) { return family != Family::gpt2 && family != Family::bert; }

Family family_of(const Json& config) {
    std::string names;
    for (const char* const name : kFamilyNames)
        names.append(names.empty() ? "" : ", ").append(name);
    const Json type = config["model_type"];
    type.require(!type.is_null(), "is missing; it must be one of ", names);
    const auto* family = std::find(std::begin(kFamilyNames), std::end(kFamilyNames), type.view());
    type.require(family != std::end(kFamilyNames), type.shown(), " is not supported; there are ", names);
    return static_cast<Family>(family - kFamilyNames);
}

void resolve_sizes(const std::string& path, Keys& k) {
    const bool gpt2 = k.family == Family::gpt2;
    BlockConfig& b = k.block;
    check_file(b.head_dim > 0 || b.d_model % b.n_heads == 0, path, ": \"", gpt2 ? "n_embd" : "hidden_size",
               "\" must be a multiple of \"", gpt2 ? "n_head" : "num_attention_heads", "\": got ", b.d_model,
               " and ", b.n_heads);
    b.head_dim = b.head_dim > 0 ? b.head_dim : b.d_model / b.n_heads;
    check_file(!is_rotary(k.family) || b.head_dim % 2 == 0, path,
               ": \"head_dim\" must be even, as rotary positions rotate pairs: got ", b.head_dim);
    b.n_kv_heads = b.n_kv_heads > 0 ? b.n_kv_heads : b.n_heads;
    check_file(b.n_heads % b.n_kv_heads == 0, path,
               ": \"num_attention_heads\" must be a multiple of \"num_key_value_heads\": got ", b.n_heads,
               " and ", b.n_kv_heads);
    b.d_ff = b.d_ff > 0 ? b.d_ff : 4 * b.d_model;
}

// As transformers has it: the older "rope_scaling", if there is one, stands instead of "rope_parameters". A
// base or a length that is missing there may stand beside it.
void resolve_rope(const std::string& path, Keys& k) {
    nn::RotaryOptions& r = k.block.rotary;
    const bool older = k.rope_scaling.given;
    const RopeKeys& given = older ? k.rope_scaling : k.rope_parameters;
    const auto required = [&](const char* name, std::optional<double> value) {
        check_file(value.has_value(), path, ": \"", older ? "rope_scaling" : "rope_parameters",
                   "\" has no \"", name, "\", which this type needs");
        return *value;
    };
    const std::string& type = given.rope_type.empty() ? given.type : given.rope_type;
    r.base = static_cast<Real>(given.theta.value_or(k.rope_theta));
    if (type == "" || type == "default")
        return;
    r.factor = static_cast<Real>(required("factor", given.factor));
    r.scaling = type == "linear" ? nn::RotaryScaling::linear : nn::RotaryScaling::llama3;
    if (type == "linear")
        return;
    r.low_frequency_factor = static_cast<Real>(required("low_freq_factor", given.low_freq_factor));
    r.high_frequency_factor = static_cast<Real>(required("high_freq_factor", given.high_freq_factor));
    check_file(r.low_frequency_factor < r.high_frequency_factor, path,
               ": \"low_freq_factor\" must be below \"high_freq_factor\": got ", r.low_frequency_factor,
               " and ", r.high_frequency_factor);
    r.original_length = k.rope_original_length > 0  ? k.rope_original_length
                        : given.original_length > 0 ? given.original_length
                                                    : k.max_length;
}

// A layer with a window sees that many tokens. In texts no longer than the window, these are all of them.
void resolve_window(const std::string& path, Keys& k) {
    const auto n = static_cast<int64_t>(k.sliding_layers.size());
    check_file(n == 0 || n == k.n_layers, path,
               ": \"layer_types\" must be as many as \"num_hidden_layers\": got ", n, " and ", k.n_layers);
    for (int64_t i = n; i < k.n_layers; ++i)
        k.sliding_layers.push_back(k.family == Family::mistral || i >= k.max_window_layers);
    const bool slides =
        (k.family == Family::mistral || (k.family == Family::qwen2 && k.use_sliding_window)) &&
        std::count(k.sliding_layers.begin(), k.sliding_layers.end(), true) > 0;
    k.max_length = k.max_positions;
    if (!slides || !k.sliding_window || *k.sliding_window >= k.max_positions) {
        k.sliding_layers.clear();
        return;
    }
    k.notes.push_back(autograd::join("texts of up to ", *k.sliding_window, " tokens, instead of ",
                                     k.max_length,
                                     ": in longer ones attention would have to see only its sliding_window"));
    k.max_length = k.window = *k.sliding_window;
}

// An id beyond the vocabulary, often -1, means that there is none.
void resolve_ids(Keys& k) {
    const auto one = [&](const char* name, const std::optional<int64_t>& id) {
        const auto valid = id ? valid_ids(name, {*id}, k.vocabulary, k.notes) : std::vector<int32_t>();
        return valid.empty() ? -1 : valid[0];
    };
    k.start = one("bos_token_id", k.start_id);
    k.specials.pad = one("pad_token_id", k.pad_id);
    k.specials.ends = valid_ids("eos_token_id", k.end_ids, k.vocabulary, k.notes);
    k.specials.start = k.start >= 0 ? k.start : k.specials.ends.empty() ? 0 : k.specials.ends[0];
    k.specials.never = {};
}

void resolve_classes(const std::string& path, Keys& k) {
    if (k.kind != Kind::classifier) {
        k.labels.clear();
        return;
    }
    check_file(k.problem_type.empty() || k.problem_type == "single_label_classification", path,
               ": \"problem_type\" must be single_label_classification: got ", shown(k.problem_type));
    if (k.labels.empty())
        for (int64_t i = 0; i < k.n_labels; ++i)
            k.labels.push_back(autograd::join("LABEL_", i));
    check_file(k.labels.size() >= 2, path, ": \"id2label\" must name two classes or more");
    k.classes = std::ssize(k.labels);
    k.pooling = Pooling::pooler;
}

// What each key may be, and the model may not: 1e-60 is positive, but 0 as a float.
void check_model(const std::string& path, const ConfigJson& c) {
    try {
        check_config(c);
    } catch (const autograd::Error& error) {
        throw nn::checkpoint::FileError(path + ": " + error.what());
    }
}

// A visit of the fields of Config, which writes them as JSON,
struct FieldsToJson {
    std::vector<std::pair<std::string, std::string>>& fields;
    template <class T>
    void operator()(const std::string& name, const T& value) {
        fields.emplace_back(name, JsonText(value).text);
    }
    template <class Enum>
    void operator()(const std::string& name, Enum value, std::span<const char* const> names) {
        const auto i = static_cast<std::size_t>(value);
        check(i < names.size(), "[config] ", name, ": value ", i, " of this enum has no name");
        (*this)(name, names[i]);
    }
};
// and one that reads them. One that is missing keeps its value.
struct FieldsFromJson {
    const Json& json;
    void read(const Json& j, bool& value) const { value = j.boolean(); }
    template <std::integral Integer>
    void read(const Json& j, Integer& value) const {
        const int64_t number = j.integer();
        value = static_cast<Integer>(number);
        j.require(value == number, "must be a number below 2^31: got ", number);
    }
    template <std::floating_point Number>
    void read(const Json& j, Number& value) const {
        value = static_cast<Number>(j.real());
    }
    void read(const Json& j, std::string& value) const { value = j.text(); }
    template <class T>
    void read(const Json& j, std::vector<T>& values) const {
        values.clear();
        for (const Json& item : j.items()) {
            values.emplace_back();
            read(item, values.back());
        }
    }
    template <class T>
    void operator()(const std::string& name, T& value) const {
        if (const Json j = json[name]; !j.is_null())
            read(j, value);
    }
    template <class Enum>
    void operator()(const std::string& name, Enum& value, std::span<const char* const> names) const {
        const Json j = json[name];
        if (j.is_null())
            return;
        const auto found = std::find(names.begin(), names.end(), j.view());
        j.require(found != names.end(), "has an unknown value ", j.shown());
        value = static_cast<Enum>(found - names.begin());
    }
};

// A field that does not exist here is refused: a newer version computes something else with it.
ConfigJson read_own(const Json& json, const std::string& path) {
    ConfigJson c;
    c.family = Family::plaingrad;
    const FieldsFromJson read{json};
    Config::fields(static_cast<Config&>(c), read);
    read("labels", c.labels);
    read("lines", c.lines);
    json.check_all_used();
    check_file(c.labels.empty() || std::ssize(c.labels) == c.classes, path, ": \"labels\" are ",
               c.labels.size(), ", \"classes\" ", c.classes);
    check_model(path, c);
    return c;
}

ConfigJson read(const Json& json, const std::string& path) {
    const Family family = family_of(json);
    if (family == Family::plaingrad)
        return read_own(json, path);
    Keys keys = defaults(family);
    for (const Json& member : json.members())
        read_key(member, keys);
    resolve_sizes(path, keys);
    resolve_rope(path, keys);
    resolve_window(path, keys);
    resolve_ids(keys);
    resolve_classes(path, keys);
    keys.unknown.note(keys.notes);
    check_model(path, keys);
    return keys;
}

// Whether no config.json has this field, or no model of this kind. (Files may limit max_length further.)
bool is_ours_alone(const std::string& field, Kind kind) {
    for (const char* const ours : {"never", "start", "max_length", "init", "precision", "src_vocabulary",
                                   "n_decoder_layers", "embeddings_tied"})
        if (field == ours)
            return true;
    for (const char* const of_classifiers : {"classes", "pooling", "pooled_dropout"})
        if (field == of_classifiers)
            return kind != Kind::classifier;
    return field.starts_with("dropout.");
}

}  // namespace

ConfigJson read_config(const std::string& path) { return read(Json::open(path), path); }

ConfigJson config_of(const Config& model, const ConfigJson& given) {
    ConfigJson c = given;
    static_cast<Config&>(c) = model;
    if (c.family == Family::plaingrad)
        return c;
    c.specials = given.specials;
    c.bare = model.kind == Kind::encoder || (model.kind == Kind::causal && given.bare);
    if (model.max_length != given.max_length) {
        c.max_positions = model.max_length;
        c.window = 0;
        c.sliding_layers.clear();
    }
    check(model.kind != Kind::classifier ||
              (model.pooling == Pooling::pooler && std::ssize(c.labels) == model.classes),
          "[hugging_face] BERT's classifier has a pooler, and a label for each of ", model.classes,
          " classes: got ", c.labels.size());
    c.block.n_kv_heads = c.block.n_kv_heads > 0 ? c.block.n_kv_heads : c.block.n_heads;
    c.block.head_dim = head_size(c.block);
    c.block.attention_out_bias = c.block.attention_bias && c.block.attention_out_bias;
    // Read again, it must be the same model.
    const auto must_be = fields_of(read(Json(written(c), "config.json"), "config.json"));
    auto same = must_be.begin();
    for (const auto& [field, value] : fields_of(c)) {
        const std::string& there = same++->second;
        check(is_ours_alone(field, c.kind) || there == value, "[hugging_face] in ",
              kFamilyNames[static_cast<int>(c.family)], " ", field, " is ", there, ": this model has ",
              value);
    }
    return c;
}

ConfigJson config_of(const Config& model, Family family, bool bare) {
    ConfigJson given;
    given.family = family;
    if (family == Family::plaingrad)
        return config_of(model, given);
    given.max_length = 0;
    given.bare = bare;
    given.specials = model.specials;
    given.start = model.specials.start;
    for (int64_t i = 0; i < model.classes; ++i)
        given.labels.push_back(autograd::join("LABEL_", i));
    return config_of(model, given);
}

std::vector<std::pair<std::string, std::string>> fields_of(const Config& config) {
    std::vector<std::pair<std::string, std::string>> fields;
    FieldsToJson visit{fields};
    Config::fields(config, visit);
    return fields;
}

}  // namespace plaingrad::models::hugging_face
