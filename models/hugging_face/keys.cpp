#include <algorithm>
#include <map>
#include <set>

#include "autograd/base/list.h"
#include "models/hugging_face/families.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::models::hugging_face {
namespace {

using autograd::join;

// ---- Values, read.

// Sizes and numbers of something, whose products fit into 64 bits. Whether they are right, the shapes of the
// tensors will tell.
int64_t size(const Json& json) { return json.between(1, INT32_MAX); }
// Each layer takes memory before a tensor of it was found.
int64_t few(const Json& json) { return json.count(10'000); }

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

// The first name of each is written.
constexpr std::pair<std::string_view, nn::Activation> kActivations[] = {
    {"relu", nn::Activation::relu},
    {"gelu", nn::Activation::gelu},
    {"gelu_new", nn::Activation::gelu_tanh},
    {"silu", nn::Activation::silu},
    {"gelu_python", nn::Activation::gelu},
    {"gelu_pytorch_tanh", nn::Activation::gelu_tanh},
    {"gelu_python_tanh", nn::Activation::gelu_tanh},
    {"swish", nn::Activation::silu}};
nn::Activation named_activation(const Json& json) {
    const auto* found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                     [&](const auto& known) { return known.first == json.view(); });
    json.require(found != std::end(kActivations), json.shown(),
                 " is not supported; there are relu, gelu, gelu_new, gelu_pytorch_tanh and silu");
    return found->second;
}

// {"0":"negative","1":"positive"}: all numbers from 0, in any order.
std::vector<std::string> read_labels(const Json& json) {
    std::map<std::string, std::string, std::less<>> by_number;
    for (const Json& label : json.members())
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

// ---- Values, written.

template <class T>
std::string json_of(const T& value) {
    return JsonText(value).text;
}
std::string json_of(nn::Activation value) {
    return json_of(std::find_if(std::begin(kActivations), std::end(kActivations), [&](const auto& known) {
                       return known.second == value;
                   })->first);
}

// ---- Keys that are one number, or one name.

// null: the value that null stands for, if it may be null.
template <class T, class Read>
void single(Value& v, T& member, Read read, std::optional<std::type_identity_t<T>> null = {}) {
    if (v.file == nullptr)
        v.text = null == member ? "null" : json_of(member);
    else if (!v.json.is_missing())
        member = null && v.json.is_null() ? *null : static_cast<T>(std::invoke(read, v.json));
}

}  // namespace

void vocabulary(Value& v, ConfigJson& c) { single(v, c.vocabulary, size); }
void width(Value& v, ConfigJson& c) { single(v, c.block.d_model, size); }
void layer_count(Value& v, ConfigJson& c) { single(v, c.n_layers, few); }
void head_count(Value& v, ConfigJson& c) { single(v, c.block.n_heads, size); }
void kv_heads(Value& v, ConfigJson& c) { single(v, c.block.n_kv_heads, size, 0); }
void head_width(Value& v, ConfigJson& c) { single(v, c.block.head_dim, size, 0); }
void inner_width(Value& v, ConfigJson& c) { single(v, c.block.d_ff, size); }
void activation(Value& v, ConfigJson& c) { single(v, c.block.activation, named_activation); }
void norm_eps(Value& v, ConfigJson& c) { single(v, c.block.norm_eps, positive); }
void feed_forward_bias(Value& v, ConfigJson& c) { single(v, c.block.feed_forward_bias, &Json::boolean); }
void token_types(Value& v, ConfigJson& c) { single(v, c.token_types, size); }
void tied(Value& v, ConfigJson& c) { single(v, c.tied, &Json::boolean); }
void rope_theta(Value& v, ConfigJson& c) { single(v, c.block.rotary.base, positive); }
void embedding_dropout(Value& v, ConfigJson& c) { single(v, c.block.dropout.embeddings, rate); }
void sublayer_dropout(Value& v, ConfigJson& c) { single(v, c.block.dropout.sublayers, rate); }
void attention_dropout(Value& v, ConfigJson& c) { single(v, c.block.dropout.attention, rate); }
void pooled_dropout(Value& v, ConfigJson& c) { single(v, c.pooled_dropout, rate, -1); }

void hidden_dropout(Value& v, ConfigJson& c) {
    single(v, c.block.dropout.sublayers, rate);
    c.block.dropout.embeddings = c.block.dropout.sublayers;
}
void attention_bias(Value& v, ConfigJson& c) {
    single(v, c.block.attention_bias, &Json::boolean);
    c.block.attention_out_bias = c.block.attention_bias;
}
void positions(Value& v, ConfigJson& c) {
    single(v, c.max_positions, size);
    c.max_length = c.max_positions;
}
// null, which is usual: four times the model's.
void inner_width_or_four(Value& v, ConfigJson& c) {
    c.block.d_ff = v.file != nullptr ? 4 * c.block.d_model : c.block.d_ff;
    if (v.file == nullptr || !v.json.is_null())
        inner_width(v, c);
}

// The first of the list names the class that wrote the weights.
void architectures(Value& v, ConfigJson& c) {
    if (v.file == nullptr) {
        v.text = "[" + quote(architecture(c)) + "]";
        return;
    }
    const Json::Items names = v.json.is_null() ? Json::Items() : v.json.items();
    c.names_class = !names.empty();
    if (names.empty())
        return;
    const std::vector<Architecture>& known = family_of(c.family).architectures;
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const Architecture& a) { return a.name == names[0].view(); });
    v.json.require(found != known.end(), names[0].shown(), " is not supported; there are ",
                   nn::checkpoint::listed(autograd::mapped(known, &Architecture::name)));
    c.kind = found->kind;
    c.bare = found->bare;
}

