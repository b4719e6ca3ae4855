// Why scores are divided by √d: what happens to the softmax and its gradient as vectors get longer.
#include <algorithm>
#include <cmath>
#include <ostream>

#include "autograd/ops.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

constexpr int64_t kQueries = 400, kKeys = 32;

struct Measured {
    double deviation = 0;  // of the scores
    double largest = 0;    // the mean over the queries of the largest weight
    double gradient = 0;   // the median over the queries of the norm of d loss / d score
};

// Queries and keys whose numbers are N(0, 1). The loss is the sum of the weights times numbers that are
// N(0, 1), too.
Measured measure(int64_t d, bool scaled) {
    const Rng rng = Rng(1).fork(static_cast<uint64_t>(d));
    const Tensor q = Tensor::randn({kQueries, d}, rng.fork("q")),
                 k = Tensor::randn({kKeys, d}, rng.fork("k"));
    const Real divisor = scaled ? std::sqrt(static_cast<Real>(d)) : 1;
    const Tensor scores = (matmul(q, k, true) / divisor).require_grad();  // (queries, keys)
    const Tensor weights = softmax(scores);                               // (queries, keys)
    sum(weights * Tensor::randn(weights.shape(), rng.fork("loss"))).backward();
    const Tensor grad = scores.grad();
    std::vector<Real> norms = sqrt(sum(grad * grad, {1})).to_vector();  // (queries)
    std::nth_element(norms.begin(), norms.begin() + kQueries / 2, norms.end());
    return {value(sqrt(mean(scores * scores))), value(mean(max(weights, 1))),
            static_cast<double>(norms[kQueries / 2])};
}

void scale(std::ostream& out) {
    Rows rows = {{"d", "√d", "deviation of q·k", "largest weight", "gradient", "largest weight with /√d",
                  "gradient with /√d"}};
    std::vector<Measured> plain, scaled;
    for (const int64_t d : {4, 16, 64, 512}) {
        plain.push_back(measure(d, false));
        scaled.push_back(measure(d, true));
        const double root = std::sqrt(static_cast<double>(d));
        claim(std::abs(plain.back().deviation / root - 1) < 0.1, "the deviation of q·k is √d");
        rows.push_back({std::to_string(d), digits(root), digits(plain.back().deviation),
                        fixed(plain.back().largest), digits(plain.back().gradient, 2),
                        fixed(scaled.back().largest), digits(scaled.back().gradient, 2)});
    }
    table(out, rows);
    claim(plain.back().largest > 0.9 && plain.front().largest < 0.5,
          "the softmax saturates without the scale");
    claim(scaled.back().largest < 1.3 * scaled.front().largest, "it does not with the scale");
    claim(scaled.back().gradient > 0.8 * scaled.front().gradient, "nor does its gradient with the scale");
    claim(plain.back().gradient < 0.1 * plain.front().gradient, "its gradient shrinks without the scale");
}

const Adds kHere({{"nn.scale", Effort::quick, scale}});

}  // namespace

}  // namespace plaingrad::chapters
