// Which word of the source each word of a translation is aligned with, by weights that are set by hand.
#include "models/translator.h"

#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using autograd::Tensor;
using models::align;
using models::Alignment;

TEST_CASE("alignment: each word has the source word that its own pieces attend to most", "[text]") {
    // (B, H, T, S) = (2, 2, 3, 4): sentence 0 attends to nothing; of sentence 1 the two heads together attend
    // most to the positions 2, 0 and 3.
    std::vector<autograd::Real> weights(24, 0);
    for (const double w : {0.1, 0.2, 0.4, 0.3, 0.9, 0.1, 0.0, 0.0, 0.2, 0.4, 0.1, 0.3,
                           0.0, 0.3, 0.7, 0.0, 0.5, 0.2, 0.2, 0.1, 0.1, 0.2, 0.1, 0.6})
        weights.push_back(static_cast<autograd::Real>(w));
    const Tensor attention = Tensor::from({2, 2, 3, 4}, weights);
    CHECK(align(attention, 1, {0, 1, 2, 3}, {0, 1, 2}) == Alignment{{2, 0}, {0, 1}, {3, 2}});
    // The pieces 1 and 2 of the translation are one word; the positions 2 and 3 of the source are one, too.
    CHECK(align(attention, 1, {0, 1, 2, 2}, {0, 1, 1}) == Alignment{{2, 0}, {0, 1}, {2, 1}});
    CHECK(align(attention, 1, {0, 1, 2}, {0, 1, 2}) ==
          Alignment{{2, 0}, {0, 1}, {1, 2}});  // position 3 is padding
}
