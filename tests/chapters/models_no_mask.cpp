// Why a small loss can mean nothing: one model trained with a causal mask and without.
#include <ostream>

#include "autograd/base/check.h"
#include "tests/chapters/models.h"
#include "tests/chapters/print.h"
#include "tests/chapters/reversing.h"

namespace plaingrad::chapters {

static void no_mask(std::ostream& out) {
    const std::vector<Reversed> runs = {learn_to_reverse({}), learn_to_reverse({.causal = false}),
                                        learn_to_reverse({.related = false}),
                                        learn_to_reverse({.causal = false, .related = false})};
    Rows rows = {{"", "reversed, causal mask", "reversed, no mask", "noise, causal mask", "noise, no mask"}};
    for (const std::size_t step : {1U, 50U, 100U, 200U, 300U, 500U}) {
        rows.push_back({autograd::join("loss at step ", step)});
        for (const Reversed& run : runs)
            rows.back().push_back(fixed(run.losses.at(step - 1), 3));
    }
    rows.push_back({autograd::join("right, of ", kUnseen, " unseen")});
    for (const Reversed& run : runs)
        rows.back().push_back(std::to_string(run.right));
    table(out, rows);
    claim(runs[3].losses.back() < 0.1 && runs[2].losses.back() > 1.5,
          "without a mask the loss falls even where there is nothing to learn");
    claim(runs[0].right > kUnseen * 9 / 10 && runs[1].right < kUnseen / 5,
          "what was learned without a mask is of no use");
}

Computed no_mask_part() { return {.sections = {{"models.no_mask", Effort::training, no_mask}}}; }

}  // namespace plaingrad::chapters
