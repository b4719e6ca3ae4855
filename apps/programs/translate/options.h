// The command line of `translate train`: what a run is, and what of it may be changed when it goes on.
#pragma once

#include <filesystem>
#include <map>
#include <sstream>

#include "apps/kit/options.h"
#include "apps/programs/translate/text.h"
#include "models/transformer.h"

namespace plaingrad::translate {

struct Settings {
    std::string preset = "tiny", save, resume, codes;
    std::vector<std::string> files, validation;
    TextOptions text = {};
    std::string too_long = "drop";
    int64_t max_length = 128, batch_tokens = 4096, accumulate = 1, steps = 8000, warmup = 2000;
    int64_t patience = 10, average = 10, save_every = 0, stop_after = 0, seed = 1, beam = 5;
    double lr = 5e-3, dropout = 0.3, bpe_dropout = 0, label_smoothing = 0.1, clip = 25;
    bool check_data = false;
    std::vector<std::string> given;  // options, as words
};

// tiny: Wu et al. 2021 (ACL), "Good for Misconceived Reasons: An Empirical Revisiting on the Need for Visual Context in
// Multimodal Machine Translation", Transformer-Tiny, as their code has it. quick: the same model, with fewer pieces, smaller
// steps, and an end after ten minutes; found by trying three. base: "Attention Is All You Need", Table 3.
inline Settings recipe(const std::string& preset) {
    Settings s;
    s.preset = preset;
    if (preset == "quick") {
        s.text.merges = 4000, s.steps = 4000, s.warmup = 1000, s.lr = 4e-3, s.dropout = 0.15, s.clip = 1;
        s.patience = 0, s.average = 5;
    }
    if (preset == "base")
        s.lr = 7e-4, s.dropout = 0.1, s.warmup = 4000, s.clip = 1, s.steps = 100'000;
    return s;
}

inline models::TransformerConfig model_config(const Settings& s, int64_t vocabulary) {
    models::TransformerConfig config = {.src_vocabulary = vocabulary,
                                        .tgt_vocabulary = vocabulary,
                                        .max_length = s.max_length,
                                        .tying = models::Tying::all,
                                        .output_bias = false};
    if (s.preset != "base") {
        config.d_model = 128, config.n_heads = 4, config.d_ff = 256;
        config.n_encoder_layers = config.n_decoder_layers = 4;
    }
    const auto rate = static_cast<autograd::Real>(s.dropout);
    config.dropout = {.embeddings = rate, .sublayers = rate};
    return config;
}

inline void add_data_options(kit::Options& options, Settings& s) {
    options.add("--preset", "what the other options are unless given", s.preset, {"tiny", "quick", "base"});
    options.add("--pieces", "what rare words become: pieces of words, or bytes", s.text.pieces,
                {"words", "bytes"});
    options.add("--merges", "N", "byte-pair encoding of both languages together; 0: characters",
                s.text.merges, {.max = 1'000'000});
    options.add("--codes", "FILE", "merges that learn-bpe has written, instead of learning them", s.codes);
    options.add("--min-count", "N", "rarer pieces of words are divided further, or unknown", s.text.min_count,
                {.min = 1});
    options.add("--bpe-dropout", "X", "probability of passing over a merge, in each epoch anew",
                s.bpe_dropout, {.max = 0.99});
    options.add("--tokenized", "the text is in tokens already, divided by spaces", s.text.tokenized);
    options.add("--lower-case", "everything in lower case", s.text.lower_case);
    options.add("--max-length", "N", "tokens of a sentence, its end counted", s.max_length,
                {.min = 2, .max = 1 << 14});
    options.add("--too-long", "what to do with longer ones", s.too_long, {"drop", "cut", "refuse"});
}

constexpr int64_t kMostSteps = 1'000'000'000;

inline void add_learning_options(kit::Options& options, Settings& s) {
    options.add("--batch-tokens", "N", "tokens of a batch, padding included", s.batch_tokens,
                {.min = 2, .max = 1 << 24});
    options.add("--accumulate", "N", "batches in a step", s.accumulate, {.min = 1, .max = 1 << 16});
    options.add("--steps", "N", "training steps", s.steps, {.min = 1, .max = kMostSteps});
    options.add("--lr", "X", "highest learning rate", s.lr, {.max = 1});
    options.add("--warmup", "N", "steps until it is reached; then it falls with the inverse square root",
                s.warmup, {.min = 1, .max = kMostSteps});
    options.add("--dropout", "X", "probability of dropping a number", s.dropout, {.max = 0.99});
    options.add("--label-smoothing", "X", "part of the target that is spread over all words",
                s.label_smoothing, {.max = 0.99});
    options.add("--clip", "X", "largest norm of the gradient; 0: any", s.clip);
    options.add("--patience", "N", "end after so many epochs without a better validation; 0: go on",
                s.patience);
    options.add("--average", "N", "epochs at the end of which the model is the average", s.average,
                {.min = 1, .max = 1000});
    options.add("--save-every", "N", "steps from one checkpoint to the next; 0: epochs", s.save_every,
                {.max = kMostSteps});
    options.add("--stop-after", "N",
                "end this call after so many steps; --resume goes on. 0: not before the end", s.stop_after,
                {.max = kMostSteps});
    options.add("--beam", "N", "width of the beam for the BLEU at the end", s.beam, {.min = 1, .max = 1000});
}

inline void explain(kit::Options& options) {
    options.example("./apps/translate train train.en train.de --validation val.en,val.de --save run",
                    "learns, and keeps everything in run/");
    options.example("./apps/translate train --resume run", "goes on after Ctrl-C, or whatever happened");
    options.note(
        "tiny: 4 + 4 layers, 128 wide, for tens of thousands of sentences. quick: the same, to be trained in "
        "ten minutes.\n"
        "base: 6 + 6 layers, 512 wide.");
    options.note(
        "In FOLDER: last.safetensors, to go on from; best.safetensors, of the best validation; epoch-N, of "
        "the\n"
        "last epochs; model.safetensors, their average, when the run has ended; log.csv.");
    options.note(
        "--resume takes with it, besides, --threads, --steps, --stop-after, --save-every, --patience, "
        "--average and\n"
        "--beam, and files and --validation, if they are no longer where they were; all else is as the run "
        "began. The end is\n"
        "the same to the bit, as far as none of these changes it.");
    options.note(
        "Ctrl-C finishes the step, saves, and ends with status 130 (SIGTERM: 143); a second one ends at "
        "once. Else the\n"
        "status is 0, 1 for data that cannot be used, 2 for a wrong command line.");
}

// SOURCE,TARGET or TSV. Names may have commas, if files of these names are there.
inline std::vector<std::string> two_files(const std::string& text) {
    std::error_code none;
    if (std::filesystem::exists(text, none))
        return {text};
    std::vector<std::string> files = {text.substr(0, text.find(','))};
    if (files[0] != text)
        files.push_back(text.substr(files[0].size() + 1));
    for (std::size_t comma = text.find(','); comma != text.npos; comma = text.find(',', comma + 1)) {
        const std::vector<std::string> two = {text.substr(0, comma), text.substr(comma + 1)};
        if (std::filesystem::exists(two[0], none) && std::filesystem::exists(two[1], none))
            files = two;
    }
    if (files.front().empty() || files.back().empty())
        throw kit::UsageError(join("--validation takes SOURCE,TARGET or a TSV: got '", text, "'"));
    return files;
}

// Without a look at what fits together; `preset` says what is not given.
inline Settings parse_train(std::vector<std::string> words, const std::string& preset) {
    Settings s = recipe(preset);
    std::string validation;
    kit::Options options("translate train", "learns to translate from pairs of sentences");
    options.rest("SOURCE TARGET | TSV", "two files with a sentence a line, or one with source<TAB>target",
                 s.files);
    options.add("--save", "FOLDER", "where the model, checkpoints and a log are kept", s.save);
    options.add("--resume", "FOLDER", "go on with the run that was saved there, to the same bits", s.resume);
    options.add("--validation", "SOURCE,TARGET", "sentences to measure by, after each epoch; or a TSV",
                validation);
    add_data_options(options, s);
    add_learning_options(options, s);
    options.add("--check-data", "only look at the data, and say what is found", s.check_data);
    options.add_common(s.seed);
    explain(options);
    words.insert(words.begin(), "translate");
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    options.parse(static_cast<int>(pointers.size()), pointers.data());
    if (!validation.empty())
        s.validation = two_files(validation);
    s.given = options.given();
    return s;
}

inline std::string option_name(const std::string& word) { return word.substr(0, word.find('=')); }

inline bool is_one_of(const std::string& word, std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](const char* name) { return option_name(word) == name; });
}