// ---- Rotary positions.

static JsonText written_rope(const nn::RotaryOptions& r) {
    const bool llama3 = r.scaling == nn::RotaryScaling::llama3;
    std::vector<JsonText::Member> all = {{"rope_type", llama3 ? "llama3" : "linear"}, {"factor", r.factor}};
    if (llama3)
        all.insert(all.end(), {{"low_freq_factor", r.low_frequency_factor},
                               {"high_freq_factor", r.high_frequency_factor},
                               {"original_max_position_embeddings", r.original_length}});
    return r.scaling == nn::RotaryScaling::none ? nullptr : JsonText::object(all);
}

// "rope_parameters" since transformers 5. As there, the older "rope_scaling", if there is one, stands
// instead. A base or a length that is missing may stand beside it. The older names are written.
void rope(Value& v, ConfigJson& c) {
    nn::RotaryOptions& r = c.block.rotary;
    if (v.file == nullptr) {
        v.text = written_rope(r).text;
        return;
    }
    const Json older = (*v.file)["rope_scaling"];
    const Json json = older.is_null() || older.shown() == "{}" ? (*v.file)["rope_parameters"] : older;
    if (json.is_null())
        return;
    const Json base = json["rope_theta"], factor = json["factor"], low = json["low_freq_factor"],
               high = json["high_freq_factor"], partial = json["partial_rotary_factor"],
               inside = json["original_max_position_embeddings"], old_type = json["type"],
               new_type = json["rope_type"], type = new_type.is_null() ? old_type : new_type;
    json.check_all_used();
    partial.require(partial.is_null() || partial.real() == 1, "is not supported; whole heads are rotated");
    const auto number = [](const Json& value) { return static_cast<Real>(value.real()); };
    r.base = base.is_null() ? r.base : number(base);
    const std::string name = type.text_or("default");
    type.require(name == "default" || name == "linear" || name == "llama3", type.shown(),
                 " is not supported; there are default, linear and llama3");
    if (name == "default")
        return;
    r.scaling = name == "linear" ? nn::RotaryScaling::linear : nn::RotaryScaling::llama3;
    r.factor = number(factor);
    if (name == "linear")
        return;
    r.low_frequency_factor = number(low);
    r.high_frequency_factor = number(high);
    const Json beside = (*v.file)["original_max_position_embeddings"];
    r.original_length = !beside.is_null() ? size(beside) : inside.is_null() ? c.max_positions : size(inside);
}

// The sliding window: how many tokens back all layers see. In texts no longer than it, these are all of them.
void window(Value& v, ConfigJson& c) {
    single(v, c.window, size, 0);
    if (v.file == nullptr || c.window == 0)
        return;
    if (c.window >= c.max_positions) {
        c.window = 0;
        return;
    }
    c.notes.push_back(join("texts of up to ", c.window, " tokens, instead of ", c.max_length,
                           ": in longer ones attention would have to see only its sliding_window"));
    c.max_length = c.window;
}

// ---- Classes. Other models than classifiers have none, whatever their file says.

