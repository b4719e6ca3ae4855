// What a key/value cache saves, and that it changes no bit.
#include <cstring>
#include <ostream>

#include "models/language_model.h"
#include "tests/chapters/models.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace models;

namespace {

// Positions that go through the layers while T tokens are written, and pairs of a query and a key.
void counts(std::ostream& out) {
    Rows rows = {{"tokens written", "positions computed without a cache", "with",
                  "pairs (query, key) without", "with"}};
    for (const int64_t T : {8, 64, 512}) {
        int64_t positions = 0, pairs = 0, cached_pairs = 0;
        for (int64_t t = 1; t <= T; ++t) {  // writing token t: everything up to t is read again,
            positions += t;
            pairs += t * (t + 1) / 2;  // and each position looks at itself and those before;
            cached_pairs += t;         // with a cache only the last one does
        }
        rows.push_back({std::to_string(T), std::to_string(positions), std::to_string(T),
                        std::to_string(pairs), std::to_string(cached_pairs)});
    }
    table(out, rows, "nnnnn");
}

void same_bits(std::ostream& out) {
    const LanguageModel model({.vocabulary = 20,
                               .max_length = 32,
                               .n_layers = 2,
                               .block = {.d_model = 32, .n_heads = 4, .d_ff = 64}},
                              Rng(1));
    const Tokens text(1, 8, {4, 9, 7, 7, 15, 11, 4, 19});
    const autograd::NoGrad no_grad;
    const Tensor whole = model(text, Mode::eval());  // (1, 8, V)
    const auto stepper = model.start(text.slice(0, 1));
    int64_t same = 0;
    for (int64_t t = 0; t < text.length(); ++t) {
        const Tensor row = stepper->step(text.slice(t, t + 1));  // (1, 1, V)
        for (int64_t v = 0; v < 20; ++v)
            same += std::memcmp(row.data() + v, whole.data() + t * 20 + v, sizeof(Real)) == 0 ? 1 : 0;
    }
    claim(same == whole.numel(), "a cache changes no bit");
    out << same << " of " << whole.numel() << " logits have the same bits\n";
}

}  // namespace

Computed cache_part() {
    return {.sections = {{"models.cache", Effort::quick, counts},
                         {"models.cache_bits", Effort::quick, same_bits}}};
}

}  // namespace plaingrad::chapters
