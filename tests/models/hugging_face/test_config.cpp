// config.json: every key of every family's configuration is honoured, refused by name, or ignored because it
// changes nothing.
#include "models/hugging_face/config.h"

#include <map>
#include <set>

#include "models/families/one_stack.h"
#include "nn/checkpoint/json.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/folder.h"

using namespace plaingrad;             // NOLINT
using namespace models::hugging_face;  // NOLINT
using namespace tests;                 // NOLINT
using nn::checkpoint::Json;

namespace {

using autograd::join;

// Everything that was read, in one line.
std::string described(const ConfigJson& c) {
    std::string ends, labels;
    for (const int32_t id : c.specials.ends)
        ends += join(id, ",");
    for (const std::string& label : c.labels)
        labels += label + ",";
    const models::BlockConfig& b = c.block;
    const nn::RotaryOptions& r = b.rotary;
    return join(c.family, " kind=", static_cast<int>(c.kind), " bare=", c.bare, " vocabulary=", c.vocabulary,
                " max_length=", c.max_length, " n_layers=", c.n_layers, " d_model=", b.d_model,
                " n_heads=", b.n_heads, " n_kv_heads=", b.n_kv_heads, " head_dim=", b.head_dim,
                " d_ff=", b.d_ff, " activation=", autograd::kActivationNames[static_cast<int>(b.activation)],
                " norm_eps=", b.norm_eps, " biases=", b.attention_bias, b.attention_out_bias,
                b.feed_forward_bias, " tied=", c.tied) +
           join(" rope=", r.base, ",", static_cast<int>(r.scaling), ",", r.factor, ",",
                r.low_frequency_factor, ",", r.high_frequency_factor, ",", r.original_length,
                " token_types=", c.token_types, " dropout=", b.dropout.embeddings, ",", b.dropout.sublayers,
                ",", b.dropout.attention, ",", c.pooled_dropout, " start=", c.start, " pad=", c.specials.pad,
                " ends=", ends, " labels=", labels);
}

ConfigJson read(const std::string& text) {
    const Folder folder;
    return read_config(folder.write("config.json", text));
}

// The error without the folder; "" if there is none.
std::string complaint(const std::string& text) {
    const std::string error = error_of([&] { read(text); });
    const std::size_t name = error.find("config.json: ");
    CHECK((error.empty() || name != error.npos));
    CHECK_FALSE(contains(error, "\n"));
    return error.empty() ? "" : error.substr(name);
}

std::string as_text(const Json& json) {
    std::string out;
    const auto add = [&](const std::string& item) { out += (out.empty() ? "" : ",") + item; };
    if (json.kind() == Json::Kind::object)
        for (const Json& member : json.members())
            add(nn::checkpoint::quote(member.name()) + ":" + as_text(member));
    else if (json.kind() == Json::Kind::array)
        for (const Json& item : json.items())
            add(as_text(item));
    else
        return json.shown();
    return json.kind() == Json::Kind::object ? "{" + out + "}" : "[" + out + "]";
}

// The object with these members instead of those of the same name, or added.
std::string with(const std::string& text, const std::map<std::string, std::string>& members) {
    std::string out = "{";
    for (const Json& member : Json(text, "golden").members())
        if (!members.contains(std::string(member.name())))
            out += nn::checkpoint::quote(member.name()) + ":" + as_text(member) + ",";
    for (const auto& [key, value] : members)
        out += nn::checkpoint::quote(key) + ":" + value + ",";
    out.back() = '}';
    return out;
}

// What transformers 5.23 prints: json.dumps(GPT2Config().to_dict()), and the same of the others (of Qwen2
// with two layers). And what it should become, printed by a program from the same objects' attributes.
struct Golden {
    const char *text, *described;
};
const Golden kGolden[] = {
    {R"({"transformers_version": "5.23.0", "architectures": null, "output_hidden_states": false, )"
     R"("return_dict": true, "dtype": null, "chunk_size_feed_forward": 0, "is_encoder_decoder": )"
     R"(false, "id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "label2id": {"LABEL_0": 0, )"
     R"("LABEL_1": 1}, "problem_type": null, "vocab_size": 50257, "n_positions": 1024, "n_embd": )"
     R"(768, "n_layer": 12, "n_head": 12, "n_inner": null, "activation_function": "gelu_new", )"
     R"("resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1, "layer_norm_epsilon": 1e-05, )"
     R"("initializer_range": 0.02, "summary_type": "cls_index", "summary_use_proj": true, )"
     R"("summary_activation": null, "summary_proj_to_labels": true, "summary_first_dropout": )"
     R"(0.1, "scale_attn_weights": true, "use_cache": true, "bos_token_id": 50256, )"
     R"("eos_token_id": 50256, "pad_token_id": null, "scale_attn_by_inverse_layer_idx": false, )"
     R"("reorder_and_upcast_attn": false, "add_cross_attention": false, "tie_word_embeddings": )"
     R"(true, "_name_or_path": "", "model_type": "gpt2", "output_attentions": false})",
     "gpt2 kind=1 bare=0 vocabulary=50257 max_length=1024 n_layers=12 d_model=768 n_heads=12 "
     "n_kv_heads=12 head_dim=64 d_ff=3072 activation=gelu_tanh norm_eps=1e-05 biases=111 "
     "tied=1 rope=10000,0,1,1,4,8192 token_types=0 dropout=0.1,0.1,0.1,-1 start=50256 pad=-1 "
     "ends=50256, labels="},
    {R"({"transformers_version": "5.23.0", "architectures": null, "output_hidden_states": false, )"
     R"("return_dict": true, "dtype": null, "chunk_size_feed_forward": 0, "is_encoder_decoder": )"
     R"(false, "id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "label2id": {"LABEL_0": 0, )"
     R"("LABEL_1": 1}, "problem_type": null, "vocab_size": 30522, "hidden_size": 768, )"
     R"("num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, )"
     R"("hidden_act": "gelu", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, )"
     R"("max_position_embeddings": 512, "type_vocab_size": 2, "initializer_range": 0.02, )"
     R"("layer_norm_eps": 1e-12, "pad_token_id": 0, "use_cache": true, "classifier_dropout": )"
     R"(null, "is_decoder": false, "add_cross_attention": false, "bos_token_id": null, )"
     R"("eos_token_id": null, "tie_word_embeddings": true, "_name_or_path": "", "model_type": )"
     R"("bert", "output_attentions": false})",
     "bert kind=2 bare=0 vocabulary=30522 max_length=512 n_layers=12 d_model=768 n_heads=12 "
     "n_kv_heads=12 head_dim=64 d_ff=3072 activation=gelu_erf norm_eps=1e-12 biases=111 tied=1 "
     "rope=10000,0,1,1,4,8192 token_types=2 dropout=0.1,0.1,0.1,-1 start=-1 pad=0 ends= labels="},
    {R"({"transformers_version": "5.23.0", "architectures": null, "output_hidden_states": false, )"
     R"("return_dict": true, "dtype": null, "chunk_size_feed_forward": 0, "is_encoder_decoder": )"
     R"(false, "id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "label2id": {"LABEL_0": 0, )"
     R"("LABEL_1": 1}, "problem_type": null, "vocab_size": 32000, "hidden_size": 4096, )"
     R"("intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 32, "hidden_act": "silu", "max_position_embeddings": 2048, )"
     R"("initializer_range": 0.02, "rms_norm_eps": 1e-06, "use_cache": true, "pad_token_id": )"
     R"(null, "bos_token_id": 1, "eos_token_id": 2, "pretraining_tp": 1, "tie_word_embeddings": )"
     R"(false, "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}, )"
     R"("attention_bias": false, "attention_dropout": 0.0, "mlp_bias": false, "head_dim": 128, )"
     R"("_name_or_path": "", "model_type": "llama", "output_attentions": false})",
     "llama kind=1 bare=0 vocabulary=32000 max_length=2048 n_layers=32 d_model=4096 n_heads=32 "
     "n_kv_heads=32 head_dim=128 d_ff=11008 activation=silu norm_eps=1e-06 biases=000 tied=0 "
     "rope=10000,0,1,1,4,8192 token_types=0 dropout=0,0,0,-1 start=1 pad=-1 ends=2, labels="},
    {R"({"transformers_version": "5.23.0", "architectures": null, "output_hidden_states": false, )"
     R"("return_dict": true, "dtype": null, "chunk_size_feed_forward": 0, "is_encoder_decoder": )"
     R"(false, "id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "label2id": {"LABEL_0": 0, )"
     R"("LABEL_1": 1}, "problem_type": null, "vocab_size": 32000, "hidden_size": 4096, )"
     R"("intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 8, "head_dim": 128, "hidden_act": "silu", )"
     R"("max_position_embeddings": 131072, "initializer_range": 0.02, "rms_norm_eps": 1e-06, )"
     R"("use_cache": true, "pad_token_id": null, "bos_token_id": 1, "eos_token_id": 2, )"
     R"("tie_word_embeddings": false, "rope_parameters": {"rope_theta": 10000.0, "rope_type": )"
     R"("default"}, "sliding_window": 4096, "attention_dropout": 0.0, "_name_or_path": "", )"
     R"("model_type": "mistral", "output_attentions": false})",
     "mistral kind=1 bare=0 vocabulary=32000 max_length=4096 n_layers=32 d_model=4096 n_heads=32 "
     "n_kv_heads=8 head_dim=128 d_ff=14336 activation=silu norm_eps=1e-06 biases=000 tied=0 "
     "rope=10000,0,1,1,4,8192 token_types=0 dropout=0,0,0,-1 start=1 pad=-1 ends=2, labels="},
    {R"({"transformers_version": "5.23.0", "architectures": null, "output_hidden_states": false, )"
     R"("return_dict": true, "dtype": null, "chunk_size_feed_forward": 0, "is_encoder_decoder": )"
     R"(false, "id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "label2id": {"LABEL_0": 0, )"
     R"("LABEL_1": 1}, "problem_type": null, "vocab_size": 151936, "hidden_size": 4096, )"
     R"("intermediate_size": 22016, "num_hidden_layers": 2, "num_attention_heads": 32, )"
     R"("num_key_value_heads": 32, "hidden_act": "silu", "max_position_embeddings": 32768, )"
     R"("initializer_range": 0.02, "rms_norm_eps": 1e-06, "use_cache": true, )"
     R"("tie_word_embeddings": false, "rope_parameters": {"rope_theta": 10000.0, "rope_type": )"
     R"("default"}, "use_sliding_window": false, "sliding_window": null, "max_window_layers": )"
     R"(28, "layer_types": ["full_attention", "full_attention"], "attention_dropout": 0.0, )"
     R"("pad_token_id": null, "bos_token_id": null, "eos_token_id": null, "_name_or_path": "", )"
     R"("model_type": "qwen2", "output_attentions": false})",
     "qwen2 kind=1 bare=0 vocabulary=151936 max_length=32768 n_layers=2 d_model=4096 n_heads=32 "
     "n_kv_heads=32 head_dim=128 d_ff=22016 activation=silu norm_eps=1e-06 biases=100 tied=0 "
     "rope=10000,0,1,1,4,8192 token_types=0 dropout=0,0,0,-1 start=-1 pad=-1 ends= labels="},
};
const std::string& golden(const std::string& family) {
    static std::map<std::string, std::string> all;
    for (const Golden& g : kGolden)
        all[std::string(g.described).substr(0, std::string(g.described).find(' '))] = g.text;
    return all.at(family);
}

}  // namespace

