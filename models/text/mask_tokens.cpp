#include "models/text/mask_tokens.h"

namespace plaingrad::models::text {

using autograd::check;
using autograd::Rng;

// What a selected id becomes. Each position i has three random numbers: 3i decides whether it is selected,
// 3i+1 what happens to it, 3i+2 which random id it gets.
static int32_t masked(int32_t id, uint64_t i, const MaskingOptions& o, const Rng& rng) {
    const double fate = rng.uniform(3 * i + 1);
    if (fate < o.replaced)
        return o.mask;
    if (fate < o.replaced + o.randomised)
        return o.first_id + static_cast<int32_t>(rng.below(3 * i + 2, o.end_id - o.first_id));
    return id;
}

MaskedTokens mask_tokens(const Tokens& ids, const MaskingOptions& o, const Rng& rng) {
    check(
        o.rate >= 0 && o.rate <= 1 && o.replaced >= 0 && o.randomised >= 0 && o.replaced + o.randomised <= 1,
        "[mask_tokens] rates must be in [0, 1], replaced and randomised together too: got ", o.rate, ", ",
        o.replaced, " and ", o.randomised);
    check(o.first_id < o.end_id, "[mask_tokens] there are no ids from ", o.first_id, " to ", o.end_id,
          "; end_id is the size of the vocabulary");
    check(o.first_id >= 0 && o.mask >= 0, "[mask_tokens] first_id and mask must be ids: got ", o.first_id,
          " and ", o.mask);
    check(ids.pad() != Tokens::kNoPadding, "[mask_tokens] the ids must have padding (Tokens::padded), ",
          "which says in the targets what is not predicted");
    check(o.mask != ids.pad(), "[mask_tokens] the mask must not be the padding ", ids.pad());
    check(ids.pad() < o.first_id || ids.pad() >= o.end_id, "[mask_tokens] the padding ", ids.pad(),
          " must not be one of the ids from first_id to end_id, which may be written: these are ", o.first_id,
          " to ", o.end_id);
    std::vector<std::size_t> selected, possible;
    for (std::size_t i = 0; i < ids.ids().size(); ++i) {
        if (ids.ids()[i] < o.first_id || ids.ids()[i] >= o.end_id)
            continue;
        possible.push_back(i);
        if (rng.uniform(3 * i) < o.rate)
            selected.push_back(i);
    }
    check(!possible.empty(), "[mask_tokens] there is no token that may be masked");
    if (selected.empty())
        selected.push_back(possible[static_cast<std::size_t>(
            rng.fork("one").below(0, static_cast<int64_t>(possible.size())))]);

    std::vector<int32_t> read = ids.ids(), targets(read.size(), ids.pad());
    for (const std::size_t i : selected) {
        targets[i] = read[i];
        read[i] = masked(read[i], i, o, rng);
    }
    return {Tokens(ids.batch(), ids.length(), std::move(read), ids.pad()),
            Tokens(ids.batch(), ids.length(), std::move(targets), ids.pad())};
}

}  // namespace plaingrad::models::text
