#include <algorithm>
#include <filesystem>

#include "apps/kit/model.h"
#include "apps/programs/generate/generate.h"
#include "autograd/base/list.h"
#include "models/text/learn_tokenizer.h"

namespace plaingrad::generate {

using autograd::check;
using models::LanguageModel;

TrainSettings recipe(const std::string& preset) {
    // tiny: the recipe for small machines in the README of Karpathy's nanoGPT, but with a higher learning
    // rate: with its 1e-3, so small a model has not learned enough after 2,000 steps.
    TrainSettings s = {};
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
    } else if (preset == "further") {
        s.layers = s.context = 0, s.batch = 4, s.steps = 200, s.validate_every = 50, s.lr = 5e-5;
    } else if (preset == "demo") {  // 18 to 30 seconds on two cores
        s.layers = 3, s.steps = 1800, s.lr = 4e-3, s.dropout = 0.05;
    }
    return s;
}

static void use_preset(TrainSettings& s, const kit::Options& given) {
    std::error_code none;
    const std::vector<std::string>& words = given.words();
    if (!given.was_given("--preset"))
        s.preset = !words.empty() && std::filesystem::is_directory(words[0], none) ? "further"
                   : given.was_given("--lines")                                    ? "names"
                                                                                   : "tiny";
    s = recipe(s.preset);
}