TEST_CASE("hugging face config: the defaults of transformers", "[models][hugging_face]") {
    for (const Golden& g : kGolden) {
        const ConfigJson config = read(g.text);
        CHECK(described(config) == g.described);
        // Also if every key is missing that can be, as in files that are older than a key.
        const std::string family = config.family;
        const std::string layers = family == "qwen2" ? R"(,"num_hidden_layers":2)" : "";
        CHECK(described(read(R"({"model_type":")" + family + "\"" + layers + "}")) == g.described);
        CHECK(config.notes.size() == (family == "mistral" ? 1 : 0));
    }
    CHECK(described(read(R"({"model_type":"qwen2"})")).find(" n_layers=32 ") != std::string::npos);
}

// Each key with another value. `expected` is what then differs, "" if nothing does, or after a ! the error.
struct Change {
    const char *families, *key, *value, *expected;
};
const Change kChanges[] = {
    {"gpt2", "architectures", R"(["GPT2Model"])", "kind=1 bare=1"},
    {"bert", "architectures", R"(["BertModel"])", "kind=4 bare=1"},
    {"llama", "architectures", R"(["LlamaModel"])", "kind=1 bare=1"},
    {"mistral", "architectures", R"(["MistralModel"])", "kind=1 bare=1"},
    {"qwen2", "architectures", R"(["Qwen2Model"])", "kind=1 bare=1"},
    {"gpt2 bert llama mistral qwen2", "vocab_size", "60001", "vocabulary=60001"},
    {"gpt2", "n_positions", "77", "max_length=77"},
    {"bert llama mistral qwen2", "max_position_embeddings", "77", "max_length=77"},
    {"gpt2", "n_embd", "96", "d_model=96"},
    {"bert llama mistral qwen2", "hidden_size", "192", "d_model=192"},
    {"gpt2", "n_layer", "3", "n_layers=3"},
    {"bert llama mistral qwen2", "num_hidden_layers", "3", "n_layers=3"},
    {"gpt2", "n_head", "6", "n_heads=6"},
    {"bert llama mistral qwen2", "num_attention_heads", "64", "n_heads=64"},
    {"llama mistral qwen2", "num_key_value_heads", "4", "n_kv_heads=4"},
    {"llama mistral", "head_dim", "64", "head_dim=64"},
    {"gpt2", "n_inner", "100", "d_ff=100"},
    {"bert llama mistral qwen2", "intermediate_size", "100", "d_ff=100"},
    {"gpt2", "activation_function", "\"relu\"", "activation=relu"},
    {"bert llama mistral qwen2", "hidden_act", "\"gelu_new\"", "activation=gelu_tanh"},
    {"gpt2", "layer_norm_epsilon", "0.25", "norm_eps=0.25"},
    {"bert", "layer_norm_eps", "0.25", "norm_eps=0.25"},
    {"llama mistral qwen2", "rms_norm_eps", "0.25", "norm_eps=0.25"},
    {"llama", "attention_bias", "true", "biases=110"},
    {"llama", "mlp_bias", "true", "biases=001"},
    {"gpt2 bert", "tie_word_embeddings", "false", "tied=0"},
    {"llama mistral qwen2", "tie_word_embeddings", "true", "tied=1"},
    {"llama mistral qwen2", "rope_parameters", R"({"rope_theta":500.0,"rope_type":"default"})", "rope=500,0"},
    {"mistral", "sliding_window", "33", "max_length=33"},
    {"qwen2", "sliding_window", "33", ""},  // use_sliding_window is false
    {"qwen2", "use_sliding_window", "true", "!must be false, as each token sees all before it: got true"},
    {"qwen2", "max_window_layers", "0", ""},
    {"qwen2", "layer_types", R"(["full_attention","sliding_attention"])", ""},
    {"bert", "type_vocab_size", "3", "token_types=3"},
    {"gpt2 bert llama mistral qwen2", "bos_token_id", "7", "start=7"},
    {"gpt2 bert llama mistral qwen2", "eos_token_id", "[7,8]", "ends=7,8,"},
    {"gpt2 bert llama mistral qwen2", "pad_token_id", "7", "pad=7"},
    {"gpt2", "embd_pdrop", "0.25", "dropout=0.25,0.1,0.1,-1"},
    {"gpt2", "resid_pdrop", "0.25", "dropout=0.1,0.25,0.1,-1"},
    {"gpt2", "attn_pdrop", "0.25", "dropout=0.1,0.1,0.25,-1"},
    {"bert", "hidden_dropout_prob", "0.25", "dropout=0.25,0.25,0.1,-1"},
    {"bert", "attention_probs_dropout_prob", "0.25", "dropout=0.1,0.1,0.25,-1"},
    {"llama mistral qwen2", "attention_dropout", "0.25", "dropout=0,0,0.25,-1"},

    {"gpt2", "scale_attn_weights", "false", "!must be true, as scores are divided"},
    {"gpt2", "scale_attn_by_inverse_layer_idx", "true", "!must be false"},
    {"gpt2 bert", "add_cross_attention", "true", "!must be false"},
    {"gpt2 bert llama mistral qwen2", "is_encoder_decoder", "true",
     "!must be false, as there is one stack: got true"},
    {"bert", "is_decoder", "true", "!must be false"},

    {"gpt2 bert llama mistral qwen2", "transformers_version", "\"4.0\"", ""},
    {"gpt2 bert llama mistral qwen2", "output_hidden_states", "true", ""},
    {"gpt2 bert llama mistral qwen2", "output_attentions", "true", ""},
    {"gpt2 bert llama mistral qwen2", "return_dict", "false", ""},
    {"gpt2 bert llama mistral qwen2", "dtype", "\"bfloat16\"", ""},
    {"gpt2 bert llama mistral qwen2", "chunk_size_feed_forward", "3", ""},
    {"gpt2 bert llama mistral qwen2", "id2label", R"({"0":"a","1":"b","2":"c"})", ""},
    {"gpt2 bert llama mistral qwen2", "label2id", R"({"a":0})", ""},
    {"gpt2 bert llama mistral qwen2", "problem_type", "\"regression\"", ""},
    {"gpt2 bert llama mistral qwen2", "initializer_range", "0.5", ""},
    {"gpt2 bert llama mistral qwen2", "use_cache", "false", ""},
    {"gpt2 bert llama mistral qwen2", "_name_or_path", "\"a\"", ""},
    {"bert", "classifier_dropout", "0.25", "dropout=0.1,0.1,0.1,0.25"},  // for a new classifier
    {"gpt2", "summary_type", "\"mean\"", ""},
    {"gpt2", "summary_use_proj", "false", ""},
    {"gpt2", "summary_activation", "\"tanh\"", ""},
    {"gpt2", "summary_proj_to_labels", "false", ""},
    {"gpt2", "summary_first_dropout", "0.5", ""},
    {"gpt2", "reorder_and_upcast_attn", "true", ""},
    {"llama", "pretraining_tp", "2", ""},
};

