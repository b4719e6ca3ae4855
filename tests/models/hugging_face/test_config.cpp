// config.json: every key of every family's configuration is honoured, refused by name, or ignored because it
// changes nothing.
#include "models/hugging_face/config.h"

#include <set>

#include "models/families/one_stack.h"
#include "models/presets.h"
#include "nn/checkpoint/json.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/hugging_face/json_text.h"

using namespace plaingrad;             // NOLINT
using namespace models::hugging_face;  // NOLINT
using namespace tests;                 // NOLINT
using nn::checkpoint::Json;
using Strings = std::vector<std::string>;

namespace {

using autograd::join;

std::string described(const nn::RotaryOptions& r) {
    return join(r.base, ",", static_cast<int>(r.scaling), ",", r.factor, ",", r.low_frequency_factor, ",",
                r.high_frequency_factor, ",", r.original_length);
}

// Everything that was read, in one line.
std::string described(const ConfigJson& c) {
    std::string ends, labels;
    for (const int32_t id : c.specials.ends)
        ends += join(id, ",");
    for (const std::string& label : c.labels)
        labels += label + ",";
    const models::BlockConfig& b = c.block;
    return join(c.family, " kind=", static_cast<int>(c.kind), " bare=", c.bare, " vocabulary=", c.vocabulary,
                " max_length=", c.max_length, " n_layers=", c.n_layers, " d_model=", b.d_model,
                " n_heads=", b.n_heads, " n_kv_heads=", b.n_kv_heads, " head_dim=", b.head_dim,
                " d_ff=", b.d_ff, " activation=", autograd::kActivationNames[static_cast<int>(b.activation)],
                " norm_eps=", b.norm_eps, " biases=", b.attention_bias, b.attention_out_bias,
                b.feed_forward_bias, " tied=", c.tied) +
           join(" rope=", described(b.rotary), " token_types=", c.token_types,
                " dropout=", b.dropout.embeddings, ",", b.dropout.sublayers, ",", b.dropout.attention, ",",
                c.pooled_dropout, " start=", c.start, " pad=", c.specials.pad, " ends=", ends,
                " labels=", labels);
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

// What becomes of the defaults, printed by a program from the same objects' attributes.
const char* const kDefaults[] = {
    "gpt2 kind=1 bare=0 vocabulary=50257 max_length=1024 n_layers=12 d_model=768 n_heads=12 "
    "n_kv_heads=12 head_dim=64 d_ff=3072 activation=gelu_tanh norm_eps=1e-05 biases=111 tied=1 "
    "rope=10000,0,1,1,4,8192 token_types=0 dropout=0.1,0.1,0.1,-1 start=50256 pad=-1 ends=50256, labels=",
    "bert kind=2 bare=0 vocabulary=30522 max_length=512 n_layers=12 d_model=768 n_heads=12 n_kv_heads=12 "
    "head_dim=64 d_ff=3072 activation=gelu_erf norm_eps=1e-12 biases=111 tied=1 rope=10000,0,1,1,4,8192 "
    "token_types=2 dropout=0.1,0.1,0.1,-1 start=-1 pad=0 ends= labels=",
    "llama kind=1 bare=0 vocabulary=32000 max_length=2048 n_layers=32 d_model=4096 n_heads=32 "
    "n_kv_heads=32 head_dim=128 d_ff=11008 activation=silu norm_eps=1e-06 biases=000 tied=0 "
    "rope=10000,0,1,1,4,8192 token_types=0 dropout=0,0,0,-1 start=1 pad=-1 ends=2, labels=",
    "mistral kind=1 bare=0 vocabulary=32000 max_length=4096 n_layers=32 d_model=4096 n_heads=32 "
    "n_kv_heads=8 head_dim=128 d_ff=14336 activation=silu norm_eps=1e-06 biases=000 tied=0 "
    "rope=10000,0,1,1,4,8192 token_types=0 dropout=0,0,0,-1 start=1 pad=-1 ends=2, labels=",
    "qwen2 kind=1 bare=0 vocabulary=151936 max_length=32768 n_layers=2 d_model=4096 n_heads=32 "
    "n_kv_heads=32 head_dim=128 d_ff=22016 activation=silu norm_eps=1e-06 biases=100 tied=0 "
    "rope=10000,0,1,1,4,8192 token_types=0 dropout=0,0,0,-1 start=-1 pad=-1 ends= labels="};
std::string family_of(const std::string& described) { return described.substr(0, described.find(' ')); }

}  // namespace

TEST_CASE("hugging face config: the defaults of transformers", "[models][hugging_face]") {
    for (const std::string expected : kDefaults) {
        const std::string family = family_of(expected);
        const ConfigJson config = read(golden_json(family));
        CHECK(described(config) == expected);
        CHECK(config.notes.size() == (family == "mistral" ? 1 : 0));
        // Also if every key is missing that can be, as in files that are older than a key.
        const std::string layers = family == "qwen2" ? R"(,"num_hidden_layers":2)" : "";
        CHECK(described(read(R"({"model_type":")" + family + "\"" + layers + "}")) == expected);
    }
    CHECK(read(R"({"model_type":"qwen2"})").n_layers == 32);
}