// What a run that goes on may change: nothing that has a part in what it has learned so far.
inline void check_resumed(const Settings& now) {
    for (const std::string& word : now.given)
        if (!is_one_of(word, {"--resume", "--threads", "--steps", "--stop-after", "--save-every",
                              "--patience", "--average", "--beam", "--validation"}))
            throw kit::UsageError(join("--resume goes on with the run as it began: ", option_name(word),
                                       " can't be given again; --help shows what can"));
}

// The options of a run, a word a line; behind "--" its files; behind another one those of validation. All that is needed
// to go on, from any folder. Not what is of this call alone.
inline std::string arguments_of(const Settings& s) {
    std::map<std::string, std::string> last;  // of each name what was given last
    for (const std::string& word : s.given)
        if (!is_one_of(word, {"--resume", "--save", "--codes", "--stop-after", "--threads", "--validation"}))
            last[option_name(word)] = word;
    std::string lines;
    for (const auto& [name, word] : last)
        lines.append(word).append("\n");
    for (const std::vector<std::string>* files : {&s.files, &s.validation}) {
        lines.append("--\n");
        for (const std::string& file : *files) {
            const std::string path = std::filesystem::absolute(file).lexically_normal().string();
            check(path.find('\n') == path.npos && models::text::find_invalid_utf8(path) == path.npos, path,
                  ": a file's name must be one line of UTF-8, to be kept in a checkpoint");
            lines.append(path).append("\n");
        }
    }
    return lines;
}