TEST_CASE("hugging face config: each key of each family, changed", "[models][hugging_face]") {
    for (const Golden& g : kGolden) {
        const std::string family = std::string(g.described).substr(0, std::string(g.described).find(' '));
        std::set<std::string> keys;
        for (const Json& member : Json(g.text, "golden").members())
            keys.insert(std::string(member.name()));
        keys.erase("model_type");
        for (const Change& c : kChanges) {
            if (!contains(c.families, family))
                continue;
            INFO(family << ": " << c.key << " = " << c.value);
            CHECK(keys.erase(c.key) == 1);
            const std::string text = with(g.text, {{c.key, c.value}}), expected = c.expected,
                              error = complaint(text);
            if (expected.starts_with('!')) {
                CHECK(contains(error, expected.substr(1)));
                CHECK(contains(error, c.key));
                continue;
            }
            REQUIRE(error == "");
            const ConfigJson config = read(text);
            CHECK((described(config) == g.described) == expected.empty());
            CHECK(contains(described(config), expected));
            // null, where transformers has it, and otherwise a value of another kind, is never a crash.
            for (const char* const other : {"null", "[]", "{}", "\"x\"", "-1", "1e99", "true"})
                complaint(with(g.text, {{c.key, other}}));
        }
        for (const std::string& key : keys)
            FAIL_CHECK(family << " has the key " << key << ", which this test does not change");
    }
}

