// A translator that learns from your own sentences, can be stopped and resumed at any moment, and translates in a pipe.
//
//     ./apps/translate train train.en train.de --validation val.en,val.de --save run
//     echo "A man is riding a bicycle." | ./apps/translate run run
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "apps/kit/commands.h"
#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "apps/kit/saved.h"
#include "apps/translate_data.h"
#include "apps/translate_run.h"
#include "models/presets.h"
#include "models/text/bleu.h"
#include "nn/checkpoint/file.h"
#include "nn/checkpoint/safetensors.h"
#include "nn/schedule.h"

using namespace translate;
using models::Transformer;
using models::TransformerConfig;

namespace {

// ------------------------------------------------------------------------------------------ configuration

struct Settings {
    std::string preset = "tiny", save, resume, codes;
    std::vector<std::string> files, validation;
    TextOptions text = {};
    std::string too_long = "drop";
    int64_t max_length = 128, batch_tokens = 4096, accumulate = 1, steps = 8000, warmup = 2000;
    int64_t patience = 10, average = 10, save_every = 0, stop_after = 0, seed = 1, beam = 5;
    double lr = 5e-3, dropout = 0.3, label_smoothing = 0.1, clip = 25, alpha = 1;
    bool check_data = false;
};

// tiny: Wu et al. 2021 (ACL), "Good for Misconceived Reasons: An Empirical Revisiting on the Need for Visual Context in
// Multimodal Machine Translation", Transformer-Tiny, as their code has it. base: "Attention Is All You Need", Table 3.
Settings recipe(const std::string& preset) {
    Settings s;
    s.preset = preset;
    if (preset == "base")
        s.lr = 7e-4, s.dropout = 0.1, s.warmup = 4000, s.clip = 1, s.steps = 100'000, s.alpha = 0.6;
    return s;
}

TransformerConfig model_config(const Settings& s, int64_t vocabulary) {
    TransformerConfig config = {.src_vocabulary = vocabulary,
                                .tgt_vocabulary = vocabulary,
                                .max_length = s.max_length,
                                .tying = models::Tying::all,
                                .output_bias = false};
    if (s.preset == "tiny") {
        config.d_model = 128, config.n_heads = 4, config.d_ff = 256;
        config.n_encoder_layers = config.n_decoder_layers = 4;
    }
    const auto rate = static_cast<autograd::Real>(s.dropout);
    config.dropout = {.embeddings = rate, .sublayers = rate};
    return config;
}

// ------------------------------------------------------------------------------------------------- files

// What a run writes into its folder.
struct Folder {
    std::string path;
    std::string file(const std::string& name) const { return (std::filesystem::path(path) / name).string(); }
    std::string last() const { return file("last.safetensors"); }    // to go on from
    std::string best() const { return file("best.safetensors"); }    // of the best validation
    std::string model() const { return file("model.safetensors"); }  // the average of the last epochs
    std::string log() const { return file("log.csv"); }
    std::string epoch(int64_t number) const { return file(join("epoch-", number, ".safetensors")); }

