#include "models/run.h"

#include <bit>
#include <cmath>
#include <cstdio>

#include "autograd/base/hash.h"
#include "nn/checkpoint/metadata.h"

namespace plaingrad::models {
namespace {

std::string describe(int64_t step, double loss) {
    char text[80];
    std::snprintf(text, sizeof text, "step %lld  validation loss %.4f", static_cast<long long>(step), loss);
    return text;
}

using Bits = std::conditional_t<sizeof(autograd::Real) == 4, uint32_t, uint64_t>;

uint64_t hash_of(const std::vector<nn::NamedParameter>& parameters) {
    autograd::Hash hash;
    for (const nn::NamedParameter& p : parameters)
        for (int64_t i = 0; i < p.tensor.numel(); ++i)
            hash.add(std::bit_cast<Bits>(p.tensor.data()[i]));
    return hash.value;
}

}  // namespace

Run::Run(const RunFolder& of_run, RunModel of_model, RunHooks hooks, const nn::AdamOptions& adam)
    : folder(of_run),
      model(std::move(of_model)),
      training(model.parameters, adam, folder.team(), folder.parts),
      hooks_(std::move(hooks)) {
    if (!hooks_.describe_validation)
        hooks_.describe_validation = describe;
    check_same();
    if (folder.resumes())
        resume();
    if (folder.team().size() > 1)
        nn::check_same(folder.team(), "other weights to begin with",
                       std::to_string(hash_of(model.parameters)));
}

// A process with other settings, data or weights would spoil the run of all, and nobody would notice.
void Run::check_same() const {
    nn::Team& team = folder.team();
    if (team.size() == 1)
        return;
    std::string shapes;
    for (const nn::NamedParameter& p : model.parameters)
        shapes += autograd::join(p.name, " ", p.tensor.shape(), "\n");
    nn::check_same(team, "another program or version", folder.program + " " + nn::build());
    nn::check_same(team, "other settings", folder.arguments);
    nn::check_same(team, "other data", model.data);
    nn::check_same(team, "another model", shapes);
}

void Run::resume() {
    const nn::checkpoint::FieldReader read{folder.checkpoint, folder.program + ".", folder.last()};
    std::string data;
    read("data", data);
    autograd::check(data == model.data, folder.last(),
                    ": the run began with other training or validation data than these files, or with "
                    "another tokenizer; it can only continue with the same");
    load_weights(folder.last(), model.state);
    load_training(folder.last(), training);
    read("validation", validation);
    read("loss", loss_);
    if (nn::checkpoint::exists(folder.log()))
        log_ = nn::TrainingLog(nn::checkpoint::read_file(folder.log()), training.adam.steps());
}

void Run::share_weights() const {
    for (const nn::NamedParameter& p : model.parameters)
        folder.team().broadcast(p.tensor.mutable_data(),
                                p.tensor.numel() * static_cast<int64_t>(sizeof(autograd::Real)));
}

bool Run::has_ended(int64_t steps, int64_t patience) const {
    return training.adam.steps() >= steps || (patience > 0 && training.worse >= patience);
}

int64_t Run::last_of(int64_t steps) const {
    return folder.run.stop_after == 0 ? steps
                                      : std::min(steps, training.adam.steps() + folder.run.stop_after);
}

bool Run::train(const nn::LossOf& loss_of, nn::TrainingOptions options, nn::Watch watch) {
    begin(options.steps, std::move(watch), options.patience);
    options.stop = last_;
    options.restore_best = !folder.exists();
    nn::train(training, loss_of, options, watch_);
    return stop();
}

int64_t Run::begin(int64_t steps, nn::Watch watch, int64_t patience) {
    const int64_t done = training.adam.steps();
    steps_ = steps;
    patience_ = patience;
    last_ = last_of(steps);
    start_ = std::chrono::steady_clock::now();
    watch_ = std::move(watch);
    watch_.on_step = [this, also = watch_.on_step](const nn::StepReport& report) {
        if (hooks_.on_step)
            hooks_.on_step(report);
        if (also)
            also(report);
    };
    watch_.on_validation = [this, also = watch_.on_validation](int64_t step, double loss, bool better) {
        validation = hooks_.describe_validation(step, loss);
        if (also)
            also(step, loss, better);
    };
    after_step_ = std::exchange(watch_.after_step, [this](const nn::StepReport& report) { keep(report); });
    if (model.tokenizer != nullptr)
        folder.keep(*model.tokenizer);
    // Saves before the first step, so that a run that cannot save fails at once, and leaves nothing.
    try {
        if (done == 0)
            save_last();
    } catch (...) {
        if (model.tokenizer != nullptr)
            folder.forget();
        throw;
    }
    return done + 1;
}

bool Run::after_step(nn::StepReport report) {
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    autograd::check(std::isfinite(report.loss + report.grad_norm), "[train] step ", report.step,
                    ": the loss is ", report.loss, ", and the gradient's norm ", report.grad_norm);
    watch_.on_step(report);
    report.stops = nn::any(folder.team(), watch_.should_stop && watch_.should_stop());
    keep(report);
    return !stopped_;
}

// The file to resume from is written last: a run that is killed before does all this again, with the same
// result.
void Run::keep(const nn::StepReport& report) {
    losses.push_back(report.loss);
    loss_ = report.loss;
    stopped_ = report.stops;
    log_.add(report);
    if (after_step_)
        after_step_(report);
    if (!folder.exists())
        return;
    if (report.validation && training.best_step == report.step && folder.writes())
        model.save(folder.best(), {}, nullptr);
    if (hooks_.after_step)
        hooks_.after_step(report);
    if (report.validation || report.ends_epoch || stopped_ || report.step == last_ ||
        (folder.run.save_every > 0 && report.step % folder.run.save_every == 0)) {
        if (folder.writes())
            nn::checkpoint::replace_file(folder.log(), {log_.text()});
        save_last();
    }
}

void Run::save_last() {
    if (!folder.writes())
        return;
    Metadata all = hooks_.state ? hooks_.state() : Metadata();
    nn::checkpoint::FieldWriter write{all, folder.program + "."};
    write("arguments", folder.arguments);
    write("data", model.data);
    write("parts", folder.parts);
    write("loss", loss_);
    write("validation", validation);
    model.save(folder.last(), all, &training);
}

bool Run::stop() {
    watch_ = {};
    return !stopped_ && has_ended(steps_, patience_);
}

int64_t Run::finish() {
    if (hooks_.finish) {
        hooks_.finish();
        return 0;
    }
    const int64_t step = folder.writes() ? finish_first() : 0;
    share_weights();
    return step;
}

// What process 0 does with the files.
int64_t Run::finish_first() {
    const int64_t best = training.best_step, last = training.adam.steps();
    if (best > 0 && !nn::checkpoint::exists(folder.best())) {
        // If the run had ended before this call, the model that it saved then has these weights.
        autograd::check(losses.empty() && nn::checkpoint::exists(folder.model()), folder.best(),
                        ": the weights of the best validation, of step ", best, ", are missing; ",
                        folder.last(), " opens as a model with those of step ", last);
        model.load ? model.load(folder.model()) : load_weights(folder.model(), model.state);
        return 0;
    }
    if (best > 0)
        load_weights(folder.best(), model.state);
    model.save(folder.model(), {}, nullptr);
    return best > 0 ? best : last;
}

}  // namespace plaingrad::models