TEST_CASE("hugging face config: rotary positions, under their old and new names", "[models][hugging_face]") {
    const std::string llama = golden("llama");
    const auto rope = [&](const std::map<std::string, std::string>& members) {
        const nn::RotaryOptions r = read(with(llama, members)).block.rotary;
        return join(r.base, ",", static_cast<int>(r.scaling), ",", r.factor, ",", r.low_frequency_factor, ",",
                    r.high_frequency_factor, ",", r.original_length);
    };
    const std::string three = R"("factor":32.0,"high_freq_factor":4.0,"low_freq_factor":1.0)";
    // The files of Llama 3.2 as they were published, and as transformers 5 writes them.
    const std::string scaling =
        "{" + three + R"(,"original_max_position_embeddings":8192,"rope_type":"llama3"})";
    CHECK(rope({{"rope_scaling", scaling}, {"rope_theta", "500000.0"}, {"rope_parameters", "null"}}) ==
          "500000,2,32,1,4,8192");
    CHECK(rope({{"rope_parameters", "{" + three +
                                        R"(,"original_max_position_embeddings":8192,"rope_theta":500000,)" +
                                        R"("rope_type":"llama3"})"}}) == "500000,2,32,1,4,8192");
    // The older name stands instead of the newer one, as a whole; within it a base comes first.
    CHECK(rope({{"rope_scaling", R"({"type":"linear","factor":2.0})"}}) == "10000,1,2,1,4,8192");
    CHECK(rope({{"rope_scaling", R"({"type":"linear","factor":2.0})"}, {"rope_theta", "7"}}) ==
          "7,1,2,1,4,8192");
    CHECK(rope({{"rope_scaling", R"({"type":"linear","factor":2.0,"rope_theta":5})"}, {"rope_theta", "7"}}) ==
          "5,1,2,1,4,8192");
    CHECK(rope({{"rope_scaling", "{}"}, {"rope_parameters", R"({"rope_theta":5})"}}) == "5,0,1,1,4,8192");
    CHECK(rope({{"rope_scaling", R"({"type":"llama3","rope_type":"default"})"}}) == "10000,0,1,1,4,8192");
    // The length, where it is not given, is the model's; the one beside comes first.
    CHECK(rope({{"rope_scaling", "{" + three + R"(,"rope_type":"llama3"})"}}) == "10000,2,32,1,4,2048");
    CHECK(rope({{"rope_scaling", scaling}, {"original_max_position_embeddings", "16"}}) ==
          "10000,2,32,1,4,16");
    CHECK(rope({{"rope_scaling", R"({"partial_rotary_factor":1.0})"}, {"partial_rotary_factor", "1.0"}}) ==
          "10000,0,1,1,4,8192");

    const std::pair<const char*, const char*> refused[] = {
        {R"({"rope_type":"yarn","factor":2.0})", R"(rope_type "yarn" is not supported)"},
        {R"({"type":"dynamic","factor":2.0})", R"(type "dynamic" is not supported)"},
        {R"({"partial_rotary_factor":0.5})", R"(partial_rotary_factor is not supported; whole heads)"},
        {R"({"full_attention":{"rope_theta":1.0}})", R"(full_attention is not supported)"},
        {R"({"type":"linear"})", "rope_scaling.factor is missing"},
        {R"({"type":"linear","factor":0})", "factor must be positive and finite: got 0"},
        {R"({"type":"llama3","factor":8.0,"high_freq_factor":4.0})", "low_freq_factor is missing"},
        {R"({"type":"llama3","factor":8.0,"high_freq_factor":1.0,"low_freq_factor":1.0})",
         "must be positive and less than high_frequency_factor: got 1 and 1"},
        {R"([])", R"(rope_scaling must be an object)"},
    };
    for (const auto& [value, reason] : refused) {
        INFO(value);
        CHECK(contains(complaint(with(llama, {{"rope_scaling", value}})), reason));
    }
    CHECK(contains(complaint(with(llama, {{"rope_parameters", R"({"rope_type":"linear"})"}})),
                   "rope_parameters.factor is missing"));
    CHECK(contains(complaint(with(llama, {{"partial_rotary_factor", "0.5"}})), "must be 1, as whole heads"));
    CHECK(contains(complaint(with(llama, {{"head_dim", "63"}})),
                   "must be even and at most the 63 numbers of a head"));
}

