// generation_config.json: every key of transformers' GenerationConfig is honoured, refused by name, or
// ignored because it changes no text.
#include <filesystem>
#include <map>

#include "models/hugging_face/generation.h"
#include "models/text/learn_tokenizer.h"
#include "nn/checkpoint/json.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/folder.h"

using namespace plaingrad;             // NOLINT
using namespace models::hugging_face;  // NOLINT
using namespace tests;                 // NOLINT
using autograd::join;

namespace {

// What transformers 5.23 prints: json.dumps(GenerationConfig().to_dict()), where nothing is set, and the same
// of GenerationConfig(**GenerationConfig._get_default_generation_params()), where everything has its default.
const std::string kUnset =
    R"({"max_length": null, "max_new_tokens": null, "min_length": null, "min_new_tokens": )"
    R"(null, "early_stopping": null, "max_time": null, "stop_strings": null, "do_sample": )"
    R"(null, "num_beams": null, "use_mtp": null, "use_cache": null, )"
    R"("cache_implementation": null, "cache_config": null, "max_cache_len": null, )"
    R"("temperature": null, "top_k": null, "top_p": null, "min_p": null, "top_h": null, )"
    R"("typical_p": null, "epsilon_cutoff": null, "eta_cutoff": null, )"
    R"("repetition_penalty": null, "encoder_repetition_penalty": null, "length_penalty": )"
    R"(null, "no_repeat_ngram_size": null, "bad_words_ids": null, "renormalize_logits": )"
    R"(null, "forced_bos_token_id": null, "forced_eos_token_id": null, )"
    R"("remove_invalid_values": null, "exponential_decay_length_penalty": null, )"
    R"("suppress_tokens": null, "begin_suppress_tokens": null, "sequence_bias": null, )"
    R"("token_healing": null, "guidance_scale": null, "watermarking_config": null, )"
    R"("num_return_sequences": null, "output_attentions": null, "output_hidden_states": )"
    R"(null, "output_scores": null, "output_logits": null, "return_dict_in_generate": )"
    R"(null, "pad_token_id": null, "bos_token_id": null, "eos_token_id": null, )"
    R"("encoder_no_repeat_ngram_size": null, "decoder_start_token_id": null, )"
    R"("is_assistant": null, "num_assistant_tokens": null, )"
    R"("num_assistant_tokens_schedule": null, "assistant_confidence_threshold": null, )"
    R"("prompt_lookup_num_tokens": null, "max_matching_ngram_size": null, )"
    R"("assistant_early_exit": null, "assistant_lookbehind": null, "target_lookbehind": )"
    R"(null, "assistant_ensemble_weight": null, "speculation_type": null, )"
    R"("compile_config": null, "disable_compile": null, "continuous_batching_config": )"
    R"(null, "low_memory": null, "penalty_alpha": null, "dola_layers": null, )"
    R"("diversity_penalty": null, "num_beam_groups": null, "constraints": null, )"
    R"("force_words_ids": null, "prefill_chunk_size": null, "_from_model_config": null, )"
    R"("transformers_version": "5.23.0"})";

const std::string kDefaults =
    R"({"max_length": 20, "max_new_tokens": null, "min_length": 0, "min_new_tokens": null, )"
    R"("early_stopping": false, "max_time": null, "stop_strings": null, "do_sample": )"
    R"(false, "num_beams": 1, "use_mtp": null, "use_cache": true, "cache_implementation": )"
    R"(null, "cache_config": null, "max_cache_len": null, "temperature": 1.0, "top_k": 50, )"
    R"("top_p": 1.0, "min_p": null, "top_h": null, "typical_p": 1.0, "epsilon_cutoff": )"
    R"(0.0, "eta_cutoff": 0.0, "repetition_penalty": 1.0, "encoder_repetition_penalty": )"
    R"(1.0, "length_penalty": 1.0, "no_repeat_ngram_size": 0, "bad_words_ids": null, )"
    R"("renormalize_logits": null, "forced_bos_token_id": null, "forced_eos_token_id": )"
    R"(null, "remove_invalid_values": false, "exponential_decay_length_penalty": null, )"
    R"("suppress_tokens": null, "begin_suppress_tokens": null, "sequence_bias": null, )"
    R"("token_healing": null, "guidance_scale": null, "watermarking_config": null, )"
    R"("num_return_sequences": 1, "output_attentions": null, "output_hidden_states": null, )"
    R"("output_scores": false, "output_logits": null, "return_dict_in_generate": false, )"
    R"("pad_token_id": null, "bos_token_id": null, "eos_token_id": null, )"
    R"("encoder_no_repeat_ngram_size": 0, "decoder_start_token_id": null, "is_assistant": )"
    R"(null, "num_assistant_tokens": 20, "num_assistant_tokens_schedule": "constant", )"
    R"("assistant_confidence_threshold": 0.4, "prompt_lookup_num_tokens": null, )"
    R"("max_matching_ngram_size": null, "assistant_early_exit": null, )"
    R"("assistant_lookbehind": 10, "target_lookbehind": 10, "assistant_ensemble_weight": )"
    R"(null, "speculation_type": null, "compile_config": null, "disable_compile": null, )"
    R"("continuous_batching_config": null, "low_memory": null, "penalty_alpha": null, )"
    R"("dola_layers": null, "diversity_penalty": 0.0, "num_beam_groups": 1, "constraints": )"
    R"(null, "force_words_ids": null, "prefill_chunk_size": null, "_from_model_config": )"
    R"(null, "transformers_version": "5.23.0"})";

const models::WritingOptions kUsual = {.sampling = {.temperature = 0.8, .top_p = 0.95}, .max_tokens = 0};

// Of a file without do_sample, which in transformers means greedy decoding.
const std::vector<std::string> kDraws = {
    "generation_config.json has no do_sample: tokens are drawn, where transformers would take the most "
    "probable one"};

models::Writer read_from(const std::string& folder) {
    models::Config config = {.vocabulary = 100, .specials = {.ends = {}}, .n_layers = 0};
    models::Writer w = {models::LanguageModel(config, models::Rng(1)), models::text::bytes(), false, kUsual};
    read_generation(folder, w);
    return w;
}

models::Writer read(const std::string& text) {
    const Folder folder;
    folder.write("generation_config.json", text);
    return read_from(folder.path);
}

// Everything that was read, in one line.
std::string described(const models::Writer& w) {
    const models::SamplingOptions& s = w.usual.sampling;
    std::string rest;
    for (const int32_t id : w.model.config.specials.ends)
        rest += join(" end=", id);
    for (const int32_t id : s.never)
        rest += join(" never=", id);
    for (const std::string& one : w.usual.stop)
        rest += join(" stop=", one);
    return join("temperature=", s.temperature, " top_k=", s.top_k, " top_p=", s.top_p,
                " penalty=", s.repetition_penalty, " tokens=", w.usual.max_tokens,
                " length=", w.usual.max_length, rest);
}

std::string complaint(const std::string& text) {
    const std::string error = error_of([&] { read(text); });
    CHECK_FALSE(contains(error, "\n"));
    return error;
}

}  // namespace

