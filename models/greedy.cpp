#include <cmath>

#include "models/decoding.h"
#include "models/rows.h"

namespace plaingrad::models {
namespace {

// The most probable id of one row (V), ties going to the smaller id; -1 if every id is forbidden.
int32_t most_probable(const Real* log_p, int64_t vocabulary, const Specials& specials) {
    int32_t best = -1;
    Real most = -std::numeric_limits<Real>::infinity();
    for (int32_t id = 0; id < vocabulary; ++id) {
        if (log_p[id] <= most || specials.is_never(id))  // a NaN fails this test and reaches the check below
            continue;
        check(!std::isnan(log_p[id]), "[greedy] the probability of id ", id,
              " is not a number; the model's weights are broken");
        best = id;
        most = log_p[id];
    }
    return best;
}

// Appends the next token. Returns false if the sentence has ended.
bool write(Hypothesis& sentence, int32_t next, const Real* log_p, const Specials& specials) {
    if (next < 0)
        return false;
    sentence.score = sentence.log_probability += static_cast<double>(log_p[next]);
    sentence.finished = specials.is_end(next);
    if (!sentence.finished)
        sentence.ids.push_back(next);
    return !sentence.finished;
}

}  // namespace

std::vector<Hypothesis> greedy(Stepper& stepper, int64_t max_tokens) {
    std::vector<Hypothesis> found(static_cast<std::size_t>(stepper.prompts.batch()));
    Rows rows(stepper);  // a row for each unfinished sentence
    for (int64_t room = room_for(stepper, max_tokens); room > 0 && !rows.empty(); --room) {
        const Tensor log_p = autograd::log_softmax(rows.step());  // (rows, V): of the next token
        for (int32_t r = 0; r < log_p.size(0); ++r) {
            const Real* const row = log_p.data() + r * log_p.size(1);
            const int32_t next = most_probable(row, log_p.size(1), stepper.specials);
            if (write(found[rows.sentence(r)], next, row, stepper.specials))
                rows.keep(r, next);
        }
    }
    return found;
}

}  // namespace plaingrad::models
