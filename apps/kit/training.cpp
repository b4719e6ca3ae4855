#include "apps/kit/training.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "apps/kit/program.h"
#include "apps/kit/progress.h"

namespace plaingrad::kit {
namespace {

using autograd::check;
using autograd::Rng;

// Validates now and then, and keeps the best weights.
class Validation {
public:
    Validation(Training& training, const TrainingOptions& options) : training_(training), options_(options) {}

    bool is_due(int64_t step, bool epoch_ended, bool stopped) const {
        const bool every = options_.validate_every > 0 && step % options_.validate_every == 0;
        const bool last = step == options_.steps || (stopped && options_.validate_every > 0);
        return options_.validation_loss && (every || epoch_ended || last);
    }

    // After `step`; returns whether to go on.
    bool operator()(int64_t step, Progress& progress) {
        const double loss = options_.validation_loss();
        check(!std::isnan(loss), "[train] step ", step, ": the validation loss is not a number");
        const bool better = loss < training_.best_validation;
        progress.note(describe(step, loss) + (better ? "" : "  (no better)"));
        training_.worse = better ? 0 : training_.worse + 1;
        if (better) {
            training_.best_validation = loss;
            training_.best_step = step;
            best_.clear();
            for (const nn::NamedParameter& p : training_.adam.parameters())
                if (options_.restore_best)
                    best_.push_back({p.name, p.tensor.clone()});
        }
        return options_.patience == 0 || training_.worse < options_.patience;
    }

    void restore_best() const {
        if (!best_.empty())
            nn::copy_values(best_, training_.adam.parameters());
    }

private:
    std::string describe(int64_t step, double loss) const {
        if (options_.describe_validation)
            return options_.describe_validation(step, loss);
        char text[80];
        std::snprintf(text, sizeof text, "step %lld  validation loss %.4f", static_cast<long long>(step),
                      loss);
        return text;
    }

    Training& training_;
    const TrainingOptions& options_;
    std::vector<nn::NamedParameter> best_;
};

// What the batches of a step came to.
struct Sum {
    double loss = 0;  // mean over the tokens
    int64_t tokens = 0;
    double grad_scale = 1;  // makes of the gradients that were added up the gradient of that mean
    bool ends_epoch = false;
};

// Forward and backward of a step. Several batches have different numbers of tokens, and the gradient is to be that
// of the mean over all: so each passes on the gradient of its sum.
Sum accumulate(int64_t step, const Rng& dropout, const LossOf& loss_of, const TrainingOptions& options) {
    Sum sum;
    for (int64_t i = 0; i < options.accumulate && !sum.ends_epoch; ++i) {
        const Rng rng = dropout.fork(static_cast<uint64_t>(step));
        const StepLoss batch =
            loss_of(step, nn::Mode::train(i == 0 ? rng : rng.fork(static_cast<uint64_t>(i))));
        const auto loss = static_cast<double>(batch.loss.item()), tokens = static_cast<double>(batch.tokens);
        if (options.accumulate == 1) {
            batch.loss.backward();
            return {loss, batch.tokens, 1, batch.ends_epoch};
        }
        autograd::mul(batch.loss, autograd::Tensor::scalar(static_cast<autograd::Real>(tokens))).backward();
        sum.loss += loss * tokens;
        sum.tokens += batch.tokens;
        sum.ends_epoch = batch.ends_epoch;
    }
    sum.grad_scale = 1 / static_cast<double>(std::max<int64_t>(1, sum.tokens));
    sum.loss *= sum.grad_scale;
    return sum;
}

// " in encoder.layers.0.norm1.gain", if it can be told.
std::string place_of_failure(const std::vector<nn::NamedParameter>& parameters) {
    for (const nn::NamedParameter& p : parameters)
        if (p.tensor.has_grad() && !std::isfinite(nn::grad_norm({p})))
            return autograd::join(", first in that of ", p.name);
    return "";
}

// One step; its loss and tokens.
Sum take_step(int64_t step, Training& training, const Rng& dropout, const LossOf& loss_of,
              const TrainingOptions& options) {
    const std::vector<nn::NamedParameter>& parameters = training.adam.parameters();
    training.adam.zero_grad();
    const Sum now = accumulate(step, dropout, loss_of, options);
    const double norm = nn::grad_norm(parameters) * now.grad_scale;
    check(std::isfinite(now.loss) && std::isfinite(norm), "[train] step ", step, ": the loss is ", now.loss,
          " and the gradient's norm ", norm, place_of_failure(parameters),
          "; a lower learning rate may help");
    const double clip = options.clip > 0 ? nn::clip_scale(norm, options.clip) : 1;
    training.adam.step(options.learning_rate(step), clip * now.grad_scale);
    return now;
}

}  // namespace

TrainingResult train(Training& training, const LossOf& loss_of, const TrainingOptions& options) {
    check(options.learning_rate && (options.validate_every == 0 || options.validation_loss),
          "[train] a learning rate is needed, and to validate a validation_loss");
    check(options.accumulate >= 1, "[train] a step needs at least one batch: got ", options.accumulate);
    const Rng dropout = Rng(options.seed).fork("dropout");
    TrainingResult result;
    Validation validate(training, options);
    const int64_t end = options.stop > 0 ? std::min(options.stop, options.steps) : options.steps;
    Progress progress(end, options.plain_lines_every, training.adam.steps());
    bool go_on = options.patience == 0 || training.worse < options.patience;
    for (int64_t step = training.adam.steps() + 1; go_on && step <= end; ++step) {
        const Sum now = take_step(step, training, dropout, loss_of, options);
        result.losses.push_back(now.loss);
        progress.update(step, now.loss, now.tokens);
        const bool stopped = interrupted();
        const bool due = validate.is_due(step, now.ends_epoch, stopped);
        go_on = (!due || validate(step, progress)) && !stopped;
        if (options.after_step)
            options.after_step(step, due);
    }
    validate.restore_best();
    result.seconds = progress.seconds();
    result.best_validation = training.best_validation;
    result.best_step = training.best_step;
    return result;
}

TrainingResult train(const std::vector<nn::NamedParameter>& parameters, const LossOf& loss_of,
                     const TrainingOptions& options) {
    Training training(parameters, options.adam);
    return train(training, loss_of, options);
}

}  // namespace plaingrad::kit