TEST_CASE("hugging face config: a sliding window limits the length of texts", "[models][hugging_face]") {
    const std::string qwen = golden("qwen2"), mistral = golden("mistral");
    const auto length = [](const std::string& text) {
        const ConfigJson c = read(text);
        CHECK(c.notes.size() == (contains(described(c), " max_length=33 ") ? 1 : 0));
        return c.max_length;
    };
    CHECK(length(with(mistral, {{"sliding_window", "null"}})) == 131072);
    CHECK(length(with(mistral, {{"sliding_window", "131072"}})) == 131072);
    CHECK(length(with(mistral, {{"sliding_window", "33"}})) == 33);
    CHECK(length(with(qwen, {{"sliding_window", "33"}, {"max_window_layers", "0"}})) == 32768);
}

TEST_CASE("hugging face config: classes", "[models][hugging_face]") {
    const auto classifier = [](std::map<std::string, std::string> members) {
        members["architectures"] = R"(["BertForSequenceClassification"])";
        return with(golden("bert"), members);
    };
    const ConfigJson c = read(classifier({{"id2label", R"({"1":"good","0":"bad","2":"n\u00e9"})"}}));
    CHECK(c.kind == models::Kind::classifier);
    CHECK((c.classes == 3 && c.pooling == models::Pooling::pooler));
    CHECK(c.labels == std::vector<std::string>{"bad", "good", "né"});
    // In the order of numbers: as words, "10" would come before "2".
    std::string by_number;
    std::vector<std::string> labels;
    for (int i = 0; i < 12; ++i) {
        labels.push_back("class " + std::to_string(i));
        by_number = "\"" + std::to_string(i) + "\":\"" + labels.back() + (i > 0 ? "\"," : "\"") + by_number;
    }
    CHECK(read(classifier({{"id2label", "{" + by_number + "}"}})).labels == labels);
    CHECK(c.pooled_dropout == -1);  // hidden_dropout_prob's
    CHECK(read(classifier({{"classifier_dropout", "0.25"}})).pooled_dropout == Real(0.25));
    CHECK(read(classifier({{"id2label", "null"}})).labels == std::vector<std::string>{"LABEL_0", "LABEL_1"});
    CHECK(read(classifier({{"id2label", "null"}, {"num_labels", "3"}})).labels.size() == 3);
    CHECK(read(classifier({{"problem_type", "\"single_label_classification\""}})).labels.size() == 2);
    CHECK(contains(complaint(classifier({{"problem_type", "\"regression\""}})),
                   R"(problem_type must be single_label_classification: got "regression")"));
    CHECK(contains(complaint(classifier({{"id2label", R"({"0":"a"})"}})), "at least two classes: got 1"));
    CHECK(contains(complaint(classifier({{"id2label", R"({"0":"a","2":"b"})"}})), R"(there is no "1")"));
    CHECK(contains(complaint(classifier({{"id2label", R"({"00":"a","1":"b"})"}})), R"(there is no "0")"));
    CHECK(contains(complaint(classifier({{"id2label", R"({"0":"a","1":"b","2":"a"})"}})),
                   R"(id2label has two classes with the label "a")"));
    CHECK(contains(complaint(classifier({{"id2label", "null"}, {"num_labels", "2000000000"}})),
                   R"(num_labels must be a whole number from 1 to 65536)"));
}