// Each key with another value. `expected` is what then differs, "" if nothing does, or after a ! the error.
struct Change {
    const char *families, *key, *value, *expected;
};
constexpr const char *kAll = "gpt2 bert llama mistral qwen2", *kNewer = "bert llama mistral qwen2",
                     *kRotary = "llama mistral qwen2";
const Change kChanges[] = {
    {"gpt2", "architectures", R"(["GPT2Model"])", "kind=1 bare=1"},
    {"bert", "architectures", R"(["BertModel"])", "kind=4 bare=1"},
    {"llama", "architectures", R"(["LlamaModel"])", "kind=1 bare=1"},
    {"mistral", "architectures", R"(["MistralModel"])", "kind=1 bare=1"},
    {"qwen2", "architectures", R"(["Qwen2Model"])", "kind=1 bare=1"},
    {kAll, "vocab_size", "60001", "vocabulary=60001"},
    {"gpt2", "n_positions", "77", "max_length=77"},
    {kNewer, "max_position_embeddings", "77", "max_length=77"},
    {"gpt2", "n_embd", "96", "d_model=96"},
    {kNewer, "hidden_size", "192", "d_model=192"},
    {"gpt2", "n_layer", "3", "n_layers=3"},
    {kNewer, "num_hidden_layers", "3", "n_layers=3"},
    {"gpt2", "n_head", "6", "n_heads=6"},
    {kNewer, "num_attention_heads", "64", "n_heads=64"},
    {kRotary, "num_key_value_heads", "4", "n_kv_heads=4"},
    {"llama mistral", "head_dim", "64", "head_dim=64"},
    {"gpt2", "n_inner", "100", "d_ff=100"},
    {kNewer, "intermediate_size", "100", "d_ff=100"},
    {"gpt2", "activation_function", "\"relu\"", "activation=relu"},
    {kNewer, "hidden_act", "\"gelu_new\"", "activation=gelu_tanh"},
    {"gpt2", "layer_norm_epsilon", "0.25", "norm_eps=0.25"},
    {"bert", "layer_norm_eps", "0.25", "norm_eps=0.25"},
    {kRotary, "rms_norm_eps", "0.25", "norm_eps=0.25"},
    {"llama", "attention_bias", "true", "biases=110"},
    {"llama", "mlp_bias", "true", "biases=001"},
    {"gpt2 bert", "tie_word_embeddings", "false", "tied=0"},
    {kRotary, "tie_word_embeddings", "true", "tied=1"},
    {kRotary, "rope_parameters", R"({"rope_theta":500.0,"rope_type":"default"})", "rope=500,0"},
    {"mistral", "sliding_window", "33", "max_length=33"},
    {"qwen2", "sliding_window", "33", ""},  // use_sliding_window is false
    {"qwen2", "use_sliding_window", "true", "!must be false, as each token sees all before it: got true"},
    {"bert", "type_vocab_size", "3", "token_types=3"},
    {kAll, "bos_token_id", "7", "start=7"},
    {kAll, "eos_token_id", "[7,8,200000]", "ends=7,8, "},
    {kAll, "pad_token_id", "7", "pad=7"},
    {"gpt2", "embd_pdrop", "0.25", "dropout=0.25,0.1,0.1,-1"},
    {"gpt2", "resid_pdrop", "0.25", "dropout=0.1,0.25,0.1,-1"},
    {"gpt2", "attn_pdrop", "0.25", "dropout=0.1,0.1,0.25,-1"},
    {"bert", "hidden_dropout_prob", "0.25", "dropout=0.25,0.25,0.1,-1"},
    {"bert", "attention_probs_dropout_prob", "0.25", "dropout=0.1,0.1,0.25,-1"},
    {kRotary, "attention_dropout", "0.25", "dropout=0,0,0.25,-1"},

    {"gpt2", "scale_attn_weights", "false", "!must be true, as scores are divided"},
    {"gpt2", "scale_attn_by_inverse_layer_idx", "true", "!must be false"},
    {"gpt2 bert", "add_cross_attention", "true", "!must be false"},
    {kAll, "is_encoder_decoder", "true", "!must be false, as there is one stack: got true"},
    {"bert", "is_decoder", "true", "!must be false"},
    {"bert", "classifier_dropout", "0.25", "dropout=0.1,0.1,0.1,0.25"},  // for a new classifier
};
// Those that change nothing, in whichever family they are.
const char* const kIgnored =
    R"({"transformers_version":"4.0","output_hidden_states":true,"output_attentions":true,)"
    R"("return_dict":false,"dtype":"bfloat16","chunk_size_feed_forward":3,"label2id":{"a":0},)"
    R"("id2label":{"0":"a","1":"b","2":"c"},"problem_type":"regression","initializer_range":0.5,)"
    R"("use_cache":false,"_name_or_path":"a","summary_type":"mean","summary_use_proj":false,)"
    R"("summary_activation":"tanh","summary_proj_to_labels":false,"summary_first_dropout":0.5,)"
    R"("reorder_and_upcast_attn":true,"pretraining_tp":2,"max_window_layers":0,)"
    R"("layer_types":["full_attention","sliding_attention"]})";

