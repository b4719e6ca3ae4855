#include "models/hugging_face/config.h"

#include <algorithm>
#include <concepts>
#include <limits>
#include <span>

#include "autograd/base/list.h"
#include "models/hugging_face/families.h"
#include "nn/checkpoint/state_dict.h"

namespace plaingrad::models::hugging_face {
namespace {

// What each key may be, and the model may not: 1e-60 is positive, but 0 as a float.
void check_model(const std::string& path, const ConfigJson& c) {
    try {
        check_config(c);
    } catch (const autograd::Error& error) {
        throw nn::checkpoint::FileError(path + ": " +
                                        nn::checkpoint::replaced(error.what(), {{"[config] ", ""}}));
    }
}

// A visit of the fields of Config, which reads them from JSON. One that is missing keeps its value.
struct FieldsFromJson {
    const Json& json;
    void read(const Json& j, bool& value) const { value = j.boolean(); }
    template <std::integral Integer>
    void read(const Json& j, Integer& value) const {
        using Limits = std::numeric_limits<Integer>;
        value = static_cast<Integer>(j.between(Limits::min(), Limits::max()));
    }
    template <std::floating_point Number>
    void read(const Json& j, Number& value) const {
        value = static_cast<Number>(j.real());
    }
    void read(const Json& j, std::string& value) const { value = j.text(); }
    template <class T>
    void read(const Json& j, std::vector<T>& values) const {
        values.clear();
        for (const Json& item : j.items())
            read(item, values.emplace_back());
    }
    template <class T>
    void operator()(const std::string& name, T& value) const {
        if (const Json j = json[name]; !j.is_null())
            read(j, value);
    }
    template <class Enum, std::size_t n>
    void operator()(const std::string& name, Enum& value, const char* const (&names)[n]) const {
        static_assert(n == static_cast<std::size_t>(Enum::count), "each value has a name");
        const Json j = json[name];
        if (j.is_null())
            return;
        const auto found = std::find(names, names + n, j.view());
        j.require(found != names + n, "has an unknown value ", j.shown());
        value = static_cast<Enum>(found - names);
    }
};

// A field that does not exist here is refused: a newer version computes something else with it.
ConfigJson read_own(const Json& json, const std::string& path) {
    ConfigJson c;
    const FieldsFromJson read{json};
    Config::fields(static_cast<Config&>(c), read);
    read("labels", c.labels);
    read("lines", c.lines);
    json.check_all_used();
    json["kind"].require(!json["kind"].is_null(), "is missing: the kind of model");
    check_file(c.labels.empty() || std::ssize(c.labels) == c.classes, path, ": \"labels\" are ",
               c.labels.size(), ", \"classes\" ", c.classes);
    check_model(path, c);
    return c;
}

// What 0 stands for.
void resolve(BlockConfig& b) {
    b.n_kv_heads = b.n_kv_heads > 0 ? b.n_kv_heads : b.n_heads;
    b.head_dim = head_size(b);
}

ConfigJson read(const Json& json, const std::string& path) {
    const Json type = json["model_type"];
    auto names = autograd::mapped(families(), &Family::name);
    names.emplace_back("plaingrad");
    type.require(!type.is_null(), "is missing; it must be one of ", nn::checkpoint::listed(names));
    type.require(std::find(names.begin(), names.end(), type.view()) != names.end(), type.shown(),
                 " is not supported; there are ", nn::checkpoint::listed(names));
    if (type.view() == "plaingrad")
        return read_own(json, path);
    const Family& family = family_of(type.text());
    ConfigJson c = family.usual;
    c.family = family.name;
    for (const Key& key : family.keys) {  // in the table's order, as some need those before them
        const Json own = json[key.name], other = json[key.other];
        Value value = {.name = key.name, .file = &json, .json = other.is_missing() ? own : other};
        key.meaning(value, c);
    }
    check_others(json.members(), family.refused, family.ignored, c.notes);
    check_model(path, c);
    resolve(c.block);
    return c;
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
    if (c.is_ours())
        return c;
    c.specials = given.specials;
    c.bare = model.kind == Kind::encoder || (model.kind == Kind::causal && given.bare);
    if (model.max_length != given.max_length) {
        c.max_positions = model.max_length;
        c.window = 0;
    }
    resolve(c.block);
    c.block.attention_out_bias = c.block.attention_bias && c.block.attention_out_bias;
    // Read again, it must be the same model.
    const auto must_be = fields_of(read(Json(written(c), "config.json"), "config.json"));
    auto same = must_be.begin();
    for (const auto& [field, value] : fields_of(c)) {
        const std::string& there = same++->second;
        check(is_ours_alone(field, c.kind) || there == value, "[hugging_face] in ", c.family, " ", field,
              " is ", there, ": this model has ", value);
    }
    return c;
}

ConfigJson config_of(const Config& model, const std::string& family) {
    ConfigJson given;
    given.family = family;
    if (given.is_ours())
        return config_of(model, given);
    given.max_length = 0;
    given.specials = model.specials;
    given.start = model.specials.start;
    for (int64_t i = 0; i < model.classes; ++i)
        given.labels.push_back(autograd::join("LABEL_", i));
    return config_of(model, given);
}

std::string_view architecture(const ConfigJson& c) {
    if (c.is_ours())
        return name_of(c.kind);
    for (const Architecture& a : family_of(c.family).architectures)
        if (a.kind == c.kind && a.bare == c.bare)
            return a.name;
    throw autograd::Error(
        autograd::join("[hugging_face] ", c.family, " has no ", name_of(c.kind), "; see models/saved.h"));
}

std::string written(const ConfigJson& config) {
    std::string text;
    const auto add = [&](std::string_view name, const std::string& value) {
        text += autograd::join(text.empty() ? "{\n  " : ",\n  ", quote(name), ": ", value);
    };
    add("model_type", quote(config.family));
    if (config.is_ours()) {
        for (const auto& [name, value] : fields_of(config))
            add(name, value);
        if (config.kind == Kind::classifier)
            add("labels", JsonText(config.labels).text);
        if (config.kind == Kind::causal)
            add("lines", JsonText(config.lines).text);
        return text + "\n}\n";
    }
    add("torch_dtype", quote("float32"));
    ConfigJson c = config;
    for (const Key& key : family_of(c.family).keys) {
        Value value = {.name = key.name};
        key.meaning(value, c);
        if (!value.text.empty())
            add(key.name, value.text);
    }
    return text + "\n}\n";
}

std::vector<std::pair<std::string, std::string>> fields_of(const Config& config) {
    std::vector<std::pair<std::string, std::string>> fields;
    const auto add = [&](const std::string& name, const auto& value,
                         std::span<const char* const> names = {}) {
        if constexpr (std::is_enum_v<std::decay_t<decltype(value)>>)
            fields.emplace_back(name, quote(names[static_cast<std::size_t>(value)]));
        else
            fields.emplace_back(name, JsonText(value).text);
    };
    Config::fields(config, add);
    return fields;
}

}  // namespace plaingrad::models::hugging_face
