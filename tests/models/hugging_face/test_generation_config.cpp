// generation_config.json: every key of transformers' GenerationConfig is honoured, refused by name, or
// ignored because it changes no text.
#include "models/hugging_face/generation.h"
#include "models/text/learn_tokenizer.h"
#include "nn/checkpoint/json.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/hugging_face/json_text.h"

using namespace plaingrad;             // NOLINT
using namespace models::hugging_face;  // NOLINT
using namespace tests;                 // NOLINT
using autograd::join;
using Strings = std::vector<std::string>;

namespace {

// Of a file without do_sample, which in transformers means greedy decoding.
const Strings kDraws = {
    "generation_config.json has no do_sample: tokens are drawn, where transformers would take the most "
    "probable one"};

const models::Writer& read_from(const std::string& folder) {
    const models::Config config = {.vocabulary = 100, .specials = {.ends = {}}, .n_layers = 0};
    static models::Writer w = {models::LanguageModel(config, models::Rng(1)), models::text::bytes()};
    w.model.config = config;
    w.usual = {.sampling = {.temperature = 0.8, .top_p = 0.95}, .max_tokens = 0};
    w.notes.clear();
    read_generation(folder, w);
    return w;
}

const models::Writer& read(const std::string& text) {
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

const std::string kUsual = "temperature=0.8 top_k=0 top_p=0.95 penalty=1 tokens=0 length=0";

}  // namespace

TEST_CASE("generation config: what transformers writes", "[models][hugging_face]") {
    CHECK(described(read_from("no such folder")) == kUsual);
    for (const std::string& text : {golden_json("generation_unset"), std::string("{}")}) {
        CHECK(described(read(text)) == kUsual);
        CHECK(read(text).notes == kDraws);
    }
    const std::string defaults = golden_json("generation_defaults");  // greedy decoding
    CHECK(described(read(defaults)) == "temperature=0 top_k=50 top_p=1 penalty=1 tokens=20 length=20");
    CHECK(read(defaults).notes.empty());
    const std::pair<const char*, const char*> table[] = {
        {R"({"do_sample":true})", "temperature=1 top_k=50 top_p=1 penalty=1 tokens=0 length=0"},
        {R"({"do_sample":true,"temperature":0.6,"top_p":0.9,"top_k":0})",
         "temperature=0.6 top_k=0 top_p=0.9 penalty=1 tokens=0 length=0"},
        {R"({"do_sample":false,"temperature":0.6})",
         "temperature=0 top_k=0 top_p=0.95 penalty=1 tokens=0 length=0"},
        {R"({"max_new_tokens":5,"max_length":9})",
         "temperature=0.8 top_k=0 top_p=0.95 penalty=1 tokens=5 length=0"}};
    for (const auto& [text, expected] : table)
        CHECK(described(read(text)) == expected);
}

TEST_CASE("generation config: a key that is honoured", "[models][hugging_face]") {
    // What the line then has; after a ! what the error has.
    struct Row {
        const char *key, *value, *expected;
    };
    const Row table[] = {{"temperature", "0.5", "temperature=0.5"},
                         {"temperature", "-1", "!must be 0 or more: got -1"},
                         {"top_k", "7", "top_k=7"},
                         {"top_k", "-1", "!a whole number"},
                         {"top_p", "0.5", "top_p=0.5"},
                         {"top_p", "1.5", "!must be above 0, and at most 1: got 1.5"},
                         {"repetition_penalty", "1.2", "penalty=1.2"},
                         {"repetition_penalty", "0", "!must be positive: got 0"},
                         {"max_new_tokens", "64", "tokens=64"},
                         {"max_length", "20", "tokens=20 length=20"},
                         {"eos_token_id", "5", "end=5"},
                         {"eos_token_id", "[5, 9]", "end=5 end=9"},
                         {"eos_token_id", "[5, 100]", "end=5"},
                         {"suppress_tokens", "[3, 4]", "never=3 never=4"},
                         {"stop_strings", "\"END\"", "stop=END"},
                         {"stop_strings", R"(["a", "b"])", "stop=a stop=b"},
                         {"stop_strings", R"([""])", "!must not be empty"},
                         {"do_sample", "1", "!true or false"}};
    for (const auto& [key, value, expected] : table) {
        const std::string text = join("{\"", key, "\":", value, "}"), wanted = expected;
        INFO(text);
        if (wanted.starts_with("!")) {
            const std::string error = complaint(text);
            CHECK(contains(error, join("generation_config.json: ", key)));
            CHECK(contains(error, wanted.substr(1)));
        } else {
            const std::string line = described(read(text));
            CHECK(line != kUsual);
            CHECK(contains(line + " ", wanted + " "));
        }
        CHECK(described(read(join("{\"", key, "\":null}"))) == kUsual);
    }
}

TEST_CASE("generation config: a key that is refused, or has the value that changes nothing",
          "[models][hugging_face]") {
    struct Row {
        const char *key, *refused, *neutral, *why;
    };
    const Row table[] = {
        {"num_beams", "4", "1", "one text is drawn, without a beam"},
        {"num_beam_groups", "2", "1", "one text is drawn, without a beam"},
        {"diversity_penalty", "0.5", "0", "one text is drawn, without a beam"},
        {"constraints", "[1]", "[]", "one text is drawn, without a beam"},
        {"force_words_ids", "[[1]]", "[]", "one text is drawn, without a beam"},
        {"min_length", "5", "0", "a text may end at once"},
        {"min_new_tokens", "5", "0", "a text may end at once"},
        {"min_p", "0.1", "0", "tokens are chosen by top_k and top_p"},
        {"top_h", "0.4", "1", "tokens are chosen by top_k and top_p"},
        {"typical_p", "0.9", "1", "tokens are chosen by top_k and top_p"},
        {"epsilon_cutoff", "0.1", "0", "tokens are chosen by top_k and top_p"},
        {"eta_cutoff", "0.1", "0", "tokens are chosen by top_k and top_p"},
        {"penalty_alpha", "0.6", "0", "there is no contrastive search"},
        {"dola_layers", "\"high\"", "[]", "layers are not contrasted"},
        {"dola_layers", "\" \"", "\"\"", "layers are not contrasted"},
        {"guidance_scale", "1.5", "1", "there is no second prompt"},
        {"no_repeat_ngram_size", "3", "0", "by repetition_penalty"},
        {"encoder_repetition_penalty", "1.5", "1", "what is like the prompt is not preferred"},
        {"encoder_no_repeat_ngram_size", "3", "0", "what is in the prompt may come again"},
        {"bad_words_ids", "[[1]]", "[ ]", "by suppress_tokens"},
        {"begin_suppress_tokens", "[1]", "[]", "what is forbidden is so everywhere"},
        {"sequence_bias", "[[[1], 2.0]]", "{ }", "no text is preferred"},
        {"forced_bos_token_id", "1", "[]", "no token is forced"},
        {"forced_eos_token_id", "0", "[]", "no token is forced"},
        {"exponential_decay_length_penalty", "[5, 1.1]", "[]", "the end has the probability"},
        {"watermarking_config", R"({"bias": 2.0})", "{}", "texts have no watermark"},
        {"token_healing", "true", "false", "the prompt's last token"}};
    for (const auto& [key, refused, neutral, why] : table) {
        INFO(key);
        const std::string error = complaint(join("{\"", key, "\":", refused, "}"));
        CHECK(contains(error, join("generation_config.json: ", key, " must be ")));
        CHECK(contains(error, why));
        CHECK(contains(complaint(join("{\"", key, "\":2}")), "must be "));
        for (const char* const nothing : {neutral, "null"})
            CHECK(described(read(join("{\"", key, "\":", nothing, "}"))) == kUsual);
    }
}

TEST_CASE("generation config: what is ignored, and what a note says", "[models][hugging_face]") {
    CHECK(described(read(
              R"({"bos_token_id":1,"pad_token_id":1,"early_stopping":"never","length_penalty":2.0,)"
              R"("num_return_sequences":3,"max_time":1.5,"use_cache":false,"cache_implementation":"static",)"
              R"("output_scores":true,"renormalize_logits":true,"transformers_version":"4.0"})")) == kUsual);
    CHECK(read(R"({"max_time":1.5,"low_memory":true})").notes == kDraws);
    CHECK(read(R"({"do_sample":true,"eos_token_id":[5,100,-1]})").notes ==
          Strings{"generation_config.json: eos_token_id 100 is ignored: there are the ids 0 to 99",
                  "generation_config.json: eos_token_id -1 is ignored: there are the ids 0 to 99"});
    CHECK(read(R"({"do_sample":true,"my_key":1})").notes ==
          Strings{"keys that transformers does not know are ignored: \"my_key\""});
    // A chat template is not applied.
    const Folder folder;
    const auto notes = [&](const std::string& file, const std::string& text) {
        folder.write(file, text);
        return read_from(folder.path).notes;
    };
    const std::string end = " is not applied: the prompt is the text as given";
    CHECK(read_from(folder.path).notes.empty());
    CHECK(notes("tokenizer_config.json", R"({"chat_template":null})").empty());
    CHECK(notes("tokenizer_config.json", R"({"chat_template":"{{ messages }}"})") ==
          Strings{"tokenizer_config.json's chat_template" + end});
    CHECK(notes("chat_template.jinja", "{{ messages }}") == Strings{"chat_template.jinja" + end});
}
