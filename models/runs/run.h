// A training run, the same for every program, which iterates it. Between two steps it keeps a log and
// checkpoints in its folder. It can be stopped or killed at any moment, and resumed with the same bits. It
// knows no terminal: kit::Run, which is one, shows progress and reacts to signals.
//
//     const models::RunFolder folder("mine", {.save = "run", .save_every = 100});
//     const models::LanguageModel model(config, rng);
//     models::Run run(folder, models::run_model(model), {.steps = 1000, .learning_rate = schedule});
//     while (run.next()) {                     // with .resume: from the checkpoint on
//         run.learn(batch(run.step()), loss);  // a batch is a function of its step
//         if (run.validates())
//             run.validated(held_out());
//     }
//     if (run.has_ended())  // and was not stopped
//         run.finish();     // run/model.safetensors
#pragma once

#include <chrono>
#include <optional>

#include "models/batch.h"
#include "models/runs/run_folder.h"
#include "nn/training.h"

namespace plaingrad::models {

// A model as a run sees it: the parameters that learn, and all tensors as they are saved.
struct RunModel {
    std::vector<nn::NamedParameter> parameters;
    StateDict state = {};
    std::string data = {};  // identifies the data (text::fingerprint); a run resumes with the same data only
    TextFiles texts = {};   // what the folder gets before the first checkpoint: config.json and the tokenizer
};
// config: what its config.json says.
template <class Model>
RunModel run_model(const Model& model, const ConfigJson& config, const std::string& data = "",
                   TextFiles texts = {}) {
    texts.emplace_back("config.json", written(config));
    return {nn::parameters(model), saved_state(all_parameters(model), config), data, std::move(texts)};
}
template <class Model>
RunModel run_model(const Model& model, const std::string& data = "", const TextFiles& texts = {}) {
    return run_model(model, hugging_face::config_of(model.config), data, texts);
}

struct RunOptions {
    int64_t steps = 1000;  // of the whole run
    nn::LearningRate learning_rate = {};
    nn::AdamOptions adam = {.beta2 = 0.98, .eps = 1e-9};  // the paper's, §5.3
    double clip = 1;                                      // largest norm of the gradient; 0: any
    int64_t accumulate = 1;  // batches of a step: their gradient is that of the mean over all their tokens
    uint64_t seed = 0;       // of dropout
    int64_t validate_every = 0;  // steps; 0: only at the end of epochs, and after the last step
    int64_t patience = 0;        // ends the run after this many validations without improvement; 0: never
    bool epochs = false;         // the program says where an epoch ends; then checkpoints keep the Epoch
};

// How far a run has come in its data.
struct Epoch {
    int64_t ended = 0;   // epochs before this one
    int64_t first = 1;   // its first step
    int64_t tokens = 0;  // predicted in this one
    double loss_sum = 0;

    int64_t number() const { return ended + (tokens > 0 ? 1 : 0); }  // of the last step's, from 1
    double loss() const { return loss_sum / static_cast<double>(tokens); }

    template <class Field>
    void visit(Field& field) {
        field("epoch", ended);
        field("epoch_first", first);
        field("tokens", tokens);
        field("loss_sum", loss_sum);
    }
};

class Run {
public:
    // The folder outlives it. When the folder resumes a run, this run continues from the checkpoint.
    Run(const RunFolder& of_run, RunModel of_model, RunOptions of_steps);
    virtual ~Run() = default;
    Run(Run&&) = delete;  // what a step has found points to it

    // Ends the step before, with its log and its checkpoint, and begins the next one. false: the run has
    // ended, or this call of it.
    bool next();
    int64_t step() const { return now_.step; }  // from 1
    double rate() const { return options.learning_rate(step()); }

