#include "apps/programs/generate/new.h"

#include <algorithm>

#include "models/presets.h"
#include "models/text/learn_tokenizer.h"

namespace plaingrad::generate {

using models::Config;

void add_new_options(kit::Options& options, NewSettings& s) {
    options.rest("FOLDER FILE...", "where to write it; texts to learn the tokens from", s.words,
                 {.least = 2});
    options.add("--family", "what the layers are made of", s.family, {"gpt2", "llama"});
    options.add("--bytes", "read the files as they are, with CR, BOM and NUL", s.bytes);
    kit::add_new_options(options, s, "256 bytes, the end of a text, and byte pairs", 257,
                         "; llama: of queries, twice as many as of keys and values");
}

// Sizes by the family's custom: where the feed-forward is gated, it has three matrices instead of two, and is
// 8/3 times as wide as the model.
static Config config_for(const NewSettings& s) {
    Config c = s.family == "gpt2" ? models::gpt2() : models::llama();
    kit::set_sizes(c, s);
    if (c.block.gated)
        c.block.d_ff = std::max<int64_t>(1, s.d_model * 8 / 3);
    if (c.block.n_kv_heads > 0) {
        kit::check_usage(s.d_model % (2 * s.heads) == 0, "--d-model ", s.d_model,
                         " must be a multiple of twice --heads ", s.heads, ", because llama rotates pairs");
        c.block.n_kv_heads = s.heads % 2 == 0 ? s.heads / 2 : s.heads;
        c.block.rotary = {};
    }
    return c;
}

void make_new(const NewSettings& s) {
    Config c = config_for(s);
    const auto tokenizer = models::text::learn_byte_pairs(kit::begin_new(s, c), s.vocabulary - 257);
    c.vocabulary = tokenizer.size();  // a text may have fewer pairs
    const std::string end = "<|endoftext|>";
    const int32_t id = *tokenizer.id(end);
    c.specials = {.start = id, .ends = {id}, .pad = autograd::Tokens::kNoPadding, .never = {}};
    tokenizer.save(s.words[0]);
    models::text::save_tokenizer_config(s.words[0], "GPT2Tokenizer", s.context,
                                        {{"bos_token", end}, {"eos_token", end}, {"unk_token", end}});
    using namespace models::hugging_face;
    kit::write_new<models::LanguageModel>(s, c, s.family == "gpt2" ? Family::gpt2 : Family::llama);
}

}  // namespace plaingrad::generate