void labels(Value& v, ConfigJson& c) {
    if (c.kind != Kind::classifier)
        return;
    if (v.file == nullptr) {
        std::vector<JsonText::Member> all;
        for (std::size_t i = 0; i < c.labels.size(); ++i)
            all.emplace_back(std::to_string(i), c.labels[i]);
        v.text = JsonText::object(all).text;
        return;
    }
    const Json number = (*v.file)["num_labels"];
    const int64_t n = number.is_null() ? 2 : number.between(1, 1 << 16);
    for (int64_t i = 0; i < n; ++i)
        c.labels.push_back(join("LABEL_", i));
    if (!v.json.is_null())
        c.labels = read_labels(v.json);
    c.classes = std::ssize(c.labels);
    c.pooling = Pooling::pooler;
}

// The other way round. It is not read.
void label_numbers(Value& v, ConfigJson& c) {
    if (v.file != nullptr || c.kind != Kind::classifier)
        return;
    std::vector<JsonText::Member> all;
    for (std::size_t i = 0; i < c.labels.size(); ++i)
        all.emplace_back(c.labels[i], i);
    v.text = JsonText::object(all).text;
}

void problem_type(Value& v, ConfigJson& c) {
    constexpr const char* kOnly = "single_label_classification";
    if (c.kind != Kind::classifier)
        return;
    if (v.file == nullptr)
        v.text = quote(kOnly);
    else if (!v.json.is_null())
        v.json.require(v.json.view() == kOnly, "must be ", kOnly, ": got ", v.json.shown());
}

// ---- Special ids. One beyond the vocabulary, often -1, means that there is none.

static void ids(Value& v, ConfigJson& c, std::vector<int32_t>& all) {
    if (v.file == nullptr)
        v.text = all.empty() ? "null" : all.size() == 1 ? json_of(all[0]) : json_of(all);
    else
        all = valid_ids(v.name,
                        v.json.is_missing() ? std::vector<int64_t>(all.begin(), all.end())
                                            : autograd::mapped(listed_in(v.json), &Json::integer),
                        c.vocabulary, c.notes);
}

static void one_id(Value& v, ConfigJson& c, int32_t& id) {
    std::vector<int32_t> all(id < 0 ? 0 : 1, id);
    ids(v, c, all);
    id = all.empty() ? -1 : all[0];
}
void start_id(Value& v, ConfigJson& c) { one_id(v, c, c.start); }
void pad_id(Value& v, ConfigJson& c) { one_id(v, c, c.specials.pad); }

void end_ids(Value& v, ConfigJson& c) {
    std::vector<int32_t>& ends = c.specials.ends;
    ids(v, c, ends);
    c.specials.start = c.start >= 0 ? c.start : ends.empty() ? 0 : ends[0];
}

// ---- What generation_config.json needs, too.

void check_others(const Json::Items& members, const std::vector<Refused>& refused, const Ignored& ignored,
                  std::vector<std::string>& notes) {
    std::vector<std::string> unknown;
    for (const Json& member : members) {
        const auto known = std::find_if(refused.begin(), refused.end(),
                                        [&](const Refused& r) { return r.name == member.name(); });
        if (known != refused.end()) {
            const std::string value =
                member.kind() == Json::Kind::number ? nn::checkpoint::to_text(member.real()) : member.shown();
            const bool nothing = value == "null" || value == "\"\"" || value == "[]" || value == "{}";
            member.require(value == known->only || (nothing && known->only != std::string_view("true")),
                           "must be ", known->only, ", as ", known->why, ": got ", value);
        } else if (std::find(ignored.begin(), ignored.end(), member.name()) == ignored.end()) {
            unknown.push_back(shown(member.name(), 40));
        }
    }
    if (!unknown.empty())
        notes.push_back("keys that transformers does not know are ignored: " +
                        nn::checkpoint::listed_few(unknown));
}

std::vector<int32_t> valid_ids(std::string_view name, const std::vector<int64_t>& ids, int64_t vocabulary,
                               std::vector<std::string>& notes) {
    std::vector<int32_t> valid;
    for (const int64_t id : ids)
        if (id >= 0 && id < vocabulary)
            valid.push_back(static_cast<int32_t>(id));
        else
            notes.push_back(join(name, " ", id, " is ignored: there are the ids 0 to ", vocabulary - 1));
    return valid;
}

Json::Items listed_in(const Json& json) {
    if (json.kind() == Json::Kind::array)
        return json.items();
    return json.is_null() ? Json::Items() : Json::Items{json};
}

}  // namespace plaingrad::models::hugging_face