TEST_CASE("generation config: what transformers writes", "[models][hugging_face]") {
    const std::string usual = "temperature=0.8 top_k=0 top_p=0.95 penalty=1 tokens=0 length=0";
    CHECK(described(read(kUnset)) == usual);
    CHECK(described(read("{}")) == usual);
    CHECK(described(read_from("no such folder")) == usual);
    // Its defaults are greedy decoding.
    CHECK(described(read(kDefaults)) == "temperature=0 top_k=50 top_p=1 penalty=1 tokens=20 length=20");
    CHECK(described(read(R"({"do_sample":true})")) ==
          "temperature=1 top_k=50 top_p=1 penalty=1 tokens=0 length=0");
    CHECK(described(read(R"({"do_sample":true,"temperature":0.6,"top_p":0.9,"top_k":0})")) ==
          "temperature=0.6 top_k=0 top_p=0.9 penalty=1 tokens=0 length=0");
    CHECK(described(read(R"({"do_sample":false,"temperature":0.6})")) ==
          "temperature=0 top_k=0 top_p=0.95 penalty=1 tokens=0 length=0");
    CHECK(read(kDefaults).notes.empty());
    for (const std::string& text : {kUnset, std::string("{}")})
        CHECK(read(text).notes == kDraws);
}

TEST_CASE("generation config: each key with another value", "[models][hugging_face]") {
    // `expected`: what the line then has; after a ! what the error has; "": nothing changes.
    struct Change {
        const char *key, *value, *expected;
    };
    const std::vector<Change> changes = {
        {"temperature", "0.5", "temperature=0.5"},
        {"temperature", "-1", "!must be 0 or more: got -1"},
        {"top_k", "7", "top_k=7"},
        {"top_k", "-1", "!a whole number"},
        {"top_p", "0.5", "top_p=0.5"},
        {"top_p", "1.5", "!must be above 0, and at most 1: got 1.5"},
        {"repetition_penalty", "1.2", "penalty=1.2"},
        {"repetition_penalty", "0", "!must be positive: got 0"},
        {"max_new_tokens", "64", "tokens=64"},
        {"eos_token_id", "5", "end=5"},
        {"eos_token_id", "[5, 9]", "end=5 end=9"},
        {"suppress_tokens", "[3, 4]", "never=3 never=4"},
        {"stop_strings", "\"END\"", "stop=END"},
        {"stop_strings", R"(["a", "b"])", "stop=a stop=b"},
        {"stop_strings", R"([""])", "!must not be empty"},
        {"do_sample", "1", "!true or false"},
        {"num_beams", "4", "!one text is drawn, without a beam"},
        {"num_beam_groups", "2", "!one text is drawn, without a beam"},
        {"diversity_penalty", "0.5", "!one text is drawn, without a beam"},
        {"constraints", "[1]", "!one text is drawn, without a beam"},
        {"force_words_ids", "[[1]]", "!one text is drawn, without a beam"},
        {"min_length", "5", "!a text may end at once"},
        {"min_new_tokens", "5", "!a text may end at once"},
        {"min_p", "0.1", "!tokens are chosen by top_k and top_p"},
        {"top_h", "0.4", "!tokens are chosen by top_k and top_p"},
        {"typical_p", "0.9", "!tokens are chosen by top_k and top_p"},
        {"epsilon_cutoff", "0.1", "!tokens are chosen by top_k and top_p"},
        {"eta_cutoff", "0.1", "!tokens are chosen by top_k and top_p"},
        {"penalty_alpha", "0.6", "!there is no contrastive search"},
        {"dola_layers", "\"high\"", "!layers are not contrasted"},
        {"guidance_scale", "1.5", "!there is no second prompt"},
        {"no_repeat_ngram_size", "3", "!by repetition_penalty"},
        {"encoder_repetition_penalty", "1.5", "!what is like the prompt is not preferred"},
        {"encoder_no_repeat_ngram_size", "3", "!what is in the prompt may come again"},
        {"bad_words_ids", "[[1]]", "!by suppress_tokens"},
        {"begin_suppress_tokens", "[1]", "!what is forbidden is so everywhere"},
        {"sequence_bias", R"([[[1], 2.0]])", "!no text is preferred"},
        {"forced_bos_token_id", "1", "!no token is forced"},
        {"forced_eos_token_id", "0", "!no token is forced"},
        {"exponential_decay_length_penalty", "[5, 1.1]", "!the end has the probability"},
        {"watermarking_config", R"({"bias": 2.0})", "!texts have no watermark"},
        {"token_healing", "true", "!the prompt's last token"},
        {"bad_words_ids", "[ ]", ""},
        {"sequence_bias", "{ }", ""},
        {"dola_layers", "\" \"", "!layers are not contrasted"},
        {"max_length", "20", "length=20"},
        {"bos_token_id", "1", ""},
        {"pad_token_id", "1", ""},
        {"early_stopping", "\"never\"", ""},
        {"length_penalty", "2.0", ""},
        {"num_return_sequences", "3", ""},
        {"max_time", "1.5", ""},
        {"use_cache", "false", ""},
        {"cache_implementation", "\"static\"", ""},
        {"output_scores", "true", ""},
        {"renormalize_logits", "true", ""},
        {"transformers_version", "\"4.0\"", ""},
    };
    const std::string plain = described(read("{}"));
    for (const Change& c : changes) {
        const std::string text = join("{\"", c.key, "\":", c.value, "}"), expected = c.expected;
        INFO(text);
        if (expected.starts_with("!")) {
            const std::string error = complaint(text);
            CHECK(contains(error, "generation_config.json: "));
            CHECK(contains(error, join(": ", c.key)));
            CHECK(contains(error, expected.substr(1)));
            CHECK(described(read(join("{\"", c.key, "\":null}"))) == plain);
        } else {
            const models::Writer g = read(text);
            CHECK(g.notes == kDraws);
            CHECK(contains(described(g), expected));
            CHECK((described(g) == plain) == expected.empty());
        }
    }
    CHECK(read(R"({"eos_token_id":[5,100,-1]})").model.config.specials.ends == std::vector<int32_t>{5});
    CHECK(read(R"({"do_sample":true,"eos_token_id":[5,100,-1]})").notes ==
          std::vector<std::string>{
              "generation_config.json: eos_token_id 100 is ignored: there are the ids 0 to 99",
              "generation_config.json: eos_token_id -1 is ignored: there are the ids 0 to 99"});
    CHECK(read(R"({"do_sample":true,"my_key":1})").notes ==
          std::vector<std::string>{"keys that transformers does not know are ignored: \"my_key\""});
}