// What the run in a checkpoint, whose name is `path`, began with, and what is given now. Throws Error for arguments that
// arguments_of cannot have written.
inline Settings go_on(const std::string& arguments, const Settings& now, const std::string& path) {
    std::vector<std::vector<std::string>> parts(1);  // options, files, files of validation
    std::istringstream lines(arguments);
    for (std::string line; std::getline(lines, line);)
        if (line == "--")
            parts.emplace_back();
        else
            parts.back().push_back(line);
    check(parts.size() == 3, path, ": the arguments of its run cannot be read");
    std::vector<std::string> words = parts[0];
    words.insert(words.end(), now.given.begin(), now.given.end());
    try {
        Settings s = parse_train(words, parse_train(words, "tiny").preset);
        s.files = now.files.empty() ? parts[1] : now.files;
        s.validation = now.validation.empty() ? parts[2] : now.validation;
        s.save = now.resume;
        return s;
    } catch (const kit::UsageError& error) {
        throw autograd::Error(join(path, ": ", error.what()));
    }
}

// What no run can be.
inline void check_settings(const Settings& s) {
    if (s.files.empty() || s.files.size() > 2)
        throw kit::UsageError("train needs two files, or one TSV; --help shows more");
    if (s.save.empty() && !s.check_data)
        throw kit::UsageError("--save FOLDER is needed: what is learned is kept there");
    if (s.max_length > s.batch_tokens)
        throw kit::UsageError(
            join("--max-length ", s.max_length, " is more than --batch-tokens ", s.batch_tokens));
    if (s.text.pieces == "bytes" && (s.bpe_dropout > 0 || s.text.min_count > 1))
        throw kit::UsageError("--bpe-dropout and --min-count are for --pieces words");
}

}  // namespace plaingrad::translate
