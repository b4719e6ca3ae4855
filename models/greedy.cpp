#include "autograd/base/parallel.h"
#include "models/decoding.h"
#include "models/ranking.h"
#include "models/rows.h"

namespace plaingrad::models {
namespace {

// Appends the next token. Returns false if the sentence has ended.
bool write(Hypothesis& sentence, const Candidate& next, const Specials& specials) {
    sentence.score = sentence.log_probability += next.log_probability;
    sentence.finished = specials.is_end(next.token);
    if (!sentence.finished)
        sentence.ids.push_back(next.token);
    return !sentence.finished;
}

}  // namespace

std::vector<Hypothesis> greedy(Stepper& stepper, int64_t max_tokens) {
    std::vector<Hypothesis> found(static_cast<std::size_t>(stepper.prompts.batch()));
    Rows rows(stepper);  // a row for each unfinished sentence
    for (int64_t room = room_for(stepper, max_tokens); room > 0 && !rows.empty(); --room) {
        const Tensor logits = rows.step();  // (rows, V): of the next token
        std::vector<std::vector<Candidate>> best(static_cast<std::size_t>(logits.size(0)));
        autograd::parallel_for(0, logits.size(0), 1, [&](int64_t r, int64_t) {
            const Live row = {static_cast<int32_t>(r), {}, 0};
            best[static_cast<std::size_t>(r)] = best_candidates({&row, 1}, logits, 1, stepper.specials);
        });
        for (int32_t r = 0; r < logits.size(0); ++r)
            for (const Candidate& next : best[static_cast<std::size_t>(r)])  // none if every id is forbidden
                if (write(found[rows.sentence(r)], next, stepper.specials))
                    rows.keep(r, next.token);
    }
    return found;
}

}  // namespace plaingrad::models