TEST_CASE("hugging face config: each key of each family, changed", "[models][hugging_face]") {
    for (const std::string plain : kDefaults) {
        const std::string family = family_of(plain), golden = golden_json(family);
        const Strings all = fuzz::parse_json(golden).value().keys;
        std::set<std::string> keys(all.begin(), all.end());
        keys.erase("model_type");
        const auto check = [&](const std::string& key, const std::string& value,
                               const std::string& expected) {
            INFO(family << ": " << key << " = " << value);
            const std::string text = with(golden, {{key, value}}), error = complaint(text);
            if (expected.starts_with('!')) {
                CHECK(contains(error, expected.substr(1)));
                CHECK(contains(error, key));
                return;
            }
            REQUIRE(error == "");
            CHECK((described(read(text)) == plain) == expected.empty());
            CHECK(contains(described(read(text)), expected));
            // null, where transformers has it, and otherwise a value of another kind, is never a crash.
            for (const char* const other : {"null", "[]", "{}", "\"x\"", "-1", "1e99", "true"})
                complaint(with(golden, {{key, other}}));
        };
        for (const Change& c : kChanges)
            if (contains(c.families, family)) {
                CHECK(keys.erase(c.key) == 1);
                check(c.key, c.value, c.expected);
            }
        const fuzz::Json ignored = fuzz::parse_json(kIgnored).value();
        for (std::size_t i = 0; i < ignored.keys.size(); ++i)
            if (keys.erase(ignored.keys[i]) == 1)
                check(ignored.keys[i], fuzz::to_text(ignored.items[i]), "");
        CHECK(keys == std::set<std::string>{});  // each key was changed
    }
}

TEST_CASE("hugging face config: rotary positions, under their old and new names", "[models][hugging_face]") {
    // The files of Llama 3.2 as they were published, and as transformers 5 writes them.
    const std::string three = R"("factor":32.0,"high_freq_factor":4.0,"low_freq_factor":1.0)",
                      length = R"(,"original_max_position_embeddings":8192,"rope_type":"llama3"})",
                      scaling = "{" + three + length, linear = R"({"type":"linear","factor":2.0})";
    const std::pair<Members, const char*> table[] = {
        {{{"rope_scaling", scaling}, {"rope_theta", "500000.0"}, {"rope_parameters", "null"}},
         "500000,2,32,1,4,8192"},
        {{{"rope_parameters", "{\"rope_theta\":500000," + three + length}}, "500000,2,32,1,4,8192"},
        // The older name stands instead of the newer one, as a whole; within it a base comes first.
        {{{"rope_scaling", linear}}, "10000,1,2,1,4,8192"},
        {{{"rope_scaling", linear}, {"rope_theta", "7"}}, "7,1,2,1,4,8192"},
        {{{"rope_scaling", R"({"type":"linear","factor":2.0,"rope_theta":5})"}, {"rope_theta", "7"}},
         "5,1,2,1,4,8192"},
        {{{"rope_scaling", "{}"}, {"rope_parameters", R"({"rope_theta":5})"}}, "5,0,1,1,4,8192"},
        {{{"rope_scaling", R"({"type":"llama3","rope_type":"default"})"}}, "10000,0,1,1,4,8192"},
        // The length, where it is not given, is the model's; the one beside comes first.
        {{{"rope_scaling", "{" + three + R"(,"rope_type":"llama3"})"}}, "10000,2,32,1,4,2048"},
        {{{"rope_scaling", scaling}, {"original_max_position_embeddings", "16"}}, "10000,2,32,1,4,16"},
        {{{"rope_scaling", R"({"partial_rotary_factor":1.0})"}, {"partial_rotary_factor", "1.0"}},
         "10000,0,1,1,4,8192"}};
    for (const auto& [members, rope] : table)
        CHECK(described(read(with(golden_json("llama"), members)).block.rotary) == rope);
}

