#include "models/hugging_face/config.h"

#include <algorithm>

#include "models/hugging_face/keys.h"
#include "models/hugging_face/stack.h"

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
    check_file(k.head_dim > 0 || k.d_model % k.n_heads == 0, path, ": \"", gpt2 ? "n_embd" : "hidden_size",
               "\" must be a multiple of \"", gpt2 ? "n_head" : "num_attention_heads", "\": got ", k.d_model,
               " and ", k.n_heads);
    k.head_dim = k.head_dim > 0 ? k.head_dim : k.d_model / k.n_heads;
    check_file(!is_rotary(k.family) || k.head_dim % 2 == 0, path,
               ": \"head_dim\" must be even, as rotary positions rotate pairs: got ", k.head_dim);
    k.n_kv_heads = k.n_kv_heads > 0 ? k.n_kv_heads : k.n_heads;
    check_file(k.n_heads % k.n_kv_heads == 0, path,
               ": \"num_attention_heads\" must be a multiple of \"num_key_value_heads\": got ", k.n_heads,
               " and ", k.n_kv_heads);
    k.d_ff = k.d_ff > 0 ? k.d_ff : 4 * k.d_model;
}

// As transformers has it: the older "rope_scaling", if there is one, stands instead of "rope_parameters". A
// base or a length that is missing there may stand beside it.
void resolve_rope(const std::string& path, Keys& k) {
    const bool older = k.rope_scaling.given;
    const RopeKeys& given = older ? k.rope_scaling : k.rope_parameters;
    const auto required = [&](const char* name, std::optional<double> value) {
        check_file(value.has_value(), path, ": \"", older ? "rope_scaling" : "rope_parameters",
                   "\" has no \"", name, "\", which this type needs");
        return *value;
    };
    const std::string& type = given.rope_type.empty() ? given.type : given.rope_type;
    k.rope.base = static_cast<Real>(given.theta.value_or(k.rope_theta));
    if (type == "" || type == "default")
        return;
    k.rope.factor = static_cast<Real>(required("factor", given.factor));
    k.rope.scaling = type == "linear" ? nn::RotaryScaling::linear : nn::RotaryScaling::llama3;
    if (type == "linear")
        return;
    k.rope.low_frequency_factor = static_cast<Real>(required("low_freq_factor", given.low_freq_factor));
    k.rope.high_frequency_factor = static_cast<Real>(required("high_freq_factor", given.high_freq_factor));
    check_file(k.rope.low_frequency_factor < k.rope.high_frequency_factor, path,
               ": \"low_freq_factor\" must be below \"high_freq_factor\": got ", k.rope.low_frequency_factor,
               " and ", k.rope.high_frequency_factor);
    k.rope.original_length = k.rope_original_length > 0  ? k.rope_original_length
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
    k.max_positions = k.max_length;
    if (!slides || !k.sliding_window || *k.sliding_window >= k.max_length) {
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
    k.pad = one("pad_token_id", k.pad_id);
    k.ends = valid_ids("eos_token_id", k.end_ids, k.vocabulary, k.notes);
}

void resolve_classes(const std::string& path, Keys& k) {
    if (k.family == Family::bert)  // of a new classifier, too
        k.classifier_dropout = k.own_classifier_dropout.value_or(k.dropout.sublayers);
    if (k.head != Head::classifier) {
        k.labels.clear();
        return;
    }
    check_file(k.problem_type.empty() || k.problem_type == "single_label_classification", path,
               ": \"problem_type\" must be single_label_classification: got ", shown(k.problem_type));
    if (k.labels.empty())
        for (int64_t i = 0; i < k.n_labels; ++i)
            k.labels.push_back(autograd::join("LABEL_", i));
    check_file(k.labels.size() >= 2, path, ": \"id2label\" must name two classes or more");
}

}  // namespace

// What each key may be, and the model may not: 1e-60 is positive, but 0 as a float.
static void check_model(const std::string& path, const Config& c) {
    try {
        check_config(stack(c));
    } catch (const autograd::Error& error) {
        throw nn::checkpoint::FileError(path + ": " + error.what());
    }
}

Config read_config(const std::string& path) {
    const Json json = Json::open(path);
    Keys keys = defaults(family_of(json));
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

}  // namespace plaingrad::models::hugging_face