    void create() const {
        std::error_code error;
        std::filesystem::create_directories(path, error);
        check(!error && std::filesystem::is_directory(path), path,
              ": no folder can be made there: ", error ? error.message() : "there is a file of this name");
        kit::check_can_save(last(), {});
    }
};

// The model of a run's folder, or of a file.
std::string model_file(const std::string& path) {
    std::error_code none;
    if (!std::filesystem::is_directory(path, none))
        return path;
    const Folder folder{path};
    for (const std::string& file : {folder.model(), folder.best(), folder.last()})
        if (std::filesystem::exists(file, none))
            return file;
    throw autograd::Error(join(path, ": this folder has no model in it"));
}

// ---------------------------------------------------------------------------------------------- training

// What is known before the first step.
void print_plan(const Transformer& model, const Corpus& corpus, const Cursor& cursor, const Settings& s) {
    const TransformerConfig& c = model.config;
    const double parameters = static_cast<double>(nn::parameter_count(model)), bytes = sizeof(autograd::Real);
    const double layers = static_cast<double>(c.n_encoder_layers + 2 * c.n_decoder_layers),
                 tokens = static_cast<double>(s.batch_tokens);
    // For each token and layer about a dozen vectors are kept for backward, and the hidden one of the feed-forward;
    // the logits of 512 positions at a time.
    const double kept = tokens * layers * static_cast<double>(12 * c.d_model + 2 * c.d_ff) +
                        512.0 * static_cast<double>(c.tgt_vocabulary);
    const double weights = parameters * bytes, sum = 4 * weights + kept * bytes;
    const double mib = 1 << 20;
    char text[200];
    std::snprintf(
        text, sizeof text,
        "memory: weights %.0f MiB, gradients %.0f, optimizer %.0f, activations about %.0f: %.0f MiB",
        weights / mib, weights / mib, 2 * weights / mib, kept * bytes / mib, sum / mib);
    std::cerr << text << '\n';
    const double there =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
    check(sum < there, text, ", but this machine has ", static_cast<int64_t>(there / mib),
          "; a smaller --batch-tokens with --accumulate does the same in less");
    std::cerr << "an epoch: " << kit::grouped(corpus.size()) << " pairs, "
              << kit::grouped(corpus.target_tokens()) << " tokens to predict, in "
              << kit::grouped(cursor.per_epoch()) << " batches of at most " << kit::grouped(s.batch_tokens)
              << " tokens; " << kit::grouped(s.steps) << " steps are "
              << s.steps * s.accumulate / cursor.per_epoch() << " epochs\n";
}

struct Measured {
    double loss = 0;  // nats for a token
    models::text::BleuScore bleu;
    std::string text;  // of the score
};

double mean_loss(const Transformer& model, const Corpus& corpus, int64_t batch_tokens) {
    const autograd::NoGrad no_grad;
    double sum = 0;
    int64_t tokens = 0;
    for (const std::vector<int64_t>& indices :
         corpus.batches({.batch_tokens = batch_tokens, .shuffle = false})) {
        const kit::StepLoss batch = kit::teacher_forcing(model, corpus.batch(indices), nn::Mode::eval());
        sum += static_cast<double>(batch.loss.item()) * static_cast<double>(batch.tokens);
        tokens += batch.tokens;
    }
    return sum / static_cast<double>(tokens);
}

Measured measure(const Translator& translator, const Corpus& corpus, int64_t batch_tokens) {
    Measured all;
    all.loss = mean_loss(translator.model, corpus, batch_tokens);
    std::vector<std::string> sources, references;
    const TextOptions& text = translator.codec.options();
    for (const SentencePair& pair : corpus.sentences()) {
        sources.push_back(pair.source);
        references.push_back(pair.target);
    }
    std::vector<std::string> hypotheses;
    for (const Translation& translation : translator(sources))
        hypotheses.push_back(translation.best[0].text);
    models::text::BleuOptions options =
        text.tokenized ? models::text::moses_bleu() : models::text::BleuOptions{};
    options.lower_case = text.lower_case;  // what it never sees it cannot say; the signature tells
    all.bleu = models::text::bleu(hypotheses, {references}, options);
    all.text = text.tokenized ? models::text::fairseq_line(all.bleu)
                              : join("BLEU|", models::text::signature(options), " = ", to_string(all.bleu));
    return all;
}

class Run {
public:
    Run(const Transformer& model, const TextCodec& codec, const Corpus& corpus, const Corpus* validation,
        const Settings& s, std::string arguments)
        : model_(model),
          codec_(codec),
          corpus_(corpus),
          validation_(validation),
          s_(s),
          arguments_(std::move(arguments)),
          folder_{s.save},
          cursor_(corpus, s.batch_tokens, static_cast<uint64_t>(s.seed)),
          training_(nn::parameters(model), {.beta2 = 0.98, .eps = 1e-8}) {}