TEST_CASE("hugging face config: a sliding window limits the length of texts", "[models][hugging_face]") {
    const auto length = [](const std::string& family, const Members& members) {
        const ConfigJson c = read(with(golden_json(family), members));
        CHECK(c.notes.size() == (c.max_length == 33 ? 1 : 0));
        return c.max_length;
    };
    CHECK(length("mistral", {{"sliding_window", "null"}}) == 131072);
    CHECK(length("mistral", {{"sliding_window", "131072"}}) == 131072);
    CHECK(length("mistral", {{"sliding_window", "33"}}) == 33);
    CHECK(length("qwen2", {{"sliding_window", "33"}, {"max_window_layers", "0"}}) == 32768);
    // A window as long as the texts is none, and a model that reads shorter texts has none.
    const ConfigJson whole = read(with(golden_json("mistral"), {{"sliding_window", "131072"}}));
    CHECK(contains(written(config_of(whole, whole)), "\"sliding_window\": null"));
    const ConfigJson given = read(with(golden_json("mistral"), {{"sliding_window", "33"}}));
    models::Config shorter = given;
    shorter.max_length = 7;
    CHECK(contains(written(config_of(given, given)), "\"sliding_window\": 33"));
    CHECK(contains(written(config_of(shorter, given)), "\"sliding_window\": null"));
}

namespace {

std::string classifier(Members members) {
    members["architectures"] = R"(["BertForSequenceClassification"])";
    return with(golden_json("bert"), members);
}

}  // namespace

TEST_CASE("hugging face config: classes", "[models][hugging_face]") {
    const ConfigJson c = read(classifier({{"id2label", R"({"1":"good","0":"bad","2":"n\u00e9"})"}}));
    CHECK((c.kind == models::Kind::classifier && c.classes == 3 && c.pooling == models::Pooling::pooler));
    CHECK(c.labels == Strings{"bad", "good", "né"});
    CHECK(c.pooled_dropout == -1);  // hidden_dropout_prob's
    CHECK(read(classifier({{"classifier_dropout", "0.25"}})).pooled_dropout == Real(0.25));
    CHECK(read(classifier({{"id2label", "null"}})).labels == Strings{"LABEL_0", "LABEL_1"});
    CHECK(read(classifier({{"id2label", "null"}, {"num_labels", "3"}})).labels.size() == 3);
    CHECK(read(classifier({{"problem_type", "\"single_label_classification\""}})).labels.size() == 2);
    // In the order of numbers: as words, "10" would come before "2".
    std::string by_number;
    Strings labels;
    for (int i = 0; i < 12; ++i) {
        labels.push_back(join("class ", i));
        by_number = join("\"", i, "\":\"", labels.back(), i > 0 ? "\"," : "\"", by_number);
    }
    CHECK(read(classifier({{"id2label", "{" + by_number + "}"}})).labels == labels);
}

TEST_CASE("hugging face config: files as they were published", "[models][hugging_face]") {
    const ConfigJson gpt2 = read(golden_json("gpt2_published")), smol = read(golden_json("smollm_published"));
    CHECK(described(gpt2) == kDefaults[0]);
    CHECK(described(read(with(golden_json("bert"), {{"architectures", R"(["BertForPreTraining"])"}}))) ==
          kDefaults[1]);
    CHECK(gpt2.notes.empty());
    // The other name of a key counts, as in transformers, whatever n_embd says.
    CHECK(read(with(golden_json("gpt2"), {{"hidden_size", "96"}})).block.d_model == 96);
    CHECK(described(smol) ==
          "llama kind=1 bare=0 vocabulary=49152 max_length=8192 n_layers=30 d_model=576 n_heads=9 "
          "n_kv_heads=3 head_dim=64 d_ff=1536 activation=silu norm_eps=1e-05 biases=000 tied=1 "
          "rope=100000,0,1,1,4,8192 token_types=0 dropout=0,0,0,-1 start=0 pad=-1 ends=0, labels=");
    CHECK(smol.notes == Strings{"keys that transformers does not know are ignored: \"is_llama_config\""});
}

