#include "apps/kit/training.h"

#include <cmath>
#include <cstdio>

#include "apps/kit/program.h"
#include "apps/kit/progress.h"

namespace kit {
namespace {

using autograd::check;

// Validates now and then, and keeps the best weights.
class Validation {
public:
    Validation(const std::vector<nn::NamedParameter>& parameters, const TrainingOptions& options)
        : parameters_(parameters), options_(options) {}

    // After `step`; returns whether to go on.
    bool operator()(int64_t step, bool last, Progress& progress, TrainingResult& result) {
        if (options_.validate_every == 0 || (step % options_.validate_every != 0 && !last))
            return true;
        const double loss = options_.validation_loss();
        check(!std::isnan(loss), "[train] step ", step, ": the validation loss is not a number");
        const bool better = loss < result.best_validation;
        char text[80];
        std::snprintf(text, sizeof text, "step %lld  validation loss %.4f%s", static_cast<long long>(step),
                      loss, better ? "" : "  (no better)");
        progress.note(text);
        worse_ = better ? 0 : worse_ + 1;
        if (better) {
            result.best_validation = loss;
            result.best_step = step;
            best_.clear();
            for (const nn::NamedParameter& p : parameters_)
                best_.push_back({p.name, p.tensor.clone()});
        }
        return options_.patience == 0 || worse_ < options_.patience;
    }

    void restore_best() const {
        if (!best_.empty())
            nn::copy_values(best_, parameters_);
    }

private:
    const std::vector<nn::NamedParameter>& parameters_;
    const TrainingOptions& options_;
    std::vector<nn::NamedParameter> best_;
    int64_t worse_ = 0;
};

}  // namespace

TrainingResult train(const std::vector<nn::NamedParameter>& parameters,
                     const std::function<StepLoss(int64_t, const nn::Mode&)>& loss_of,
                     const TrainingOptions& options) {
    check(options.learning_rate && (options.validate_every == 0 || options.validation_loss),
          "[train] a learning rate is needed, and to validate a validation_loss");
    nn::Adam adam(parameters, options.adam);
    const autograd::Rng dropout = autograd::Rng(options.seed).fork("dropout");
    TrainingResult result;
    Validation validate(parameters, options);
    Progress progress(options.steps, options.plain_lines_every);
    for (int64_t step = 1; step <= options.steps; ++step) {
        adam.zero_grad();
        const StepLoss now = loss_of(step, nn::Mode::train(dropout.fork(static_cast<uint64_t>(step))));
        now.loss.backward();
        const double norm = nn::grad_norm(parameters);
        check(std::isfinite(now.loss.item()) && std::isfinite(norm), "[train] step ", step, ": the loss is ",
              now.loss.item(), " and the gradient's norm ", norm, "; a lower learning rate may help");
        adam.step(options.learning_rate(step), nn::clip_scale(norm, options.clip));

        result.losses.push_back(static_cast<double>(now.loss.item()));
        progress.update(step, result.losses.back(), now.tokens);
        const bool last = step == options.steps || interrupted();
        if (!validate(step, last, progress, result) || last)
            break;
    }
    validate.restore_best();
    result.seconds = progress.seconds();
    return result;
}

}  // namespace kit
