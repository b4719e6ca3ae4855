#include "apps/programs/char_lm/options.h"

#include "apps/kit/run.h"
#include "apps/programs/char_lm/block.h"

namespace plaingrad::char_lm {

Settings recipe(const std::string& preset) {
    // tiny: the recipe for small machines in the README of Karpathy's nanoGPT, but with a higher learning
    // rate: with its 1e-3, so small a model has not learned enough after 2,000 steps.
    Settings s = {};
    s.preset = preset;
    if (preset == "small") {  // nanoGPT's config/train_shakespeare_char.py
        s.layers = s.heads = 6, s.d_model = 384, s.context = 256;
        s.batch = 64, s.steps = 5000, s.lr = 1e-3, s.dropout = 0.2;
    } else if (preset == "names") {
        // Karpathy's makemore, but with dropout and a higher learning rate that falls: without them the model
        // has the names by heart before it is good at new ones.
        s.config = "gpt2";
        s.d_model = 64, s.context = 16, s.lr = 2e-3, s.dropout = 0.1;
        s.batch = 32, s.steps = 16'000, s.validate_every = 500;
    } else if (preset == "demo") {  // 18 to 30 seconds on two cores
        s.layers = 3, s.steps = 1800, s.lr = 4e-3, s.dropout = 0.05;
    }
    return s;
}

static void use_preset(Settings& s, const kit::Options& given) {
    if (!given.was_given("--preset"))
        s.preset = given.was_given("--lines") ? "names" : "tiny";
    s = recipe(s.preset);
}

void add_train_options(kit::Options& options, Settings& s) {
    options.rest("FILE...", "text in UTF-8; several files are read as one text", s.files, {},
                 kit::Options::Rest::files);
    kit::add_run_options(options, s.run);
    options.add("--lines", "each line is a separate text, such as a name", s.lines);
    options.add("--bytes", "bytes instead of characters: any file", s.bytes);
    options.preset("--preset", "defaults for the other options; --lines selects names", s.preset,
                   {"tiny", "small", "names"}, [&s](const kit::Options& given) { use_preset(s, given); });
    options.add("--config", "MODEL[+CHANGE...]", config_help(), s.config).set =
        [&s](const std::string& name) {
            named_config(name, 4, 1);  // of any width: a name that is wrong is refused here, with its file
            s.config = name;
        };
    options.add("--layers", "N", "layers", s.layers, {.min = 1, .max = 100});
    options.add("--heads", "N", "attention heads", s.heads, {.min = 1, .max = 1024});
    options.add("--d-model", "N", "width of the model", s.d_model, {.min = 1, .max = 4096});
    options.add("--context", "N", "characters that the model sees; with --lines, at least the longest line",
                s.context, {.min = 1, .max = 1 << 16});
    options.add("--dropout", "X", "probability of dropping an element", s.dropout, {.max = 0.99});
    kit::add_text_training(options, s, "pieces of text, or lines,");
    options.add_common(s.seed);
}

models::Config model_config(const Settings& s, int64_t vocabulary, int64_t context) {
    const auto p = static_cast<autograd::Real>(s.dropout);
    models::Config config = named_config(s.config, s.d_model, s.heads);
    config.vocabulary = vocabulary;
    config.specials = {
        .never = {models::kPad, models::kSos, models::kUnk}};  // of a vocabulary that is learned here
    config.max_length = context;
    config.n_layers = s.layers;
    config.block.dropout = {.embeddings = p, .sublayers = p, .attention = p};
    config.block.precision = kit::precision_of(s.run.precision);
    if (s.preset == "names") {
        config.tied = false;
        config.block.init = nn::Init::pytorch;
        config.block.scale_embeddings = false;  // they are large already: N(0, 1)
    }
    return config;
}

models::RunOptions run_options(const Settings& s) {
    const bool names = s.preset == "names";
    return kit::run_options(s, s.seed,
                            {.beta2 = 0.99,
                             .weight_decay = names ? 0.01 : 0.1,
                             .decoupled = true,
                             .decay_matrices_only = !names});
}

}  // namespace plaingrad::char_lm