    void go_on_from(const kit::Metadata& metadata) {
        const auto number = [&](const char* key) {
            const auto entry = metadata.find(key);
            check(entry != metadata.end(), folder_.last(), ": ", key, " is missing");
            return kit::parse_integer(key, entry->second);
        };
        for (const char* key : {"translate.loss_sum", "translate.log"})
            check(metadata.contains(key), folder_.last(), ": ", key, " is missing");
        check(metadata.contains("translate.data") && metadata.at("translate.data") == corpus_.fingerprint(),
              folder_.last(), ": the run began with other data than ", corpus_.sentences().size(),
              " pairs of these files; it can only go on with the same");
        kit::load_training(folder_.last(), training_);
        cursor_.move(number("translate.epoch"), number("translate.batch"));
        tokens_ = number("translate.tokens");
        loss_sum_ = std::strtod(metadata.at("translate.loss_sum").c_str(), nullptr);
        log_ = metadata.at("translate.log");
    }

    void operator()() {
        print_plan(model_, corpus_, cursor_, s_);
        const double factor = s_.lr * std::sqrt(static_cast<double>(model_.config.d_model * s_.warmup));
        const int64_t d_model = model_.config.d_model;
        stop_ = s_.stop_after == 0 ? s_.steps : std::min(s_.steps, training_.adam.steps() + s_.stop_after);
        kit::TrainingOptions options = {
            .steps = stop_,
            .learning_rate = nn::WarmupInverseSqrt{d_model, s_.warmup, factor},
            .clip = s_.clip,
            .accumulate = s_.accumulate,
            .seed = static_cast<uint64_t>(s_.seed),
            .patience = s_.patience,
            .restore_best = false,
            .after_step = [&](int64_t step, bool validated) { after_step(step, validated); }};
        if (validation_ != nullptr)
            options.validation_loss = [&] { return validate(); };
        kit::listen_for_interrupt();
        kit::train(
            training_,
            [&](int64_t, const nn::Mode& mode) {
                kit::StepLoss loss;
                loss = kit::teacher_forcing(model_, cursor_.next(epoch_ended_), mode,
                                            static_cast<autograd::Real>(s_.label_smoothing));
                loss.ends_epoch = epoch_ended_;
                loss_sum_ += static_cast<double>(loss.loss.item()) * static_cast<double>(loss.tokens);
                tokens_ += loss.tokens;
                return loss;
            },
            options);
        if (kit::interrupted())
            std::cerr << "saved; --resume " << folder_.path << " goes on\n";
        kit::stop_listening_for_interrupt();
        if (stop_ == s_.steps || (s_.patience > 0 && training_.worse >= s_.patience))
            finish();
        else
            std::cerr << "stopped after step " << stop_ << "; --resume " << folder_.path << " goes on\n";
    }

private:
    // What every file has that a translator writes.
    kit::Metadata metadata() const { return codec_.metadata(); }

    void save_last() const {
        kit::Metadata all = metadata();
        all["translate.arguments"] = arguments_;
        all["translate.data"] = corpus_.fingerprint();
        all["translate.epoch"] = std::to_string(cursor_.epoch);
        all["translate.batch"] = std::to_string(cursor_.index);
        all["translate.tokens"] = std::to_string(tokens_);
        char text[40];
        std::snprintf(text, sizeof text, "%.17g", loss_sum_);
        all["translate.loss_sum"] = text;
        all["translate.log"] = log_;
        kit::save(folder_.last(), model_, all, &training_);
    }

    double validate() {
        measured_ =
            measure(Translator{model_, codec_, {.beam = 1, .alpha = 0}}, *validation_, s_.batch_tokens);
        return measured_.loss;
    }