TEST_CASE("hugging face config: GPT-2, BERT and Llama 3.2 as we have them are the published ones",
          "[models][hugging_face]") {
    const auto ours = [](const models::Config& c, const std::string& family) {
        return described(read(written(config_of(c, family))));
    };
    CHECK(ours(models::gpt2(), "gpt2") == kDefaults[0]);
    const std::string bert = kDefaults[1];  // whose [CLS] and [SEP] are the tokenizer's business
    CHECK(ours(models::bert(), "bert") ==
          bert.substr(0, bert.find(" start=")) + " start=101 pad=0 ends=102, labels=");
    CHECK(
        ours(models::llama(), "llama") ==
        "llama kind=1 bare=0 vocabulary=128256 max_length=131072 n_layers=16 d_model=2048 n_heads=32 "
        "n_kv_heads=8 head_dim=64 d_ff=8192 activation=silu norm_eps=1e-05 biases=000 tied=1 "
        "rope=500000,2,32,1,4,8192 token_types=0 dropout=0,0,0,-1 start=128000 pad=-1 ends=128001, labels=");
}

TEST_CASE("hugging face config: what is refused", "[models][hugging_face]") {
    const std::string all = "gpt2, bert, llama, mistral, qwen2, plaingrad";
    CHECK(complaint("{}") == "config.json: model_type is missing; it must be one of " + all);
    CHECK(complaint(R"({"model_type":"t5"})") ==
          "config.json: model_type \"t5\" is not supported; there are " + all);
    CHECK(complaint("") == "config.json: byte 0: expected a value, found the end");
    CHECK(contains(complaint(golden_json("gpt2") + "x"), "something follows"));
    struct Row {
        const char *family, *key, *value, *reason;  // "": it is accepted
    };
    const Row table[] = {
        {"gpt2", "architectures", R"(["GPT2ForTokenClassification"])",
         "\"GPT2ForTokenClassification\" is not supported; there are GPT2LMHeadModel, GPT2Model"},
        {"llama", "architectures", R"(["GPT2LMHeadModel"])", "there are LlamaForCausalLM, LlamaModel"},
        {"gpt2", "n_head", "7", "d_model = 768 must be a multiple of n_heads = 7"},
        {"bert", "num_attention_heads", "7", "d_model = 768 must be a multiple of n_heads = 7"},
        {"llama", "num_key_value_heads", "5", "n_heads = 32 must be a multiple of n_kv_heads = 5"},
        {"gpt2", "n_embd", "0", "n_embd must be a whole number from 1 to 2147483647: got 0"},
        {"gpt2", "n_embd", "3000000000", "must be a whole number from 1 to 2147483647: got 3000000000"},
        {"gpt2", "n_embd", "768.0", "must be a whole number from 1 to 2147483647: got 768.0"},
        {"gpt2", "n_layer", "10001", "n_layer must be a whole number from 0 to 10000: got 10001"},
        {"gpt2", "activation_function", "\"gelu_fast\"", "function \"gelu_fast\" is not supported"},
        {"gpt2", "resid_pdrop", "1.0", "resid_pdrop must be in [0, 1): got 1"},
        {"gpt2", "resid_pdrop", "0.99999999", "must be in [0, 1): got 1"},  // as a float
        {"bert", "layer_norm_eps", "1e-60", "norm_eps must be positive and finite: got 0"},
        {"bert", "position_embedding_type", "\"relative_key\"", "must be \"absolute\", as "},
        {"bert", "position_embedding_type", "\"absolute\"", ""},
        {"bert", "pruned_heads", R"({"0":[1]})", "pruned_heads must be {}, as all layers"},
        {"bert", "pruned_heads", "{}", ""},
        {"bert", "pruned_heads", "{ \n}", ""},
        {"llama", "quantization_config", R"({"bits":4})", "quantization_config must be null"},
        {"gpt2", "per_layer_config", R"({"0":{"n_inner":7}})",
         "must be null, as all layers are alike: got {"},
        {"llama", "rope_interleaved", "true", "must be false"},
        {"qwen2", "use_mrope", "true", "must be false"},
        {"llama", "rope_parameters", R"({"rope_theta":0.5})", "base must be from 1 to 1e30: got 0"},
        {"llama", "rope_parameters", R"({"rope_theta":1e31})", "base must be from 1 to 1e30: got 1e"},
        {"llama", "rope_parameters", R"({"rope_type":"linear","factor":1e39})", "finite: got inf"},
        {"llama", "rope_parameters", R"({"rope_type":"linear"})", "rope_parameters.factor is missing"},
        {"llama", "rope_scaling", R"({"rope_type":"yarn"})", "rope_type \"yarn\" is not supported"},
        {"llama", "rope_scaling", R"({"type":"dynamic"})", "type \"dynamic\" is not supported"},
        {"llama", "rope_scaling", R"({"partial_rotary_factor":0.5})", "is not supported; whole heads"},
        {"llama", "rope_scaling", R"({"full_attention":{}})", "full_attention is not supported"},
        {"llama", "rope_scaling", R"({"type":"linear"})", "rope_scaling.factor is missing"},
        {"llama", "rope_scaling", R"({"type":"linear","factor":0})", "must be positive and finite: got 0"},
        {"llama", "rope_scaling", R"({"type":"llama3","factor":8})", "low_freq_factor is missing"},
        {"llama", "rope_scaling",
         R"({"type":"llama3","factor":8.0,"high_freq_factor":1.0,"low_freq_factor":1.0})",
         "must be positive and less than high_frequency_factor: got 1 and 1"},
        {"llama", "rope_scaling", "[]", "rope_scaling must be an object"},
        {"llama", "partial_rotary_factor", "0.5", "must be 1, as whole heads"},
        {"llama", "head_dim", "63", "must be even and at most the 63 numbers of a head"},
        {"classifier", "problem_type", "\"regression\"",
         "problem_type must be single_label_classification: got \"regression\""},
        {"classifier", "id2label", R"({"0":"a"})", "at least two classes: got 1"},
        {"classifier", "id2label", R"({"0":"a","2":"b"})", "there is no \"1\""},
        {"classifier", "id2label", R"({"00":"a","1":"b"})", "there is no \"0\""},
        {"classifier", "id2label", R"({"0":"a","1":"b","2":"a"})", "two classes with the label \"a\""},
        {"classifier", "num_labels", "65537", "num_labels must be a whole number from 1 to 65536"}};
    for (const auto& [family, key, value, reason] : table) {
        INFO(family << ": " << key << " = " << value);
        const Members change = {{key, value}};
        const std::string error = complaint(
            family == std::string("classifier") ? classifier(change) : with(golden_json(family), change));
        CHECK(error.empty() == (reason == std::string()));
        CHECK(contains(error, reason));
    }
}

