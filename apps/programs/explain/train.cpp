#include "apps/kit/report.h"
#include "apps/programs/explain/explain.h"
#include "models/decoding/decoding.h"
#include "nn/schedule.h"

namespace plaingrad::explain {

using autograd::Rng;

// The paper's model at the smallest size that learns this. How many of the 1,000 triples it reverses with
// seed 1, and the median and the least of seeds 1 to 20:
//     d_model 2       0    0    0   layer norm turns any two numbers into (1, -1) or (-1, 1)
//     d_model 4    1000  983   87   in 414 to 1501 steps; one seed does not get there within 2,000
//     d_model 6     983  974  914   in 288 to 471 steps
//     d_model 8     998  946  899   in 284 to 552 steps
// So 4 is enough, with half the numbers of 8 to look at.
static models::Config configuration() {
    models::Config config;
    config.src_vocabulary = config.vocabulary = models::kFirstFreeId + 10;
    config.max_length = 4;  // <sos> or <eos> takes one
    config.n_layers = config.n_decoder_layers = 1;
    config.block = {.d_model = 4, .n_heads = 2, .d_ff = 8, .init = nn::Init::pytorch};
    config.block.dropout = {.embeddings = 0, .sublayers = 0};
    return config;
}

static models::Batch random_batch(const Rng& rng) {
    std::vector<models::Pair> pairs;
    for (uint64_t i = 0; pairs.size() < 48; ++i)
        if (const int64_t n = rng.below(i, 1000); !held_out(n)) {
            const Ids ids = triple_of(n);
            pairs.push_back({ids, {ids.rbegin(), ids.rend()}});
        }
    return models::make_batch(pairs);
}

Ids triple_of(int64_t n) {
    const auto id = [](int64_t digits) { return static_cast<int32_t>(models::kFirstFreeId + digits % 10); };
    return {id(n / 100), id(n / 10), id(n)};
}

std::vector<std::string> names_of(const Ids& ids) {
    const auto digit = [](int32_t id) { return std::to_string(id - models::kFirstFreeId); };
    return kit::names_of(ids, kit::token_names(models::kFirstFreeId + 10, digit));
}

// Training ends when the running mean of the loss falls below 0.1. Later there would be almost no gradient
// left to look at.
Trained::Trained(int64_t seed)
    : model(configuration(), Rng(static_cast<uint64_t>(seed)).fork("model")),
      adam(nn::parameters(model), {.beta2 = 0.98, .eps = 1e-9}) {  // as in the paper, §5.3
    const nn::CosineSchedule schedule{.lr = 0.025, .total = 2000, .warmup = 100};
    const Rng data = Rng(static_cast<uint64_t>(seed)).fork("data");
    int64_t step = 1;
    for (double mean = 3; mean >= 0.1 && step < schedule.total; ++step) {
        adam.zero_grad();
        const models::Batch batch = random_batch(data.fork(static_cast<uint64_t>(step)));
        const nn::Tensor loss = models::teacher_forcing(model, batch, nn::Mode::eval()).loss;
        loss.backward();
        adam.step(schedule(step));
        mean = 0.98 * mean + 0.02 * static_cast<double>(loss.item());
    }
    learning_rate = schedule(step);
}

Ids Trained::answer(const Ids& triple) const {
    const auto stepper = model.start(nn::Tokens::padded({triple}, models::kPad));
    return models::greedy(*stepper, model.config.max_length)[0].ids;
}

}  // namespace plaingrad::explain