    // cursor_ has moved on: as many epochs have ended as its number says. What is needed to go on is written last:
    // a run that is killed before does all this once more, with the same result.
    void after_step(int64_t step, bool validated) {
        if (epoch_ended_)
            log_epoch(step, validated);
        if (epoch_ended_) {
            if (validated && training_.best_step == step)
                kit::save(folder_.best(), model_, metadata());
            kit::save(folder_.epoch(cursor_.epoch), model_, metadata());
            nn::checkpoint::replace_file(folder_.log(), {log_});
            std::error_code none;
            std::filesystem::remove(folder_.epoch(cursor_.epoch - s_.average), none);
        }
        const bool stops = kit::interrupted() || step == s_.steps || step == stop_;
        if (epoch_ended_ || stops || (s_.save_every > 0 && step % s_.save_every == 0))
            save_last();
    }

    void log_epoch(int64_t step, bool validated) {
        if (log_.empty())
            log_ = "epoch,step,training loss,validation loss,BLEU (greedy)\n";
        char text[160];
        const auto number = [](int64_t n) { return static_cast<long long>(n); };
        std::snprintf(text, sizeof text, "%lld,%lld,%.4f,", number(cursor_.epoch), number(step),
                      loss_sum_ / static_cast<double>(tokens_));
        log_ += text;
        text[0] = '\0';
        if (validated) {
            std::snprintf(text, sizeof text, "%.4f,%.2f", measured_.loss, measured_.bleu.score);
            std::fprintf(stderr, "epoch %lld  BLEU %.2f (greedy)\n", number(cursor_.epoch),
                         measured_.bleu.score);
        }
        log_.append(validated ? text : ",").append("\n");
        loss_sum_ = 0;
        tokens_ = 0;
    }

    // The average of the last epochs (Vaswani et al. 2017, §6.1), or of as many as there are.
    void finish() {
        const std::vector<nn::NamedParameter> parameters = nn::parameters(model_);
        std::vector<std::vector<double>> sums(parameters.size());
        int64_t files = 0;
        for (int64_t epoch = cursor_.epoch; epoch > cursor_.epoch - s_.average; --epoch) {
            std::error_code none;
            if (!std::filesystem::exists(folder_.epoch(epoch), none))
                break;
            const Transformer one = kit::load_transformer(folder_.epoch(epoch));
            const std::vector<nn::NamedParameter> values = nn::parameters(one);
            for (std::size_t i = 0; i < values.size(); ++i) {
                const autograd::Tensor& x = values[i].tensor;
                sums[i].resize(static_cast<std::size_t>(x.numel()));
                for (int64_t j = 0; j < x.numel(); ++j)
                    sums[i][static_cast<std::size_t>(j)] += static_cast<double>(x.data()[j]);
            }
            ++files;
        }
        for (std::size_t i = 0; files > 0 && i < parameters.size(); ++i) {
            autograd::Tensor x = parameters[i].tensor;
            for (int64_t j = 0; j < x.numel(); ++j)
                x.mutable_data()[j] = static_cast<autograd::Real>(sums[i][static_cast<std::size_t>(j)] /
                                                                  static_cast<double>(files));
        }
        kit::save(folder_.model(), model_, metadata());
        std::cerr << "saved " << folder_.model();
        if (files > 0)
            std::cerr << ", the average of the last " << files << (files == 1 ? " epoch" : " epochs");
        std::cerr << '\n';
        if (validation_ != nullptr) {
            const Translator translator{model_, codec_, {.beam = s_.beam, .alpha = s_.alpha}};
            const Measured all = measure(translator, *validation_, s_.batch_tokens);
            std::cout << "validation loss " << all.loss << "\nbeam " << s_.beam << ": " << all.text << '\n';
        }
    }