    // The rest of a step: forward, backward, clip, Adam; for a batch, or for several, which are accumulated.
    // loss(part, mode): an nn::StepLoss.
    template <class Batches, class Loss>
    void learn(const Batches& batches, const Loss& loss) {
        training.adam.zero_grad();
        for (const auto& part : parts(batches))
            backward(loss(part, mode(part)), part);
        const nn::StepGradient gradient = gradients();
        training.adam.step(
            rate(), gradient.scale * (options.clip > 0 ? nn::clip_scale(gradient.norm, options.clip) : 1));
    }
    // The same in pieces, for a program that spells it out (apps/reverse_task.cpp). parts: those of the
    // step's batches that this process has, without those that have no rows; of each part all batches.
    template <class Batch>
    std::vector<Part<Batch>> parts(const std::vector<Batch>& batches) const {
        std::vector<Part<Batch>> own;
        const auto [begin, end] = nn::parts_of(folder.team().rank(), folder.team().size(), folder.parts);
        for (int64_t part = begin; part < end; ++part)
            for (int64_t i = 0; i < std::ssize(batches); ++i) {
                const nn::StepPart at = {step(), i, part, folder.parts, options.accumulate};
                const Batch& batch = batches[static_cast<std::size_t>(i)];
                if (at.parts == 1)
                    own.push_back({batch, at});
                else if (Batch rows = part_of(batch, at); row_count(rows) > 0)
                    own.push_back({std::move(rows), at});
            }
        return own;
    }
    template <class Batch>
    std::vector<Part<Batch>> parts(const Batch& batch) const {
        return parts(std::vector<Batch>{batch});
    }
    nn::Mode mode(const nn::StepPart& part) const;
    void backward(const nn::StepLoss& loss, const nn::StepPart& part) { gradients_->backward(loss, part); }
    // Of all parts and processes. Throws Error if the loss or a gradient is not finite, naming the first
    // parameter whose gradient is not.
    nn::StepGradient gradients();

    // To be called after learn() if the step was the last of its epoch.
    void end_epoch() { now_.ends_epoch = true; }
    // Whether a validation is due. Then the program gives its loss (smaller is better), and may say it in
    // words of its own; "": the step and the loss.
    bool validates();
    void validated(double loss, const std::string& said = "");

    // Whether the run has come to its end, and not only this call.
    bool has_ended() const {
        const bool out_of_patience = options.patience > 0 && training.worse >= options.patience;
        return !now_.stops && (training.adam.steps() >= options.steps || out_of_patience);
    }
    // To be called then: loads the best weights into the model, or keeps the last if there was no validation,
    // and saves it. Returns the step of these weights, or 0 if nothing was saved here.
    int64_t finish();
    int64_t last() const { return last_; }  // the last step of this call

    // Gives all processes the weights of process 0, which has read them from a file.
    void share_weights() const;
    const std::string& log() const { return log_.text(); }  // CSV, a row for each step

    const RunFolder& folder;
    RunModel model;
    RunOptions options;
    nn::Training training;
    std::vector<double> losses;  // of the steps of this call
    std::string validation;      // the message about the last one
    Epoch epoch;                 // of the last step

protected:
    // What shows a run: a terminal, for one (apps/kit/run.h).
    virtual void begins() {}                                       // before the first step of this call
    virtual bool stepped(const nn::StepReport&) { return false; }  // returns whether this call should stop
    virtual void will_save(const nn::StepReport&) {}  // at the end of a step, before any checkpoint

private:
    void check_same() const;
    void resume();
    void begin();
    void end_step();
    void keep();
    void save_last();  // the file to resume from, with the settings of this call

    nn::TrainingLog log_;
    nn::Rng dropout_;
    int64_t last_ = 0;
    std::chrono::steady_clock::time_point start_;
    std::optional<nn::Gradients> gradients_;    // of the present step
    nn::StepReport now_;                        // of the present step
    bool has_begun_ = false, is_open_ = false;  // is_open_: the step has learned, and not ended
    std::vector<nn::NamedParameter> best_;      // copies of the best weights, without a folder
    double loss_ = 0;                           // of the last step
};

}  // namespace plaingrad::models
