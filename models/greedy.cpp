#include <cmath>

#include "models/decoding.h"
#include "models/rows.h"

namespace plaingrad::models {

// Of one row (V) of log probabilities; -1 if nothing may be written.
static int32_t most_probable(const Tensor& log_p, int32_t row, const Specials& specials) {
    const int64_t vocabulary = log_p.size(1);
    const Real* p = log_p.data() + row * vocabulary;
    Real most = -std::numeric_limits<Real>::infinity();
    int32_t best = -1;
    for (int32_t v = 0; v < vocabulary; ++v) {
        if (p[v] <= most)  // not so for NaN
            continue;
        if (specials.is_never(v))
            continue;
        check(!std::isnan(p[v]), "[greedy] the probability of id ", v,
              " is not a number; the model's weights are broken");
        most = p[v];
        best = v;
    }
    return best;
}

std::vector<Hypothesis> greedy(Stepper& stepper, int64_t max_tokens) {
    const int64_t room = room_for(stepper, max_tokens);
    std::vector<Hypothesis> found(static_cast<std::size_t>(stepper.prompts.batch()));
    Rows rows(stepper);
    for (int64_t length = 0; length < room && !rows.empty(); ++length) {
        const Tensor log_p = autograd::log_softmax(rows.step());  // (rows, V)
        for (int32_t r = 0; r < log_p.size(0); ++r) {
            Hypothesis& h = found[rows.sentence(r)];
            const int32_t next = most_probable(log_p, r, stepper.specials);
            if (next < 0)
                continue;
            h.log_probability += static_cast<double>(log_p.data()[r * log_p.size(1) + next]);
            h.finished = stepper.specials.is_end(next);
            if (h.finished)
                continue;
            h.ids.push_back(next);
            rows.keep(r, next);
        }
    }
    for (Hypothesis& h : found)
        h.score = h.log_probability;
    return found;
}

}  // namespace plaingrad::models
