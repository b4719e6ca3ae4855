// The model of a command: a new one, one that is opened, or a folder from Hugging Face to be trained further.
#pragma once

#include <string>
#include <vector>

#include "apps/kit/run.h"
#include "models/runs/run.h"
#include "models/saved.h"
#include "models/text/tokenizer.h"

namespace plaingrad::kit {

// ------------------------------------------------------------------------------------------- new ones

// A preset, and what is different.
struct PresetModel {
    std::string preset, positions = {};
    models::Config config = {};

    models::Config chosen() const;
};
void add_preset(Options& options, std::string& preset);  // the row of --preset
void add_model_options(Options& options, PresetModel& m);

// A model of these sizes, if there is memory to train it; says what it runs on.
template <class Model>
Model new_model(const models::Config& config, const autograd::Rng& rng) {
    check_memory(models::least_parameters(config));
    Model model(config, rng);
    announce(name(), nn::parameter_count(model), config.block.precision);
    return model;
}

// The whole command `new FOLDER FILE...`: makes a folder as from Hugging Face, with a tokenizer that it
// learns from the files, and a model with random weights. families: those that --family chooses from; the
// first is the default.
Command new_command(const std::vector<std::string>& families);

// ------------------------------------------------------------------------------------- saved ones

// Before a model is opened: if it is a folder from Hugging Face, says on standard error what the folder has,
// "gpt2: GPT2LMHeadModel". Throws Error if there is nothing at this path; for such a folder also if the
// memory is too small for its weights, and FileError as SavedModel does. precision: as of the option; "":
// the model's own. packed: for a command that only computes with it.
models::OpenOptions opening(const std::string& path, const std::string& precision = "", bool packed = false);

// On standard error: what it runs on (see announce), and a line for each note.
template <class Task>
void say_opened(const std::string& path, const Task& task) {
    announce(name(), nn::parameter_count(task.model), task.model.config.block.precision);
    for (const std::string& note : task.notes)
        say(as_line(join(path, ": ", note)));
}

// The model of a command, as a Writer or Filler, and says what it is.
template <class Task>
Task open_model(const std::string& path, const std::string& precision = "", bool packed = false) {
    Task task = Task::load(path, opening(path, precision, packed));
    say_opened(path, task);
    return task;
}

// The same for a command that computes with the model that the first of its words names: its last rows, and
// its command line.
template <class Task>
Task open_given(Options& options, const std::vector<std::string>& words, bool packed = false) {
    std::string precision;
    options.add_precision(precision);
    options.add_threads();
    options.parse();
    return open_model<Task>(words[0], precision, packed);
}

// Throws UsageError for a run that would be for nothing: without a folder, and not only checked.
void check_saves(const models::RunSettings& run);

// The model of a run, with its tokenizer: a Writer's, say, that is new; or one that was opened in `from`.
// That stays of the same family, and keeps what belongs to it.
template <class Task>
models::RunModel run_model_of(const Task& task, const std::string& data, const std::string& from) {
    if constexpr (requires { task.config(); })
        if (from.empty())
            return models::run_model(task.model, task.config(), data,
                                     {{"tokenizer.json", task.tokenizer.json()}});
    models::SavedModel saved(from);
    if constexpr (requires { task.labels; })
        saved.config.labels = task.labels;
    return models::run_model(task.model, config_of(task.model.config, saved.config), data,
                             models::read_text_files(saved.folder));
}

// For `info`, on standard output: "bert-base: bert", and the sizes of the model. text: "tokens".
void print_sizes(const std::string& path, int64_t parameters, const std::string& text = "tokens");

// The tokens as labels: spaces and line breaks are visible.
Labels token_names(const models::text::Tokenizer& tokenizer);

}  // namespace plaingrad::kit