void add_train_options(kit::Options& options, TrainSettings& s) {
    options
        .rest("FILE...", "texts to learn from; the first may be the folder of a model to train further",
              s.words, {.min = 1})
        .may_change();
    kit::add_run_options(options, s.run);
    options.add("--lines", "each line is a separate text, such as a name", s.lines);
    options.add("--bytes", "read the files as they are, with CR, BOM and NUL; a new model is one of bytes",
                s.bytes);
    options.preset("--preset",
                   "defaults for the other options; --lines selects names, the folder of a model further",
                   s.preset, {"tiny", "small", "names", "further"},
                   [&s](const kit::Options& given) { use_preset(s, given); });
    options.add("--config", "MODEL[+CHANGE...]", config_help(), s.config).reads([](const std::string& name) {
        named_config(name, 4, 1);  // of any width: a name that is wrong is refused here, with its file
        return name;
    });
    options.add("--layers", "N",
                "layers; further: only so many of the last ones and the final norm learn, 0: all parameters",
                s.layers, {.max = 10'000});
    options.add("--heads", "N", "attention heads", s.heads, {.min = 1, .max = 1024});
    options.add("--d-model", "N", "width of the model", s.d_model, {.min = 1, .max = 4096});
    options.add("--context", "N",
                "tokens that the model sees; with --lines, at least the longest line; further: in a piece of "
                "text, 0: 256, or what the model takes",
                s.context, {.max = 1 << 20});
    options.add("--dropout", "X", "probability of dropping an element", s.dropout, {.max = 0.99});
    kit::add_text_training(options, s, "pieces of text, or lines,");
    options.add_common(s.seed);
}

models::RunOptions run_options(const TrainSettings& s) {
    const bool names = s.preset == "names";
    return kit::run_options(s, {.beta2 = s.is_further() ? 0.999 : 0.99,
                                .weight_decay = names || s.is_further() ? 0.01 : 0.1,
                                .decoupled = true,
                                .decay_matrices_only = !names});
}

Writer new_model(const TrainSettings& s, const std::vector<kit::File>& files) {
    kit::check_heads(s.d_model, s.heads);
    kit::check_usage(s.layers > 0 && s.context > 0, "a new model needs --layers and --context above 0");
    const std::string where = kit::name_of(files);
    const std::vector<kit::Text> texts = kit::texts_of(files, s.lines);
    if (!s.bytes)
        for (const kit::Text& text : texts)
            models::text::check_utf8(text.text, text.file, text.line);
    auto tokenizer = s.bytes
                         ? models::text::bytes(s.lines)
                         : models::text::learn_characters(autograd::mapped(texts, &kit::Text::text), s.lines);
    check(tokenizer.size() > models::text::kFirstFreeId + 1, where,
          ": this text consists of one character only; there is nothing to learn");

    models::Config config = named_config(s.config, s.d_model, s.heads);
    config.vocabulary = tokenizer.size();
    config.n_layers = s.layers;
    config.max_length = s.context;
    if (s.lines)
        for (const kit::Text& text : texts)  // <sos>, and all that is read before <eos>
            config.max_length = std::max<int64_t>(config.max_length, std::ssize(tokenizer.encode(text.text)));
    constexpr int64_t kMost = 1024;  // attention takes time with the square
    check(config.max_length <= std::max(s.context, kMost), where,
          ": with --lines each line is a separate text, and the longest has ", config.max_length - 1,
          " characters; --context ", config.max_length, " allows it");
    models::Specials& specials = config.specials;
    specials = {.never = {models::kPad, models::kSos, models::kUnk}};
    if (!s.lines) {  // a long text has no end, and begins like a line
        const int32_t line_break = tokenizer.encode("\n").at(0);
        specials.start = line_break == models::kUnk ? models::kFirstFreeId : line_break;
        specials.never.push_back(models::kEos);
        specials.ends = {};
    }
    const auto p = static_cast<autograd::Real>(s.dropout);
    config.block.dropout = {.embeddings = p, .sublayers = p, .attention = p};
    config.block.precision = kit::precision_of(s.run.precision);
    if (s.preset == "names") {
        config.tied = false;
        config.block.init = nn::Init::pytorch;
        config.block.scale_embeddings = false;  // they are large already: N(0, 1)
    }
    kit::check_memory(models::least_parameters(config));
    return {LanguageModel(config, Rng(static_cast<uint64_t>(s.seed)).fork("model")), std::move(tokenizer),
            s.lines};
}

// How many lines, or tokens of the one text.
static int64_t count(const Writer& w, const std::vector<Sequence>& items) {
    return w.lines ? std::ssize(items) : std::ssize(items[0]);
}

Corpus corpus_of(const Writer& w, const std::vector<kit::File>& files, int64_t context) {
    std::vector<Sequence> items(w.lines ? 0 : 1);
    for (const kit::Text& text : kit::texts_of(files, w.lines)) {
        const Sequence ids = w.tokenizer.encode(text.text, {.add_special_tokens = w.lines});
        models::text::check_known(w.tokenizer, text.text, ids, text.file, text.line);
        if (w.lines)
            items.emplace_back();
        items.back().insert(items.back().end(), ids.begin(), ids.end());
        if (!w.model.config.specials.ends.empty())
            items.back().push_back(w.model.config.specials.end());
    }
    const int64_t all = count(w, items), learned = all * 9 / 10;
    const std::string text =
        join(kit::name_of(files), ": a text of ", kit::counted(all, w.lines ? "line" : "token"), "; ");
    check(all >= 20, text, "at least 20 are needed, because a tenth is held out");
    check(w.lines || learned > context, text, "--context ", context,
          " needs more, because a tenth is held out");
    if (!w.lines)
        return {{{items[0].begin(), items[0].begin() + learned}},
                {{items[0].begin() + learned, items[0].end()}}};
    Corpus corpus;
    const int64_t training = all - std::min<int64_t>(1000, all / 10);
    for (const int64_t i : Rng(0).fork("held out").permutation(all))
        (std::ssize(corpus.training) < training ? corpus.training : corpus.held_out)
            .push_back(std::move(items[static_cast<std::size_t>(i)]));
    return corpus;
}

namespace {

// Freezes all but the last `layers` layers and the final norm: the tables of tokens and positions, the output
// layer, and the layers below; 0: nothing. Returns what learns.
std::vector<nn::NamedParameter> learning(const LanguageModel& model, int64_t layers) {
    const models::Encoder& stack = model.backbone.encoder;
    const int64_t all = std::ssize(stack.layers);
    kit::check_usage(layers <= all, "--layers ", layers, ": the model has only ", all);
    if (layers > 0) {
        nn::freeze(model);
        for (int64_t i = all - layers; i < all; ++i)
            nn::freeze(stack.layers[static_cast<std::size_t>(i)], false);
        if (stack.final_norm)
            nn::freeze(*stack.final_norm, false);
    }
    std::vector<nn::NamedParameter> parameters = nn::parameters(model);
    std::erase_if(parameters, [](const nn::NamedParameter& p) { return !p.tensor.needs_grad(); });
    return parameters;
}

// What the page of --report shows: the attention of a held-out piece, whose last token is only predicted, and
// what the model writes.
kit::ReportModel report_model(const Writer& w, const Sequence& piece) {
    kit::ReportModel s = kit::report_model_of(
        w.model, kit::examples_of(Tokens(1, std::ssize(piece), piece)).inputs, kit::token_names(w.tokenizer));
    s.answers = [&w] { return kit::Answers{{w("", {.sampling = {.temperature = 0.5}, .max_tokens = 120})}}; };
    return s;
}

}  // namespace

Writer train(const TrainSettings& s, const std::vector<kit::File>& files, const models::RunFolder& folder) {
    Writer w = s.is_further() ? kit::open_model<Writer>(s.words[0], s.run.precision) : new_model(s, files);
    const int64_t most = w.model.config.max_length, context = w.lines || !s.is_further() ? most
                                                              : s.context > 0            ? s.context
                                                                              : std::min<int64_t>(256, most);
    kit::check_usage(context <= most, "--context ", context, ": the model takes only ", most);
    const Corpus corpus = corpus_of(w, files, context);
    const std::vector<Sequence> all = kit::cut(corpus.held_out, context);
    // Validation takes only every so many of these pieces if there are many: that is enough to compare
    // losses, and a large model takes long.
    constexpr std::size_t kEnough = 16'384;  // tokens
    std::vector<Sequence> some;
    for (std::size_t i = 0; i < all.size(); i += 1 + all.size() * static_cast<std::size_t>(context) / kEnough)
        some.push_back(all[i]);

    const auto pad = static_cast<int32_t>(w.model.config.vocabulary);  // no id of a text
    kit::Batches batches = {
        corpus.training, w.lines, context, pad, s.batch, Rng(static_cast<uint64_t>(s.seed)).fork("batches")};
    models::RunModel learns = kit::run_model_of(
        w, models::text::fingerprint(autograd::mapped(files, &kit::File::text), corpus.training),
        s.is_further() ? s.words[0] : "");
    learns.parameters = learning(w.model, s.is_further() ? s.layers : 0);
    const int64_t parameters = nn::parameter_count(w.model), trained = nn::parameter_count(learns.parameters);
    if (!s.is_further())
        kit::announce(kit::name(), parameters, w.model.config.block.precision);
    kit::say(join(
        kit::counted(count(w, corpus.training), w.lines ? "line" : "token"), " to learn from, ",
        kit::grouped(count(w, corpus.held_out)), " held out; vocabulary ", kit::grouped(w.tokenizer.size()),
        trained < parameters ? "; " + kit::counted(trained, "parameter") + " learn, the others are frozen"
                             : ""));
    kit::Run run(folder, std::move(learns), run_options(s),
                 {.activations = kit::activation_bytes(w.model.config, s.batch * context),
                  .report_model = report_model(w, some[0]),
                  .objective = kit::objective_of(
                      w.model, [&](int64_t step) { return kit::examples_of(batches(step)); })});
    kit::train(run, kit::batches_of(some, pad), kit::batches_of(s.is_further() ? some : all, pad));
    return w;
}

}  // namespace plaingrad::generate
