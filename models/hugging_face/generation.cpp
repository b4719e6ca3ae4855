#include "models/hugging_face/generation.h"

#include <algorithm>
#include <optional>

#include "autograd/base/list.h"
#include "models/hugging_face/keys.h"
#include "models/text/tokenizer/pipeline.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::models::hugging_face {
namespace {

using autograd::mapped;

// The file's values; no value: it has none, or null.
struct GenerationKeys {
    std::optional<bool> do_sample = {};
    std::optional<double> temperature = {}, top_p = {}, repetition_penalty = {};
    std::optional<int64_t> top_k = {}, max_new_tokens = {}, max_length = {};
    std::vector<int64_t> ends = {}, suppressed = {};
    std::vector<std::string> stop = {};
};

std::optional<double> number_in(const Json& json, double least, double most, const char* range) {
    if (json.is_null())
        return std::nullopt;
    const double value = json.real();
    json.require(value >= least && value <= most, "must be ", range, ": got ", value);
    return value;
}
std::optional<int64_t> count_or_null(const Json& json) {
    return json.is_null() ? std::nullopt : std::optional(json.count(INT32_MAX));
}

// One, a list of them, or null.
std::vector<Json> one_or_more(const Json& json) {
    if (json.kind() == Json::Kind::array)
        return mapped(json.items(), [](const Json& item) { return item; });
    return json.is_null() ? std::vector<Json>() : std::vector{json};
}

// Whether the value is null, empty, or the number or the truth that changes nothing.
bool changes_nothing(const Json& json, double neutral) {
    if (json.kind() == Json::Kind::number)
        return json.real() == neutral;
    if (json.kind() == Json::Kind::boolean)
        return json.boolean() == (neutral != 0);
    const std::string text = json.shown();
    return json.is_null() || text == "\"\"" || text == "[]" || text == "{}";
}

// Honoured: has `read`. Else refused, unless null or `neutral`.
struct GenerationKey {
    std::string_view name;
    void (*read)(const Json&, GenerationKeys&) = nullptr;
    double neutral = 0;
    const char* why = "";
};
using J = const Json;
using G = GenerationKeys;

// With kIgnored, all keys of GenerationConfig in transformers 5, and those that older files have.
constexpr GenerationKey kGenerationKeys[] = {
    {"do_sample", [](J& j, G& k) { k.do_sample = j.is_null() ? std::nullopt : std::optional(j.boolean()); }},
    {"temperature", [](J& j, G& k) { k.temperature = number_in(j, 0, 1e30, "0 or more"); }},
    {"top_k", [](J& j, G& k) { k.top_k = count_or_null(j); }},
    {"top_p", [](J& j, G& k) { k.top_p = number_in(j, 1e-30, 1, "above 0, and at most 1"); }},
    {"repetition_penalty", [](J& j, G& k) { k.repetition_penalty = number_in(j, 1e-30, 1e30, "positive"); }},
    {"max_new_tokens", [](J& j, G& k) { k.max_new_tokens = count_or_null(j); }},
    {"max_length", [](J& j, G& k) { k.max_length = count_or_null(j); }},
    {"eos_token_id", [](J& j, G& k) { k.ends = mapped(one_or_more(j), &Json::integer); }},
    {"suppress_tokens", [](J& j, G& k) { k.suppressed = mapped(one_or_more(j), &Json::integer); }},
    {"stop_strings", [](J& j, G& k) { k.stop = mapped(one_or_more(j), &Json::nonempty_text); }},

    {"num_beams", nullptr, 1, "one text is drawn, without a beam"},
    {"num_beam_groups", nullptr, 1, "one text is drawn, without a beam"},
    {"diversity_penalty", nullptr, 0, "one text is drawn, without a beam"},
    {"constraints", nullptr, 0, "one text is drawn, without a beam"},
    {"force_words_ids", nullptr, 0, "one text is drawn, without a beam"},
    {"min_length", nullptr, 0, "a text may end at once"},
    {"min_new_tokens", nullptr, 0, "a text may end at once"},
    {"min_p", nullptr, 0, "tokens are chosen by top_k and top_p"},
    {"top_h", nullptr, 1, "tokens are chosen by top_k and top_p"},
    {"typical_p", nullptr, 1, "tokens are chosen by top_k and top_p"},
    {"epsilon_cutoff", nullptr, 0, "tokens are chosen by top_k and top_p"},
    {"eta_cutoff", nullptr, 0, "tokens are chosen by top_k and top_p"},
    {"penalty_alpha", nullptr, 0, "there is no contrastive search"},
    {"dola_layers", nullptr, 0, "layers are not contrasted"},
    {"guidance_scale", nullptr, 1, "there is no second prompt"},
    {"no_repeat_ngram_size", nullptr, 0, "repetition is only weighed, by repetition_penalty"},
    {"encoder_repetition_penalty", nullptr, 1, "what is like the prompt is not preferred"},
    {"encoder_no_repeat_ngram_size", nullptr, 0, "what is in the prompt may come again"},
    {"bad_words_ids", nullptr, 0, "only single tokens can be forbidden, by suppress_tokens"},
    {"begin_suppress_tokens", nullptr, 0, "what is forbidden is so everywhere"},
    {"sequence_bias", nullptr, 0, "no text is preferred"},
    {"forced_bos_token_id", nullptr, -1, "no token is forced"},
    {"forced_eos_token_id", nullptr, -1, "no token is forced"},
    {"exponential_decay_length_penalty", nullptr, 0, "the end has the probability that the model gives it"},
    {"watermarking_config", nullptr, 0, "texts have no watermark"},
    {"token_healing", nullptr, 0, "the prompt's last token stays as it is"},
};

// They change no text, or others say it.
constexpr std::string_view kIgnored[] = {
    // Ids that config.json has, or that only batches and encoder-decoders need.
    "bos_token_id", "pad_token_id", "decoder_start_token_id",
    // Of beam search.
    "early_stopping", "length_penalty", "low_memory",
    // How many texts there are, the caller says. A limit of time would make them depend on the machine.
    "num_return_sequences", "max_time",
    // What is drawn from is a distribution in any case, and broken weights are an error.
    "renormalize_logits", "remove_invalid_values",
    // How transformers computes: caches, compilation, and drafts by another model.
    "use_cache", "cache_implementation", "cache_config", "max_cache_len", "prefill_chunk_size",
    "compile_config", "disable_compile", "continuous_batching_config", "is_assistant", "num_assistant_tokens",
    "num_assistant_tokens_schedule", "assistant_confidence_threshold", "assistant_early_exit",
    "assistant_lookbehind", "target_lookbehind", "assistant_ensemble_weight", "prompt_lookup_num_tokens",
    "max_matching_ngram_size", "speculation_type", "use_mtp",
    // Python's return values, and who wrote the file.
    "return_dict_in_generate", "output_attentions", "output_hidden_states", "output_scores", "output_logits",
    "transformers_version", "_from_model_config", "_commit_hash"};

GenerationKeys read_keys(const Json& json, Unknown& unknown) {
    GenerationKeys keys;
    for (const Json& member : json.members()) {
        const std::string_view name = member.name();
        const auto* key = std::find_if(std::begin(kGenerationKeys), std::end(kGenerationKeys),
                                       [&](const GenerationKey& k) { return k.name == name; });
        if (key == std::end(kGenerationKeys)) {
            if (std::find(std::begin(kIgnored), std::end(kIgnored), name) == std::end(kIgnored))
                unknown.add(name);
        } else if (key->read != nullptr) {
            key->read(member, keys);
        } else {
            member.require(changes_nothing(member, key->neutral), "has a value that is not supported, as ",
                           key->why, "; without this key the model can be used");
        }
    }
    return keys;
}

void note_chat_template(const std::string& folder, std::vector<std::string>& notes) {
    const bool beside = nn::checkpoint::exists(nn::checkpoint::in_folder(folder, "chat_template.jinja"));
    if (beside || !text::tokenizer::TokenizerConfig(folder).json["chat_template"].is_null())
        notes.push_back(
            autograd::join(beside ? "chat_template.jinja" : "tokenizer_config.json's chat_template",
                           " is not applied: the prompt is the text as given"));
}

}  // namespace