TEST_CASE("hugging face config: files as they were published", "[models][hugging_face]") {
    const ConfigJson gpt2 = read(
        R"({"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,)"
        R"("bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02,)"
        R"("layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12,)"
        R"("n_layer": 12, "n_positions": 1024, "resid_pdrop": 0.1, "summary_activation": null,)"
        R"("summary_first_dropout": 0.1, "summary_proj_to_labels": true, "summary_type": "cls_index",)"
        R"("summary_use_proj": true, "task_specific_params": {"text-generation": {"do_sample": true,)"
        R"("max_length": 50}}, "vocab_size": 50257})");
    CHECK(described(gpt2) == kGolden[0].described);
    CHECK(gpt2.notes.empty());
    // The other name of a key counts, as in transformers, whatever n_embd says.
    CHECK(read(with(golden("gpt2"), {{"hidden_size", "96"}})).block.d_model == 96);
    const ConfigJson smol = read(
        R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,)"
        R"("bos_token_id": 0, "eos_token_id": 0, "hidden_act": "silu", "hidden_size": 576,)"
        R"("initializer_range": 0.041666666666666664, "intermediate_size": 1536, "is_llama_config": true,)"
        R"("max_position_embeddings": 8192, "model_type": "llama", "num_attention_heads": 9,)"
        R"("num_hidden_layers": 30, "num_key_value_heads": 3, "pretraining_tp": 1, "rms_norm_eps": 1e-05,)"
        R"("rope_interleaved": false, "rope_scaling": null, "rope_theta": 100000,)"
        R"("tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.40.1",)"
        R"("use_cache": true, "vocab_size": 49152})");
    CHECK(
        described(smol) ==
        "llama kind=1 bare=0 vocabulary=49152 max_length=8192 n_layers=30 d_model=576 n_heads=9 n_kv_heads=3 "
        "head_dim=64 d_ff=1536 activation=silu norm_eps=1e-05 biases=000 tied=1 rope=100000,0,1,1,4,8192 "
        "token_types=0 dropout=0,0,0,-1 start=0 pad=-1 ends=0, labels=");
    CHECK(smol.notes ==
          std::vector<std::string>{"keys that transformers does not know are ignored: \"is_llama_config\""});
}