    const Transformer& model_;
    const TextCodec& codec_;
    const Corpus& corpus_;
    const Corpus* validation_;
    const Settings& s_;
    std::string arguments_;
    Folder folder_;
    Cursor cursor_;
    kit::Training training_;
    Measured measured_;
    bool epoch_ended_ = false;
    double loss_sum_ = 0;  // of the epoch
    int64_t tokens_ = 0;
    int64_t stop_ = 0;  // the step after which this call ends
    std::string log_;   // log.csv
};

// ---------------------------------------------------------------------------------------------- commands

Settings parse_train(const std::vector<std::string>& arguments, const std::string& preset) {
    Settings s = recipe(preset);
    std::string validation;
    kit::Options options("translate train", "learns to translate from pairs of sentences");
    options.rest("SOURCE TARGET | TSV", "two files with a sentence a line, or one with source<TAB>target",
                 s.files);
    options.add("--save", "FOLDER", "where the model, checkpoints and a log are kept", s.save);
    options.add("--resume", "FOLDER", "go on with the run that was saved there, to the same bits", s.resume);
    options.add("--validation", "SOURCE,TARGET", "sentences to measure by, after each epoch; or a TSV",
                validation);
    options.add("--preset", "what the other options are unless given", s.preset, {"tiny", "base"});
    options.add("--pieces", "what rare words become: pieces of words, or bytes", s.text.pieces,
                {"words", "bytes"});
    options.add("--merges", "N", "byte-pair encoding of both languages together; 0: characters",
                s.text.merges, {.max = 1'000'000});
    options.add("--codes", "FILE", "merges that learn-bpe has written, instead of learning them", s.codes);
    options.add("--tokenized", "the text is in tokens already, divided by spaces", s.text.tokenized);
    options.add("--lower-case", "everything in lower case", s.text.lower_case);
    options.add("--max-length", "N", "tokens of a sentence", s.max_length, {.min = 2, .max = 1 << 14});
    options.add("--too-long", "what to do with longer ones", s.too_long, {"drop", "cut", "refuse"});
    options.add("--batch-tokens", "N", "tokens of a batch, padding included", s.batch_tokens,
                {.min = 2, .max = 1 << 24});
    options.add("--accumulate", "N", "batches in a step", s.accumulate, {.min = 1, .max = 1 << 16});
    options.add("--steps", "N", "training steps", s.steps, {.min = 1, .max = 1'000'000'000});
    options.add("--lr", "X", "highest learning rate", s.lr, {.max = 1});
    options.add("--warmup", "N", "steps until it is reached; then it falls with the inverse square root",
                s.warmup, {.min = 1});
    options.add("--dropout", "X", "probability of dropping a number", s.dropout, {.max = 0.99});
    options.add("--label-smoothing", "X", "part of the target that is spread over all words",
                s.label_smoothing, {.max = 0.99});
    options.add("--clip", "X", "largest norm of the gradient; 0: any", s.clip);
    options.add("--patience", "N", "end after so many epochs without a better validation; 0: go on",
                s.patience);
    options.add("--average", "N", "epochs at the end of which the model is the average", s.average,
                {.min = 1, .max = 1000});
    options.add("--save-every", "N", "steps from one checkpoint to the next; 0: epochs", s.save_every);
    options.add("--stop-after", "N",
                "end this call after so many steps; --resume goes on. 0: not before the end", s.stop_after);
    options.add("--beam", "N", "width of the beam at the end", s.beam, {.min = 1, .max = 1000});
    options.add("--check-data", "only look at the data, and say what is found", s.check_data);
    options.add_common(s.seed);
    options.example("./apps/translate train train.en train.de --validation val.en,val.de --save run",
                    "learns, and keeps everything in run/");
    options.example("./apps/translate train --resume run", "goes on after Ctrl-C, or whatever happened");
    options.note(
        "tiny: 4 + 4 layers, 128 wide, for tens of thousands of sentences. base: 6 + 6 layers, 512 wide.");
    options.note(
        "--resume takes with it, besides, --threads, --steps, --stop-after, --save-every, --patience, "
        "--average and\n"
        "--beam; all else is as the run began. File names are those of then, from the folder of then.");
    options.note("Ctrl-C finishes the step, saves, and ends; a second one ends at once.");
    std::vector<char*> words = {const_cast<char*>("translate")};
    for (const std::string& argument : arguments)
        words.push_back(const_cast<char*>(argument.c_str()));
    options.parse(static_cast<int>(words.size()), words.data());
    if (!validation.empty()) {
        const std::size_t comma = validation.find(',');
        s.validation = {validation.substr(0, comma)};
        if (comma != std::string::npos)
            s.validation.push_back(validation.substr(comma + 1));
        if (s.validation.front().empty() || s.validation.back().empty())
            throw kit::UsageError(join("--validation takes SOURCE,TARGET or a TSV: got '", validation, "'"));
    }
    return s;
}

// What a run that goes on may change: nothing that has a part in what it has learned so far.
void check_resumed(const std::vector<std::string>& arguments) {
    const std::vector<std::string> may = {"--resume",     "--threads",  "--steps",   "--stop-after",
                                          "--save-every", "--patience", "--average", "--beam"};
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string name = arguments[i].substr(0, arguments[i].find('='));
        if (std::find(may.begin(), may.end(), name) == may.end())
            throw kit::UsageError(join("--resume goes on with the run as it began: ", arguments[i],
                                       " can't be given again; --help shows what can"));
        i += name == arguments[i] ? 1 : 0;
    }
}

// The arguments of a run that goes on are those that it began with, and then the new ones.
std::vector<std::string> all_arguments(std::vector<std::string> now, std::string& resume) {
    resume = parse_train(now, "tiny").resume;
    if (resume.empty())
        return now;
    check_resumed(now);
    check(access(Folder{resume}.last().c_str(), F_OK) == 0, resume, ": there is no run in this folder (",
          Folder{resume}.last(), ")");
    kit::Metadata metadata = nn::checkpoint::read(Folder{resume}.last()).metadata();
    check(metadata.contains("translate.arguments"), Folder{resume}.last(),
          ": no run of translate to go on with");
    std::vector<std::string> arguments;
    const std::string& text = metadata["translate.arguments"];
    for (std::size_t begin = 0, end; begin < text.size(); begin = end + 1) {
        end = std::min(text.find('\n', begin), text.size());
        arguments.push_back(text.substr(begin, end - begin));
    }
    arguments.insert(arguments.end(), now.begin(), now.end());
    return arguments;
}

// Those that are of the run, and not of this call.
std::string of_the_run(const std::vector<std::string>& arguments) {
    std::string lines;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        const std::string name = word.substr(0, word.find('='));
        if (name == "--resume" || name == "--save" || name == "--stop-after" || name == "--threads")
            i += name == word ? 1 : 0;  // and its value, unless that is in the same word
        else
            lines.append(word).append("\n");
    }
    return lines;
}

int train_command(int argc, char** argv) {
    std::string resume;
    const std::vector<std::string> arguments = all_arguments({argv + 1, argv + argc}, resume);
    Settings s = parse_train(arguments, parse_train(arguments, "tiny").preset);
    if (!resume.empty())
        s.save = resume;
    if (s.files.empty() || s.files.size() > 2)
        throw kit::UsageError("train needs two files, or one TSV; --help shows more");
    if (s.save.empty() && !s.check_data)
        throw kit::UsageError("--save FOLDER is needed: what is learned is kept there");
    if (s.max_length > s.batch_tokens)
        throw kit::UsageError(
            join("--max-length ", s.max_length, " is more than --batch-tokens ", s.batch_tokens));

    const ParallelText text = read(s.files);
    std::optional<ParallelText> other;
    if (!s.validation.empty())
        other = read(s.validation);
    models::text::check_data(text, other ? &*other : nullptr).print(std::cerr, !s.check_data);
    if (s.check_data)
        return 0;
    Folder{s.save}.create();

    const autograd::Rng rng = autograd::Rng(static_cast<uint64_t>(s.seed)).fork("model");
    kit::Metadata metadata;
    std::optional<Transformer> saved;
    if (!resume.empty())
        saved = kit::load_transformer(Folder{resume}.last(), &metadata, rng);
    else
        check(access(Folder{s.save}.last().c_str(), F_OK) != 0, s.save,
              ": there is a run in this folder already; --resume ", s.save, " goes on with it");
    const TextCodec codec =
        saved ? TextCodec::from_metadata(metadata, Folder{resume}.last())
              : TextCodec::learn(text, s.text, s.codes.empty() ? "" : models::text::read_file(s.codes),
                                 s.codes);
    const Transformer model = saved ? std::move(*saved) : Transformer(model_config(s, codec.size()), rng);
    kit::announce("translate", nn::parameter_count(model));
    std::cerr << "vocabulary: " << kit::grouped(codec.size()) << '\n';
    const TooLong too_long = s.too_long == "cut"    ? TooLong::cut
                             : s.too_long == "drop" ? TooLong::drop
                                                    : TooLong::refuse;
    const Corpus corpus(text, codec, s.max_length, too_long);
    std::optional<Corpus> validation;
    if (other)
        validation.emplace(*other, codec, s.max_length, too_long);
    Run run(model, codec, corpus, validation ? &*validation : nullptr, s, of_the_run(arguments));
    if (saved)
        run.go_on_from(metadata);
    run();
    return 0;
}

struct Loaded {
    Transformer model;
    TextCodec codec;
};
Loaded load(const std::string& path) {
    kit::Metadata metadata;
    const std::string file = model_file(path);
    Transformer model = kit::load_transformer(file, &metadata);
    TextCodec codec = TextCodec::from_metadata(metadata, file);
    check(codec.size() == model.config.src_vocabulary && codec.size() == model.config.tgt_vocabulary, file,
          ": the model has ", model.config.src_vocabulary, " ids, its vocabulary ", codec.size());
    return {std::move(model), std::move(codec)};
}

void add_decoding(kit::Options& options, DecodingOptions& decoding) {
    options.add("--beam", "N", "width of the beam; 1: greedy", decoding.beam, {.min = 1, .max = 1000});
    options.add("--alpha", "X", "length penalty; 0: none, more: longer sentences", decoding.alpha,
                {.max = 10});
    options.add("--batch", "N", "sentences at a time", decoding.batch, {.min = 1, .max = 1 << 16});
}

int run_command(int argc, char** argv) {
    std::vector<std::string> words;
    DecodingOptions decoding;
    bool scores = false;
    kit::Options options("translate run", "translates standard input, or a file, line by line");
    options.rest("MODEL [FILE]", "a run's folder or a saved model; what to translate", words, true);
    add_decoding(options, decoding);
    options.add("--n-best", "N",
                "so many translations of each, as `line ||| translation ||| score`, lines counted from 0",
                decoding.n_best, {.min = 1, .max = 1000});
    options.add("--scores", "the score before each translation, and a tab", scores);
    options.add_threads();
    options.example("echo 'A man is riding a bicycle.' | ./apps/translate run run", "translates a sentence");
    options.parse(argc, argv);
    if (words.size() > 2)
        throw kit::UsageError("run takes a model and at most one file; --help shows more");
    if (decoding.n_best > decoding.beam)
        throw kit::UsageError(
            join("--n-best ", decoding.n_best, " must not be larger than --beam ", decoding.beam));
    const Loaded loaded = load(words[0]);
    const Translator translator{loaded.model, loaded.codec, decoding};
    std::ios::sync_with_stdio(false);  // or it cannot be told how much input is waiting
    if (words.size() == 2) {
        std::ifstream file(words[1]);
        models::text::read_file(words[1]);  // says what is wrong with it
        translate_lines(translator, file, words[1], scores);
    } else {
        translate_lines(translator, std::cin, "standard input", scores);
    }
    return 0;
}

int score_command(int argc, char** argv) {
    std::vector<std::string> words;
    DecodingOptions decoding;
    kit::Options options("translate score", "measures a model on pairs of sentences: loss and BLEU");
    options.rest("MODEL SOURCE TARGET | MODEL TSV", "a run's folder or a saved model; the sentences", words,
                 true);
    add_decoding(options, decoding);
    options.add_threads();
    options.example("./apps/translate score run val.en val.de", "nats for a token, and BLEU");
    options.parse(argc, argv);
    if (words.size() < 2 || words.size() > 3)
        throw kit::UsageError("score needs a model, and two files or one TSV; --help shows more");
    const Loaded loaded = load(words[0]);
    words.erase(words.begin());
    const ParallelText text = read(words);
    const int64_t longest = loaded.model.config.max_length;
    const Corpus corpus(text, loaded.codec, longest, TooLong::cut);
    const Measured all =
        measure(Translator{loaded.model, loaded.codec, decoding}, corpus, std::max<int64_t>(longest, 4096));
    std::cout << "loss " << all.loss << " nats, perplexity " << std::exp(all.loss) << '\n'
              << all.text << '\n';
    return 0;
}

int info_command(int argc, char** argv) {
    std::vector<std::string> words;
    kit::Options options("translate info", "says what a saved model holds");
    options.rest("MODEL", "a run's folder or a file", words, true);
    options.parse(argc, argv);
    const std::string path = model_file(words[0]);
    const nn::checkpoint::SafeTensors file = nn::checkpoint::read(path);
    std::cout << path << '\n';
    for (const auto& [key, value] : file.metadata()) {
        const auto lines = std::count(value.begin(), value.end(), '\n');
        if (lines > 1 && key != "translate.arguments")
            std::cout << key << ": " << lines << " lines\n";
        else
            std::cout << key << ": " << join(value).substr(0, 200) << '\n';
    }
    int64_t numbers = 0;
    for (const nn::checkpoint::Entry& entry : file.entries())
        numbers += static_cast<int64_t>((entry.end - entry.begin) / nn::checkpoint::size_of(entry.dtype));
    std::cout << file.entries().size() << " tensors, " << kit::grouped(numbers) << " numbers\n";
    return 0;
}

int learn_bpe_command(int argc, char** argv) {
    std::vector<std::string> files;
    int64_t merges = 10'000;
    kit::Options options("translate learn-bpe", "writes the merges of byte-pair encoding to standard output");
    options.rest("FILE...",
                 "text in tokens, divided by spaces; of all languages that are to share their pieces", files,
                 true);
    options.add("--merges", "N", "merges", merges, {.max = 10'000'000});
    options.example("./apps/translate learn-bpe --merges 10000 train.tok.en train.tok.de > codes",
                    "the field's codes file");
    options.parse(argc, argv);
    models::text::WordCounts counts;
    for (const std::string& file : files)
        for (const std::string& line : models::text::read_lines(file))
            counts.add_line(line);
    std::cout << Bpe::learn(counts, merges).codes();
    return 0;
}

int help(int argc, char** argv) {
    kit::Options options("translate", "learns to translate from your own sentences, and translates");
    options.command("train", "learns, and keeps everything in a folder");
    options.command("run", "translates standard input or a file");
    options.command("score", "measures a model: loss and BLEU");
    options.command("info", "says what a saved model holds");
    options.command("learn-bpe", "learns byte-pair encoding alone");
    options.example("./apps/translate train train.en train.de --validation val.en,val.de --save run",
                    "learns, and keeps everything in run/");
    options.example("echo 'A man is riding a bicycle.' | ./apps/translate run run", "translates a sentence");
    options.parse(argc, argv);
    throw kit::UsageError("a command is needed: train, run, score, info, or learn-bpe; --help shows more");
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run("translate", [&] {
        return kit::run_command(argc, argv, help,
                                {{"train", train_command},
                                 {"run", run_command},
                                 {"score", score_command},
                                 {"info", info_command},
                                 {"learn-bpe", learn_bpe_command}});
    });
}
