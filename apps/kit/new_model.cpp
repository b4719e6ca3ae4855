#include "apps/kit/new_model.h"

#include <algorithm>
#include <filesystem>

#include "apps/kit/pieces.h"
#include "apps/kit/plan.h"
#include "apps/kit/pretrained.h"
#include "apps/kit/program.h"
#include "models/presets.h"

namespace plaingrad::kit {

namespace fs = std::filesystem;
using autograd::check;

void add_preset(Options& options, std::string& preset) {
    options.add("--preset", "whose model: models/presets.h names the sources", preset,
                models::preset_names());
}

void add_model_options(Options& options, PresetModel& m) {
    add_preset(options, m.preset);
    options.add("--positions", "positional encoding, instead of the preset's", m.positions,
                {"sinusoidal", "learned"});
    options.add("--d-model", "N", "width of the model; 0: the preset's", m.d_model, {.max = 4096});
    options.add("--heads", "N", "attention heads; 0: the preset's", m.n_heads, {.max = 4096});
    options.add("--d-ff", "N", "width of the feed-forward layers; 0: the preset's", m.d_ff, {.max = 1 << 16});
    options.add("--layers", "N", "layers of each stack; 0: the preset's", m.n_layers, {.max = 100});
}

models::Config config_of(const PresetModel& m) {
    models::Config config = models::preset(m.preset);
    models::BlockConfig& block = config.block;
    if (!m.positions.empty())
        block.positions = m.positions == "learned" ? nn::Positions::learned : nn::Positions::sinusoidal;
    block.d_model = m.d_model > 0 ? m.d_model : block.d_model;
    block.n_heads = m.n_heads > 0 ? m.n_heads : block.n_heads;
    block.d_ff = m.d_ff > 0 ? m.d_ff : block.d_ff;
    if (m.n_layers > 0)
        config.n_layers = config.n_decoder_layers = m.n_layers;
    check_heads(block.d_model, block.n_heads);
    return config;
}

models::Transformer new_transformer(const models::Config& config, const autograd::Rng& rng) {
    check_memory(models::least_parameters(config));
    models::Transformer model(config, rng);
    announce(name(), nn::parameter_count(model), config.block.precision);
    return model;
}

void add_new_options(Options& options, NewModel& s, const std::string& tokens, int64_t least,
                     const std::string& heads) {
    options.add("--vocabulary", "N", "tokens: " + tokens, s.vocabulary, {.min = least, .max = 1 << 20});
    options.add("--layers", "N", "layers", s.layers, {.min = 1, .max = 1000});
    options.add("--heads", "N", "attention heads" + heads, s.heads, {.min = 1, .max = 1024});
    options.add("--d-model", "N", "width of the model", s.d_model, {.min = 1, .max = 1 << 16});
    options.add("--context", "N", "tokens that the model sees", s.context, {.min = 1, .max = 1 << 20});
    options.add_common(s.seed, "random seed of the weights");
}

void set_sizes(models::Config& c, const NewModel& s) {
    c.vocabulary = s.vocabulary;
    c.specials = {.start = 0, .ends = {0}, .pad = autograd::Tokens::kNoPadding, .never = {}};
    c.max_length = s.context;
    c.n_layers = s.layers;
    c.tied = true;
    c.block.d_model = s.d_model;
    c.block.n_heads = s.heads;
    c.block.d_ff = 4 * s.d_model;
}

std::string begin_new(const NewModel& s, const models::Config& config) {
    check_heads(s.d_model, s.heads);
    check_memory(models::least_parameters(check_config(config)));
    check_no_model(s.words[0]);
    std::string text;
    for (const File& file : read_files({s.words.begin() + 1, s.words.end()}, s.bytes))  // each begins a line
        text += (text.empty() || text.ends_with('\n') ? "" : "\n") + file.text;
    check(std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) > ' '; }),
          s.words[1], ": there is no text to learn tokens from");
    std::error_code error;
    fs::create_directories(s.words[0], error);
    check(!error, s.words[0], ": the folder cannot be made: ", error.message());
    return text;
}

}  // namespace plaingrad::kit