// Files often say what transformers does anyway.
TEST_CASE("generation config: a key that is refused may have the value that changes nothing",
          "[models][hugging_face]") {
    const std::pair<const char*, std::vector<const char*>> neutral[] = {
        {"1",
         {"num_beams", "num_beam_groups", "top_h", "typical_p", "guidance_scale",
          "encoder_repetition_penalty"}},
        {"0",
         {"diversity_penalty", "min_length", "min_new_tokens", "min_p", "epsilon_cutoff", "eta_cutoff",
          "penalty_alpha", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size"}},
        {"[]",
         {"constraints", "force_words_ids", "dola_layers", "bad_words_ids", "begin_suppress_tokens",
          "sequence_bias", "forced_bos_token_id", "forced_eos_token_id", "exponential_decay_length_penalty",
          "watermarking_config"}},
        {"false", {"token_healing"}},
    };
    for (const auto& [value, keys] : neutral)
        for (const char* const key : keys) {
            INFO(key);
            const std::string text = join("{\"", key, "\":", value, "}");
            CHECK(error_of([&] { read(text); }) == "");
            CHECK(contains(complaint(join("{\"", key, "\":2}")), "must be "));
        }
}

TEST_CASE("generation config: a chat template is not applied, and a note says so", "[models][hugging_face]") {
    const std::string end = " is not applied: the prompt is the text as given";
    const Folder folder;
    CHECK(read_from(folder.path).notes.empty());
    folder.write("tokenizer_config.json", R"({"chat_template":null})");
    CHECK(read_from(folder.path).notes.empty());
    folder.write("tokenizer_config.json", R"({"chat_template":"{{ messages }}"})");
    CHECK(read_from(folder.path).notes ==
          std::vector<std::string>{"tokenizer_config.json's chat_template" + end});
    folder.write("chat_template.jinja", "{{ messages }}");
    CHECK(read_from(folder.path).notes == std::vector<std::string>{"chat_template.jinja" + end});
}

TEST_CASE("generation config: a file that ends too early, or has a wrong byte", "[models][hugging_face]") {
    const std::string whole = R"({"do_sample":true,"top_k":7,"eos_token_id":[5,9],"stop_strings":["a","b"]})";
    CHECK(described(read(whole)) ==
          "temperature=1 top_k=7 top_p=1 penalty=1 tokens=0 length=0 end=5 end=9 stop=a stop=b");
    for (std::size_t i = 0; i < whole.size(); ++i) {
        INFO(i);
        CHECK_FALSE(complaint(whole.substr(0, i)).empty());
        std::string changed = whole;
        changed[i] = '\x01';
        CHECK_FALSE(complaint(changed).empty());
    }
}
