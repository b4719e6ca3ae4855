#include "nn/training.h"

#include <charconv>
#include <cmath>

#include "autograd/base/text_stream.h"

namespace plaingrad::nn {

void check_finite(int64_t step, double loss, double norm, const std::vector<NamedParameter>& parameters) {
    check(step > 1 || std::isfinite(loss), "[train] step 1: the loss is ", loss,
          "; the data, or the weights that it begins with, are broken");
    if (std::isfinite(loss) && std::isfinite(norm))
        return;
    std::string place;
    for (const NamedParameter& p : parameters)
        if (place.empty() && !std::isfinite(grad_norm({p})))
            place = ", first in that of " + p.name;
    throw autograd::Error(autograd::join("[train] step ", step, ": the loss is ", loss,
                                         " and the gradient's norm ", norm, place,
                                         "; a lower learning rate may help"));
}

std::vector<double> train(Adam& adam, const std::function<Tensor(int64_t step, const Mode& mode)>& loss_of,
                          const TrainingOptions& options) {
    check(loss_of && options.learning_rate, "[train] a loss and a learning rate are needed");
    check(options.steps >= 0 && options.clip >= 0, "[train] neither steps nor clip may be negative: got ",
          options.steps, " and ", options.clip);
    const Rng dropout = Rng(options.seed).fork("dropout");
    std::vector<double> losses;
    for (int64_t step = adam.steps() + 1; step <= options.steps; ++step) {
        adam.zero_grad();
        const Tensor loss = loss_of(step, Mode::train(dropout.fork(static_cast<uint64_t>(step))));
        loss.backward();
        const double norm = grad_norm(adam.parameters());
        losses.push_back(static_cast<double>(loss.item()));
        check_finite(step, losses.back(), norm, adam.parameters());
        adam.step(options.learning_rate(step), options.clip > 0 ? clip_scale(norm, options.clip) : 1);
    }
    return losses;
}

TrainingLog::TrainingLog(const std::string& text, int64_t step) {
    autograd::TextInput lines(text);
    std::string line;
    if (!std::getline(lines, line))
        line = "step,loss,validation loss,learning rate,gradient norm,seconds,tokens/s";
    text_ = line + '\n';
    while (std::getline(lines, line) && std::atoll(line.c_str()) <= step)
        text_ += line + '\n';
}

void TrainingLog::add(const StepReport& r) {
    const double took = r.seconds - (r.seconds < seconds_ ? 0 : seconds_);  // each call of a run begins at 0
    const auto fixed = [](double value, int digits) {
        char text[400];
        return std::string(text,
                           std::to_chars(text, std::end(text), value, std::chars_format::fixed, digits).ptr);
    };
    text_ += autograd::join(r.step, ",", r.loss, ",", r.validation ? autograd::join(*r.validation) : "", ",",
                            r.learning_rate, ",", r.grad_norm, ",", fixed(r.seconds, 3), ",",
                            fixed(static_cast<double>(r.tokens) / (took > 0 ? took : 1), 0), "\n");
    seconds_ = r.seconds;
}

}  // namespace plaingrad::nn