TEST_CASE("hugging face config: what is noted", "[models][hugging_face]") {
    const auto notes = [](const Members& members) {
        const ConfigJson c = read(with(golden_json("llama"), members));
        return c.notes.size() == 1 ? c.notes[0] : join(c.notes.size(), " notes");
    };
    CHECK(notes({{"pad_token_id", "-1"}}) == "pad_token_id -1 is ignored: there are the ids 0 to 31999");
    CHECK(notes({{"eos_token_id", "[2,32000]"}}) ==
          "eos_token_id 32000 is ignored: there are the ids 0 to 31999");
    CHECK(notes({{"scale_attn_weights", "false"}}) ==  // another family's
          "keys that transformers does not know are ignored: \"scale_attn_weights\"");
    Members many;
    for (char c = 'a'; c <= 'z'; ++c)
        many[std::string(1, c)] = "[{}]";
    CHECK(notes(many).ends_with("\"d\", \"e\", and 21 more"));
}

TEST_CASE("hugging face config: the stack of GPT-2 and BERT", "[models][hugging_face]") {
    const ConfigJson gpt2 = read(golden_json("gpt2")), bert = read(golden_json("bert"));
    CHECK((gpt2.block.norm == models::NormPlacement::pre && gpt2.final_norm));
    CHECK((bert.block.norm == models::NormPlacement::post && bert.embedding_norm));
    // Without a start token a text begins behind the end of another one; or with id 0.
    const auto start = [](const std::string& begin, const std::string& ends) {
        const Members members = {{"bos_token_id", begin}, {"eos_token_id", ends}};
        return read(with(golden_json("gpt2"), members)).specials.start;
    };
    CHECK((start("5", "4") == 5 && start("null", "4") == 4));
    CHECK((start("null", "[7,4]") == 7 && start("null", "null") == 0));
}