Generation read_generation(const std::string& folder, int64_t vocabulary, const SamplingOptions& usual) {
    Generation g = {.sampling = usual};
    note_chat_template(folder, g.notes);
    const std::string path = nn::checkpoint::in_folder(folder, "generation_config.json");
    if (!nn::checkpoint::exists(path))
        return g;
    Unknown unknown;
    const GenerationKeys k = read_keys(Json::open(path), unknown);
    unknown.note(g.notes);
    if (k.do_sample.value_or(false))
        g.sampling = {.temperature = 1, .top_k = 50, .top_p = 1};
    g.sampling.temperature = k.do_sample == false ? 0 : k.temperature.value_or(g.sampling.temperature);
    g.sampling.top_k = k.top_k.value_or(g.sampling.top_k);
    g.sampling.top_p = k.top_p.value_or(g.sampling.top_p);
    g.sampling.repetition_penalty = k.repetition_penalty.value_or(g.sampling.repetition_penalty);
    g.max_tokens = k.max_new_tokens.value_or(0);
    g.max_length = k.max_length.value_or(0);
    if (!k.do_sample)
        g.notes.emplace_back(
            "generation_config.json has no do_sample: tokens are drawn, where transformers would take the "
            "most probable one");
    g.stop = k.stop;
    const auto valid = [&](const char* name, const std::vector<int64_t>& ids) {
        return valid_ids(autograd::join("generation_config.json: ", name), ids, vocabulary, g.notes);
    };
    g.ends = valid("eos_token_id", k.ends);
    g.sampling.never = valid("suppress_tokens", k.suppressed);
    return g;
}

}  // namespace plaingrad::models::hugging_face
