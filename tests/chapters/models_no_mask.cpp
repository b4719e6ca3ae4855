// Why a small loss can mean nothing: one model trained with a causal mask and without.
#include <iomanip>
#include <iostream>

#include "tests/chapters/models.h"
#include "tests/chapters/reversing.h"

namespace plaingrad::chapters {

static void no_mask(std::ostream& out) {
    const std::vector<Reversed> runs = {learn_to_reverse({}), learn_to_reverse({.causal = false}),
                                        learn_to_reverse({.related = false}),
                                        learn_to_reverse({.causal = false, .related = false})};
    // The point of the story: without a mask the loss falls even where there is nothing to learn.
    autograd::check(runs[3].losses.back() < 0.1 && runs[2].losses.back() > 1.5 &&
                        runs[0].right > kUnseen * 9 / 10 && runs[1].right < kUnseen / 5,
                    "[models.no_mask] the story is not true any more");
    out << "| | reversed, causal mask | reversed, no mask | noise, causal mask | noise, no mask |\n"
        << "|---|---:|---:|---:|---:|\n"
        << std::fixed << std::setprecision(3);
    for (const std::size_t step : {1U, 50U, 100U, 200U, 300U, 500U}) {
        out << "| loss at step " << step;
        for (const Reversed& run : runs)
            out << " | " << run.losses[step - 1];
        out << " |\n";
    }
    out << "| right, of " << kUnseen << " unseen";
    for (const Reversed& run : runs)
        out << " | " << run.right;
    out << " |\n";
}

Computed no_mask_part() { return {.sections = {{"models.no_mask", Effort::training, no_mask}}}; }

}  // namespace plaingrad::chapters
