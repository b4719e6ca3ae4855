// Learns to write from a text: a decoder-only Transformer that predicts the next character, or byte. With
// --lines each line of the file is an item of its own, e.g. a name, and it learns to invent new ones.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <numbers>
#include <set>
#include <sstream>
#include <unordered_map>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "apps/kit/run.h"
#include "apps/programs/char_lm/data.h"
#include "apps/programs/char_lm/log_book.h"
#include "models/presets.h"
#include "models/sampling.h"
#include "models/text/characters.h"
#include "models/text/lines.h"
#include "nn/schedule.h"

using namespace plaingrad;
using namespace plaingrad::char_lm;
using autograd::join;
using models::LanguageModel;

namespace {

// ------------------------------------------------------------------------------------------ configuration

struct Settings {
    std::string preset;
    models::RunSettings run;
    std::vector<std::string> files;
    bool lines = false, bytes = false;
    int64_t layers = 4, heads = 4, d_model = 128, context = 64, batch = 12, steps = 2000;
    int64_t validate_every = 250, patience = 0, seed = 1;
    double lr = 3e-3, dropout = 0;
};

// What the options are that are not given.
Settings recipe(const std::string& preset) {
    // tiny: the small machines' recipe in the README of Karpathy's nanoGPT, but for the learning rate: with
    // 1e-3, as there, so small a model has not learned enough when the 2,000 steps end.
    Settings s = {};
    s.preset = preset;
    if (preset == "small") {  // the same, config/train_shakespeare_char.py
        s.layers = s.heads = 6, s.d_model = 384, s.context = 256;
        s.batch = 64, s.steps = 5000, s.lr = 1e-3, s.dropout = 0.2;
    } else if (preset == "names") {
        // Karpathy's makemore, but for a higher rate that falls, and dropout: without them it knows the names
        // by heart before it is good at new ones.
        s.d_model = 64, s.context = 16, s.lr = 2e-3, s.dropout = 0.1;
        s.batch = 32, s.steps = 16'000, s.validate_every = 500;
    } else if (preset == "demo") {  // 20 seconds on two cores
        s.layers = 3, s.steps = 1800, s.lr = 4e-3, s.dropout = 0.05;
    }
    return s;
}

models::StackConfig model_config(const Settings& s, int64_t vocabulary, int64_t context) {
    const auto p = static_cast<autograd::Real>(s.dropout);
    models::StackConfig config = models::gpt2();
    config.vocabulary = vocabulary;
    config.specials = models::StackConfig().specials;  // of Characters
    config.max_length = context;
    config.n_layers = s.layers;
    config.block.n_heads = s.heads;
    config.block.d_model = s.d_model;
    config.block.d_ff = 4 * s.d_model;
    config.block.dropout = {.embeddings = p, .sublayers = p, .attention = p};
    if (s.preset == "names") {
        config.tied = false;
        config.block.init = nn::Init::pytorch;
    } else {
        config.block.activation = nn::Activation::gelu;
        config.block.attention_bias = config.block.feed_forward_bias = config.block.norm_bias = false;
    }
    return config;
}

nn::TrainingOptions training_options(const Settings& s) {
    const bool names = s.preset == "names";
    // nanoGPT counts steps from 0, and warms up over one more.
    const int64_t warmup = std::min<int64_t>(100, s.steps / 10) + 1;
    return {.steps = s.steps,
            .learning_rate = nn::CosineSchedule{s.lr, s.steps + 1, warmup, s.lr / 10},
            .adam = {.beta2 = 0.99,
                     .weight_decay = names ? 0.01 : 0.1,
                     .decoupled = true,
                     .decay_matrices_only = !names},
            .seed = static_cast<uint64_t>(s.seed),
            .validate_every = s.validate_every,
            .patience = s.patience};
}

// --------------------------------------------------------------------------------------------------- loss

// Position t of a row predicts t + 1; the loss is the mean over all of them but padding.
autograd::Tensor mean_loss(const LanguageModel& model, const Tokens& rows, const nn::Mode& mode) {
    return model.loss(rows.slice(0, rows.length() - 1), rows.slice(1, rows.length()), mode);
}

int64_t predictions(const Tokens& rows) {
    int64_t count = 0;
    for (const int32_t length : rows.lengths())
        count += length - 1;
    return count;
}

struct Measured {
    double nats = 0;  // the mean for a prediction
    int64_t predictions = 0;
};

Measured measure(const LanguageModel& model, const std::vector<Sequence>& pieces) {
    const autograd::NoGrad no_grad;
    constexpr int64_t kAtOnce = 2048;  // characters: what a processor's cache holds
    const std::size_t rows =
        static_cast<std::size_t>(std::max<int64_t>(1, kAtOnce / model.config.max_length));
    Measured all;
    for (std::size_t i = 0; i < pieces.size(); i += rows) {
        const std::size_t end = std::min(i + rows, pieces.size());
        const Tokens batch = Tokens::padded({pieces.begin() + static_cast<std::ptrdiff_t>(i),
                                             pieces.begin() + static_cast<std::ptrdiff_t>(end)},
                                            models::kPad);
        const int64_t count = predictions(batch);
        const double loss = static_cast<double>(mean_loss(model, batch, nn::Mode::eval()).item());
        all.nats += loss * static_cast<double>(count);
        all.predictions += count;
    }
    all.nats /= static_cast<double>(all.predictions);
    return all;
}

// "validation loss    1.8734 nats = 2.7027 bits per character, over 111,539"
void print(const std::string& what, const Measured& loss, const Characters& characters) {
    char text[120];
    std::snprintf(text, sizeof text, "%-17s %.4f nats = %.4f bits per %s, over ", what.c_str(), loss.nats,
                  loss.nats / std::numbers::ln2, characters.are_bytes() ? "byte" : "character");
    std::cout << text << kit::grouped(loss.predictions) << '\n';
}

// The same loss of a table that knows how often each character followed each other one, plus once.
Measured pair_table_loss(const Corpus& corpus) {
    const int64_t V = corpus.characters.size();
    std::unordered_map<int64_t, int64_t> pairs, firsts;
    for (const Sequence& item : corpus.training)
        for (std::size_t i = 1; i < item.size(); ++i) {
            ++pairs[item[i - 1] * V + item[i]];
            ++firsts[item[i - 1]];
        }
    const int64_t outcomes = V - models::kFirstFreeId + (corpus.lines ? 1 : 0);
    Measured all;
    for (const Sequence& item : corpus.held_out)
        for (std::size_t i = 1; i < item.size(); ++i, ++all.predictions)
            all.nats -= std::log(static_cast<double>(pairs[item[i - 1] * V + item[i]] + 1) /
                                 static_cast<double>(firsts[item[i - 1]] + outcomes));
    all.nats /= static_cast<double>(all.predictions);
    return all;
}

// ----------------------------------------------------------------------------------------- saved models

struct Writer {
    LanguageModel model;
    Characters characters;
    bool lines;
};

const std::string kVocabulary = "char_lm.vocabulary", kItems = "char_lm.items";  // in the file's metadata

// folder: of a run, or a file.
Writer load(const std::string& folder) {
    const std::string path = models::model_file(folder);
    nn::checkpoint::Metadata metadata;
    LanguageModel model = models::load_language_model(path, &metadata);
    check(metadata.contains(kVocabulary) && metadata.contains(kItems), path,
          ": this language model was not trained by char_lm: it has no characters");
    check(metadata[kItems] == "lines" || metadata[kItems] == "text", path, ": ", kItems,
          " is neither text nor lines");
    Characters characters;
    try {
        characters = Characters::from_description(metadata[kVocabulary]);
    } catch (const autograd::Error& error) {
        throw autograd::Error(join(path, ": ", error.what()));
    }
    check(characters.size() == model.config.vocabulary, path, ": the model has ", model.config.vocabulary,
          " ids, its characters have ", characters.size());
    return {std::move(model), std::move(characters), metadata[kItems] == "lines"};
}

// ----------------------------------------------------------------------------------------------- sampling

struct SampleSettings {
    std::string prompt = {};
    int64_t tokens = 400, count = 10, seed = 1;
    models::SamplingOptions sampling = {.temperature = 0.8};
};

// Prints what follows the prompt, each character as it is drawn.
void write_text(const Writer& w, const SampleSettings& s) {
    const std::string start = w.characters.contains("\n") ? "\n" : w.characters.decode(models::kFirstFreeId);
    const Sequence ids = w.characters.encode(s.prompt.empty() ? start : s.prompt, "--prompt");
    const auto stepper = w.model.start(Tokens(1, static_cast<int64_t>(ids.size()), ids));
    stepper->specials.never.push_back(models::kEos);  // the text that it learned from has no end
    std::cout << s.prompt << std::flush;
    models::generate(*stepper, Rng(static_cast<uint64_t>(s.seed)).fork("sample"),
                     {.sampling = s.sampling, .max_tokens = s.tokens}, [&](int64_t, int32_t id) {
                         std::cout << w.characters.decode(id);
                         kit::flush_output();
                     });
    if (!w.characters.are_bytes())
        std::cout << '\n';
}

// Prints lines that begin with the prompt, and how many of them are none of the known ones.
void write_lines(const Writer& w, const SampleSettings& s, const std::vector<Sequence>& known) {
    std::set<std::string> old;
    for (const Sequence& line : known)
        old.insert(w.characters.decode(Sequence(line.begin() + 1, line.end() - 1)));
    Sequence prompt = w.characters.encode(s.prompt, "--prompt");
    check(static_cast<int64_t>(prompt.size()) < w.model.config.max_length, "--prompt has ", prompt.size(),
          " characters; the model takes ", w.model.config.max_length - 1);
    prompt.insert(prompt.begin(), models::kSos);
    const Tokens start(1, static_cast<int64_t>(prompt.size()), prompt);
    const models::GenerationOptions options = {
        .sampling = s.sampling, .max_tokens = s.tokens, .slide = false};
    const Rng rng = Rng(static_cast<uint64_t>(s.seed)).fork("sample");
    int64_t fresh = 0;
    for (int64_t i = 0; i < s.count; ++i) {
        const Sequence ids =
            models::generate(*w.model.start(start), rng.fork(static_cast<uint64_t>(i)), options)[0];
        const std::string line = s.prompt + w.characters.decode(ids);
        fresh += old.contains(line) ? 0 : 1;
        std::cout << line << '\n';
        kit::flush_output();
    }
    if (!old.empty())
        std::cout << "new, not in the data: " << fresh << "/" << s.count << '\n';
}

// ----------------------------------------------------------------------------------------------- training

// texts: what the corpus was made of. Returns whether the run has come to its end.
bool train(const Writer& w, const Corpus& corpus, const std::vector<std::string>& texts, const Settings& s,
           const models::RunFolder& folder) {
    const int64_t context = w.model.config.max_length;
    const std::vector<Sequence> all = cut(corpus.held_out, context);
    // On the way the loss is of every so many of these pieces, if they are many: enough to compare by.
    constexpr std::size_t kEnough = 16'384;  // characters
    const std::size_t every = 1 + all.size() * static_cast<std::size_t>(context) / kEnough;
    std::vector<Sequence> some;
    for (std::size_t i = 0; i < all.size(); i += every)
        some.push_back(all[i]);

    nn::TrainingOptions options = training_options(s);
    options.validation_loss = [&] { return measure(w.model, some).nats; };
    models::Run run(
        folder,
        models::parts_of(w.model,
                         {{kVocabulary, w.characters.description()}, {kItems, w.lines ? "lines" : "text"}},
                         models::fingerprint(texts)),
        {}, options.adam);
    Batches batches(corpus, context, Rng(static_cast<uint64_t>(s.seed)).fork("batches"));
    batches.skip(run.training.adam.steps() * s.batch);
    const auto loss_of = [&](Batches& from, const nn::Mode& mode) {
        const Tokens rows = from.next(s.batch);
        return nn::StepLoss{mean_loss(w.model, rows, mode), predictions(rows)};
    };
    Batches others = batches;
    const bool ended =
        kit::train(run, [&](int64_t, const nn::Mode& mode) { return loss_of(batches, mode); }, options,
                   {.activations = kit::activation_bytes(w.model.config, s.batch * context),
                    .batch = [&](int64_t) { return loss_of(others, nn::Mode::train(Rng(0))); }});
    if (ended) {
        print("validation loss", measure(w.model, all), corpus.characters);
        print("a table of pairs", pair_table_loss(corpus), corpus.characters);
    }
    return ended;
}

int learn(const std::vector<File>& files, const Settings& s, const models::RunFolder& folder) {
    if (s.d_model % s.heads != 0)
        throw kit::UsageError(join("--d-model ", s.d_model, " must be a multiple of --heads ", s.heads));
    const Corpus corpus = make_corpus(files, s.bytes, s.lines);
    int64_t context = s.context;
    check(s.lines || context < static_cast<int64_t>(corpus.training[0].size()), files[0].name, ": --context ",
          context, " is longer than the text to learn from, which has ", corpus.training[0].size(),
          " characters");
    if (s.lines)
        context =
            std::max({context, context_of_longest(corpus.training), context_of_longest(corpus.held_out)});
    constexpr int64_t kMost = 1024;  // attention takes time with the square
    check(context <= std::max(s.context, kMost), files[0].name,
          ": with --lines a line is one item, and the longest has ", context - 1, " characters; --context ",
          context, " allows it");
    const Writer w = {LanguageModel(model_config(s, corpus.characters.size(), context),
                                    Rng(static_cast<uint64_t>(s.seed)).fork("model")),
                      corpus.characters, s.lines};
    kit::announce("char_lm", nn::parameter_count(w.model));
    describe(corpus);
    std::vector<std::string> texts;
    for (const File& file : files)
        texts.push_back(file.text);
    if (train(w, corpus, texts, s, folder) && !folder.exists()) {
        std::cout << '\n';
        const SampleSettings sample = {
            .sampling = {.temperature = 0.5}};  // careful: it has not learned for long
        w.lines ? write_lines(w, sample, corpus.training) : write_text(w, sample);
    }
    return 0;
}

// ----------------------------------------------------------------------------------------------- commands

int demo_command(int argc, char** argv, const std::vector<kit::Command>& commands) {
    Settings s = recipe("demo");
    kit::Options options("char_lm", "learns to write from a text, and writes");
    options.commands(commands);
    options.add_common(s.seed);
    options.example("./apps/char_lm", "learns a text of its own for 20 seconds, and goes on with it");
    options.example("./apps/char_lm train README.md --steps 500 --save readme",
                    "learns from a file, character by character");
    options.example("./apps/char_lm sample readme --prompt 'The '", "goes on with it");
    options.parse(argc, argv);
    return learn({{"the built-in text", std::string(log_book)}}, s,
                 models::RunFolder("char_lm", {}, options));
}

void use_preset(Settings& s, const models::Settings& given) {
    if (!given.was_given("--preset"))
        s.preset = given.was_given("--lines") ? "names" : "tiny";
    s = recipe(s.preset);
}

// The rows, which set `s`.
kit::Options train_options(Settings& s) {
    kit::Options options("char_lm train",
                         "learns from text, of which it holds a tenth out to see how good it is");
    options.rest("FILE...", "text in UTF-8; several files are one text", s.files, false,
                 kit::Options::Rest::files);
    kit::add_run_options(options, s.run);
    options.add("--lines", "each line is an item of its own, such as a name", s.lines);
    options.add("--bytes", "bytes instead of characters: any file", s.bytes);
    options.preset("--preset", "what the other options are unless given; --lines takes names", s.preset,
                   {"tiny", "small", "names"}, [&s](const models::Settings& given) { use_preset(s, given); });
    options.add("--layers", "N", "layers", s.layers, {.min = 1, .max = 100});
    options.add("--heads", "N", "attention heads", s.heads, {.min = 1, .max = 1024});
    options.add("--d-model", "N", "width of the model", s.d_model, {.min = 1, .max = 4096});
    options.add("--context", "N", "characters to look back on; with --lines never less than the longest line",
                s.context, {.min = 1, .max = 1 << 16});
    options.add("--dropout", "X", "probability of dropping a number", s.dropout, {.max = 0.99});
    options.add("--batch", "N", "pieces of text, or lines, in a step", s.batch, {.min = 1, .max = 1 << 16});
    options.add("--steps", "N", "training steps", s.steps, {.min = 1, .max = 1'000'000'000});
    options.add("--lr", "X", "highest learning rate", s.lr, {.max = 1});
    options.add("--validate-every", "N", "steps from one validation to the next", s.validate_every,
                {.min = 1});
    options.add("--patience", "N", "end after so many validations without a better one; 0: go on",
                s.patience);
    options.add_common(s.seed);
    options.example("./apps/char_lm train README.md --steps 500 --save readme", "learns from a file");
    options.example("./apps/char_lm train names.txt --lines", "learns names, and invents some");
    options.note(
        "Held out are the last tenth of the text, or a tenth of the lines (at most 1,000) chosen by chance; "
        "which "
        "ones does not depend on --seed. The loss is the mean over all that is held out, cut into pieces of "
        "the "
        "context, each character predicted from those before it in its piece; with --lines the end of a line "
        "counts "
        "as a character.");
    options.note("Without --save a sample is shown. Ctrl-C finishes the step and saves; --resume goes on.");
    return options;
}

int train_command(int argc, char** argv) {
    Settings s;
    kit::Options options = train_options(s);
    options.parse(argc, argv);
    if (s.run.resume.empty() && s.files.empty())
        throw kit::UsageError("an argument is missing: FILE...; ./apps/char_lm train --help shows more");
    const models::RunFolder folder("char_lm", s.run, options);
    return learn(read_files(s.files, s.bytes), s, folder);
}

int sample_command(int argc, char** argv) {
    SampleSettings s;
    std::vector<std::string> words;
    kit::Options options("char_lm sample", "writes with a saved model");
    options.rest("MODEL [FILE...]", "with the lines that it has learned, the new ones are counted", words,
                 true);
    options.add("--prompt", "TEXT", "how it begins", s.prompt).allow_empty();
    options.add("--tokens", "N", "characters to write; of a line, at most", s.tokens);
    options.add("--count", "N", "lines to write, with a model of lines", s.count);
    options.add("--temperature", "X", "below 1 more careful, above 1 wilder; 0: always the most probable",
                s.sampling.temperature);
    options.add("--top-k", "K", "only the K most probable characters; 0: all", s.sampling.top_k);
    options.add("--top-p", "P", "only the most probable that reach this probability together",
                s.sampling.top_p, {.min = 1e-6, .max = 1});
    options.add_common(s.seed, "of what is drawn");
    options.example("./apps/char_lm sample readme --prompt 'The ' --tokens 100", "goes on with it");
    options.parse(argc, argv);
    const Writer w = load(words[0]);
    words.erase(words.begin());
    if (!w.lines && !words.empty())
        throw kit::UsageError("FILE is for models that learned with --lines; this one learned a text");
    if (w.lines)
        write_lines(w, s, encode(read_files(words, w.characters.are_bytes()), w.characters, true));
    else
        write_text(w, s);
    return 0;
}

int eval_command(int argc, char** argv) {
    std::vector<std::string> words;
    kit::Options options("char_lm eval", "measures how well a saved model predicts files");
    options.rest("MODEL FILE...", "what train --save has written, and text", words, true);
    options.add_threads();
    options.example("./apps/char_lm eval readme apps/README.md", "nats and bits per character");
    options.parse(argc, argv);
    if (words.size() < 2)
        throw kit::UsageError(
            "eval needs a model that train --save has written, and a text; --help shows more");
    const Writer w = load(words[0]);
    words.erase(words.begin());
    const std::vector<Sequence> items =
        encode(read_files(words, w.characters.are_bytes()), w.characters, w.lines);
    const int64_t context = w.model.config.max_length;
    check(!w.lines || context_of_longest(items) <= context, words[0], ": the longest line has ",
          context_of_longest(items) - 1, " characters; the model takes ", context - 1);
    const std::vector<Sequence> all = cut(items, context);
    check(!all.empty(), words[0], ": there is nothing to predict; a text of at least 2 characters is needed");
    print("loss", measure(w.model, all), w.characters);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run("char_lm", argv[0], [&] {
        return kit::run_command(
            argc, argv, demo_command,
            {{"train", "learns from your files, and saves what it has learned", train_command},
             {"sample", "writes with a saved model", sample_command},
             {"eval", "measures how well a saved model predicts your files", eval_command},
             kit::info_command("char_lm", train_options)});
    });
}
