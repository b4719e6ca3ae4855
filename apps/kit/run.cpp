#include "apps/kit/run.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "apps/kit/program.h"
#include "apps/kit/watch.h"
#include "nn/checkpoint/metadata.h"

namespace plaingrad::kit {
namespace {

using autograd::check;
using nn::checkpoint::FieldReader;

// The rows of a log up to a step: what comes after it is done once more.
std::string rows_up_to(const std::string& path, int64_t step) {
    std::error_code none;
    if (!std::filesystem::exists(path, none))
        return "";
    std::istringstream lines(nn::checkpoint::read_file(path));
    std::string rows, line;
    std::getline(lines, line);
    rows = line + '\n';
    while (std::getline(lines, line) && nn::checkpoint::parse_integer(line.substr(0, line.find(','))) <= step)
        rows += line + '\n';
    return rows;
}

}  // namespace

std::string fingerprint(const std::vector<std::string>& texts) {
    uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
    for (const std::string& text : texts) {
        for (const char c : text)
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
        hash = (hash ^ 0x100) * 0x100000001b3u;  // where one ends
    }
    return autograd::join(texts.size(), " texts, ", hash);
}

Run::Run(const RunFolder& folder, const RunSettings& settings, RunParts parts, RunHooks hooks,
         const nn::AdamOptions& adam)
    : training(parts.parameters, adam),
      folder_(folder),
      settings_(settings),
      parts_(std::move(parts)),
      hooks_(std::move(hooks)) {
    if (!folder.resumes())
        return;
    const FieldReader read{folder.checkpoint, folder.program + ".", folder.last()};
    std::string data;
    read("data", data);
    check(data == parts_.data, folder.last(),
          ": the run began with other data or another validation than these files; it can only go on with "
          "the same");
    models::load_weights(folder.last(), parts_.state);
    models::load_training(folder.last(), training);
    read("validation", validation_);
    read("loss", loss_);
    log_ = nn::TrainingLog(rows_up_to(folder.log(), training.adam.steps()));
}

bool Run::has_ended() const {
    return training.adam.steps() >= steps_ || (patience_ > 0 && training.worse >= patience_);
}

bool Run::train(const nn::LossOf& loss_of, nn::TrainingOptions options, Plan plan) {
    patience_ = options.patience;
    if (!plan.batch)
        plan.batch = [&](int64_t i) {
            return loss_of(training.adam.steps() + 1 + i, nn::Mode::train(autograd::Rng(0)));
        };
    begin(options.steps, plan, options.accumulate);
    options.stop = stop_;
    options.restore_best = !folder_.exists();
    watch_.after_step = [&](const nn::StepReport& report) { keep(report); };
    nn::train(training, loss_of, options, watch_);
    return end();
}

int64_t Run::begin(int64_t steps, const Plan& plan, int64_t batches_in_step) {
    const int64_t done = training.adam.steps();
    steps_ = steps;
    stop_ = settings_.stop_after == 0 ? steps : std::min(steps, done + settings_.stop_after);
    start_ = std::chrono::steady_clock::now();
    if (has_ended()) {
        save_last();  // with options that have changed
        return done + 1;
    }
    print_memory(parts_.parameters, plan, folder_.exists());
    print_time(parts_.parameters, plan, stop_ - done, (stop_ - done) * batches_in_step);
    if (done == 0)
        save_last();  // if that can't be done, it is better to know before anything was learned
    listen_for_interrupt();
    watch_ = watch(stop_, {.done = done,
                           .plain_lines_every = hooks_.plain_lines_every,
                           .describe_validation = [this](int64_t step, double loss) {
                               return validation_ =
                                          hooks_.describe_validation
                                              ? hooks_.describe_validation(step, loss)
                                              : autograd::join("step ", step, "  validation loss ", loss);
                           }});
    return done + 1;
}

bool Run::after_step(nn::StepReport report) {
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    watch_.on_step(report);
    return keep(report);
}

// What is needed to resume is written last: a run that is killed before does all this once more, with the
// same result.
bool Run::keep(const nn::StepReport& report) {
    losses.push_back(report.loss);
    loss_ = report.loss;
    if (folder_.exists()) {
        log_.add(report);
        if (report.validation && training.best_step == report.step)
            parts_.save(folder_.best(), {}, nullptr);
        if (hooks_.after_step)
            hooks_.after_step(report);
        const int64_t every = settings_.save_every;
        if (report.validation || report.ends_epoch || interrupted() || report.step == stop_ ||
            (every > 0 && report.step % every == 0))
            save_last();
    }
    return !interrupted();
}

void Run::save_last() {
    if (!folder_.exists())
        return;
    Metadata all = hooks_.state ? hooks_.state() : Metadata();
    nn::checkpoint::FieldWriter write{all, folder_.program + "."};
    write("arguments", folder_.arguments);
    write("data", parts_.data);
    write("loss", loss_);
    write("validation", validation_);
    nn::checkpoint::replace_file(folder_.log(), {log_.text()});
    parts_.save(folder_.last(), all, &training);
}

bool Run::end() {
    watch_ = {};
    if (interrupted() && folder_.exists())
        std::cerr << "saved; --resume " << folder_.top << " goes on\n";
    stop_listening_for_interrupt();
    if (!has_ended()) {
        std::cerr << "stopped after step " << stop_;
        std::cerr << (folder_.exists() ? "; --resume " + folder_.top + " goes on\n" : "\n");
        return false;
    }
    if (hooks_.finish)
        hooks_.finish();
    else if (folder_.exists())
        save_model();
    return true;
}

void Run::save_model() {
    std::error_code none;
    const bool best = training.best_step > 0 && std::filesystem::exists(folder_.best(), none);
    if (best)
        models::load_weights(folder_.best(), parts_.state);
    parts_.save(folder_.model(), {}, nullptr);
    std::cerr << "saved " << folder_.model() << ", with the weights of step "
              << (best ? training.best_step : training.adam.steps()) << '\n';
}

}  // namespace plaingrad::kit
