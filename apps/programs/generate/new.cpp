#include "apps/programs/generate/new.h"

#include <filesystem>
#include <iostream>

#include "apps/kit/pieces.h"
#include "apps/kit/plan.h"
#include "apps/kit/text.h"
#include "models/hugging_face.h"
#include "models/hugging_face/stack.h"
#include "models/presets.h"
#include "models/text/byte_bpe.h"

namespace plaingrad::generate {

namespace fs = std::filesystem;
using autograd::check;
using models::StackConfig;
using models::text::ByteBpe;

void add_new_options(kit::Options& options, NewSettings& s) {
    options.rest("FOLDER FILE...", "where to write it; texts to learn the tokens from", s.words,
                 {.least = 2});
    options.add("--family", "what the layers are made of", s.family, {"gpt2", "llama"});
    options.add("--bytes", "read the files as they are, with CR, BOM and NUL", s.bytes);
    options.add("--vocabulary", "N", "tokens: 256 bytes, the end of a text, and byte pairs", s.vocabulary,
                {.min = 257, .max = 1 << 20});
    options.add("--layers", "N", "layers", s.layers, {.min = 1, .max = 1000});
    options.add("--heads", "N", "attention heads; llama: of queries, twice as many as of keys and values",
                s.heads, {.min = 1, .max = 1024});
    options.add("--d-model", "N", "width of the model", s.d_model, {.min = 1, .max = 1 << 16});
    options.add("--context", "N", "tokens that the model sees", s.context, {.min = 1, .max = 1 << 20});
    options.add_common(s.seed, "random seed of the weights");
}

namespace {

// Sizes by the family's custom: a feed-forward of four times the width, or, where it is gated and has three
// matrices, of 8/3 times.
StackConfig config_for(const NewSettings& s, int64_t vocabulary, int32_t end_of_text) {
    StackConfig c = s.family == "gpt2" ? models::gpt2() : models::llama();
    c.vocabulary = vocabulary;
    c.max_length = s.context;
    c.n_layers = s.layers;
    c.tied = true;
    c.specials = {
        .start = end_of_text, .ends = {end_of_text}, .pad = autograd::Tokens::kNoPadding, .never = {}};
    c.block.d_model = s.d_model;
    c.block.n_heads = s.heads;
    c.block.d_ff = c.block.gated ? std::max<int64_t>(1, s.d_model * 8 / 3) : 4 * s.d_model;
    if (c.block.n_kv_heads > 0) {
        c.block.n_kv_heads = s.heads % 2 == 0 ? s.heads / 2 : s.heads;
        c.block.rotary = {};
    }
    return c;
}

// Another model's files would be overwritten, or, as its tokenizer.json, be read in place of the new ones.
void check_no_model(const std::string& folder) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
        const fs::path name = entry.path().filename(), kind = name.extension();
        check(kind != ".json" && kind != ".safetensors" && kind != ".jinja" && name != "merges.txt" &&
                  name != "vocab.txt",
              entry.path().string(), ": there is a model already; give another folder");
    }
}

}  // namespace

void make_new(const NewSettings& s) {
    const std::string& folder = s.words[0];
    kit::check_heads(s.d_model, s.heads);
    kit::check_memory(models::least_parameters(check_config(config_for(s, s.vocabulary, 0))));
    check_no_model(folder);
    std::string text;
    for (const kit::File& file : kit::read_files({s.words.begin() + 1, s.words.end()}, s.bytes))
        text += file.text;
    const ByteBpe bpe = ByteBpe::learn(text, s.vocabulary - 257);
    const StackConfig c = config_for(s, bpe.size(), bpe.end_of_text());  // a text may have fewer pairs
    const models::LanguageModel model(c, autograd::Rng(static_cast<uint64_t>(s.seed)));
    using namespace models::hugging_face;
    const Family family = s.family == "gpt2" ? Family::gpt2 : Family::llama;
    std::error_code error;
    fs::create_directories(folder, error);
    check(!error, folder, ": the folder cannot be made: ", error.message());
    bpe.save(folder, s.context);  // first: a folder with a model has all that belongs to it
    models::save_hugging_face(folder, model, config_of(c, family, Head::language_model));
    std::cout << folder << ": " << kit::grouped(nn::parameter_count(model)) << " random parameters, "
              << kit::grouped(bpe.size()) << " tokens\n";
}

}  // namespace plaingrad::generate
