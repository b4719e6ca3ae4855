// What programs say about a folder from Hugging Face that they have opened, and how they train it further.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/kit/options.h"
#include "apps/kit/report.h"
#include "autograd/plain.h"
#include "models/runs/run.h"
#include "models/saved.h"
#include "models/text/tokenizer.h"

namespace plaingrad::kit {

// Before a model is opened: if it is a folder from Hugging Face, says on standard error what the folder has,
// "gpt2: GPT2LMHeadModel, 2 files, 523.0 MiB of F32", and returns what shows the progress (see loading).
// Throws Error if there is nothing at this path; for such a folder also if the memory is too small for its
// weights, with `bytes_each` for a number, and FileError as SavedModel does.
std::function<void(int64_t done, int64_t all)> opening(const std::string& path,
                                                       int64_t bytes_each = sizeof(autograd::Real));

// The model of a command, as a Writer, Labeller or Filler. precision: as of the option; "": the model's own.
// packed: for a command that only computes with it.
template <class Task>
Task open_model(const std::string& path, const std::string& precision = "", bool packed = false) {
    models::OpenOptions options = {.packed = packed && !autograd::Plain::active(),  // plain ops read none
                                   .precision = given_precision(precision)};
    const bool halves = options.packed && options.precision == models::Precision::bf16;
    options.progress = halves ? opening(path, 2) : opening(path);
    return Task::load(path, options);
}

// On standard error: what it runs on (see announce), and a line for each note.
void say_opened(const std::string& path, int64_t parameters, models::Precision precision,
                const std::vector<std::string>& notes);
template <class Task>
void say_opened(const std::string& path, const Task& task) {
    say_opened(path, nn::parameter_count(task.model), task.model.config.block.precision, task.notes);
}

// The command line of a run that trains a folder further: MODEL FILE..., and --save. Throws UsageError.
void check_fine_tuning(const Options& options, const std::vector<std::string>& words,
                       const models::RunSettings& run);

// Before the model that a resumed run began with is opened again: throws Error if it is no longer there. how:
// to give it anew, "MODEL".
void check_base(const models::RunFolder& folder, const std::string& path, const std::string& how);

// In a batch, the token that pads would be taken for padding if a text named it: throws Error, beginning with
// `where`, if the ids of a text to learn from have it.
void check_no_padding(const std::vector<int32_t>& ids, int32_t pad, const models::text::Tokenizer& tokenizer,
                      const std::string& where);

// The model of a run that trains a folder from Hugging Face further: one for others, with the text files of
// the folder `from`.
template <class Model>
models::RunModel run_model_for_others(const Model& model, const std::string& data, const std::string& from,
                                      const models::hugging_face::ConfigJson& config) {
    return models::run_model(model, config_of(model.config, config), data, models::read_text_files(from));
}

// For `info`, on standard output: "bert-base: bert", and the sizes of its layers.
void print_sizes(const std::string& path, const std::string& kind, const models::Config& config);

// A token as a label: spaces and line breaks are visible.
std::string visible(const std::string& token);
// Of a model that may have more ids than its tokenizer: a vocabulary of this size.
Labels token_names(const models::text::Tokenizer& tokenizer, int64_t vocabulary);
inline Labels token_names(const models::text::Tokenizer& tokenizer) {
    return token_names(tokenizer, tokenizer.size());
}

}  // namespace plaingrad::kit
