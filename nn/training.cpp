#include "nn/training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <locale>

#include "autograd/base/text_stream.h"

namespace plaingrad::nn {
namespace {

using Clock = std::chrono::steady_clock;

// Runs the validations, and keeps the best weights.
class Validation {
public:
    Validation(Training& training, const TrainingOptions& options, const Watch& watch)
        : training_(training), options_(options), watch_(watch) {}

    bool is_due(int64_t step, bool epoch_ended) const {
        const bool every = options_.validate_every > 0 && step % options_.validate_every == 0;
        return options_.validation_loss && (every || epoch_ended || step == options_.steps);
    }

    // After `step`.
    double operator()(int64_t step) {
        const double loss = options_.validation_loss();
        check(!std::isnan(loss), "[train] step ", step, ": the validation loss is not a number");
        const bool better = loss < training_.best_validation;
        if (watch_.on_validation)
            watch_.on_validation(step, loss, better);
        training_.worse = better ? 0 : training_.worse + 1;
        if (better) {
            if (options_.restore_best)
                keep_best();
            training_.best_validation = loss;
            training_.best_step = step;
        }
        return loss;
    }

    bool has_patience() const { return options_.patience == 0 || training_.worse < options_.patience; }

    // If the run has ended: one that was only stopped resumes from its last weights.
    void restore_best() const {
        const bool ended = training_.adam.steps() >= options_.steps || !has_patience();
        if (ended && options_.restore_best && !training_.best_weights.empty())
            copy_values(training_.best_weights, training_.adam.parameters());
    }

private:
    // All weights or, where memory is out, none.
    void keep_best() {
        if (!training_.best_weights.empty())
            return copy_values(training_.adam.parameters(), training_.best_weights);
        std::vector<NamedParameter> best;
        for (const NamedParameter& p : training_.adam.parameters())
            best.push_back({p.name, p.tensor.clone()});
        training_.best_weights = std::move(best);
    }

    Training& training_;
    const TrainingOptions& options_;
    const Watch& watch_;
};

// The first parameter whose gradient is not finite; "" if there is none.
std::string not_finite(const std::vector<NamedParameter>& parameters) {
    for (const NamedParameter& p : parameters)
        if (!std::isfinite(grad_norm({p})))
            return p.name;
    return "";
}

// Forward, backward, clip, step.
StepReport take_step(int64_t step, Training& training, const Rng& dropout, const LossOf& loss_of,
                     const TrainingOptions& options) {
    const StepGradient now = training.parallel.backward(step, dropout.fork(static_cast<uint64_t>(step)),
                                                        loss_of, options.accumulate);
    check(step > 1 || std::isfinite(now.loss), "[train] step 1: the loss is ", now.loss,
          "; the data, or the weights that it begins with, are broken");
    if (!std::isfinite(now.loss) || !std::isfinite(now.norm)) {
        const std::string place = not_finite(training.adam.parameters());
        throw autograd::Error(autograd::join(
            "[train] step ", step, ": the loss is ", now.loss, " and the gradient's norm ", now.norm,
            place.empty() ? "" : ", first in that of ", place, "; a lower learning rate may help"));
    }
    const double rate = options.learning_rate(step);
    training.adam.step(rate, now.scale * (options.clip > 0 ? clip_scale(now.norm, options.clip) : 1));
    return {.step = step,
            .loss = now.loss,
            .tokens = now.tokens,
            .learning_rate = rate,
            .grad_norm = now.norm,
            .ends_epoch = now.ends_epoch};
}

}  // namespace

TrainingResult train(Training& training, const LossOf& loss_of, const TrainingOptions& options,
                     const Watch& watch) {
    check(options.steps >= 0, "[train] the number of steps must not be negative: got ", options.steps);
    check(options.accumulate >= 1, "[train] a step needs at least one batch: got ", options.accumulate);
    check(options.patience >= 0 && options.validate_every >= 0,
          "[train] neither patience nor validate_every may "
          "be negative; 0: never");
    check(loss_of && options.learning_rate && (options.validate_every == 0 || options.validation_loss),
          "[train] a loss and a learning rate are needed, and to validate a validation_loss");
    check(options.clip >= 0, "[train] clip must be a largest norm, or 0 for any: got ", options.clip);
    const Rng dropout = Rng(options.seed).fork("dropout");
    const Clock::time_point start = Clock::now();
    const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
    const int64_t end = options.stop > 0 ? std::min(options.stop, options.steps) : options.steps;
    TrainingResult result;
    Validation validate(training, options, watch);
    bool stopped = false;
    for (int64_t step = training.adam.steps() + 1; !stopped && validate.has_patience() && step <= end;
         ++step) {
        StepReport report = take_step(step, training, dropout, loss_of, options);
        report.seconds = seconds();
        result.losses.push_back(report.loss);
        if (watch.on_step)
            watch.on_step(report);
        report.stops = stopped = any(training.parallel.team(), watch.should_stop && watch.should_stop());
        if (validate.is_due(step, report.ends_epoch))
            report.validation = validate(step);
        report.seconds = seconds();
        if (watch.after_step)
            watch.after_step(report);
    }
    validate.restore_best();
    result.seconds = seconds();
    result.best_validation = training.best_validation;
    result.best_step = training.best_step;
    return result;
}

TrainingResult train(const std::vector<NamedParameter>& parameters, const LossOf& loss_of,
                     const TrainingOptions& options, const Watch& watch) {
    Training training(parameters, options.adam);
    return train(training, loss_of, options, watch);
}

TrainingLog::TrainingLog(const std::string& text, int64_t step) {
    autograd::TextReader lines(text);
    std::string line;
    if (!std::getline(lines, line))
        line = "step,loss,validation loss,learning rate,gradient norm,seconds,tokens/s";
    text_ = line + '\n';
    while (std::getline(lines, line) && std::atoll(line.c_str()) <= step)
        text_ += line + '\n';
}

void TrainingLog::add(const StepReport& r) {
    const double took = r.seconds - (r.seconds < seconds_ ? 0 : seconds_);  // each call of train begins at 0
    autograd::TextWriter row;
    row.imbue(std::locale::classic());  // numbers in a file are the same in every country
    row << r.step << ',' << r.loss << ',';
    if (r.validation)
        row << *r.validation;
    row << ',' << r.learning_rate << ',' << r.grad_norm << std::fixed << std::setprecision(3) << ','
        << r.seconds << std::setprecision(0) << ',' << static_cast<double>(r.tokens) / (took > 0 ? took : 1);
    text_ += row.str() + '\n';
    seconds_ = r.seconds;
}

}  // namespace plaingrad::nn
