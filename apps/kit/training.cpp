#include "apps/kit/training.h"

#include <cmath>

#include "apps/kit/program.h"
#include "apps/kit/progress.h"
#include "nn/optim.h"

namespace kit {

using namespace autograd;

Batch make_batch(const std::vector<Pair>& pairs) {
    std::vector<std::vector<int32_t>> src, tgt;
    for (const Pair& pair : pairs) {
        src.push_back(pair.src);
        tgt.push_back({models::kSos});
        tgt.back().insert(tgt.back().end(), pair.tgt.begin(), pair.tgt.end());
        tgt.back().push_back(models::kEos);
    }
    return {Tokens::padded(src, models::kPad), Tokens::padded(tgt, models::kPad)};
}

TrainingResult train(const models::Transformer& model, const std::function<Batch(int64_t)>& next_batch,
                     const TrainingOptions& options) {
    nn::Adam adam(nn::parameters(model),
                  {.beta1 = options.beta1, .beta2 = options.beta2, .eps = options.eps});
    const Rng dropout = Rng(options.seed).fork("dropout");
    TrainingResult result;
    Progress progress(options.steps, options.plain_lines_every);
    for (int64_t step = 1; step <= options.steps; ++step) {
        const Batch batch = next_batch(step);
        // In short sentences, cutting off the last position drops padding, not <eos>. That is harmless: the
        // decoder then reads <eos> and is asked for padding, which the loss ignores.
        const Tokens read = batch.tgt.positions(0, batch.tgt.length - 1);
        const Tokens predicted = batch.tgt.positions(1, batch.tgt.length);

        adam.zero_grad();
        const Tensor logits =
            model(batch.src, read, nn::Mode::train(dropout.fork(static_cast<uint64_t>(step))));
        const Tensor loss = cross_entropy(logits, predicted, {.ignore = models::kPad});
        loss.backward();
        const double norm = nn::clip_grad_norm(adam.parameters(), options.clip);
        check(std::isfinite(loss.item()) && std::isfinite(norm), "[train] step ", step, ": the loss is ",
              loss.item(), " and the gradient's norm ", norm, "; a lower learning rate may help");
        adam.step(options.learning_rate(step));

        result.losses.push_back(static_cast<double>(loss.item()));
        int64_t tokens = 0;
        for (const int32_t length : predicted.lengths())
            tokens += length;
        progress.update(step, result.losses.back(), tokens);
        if (interrupted())
            throw Interrupted{};
    }
    result.seconds = progress.seconds();
    return result;
}

}  // namespace kit
