#include "models/hugging_face/generation.h"

#include "autograd/base/list.h"
#include "models/hugging_face/families.h"
#include "models/text/tokenizer/pipeline.h"
#include "nn/checkpoint/json.h"

namespace plaingrad::models::hugging_face {
namespace {

// A number of tokens, or 0 for null.
int64_t count_or_0(const Json& json) { return json.is_null() ? 0 : json.count(INT32_MAX); }

// Sets a number, unless the file has null.
void set(double& number, const Json& json, double least, double most, const char* range) {
    if (json.is_null())
        return;
    number = json.real();
    json.require(number >= least && number <= most, "must be ", range, ": got ", number);
}

// With kAccepted, these are all keys of GenerationConfig in transformers 5, and those that older files have.
const std::vector<Refused> kRefused = {
    {"num_beams", "1", "one text is drawn, without a beam"},
    {"num_beam_groups", "1", "one text is drawn, without a beam"},
    {"diversity_penalty", "0", "one text is drawn, without a beam"},
    {"constraints", "null", "one text is drawn, without a beam"},
    {"force_words_ids", "null", "one text is drawn, without a beam"},
    {"min_length", "0", "a text may end at once"},
    {"min_new_tokens", "0", "a text may end at once"},
    {"min_p", "0", "tokens are chosen by top_k and top_p"},
    {"top_h", "1", "tokens are chosen by top_k and top_p"},
    {"typical_p", "1", "tokens are chosen by top_k and top_p"},
    {"epsilon_cutoff", "0", "tokens are chosen by top_k and top_p"},
    {"eta_cutoff", "0", "tokens are chosen by top_k and top_p"},
    {"penalty_alpha", "0", "there is no contrastive search"},
    {"dola_layers", "null", "layers are not contrasted"},
    {"guidance_scale", "1", "there is no second prompt"},
    {"no_repeat_ngram_size", "0", "repetition is only weighed, by repetition_penalty"},
    {"encoder_repetition_penalty", "1", "what is like the prompt is not preferred"},
    {"encoder_no_repeat_ngram_size", "0", "what is in the prompt may come again"},
    {"bad_words_ids", "null", "only single tokens can be forbidden, by suppress_tokens"},
    {"begin_suppress_tokens", "null", "what is forbidden is so everywhere"},
    {"sequence_bias", "null", "no text is preferred"},
    {"forced_bos_token_id", "null", "no token is forced"},
    {"forced_eos_token_id", "null", "no token is forced"},
    {"exponential_decay_length_penalty", "null", "the end has the probability that the model gives it"},
    {"watermarking_config", "null", "texts have no watermark"},
    {"token_healing", "false", "the prompt's last token stays as it is"},
};

// Honoured; or they change no text, or others say it.
const Ignored kAccepted = {
    // Honoured.
    "do_sample", "temperature", "top_k", "top_p", "repetition_penalty", "max_new_tokens", "max_length",
    "stop_strings", "eos_token_id", "suppress_tokens",
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

void note_chat_template(const std::string& folder, std::vector<std::string>& notes) {
    const bool beside = nn::checkpoint::exists(nn::checkpoint::in_folder(folder, "chat_template.jinja"));
    if (beside || !text::tokenizer::TokenizerConfig(folder).json["chat_template"].is_null())
        notes.push_back(
            autograd::join(beside ? "chat_template.jinja" : "tokenizer_config.json's chat_template",
                           " is not applied: the prompt is the text as given"));
}

}  // namespace

void read_generation(const std::string& folder, Writer& w) {
    note_chat_template(folder, w.notes);
    const std::string path = nn::checkpoint::in_folder(folder, "generation_config.json");
    if (!nn::checkpoint::exists(path))
        return;
    const Json json = Json::open(path), do_sample = json["do_sample"], top_k = json["top_k"];
    check_others(json.members(), kRefused, kAccepted, w.notes);
    const auto ids = [&](const char* name) {
        return valid_ids(autograd::join("generation_config.json: ", name),
                         autograd::mapped(listed_in(json[name]), &Json::integer), w.model.config.vocabulary,
                         w.notes);
    };
    SamplingOptions& s = w.usual.sampling;
    if (do_sample.boolean_or(false))
        s = {.temperature = 1, .top_k = 50, .top_p = 1};
    set(s.temperature, json["temperature"], 0, 1e30, "0 or more");
    set(s.top_p, json["top_p"], 1e-30, 1, "above 0, and at most 1");
    set(s.repetition_penalty, json["repetition_penalty"], 1e-30, 1e30, "positive");
    s.top_k = top_k.is_null() ? s.top_k : count_or_0(top_k);
    if (!do_sample.boolean_or(true))
        s.temperature = 0;
    if (do_sample.is_null())
        w.notes.emplace_back(
            "generation_config.json has no do_sample: tokens are drawn, where transformers would take the "
            "most probable one");
    const int64_t tokens = count_or_0(json["max_new_tokens"]), length = count_or_0(json["max_length"]);
    if (tokens > 0)
        w.usual.max_tokens = tokens;
    else if (length > 0)
        w.usual.max_tokens = w.usual.max_length = length;
    w.usual.stop = autograd::mapped(listed_in(json["stop_strings"]), &Json::nonempty_text);
    if (const std::vector<int32_t> ends = ids("eos_token_id"); !ends.empty())
        w.model.config.specials.ends = ends;
    s.never = ids("suppress_tokens");
}

}  // namespace plaingrad::models::hugging_face