TEST_CASE("hugging face config: what is refused, and what is noted", "[models][hugging_face]") {
    const auto error = [](const std::string& family, const std::string& key, const std::string& value) {
        return complaint(with(golden(family), {{key, value}}));
    };
    CHECK(
        complaint("{}") ==
        "config.json: model_type is missing; it must be one of gpt2, bert, llama, mistral, qwen2, plaingrad");
    CHECK(complaint(R"({"model_type":"t5"})") ==
          "config.json: model_type \"t5\" is not supported; there are gpt2, bert, llama, "
          "mistral, qwen2, plaingrad");
    CHECK(complaint("") == "config.json: byte 0: expected a value, found the end");
    CHECK(contains(complaint(golden("gpt2") + "x"), "something follows"));
    CHECK(contains(error("gpt2", "architectures", R"(["GPT2ForTokenClassification"])"),
                   R"(architectures "GPT2ForTokenClassification" is not supported; there are )"
                   "GPT2LMHeadModel, GPT2Model"));
    CHECK(contains(error("llama", "architectures", R"(["GPT2LMHeadModel"])"),
                   "there are LlamaForCausalLM, LlamaModel"));
    CHECK(contains(error("gpt2", "n_head", "7"), "d_model = 768 must be a multiple of n_heads = 7"));
    CHECK(contains(error("bert", "num_attention_heads", "7"),
                   "d_model = 768 must be a multiple of n_heads = 7"));
    CHECK(contains(error("llama", "num_key_value_heads", "5"),
                   "n_heads = 32 must be a multiple of n_kv_heads = 5"));
    for (const std::string value : {"0", "3000000000", "768.0"})
        CHECK(contains(error("gpt2", "n_embd", value),
                       "n_embd must be a whole number from 1 to 2147483647: got " + value));
    CHECK(contains(error("gpt2", "activation_function", "\"gelu_fast\""),
                   R"(activation_function "gelu_fast" is not supported)"));
    CHECK(contains(error("gpt2", "resid_pdrop", "1.0"), R"(resid_pdrop must be in [0, 1): got 1)"));
    CHECK(
        contains(error("bert", "position_embedding_type", "\"relative_key\""), R"(must be "absolute", as )"));
    // What the key may be, but not as a float.
    CHECK(contains(error("gpt2", "resid_pdrop", "0.99999999"), "must be in [0, 1): got 1"));
    CHECK(contains(error("bert", "layer_norm_eps", "1e-60"), "norm_eps must be positive and finite: got 0"));
    for (const std::string base : {"0.5", "1e31"})
        CHECK(contains(
            error("llama", "rope_parameters", R"({"rope_type":"default","rope_theta":)" + base + "}"),
            "base must be from 1 to 1e30: got " + base.substr(0, 2)));
    CHECK(contains(error("llama", "rope_parameters", R"({"rope_type":"linear","factor":1e39})"),
                   "factor must be positive and finite: got inf"));
    CHECK(error("bert", "position_embedding_type", "\"absolute\"") == "");
    CHECK(
        contains(error("bert", "pruned_heads", R"({"0":[1]})"), R"(pruned_heads must be {}, as all layers)"));
    CHECK(error("bert", "pruned_heads", "{}") == "");
    CHECK(error("bert", "pruned_heads", "{ \n}") == "");
    CHECK(contains(error("llama", "quantization_config", R"({"bits":4})"),
                   R"(quantization_config must be null)"));
    CHECK(contains(error("gpt2", "per_layer_config", R"({"0":{"n_inner":7}})"),
                   "must be null, as all layers are alike: got {...}"));
    CHECK(contains(error("llama", "rope_interleaved", "true"), "must be false"));
    CHECK(contains(error("qwen2", "use_mrope", "true"), "must be false"));

    const auto notes = [](const std::map<std::string, std::string>& members) {
        const ConfigJson c = read(with(golden("llama"), members));
        return c.notes.empty() ? "" : c.notes.size() == 1 ? c.notes[0] : join(c.notes.size(), " notes");
    };
    CHECK(notes({{"pad_token_id", "-1"}}) == "pad_token_id -1 is ignored: there are the ids 0 to 31999");
    CHECK(notes({{"eos_token_id", "[2,32000]"}}) ==
          "eos_token_id 32000 is ignored: there are the ids 0 to 31999");
    CHECK(read(with(golden("llama"), {{"eos_token_id", "[2,32000]"}})).specials.ends ==
          std::vector<int32_t>{2});
    CHECK(notes({{"scale_attn_weights", "false"}}) ==  // another family's
          "keys that transformers does not know are ignored: \"scale_attn_weights\"");
    std::map<std::string, std::string> many;
    for (char c = 'a'; c <= 'z'; ++c)
        many[std::string(1, c)] = "[{}]";
    CHECK(notes(many).ends_with("\"d\", \"e\", and 21 more"));
}

TEST_CASE("hugging face config: the stack of GPT-2 and BERT", "[models][hugging_face]") {
    const auto small = [](const std::string& family) {
        return with(golden(family), {{family == "gpt2" ? "n_embd" : "hidden_size", "12"},
                                     {"vocab_size", "11"},
                                     {"pad_token_id", "3"},
                                     {"eos_token_id", "4"},
                                     {"bos_token_id", "5"}});
    };
    const ConfigJson gpt2 = read(small("gpt2")), bert = read(small("bert"));
    CHECK(gpt2.block.norm == models::NormPlacement::pre);
    CHECK(gpt2.final_norm);
    CHECK(gpt2.block.d_ff == 48);
    CHECK(gpt2.specials.start == 5);
    CHECK(gpt2.specials.ends == std::vector<int32_t>{4});
    CHECK(gpt2.specials.pad == 3);
    CHECK(bert.block.norm == models::NormPlacement::post);
    CHECK(bert.embedding_norm);
    CHECK(bert.block.norm_eps == Real(1e-12));
    CHECK(bert.block.d_ff == 3072);
    // Without a start token a text begins behind the end of another one; or with id 0.
    const auto start = [&](const std::string& ends) {
        return read(with(small("gpt2"), {{"bos_token_id", "null"}, {"eos_token_id", ends}})).specials.start;
    };
    CHECK((start("4") == 4 && start("[7,4]") == 7 && start("null") == 0));
    for (const models::Config& c : {gpt2, bert}) {
        CHECK(c.vocabulary == 11);
        CHECK(c.block.d_model == 12);
        CHECK(c.block.n_heads == 12);
        CHECK(c.n_layers == 12);
        models::check_config(c);
    }
}
