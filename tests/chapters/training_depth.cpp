// Residual connections and norms: how large the gradient of the first layer is beside that of the last, in
// stacks with and without them, and which of these stacks learn.
#include <ostream>

#include "autograd/base/portable_math.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"
#include "tests/chapters/stack.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

const std::vector<std::pair<Around, const char*>> kAll = {{Around::nothing, "f(x)"},
                                                          {Around::norm, "norm(f(x))"},
                                                          {Around::residual, "x + f(x)"},
                                                          {Around::post, "norm(x + f(x)), post-norm"},
                                                          {Around::pre, "x + f(norm(x)), pre-norm"}};

// RMS of the gradient at the input, for one of RMS 1 at the output, and of the output: geometric means of the
// seeds.
std::pair<double, double> sizes(Around how, int64_t depth) {
    double gradient = 0, stream = 0;  // their logarithms
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const Stack stack(how, depth, Rng(seed));
        const Tensor x = Tensor::randn({4, 16, kStackWidth}, Rng(seed).fork("x")).require_grad();
        const Tensor y = stack(x);
        sum(y * Tensor::randn(y.shape(), Rng(seed).fork("loss"))).backward();
        gradient += portable::log(rms(x.grad())) / kSeeds;
        stream += portable::log(rms(y)) / kSeeds;
    }
    return {portable::exp(gradient), portable::exp(stream)};
}

void gradients(std::ostream& out) {
    Rows rows = {
        {"each sub-layer", "gradient through 2 layers", "24", "RMS of the output of 2 layers", "24"}};
    std::vector<double> through24;
    for (const auto& [how, formula] : kAll) {
        const auto [gradient2, stream2] = sizes(how, 2);
        const auto [gradient24, stream24] = sizes(how, 24);
        rows.push_back(
            {formula, digits(gradient2, 2), digits(gradient24, 2), digits(stream2, 2), digits(stream24, 2)});
        through24.push_back(gradient24);
    }
    table(out, rows);
    claim(through24[0] < 1e-4 && through24[1] < 0.1, "without residual connections the gradient vanishes");
    claim(through24[2] > 1e4, "without norms it explodes");
    for (const std::size_t both : {3u, 4u})
        claim(through24[both] > 0.1 && through24[both] < 10, "with both it keeps its size");
}

// The losses of the seeds after 250 steps.
std::vector<double> losses_after(Around how, int64_t depth) {
    std::vector<double> losses;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const MirrorModel model(how, depth, Rng(seed));
        losses.push_back(last_mean(losses_of(
            nn::parameters(model), 250, 1e-3, [&](const Rng& rng) { return mirror_loss(model, rng); },
            seed)));
    }
    return losses;
}

void learning(std::ostream& out) {
    Rows rows = {{"each sub-layer", "loss, 2 layers", "loss, 8 layers"}};
    std::vector<double> deep;
    for (const auto& [how, formula] : kAll) {
        const std::vector<double> two = losses_after(how, 2), eight = losses_after(how, 8);
        rows.push_back({formula, of_seeds(two), of_seeds(eight)});
        deep.push_back(mean_of(eight));
    }
    rows.push_back({"guessing: ln 8", digits(portable::log(8.0)), digits(portable::log(8.0))});
    table(out, rows);
    out << "\nAfter 250 steps of Adam at 0.001.\n";
    claim(deep[4] < deep[3] && deep[3] < 0.7 * deep[0] && deep[3] < 0.7 * deep[1] && deep[3] < 0.7 * deep[2],
          "a deep stack needs residual connections and norms, and learns best with the norm first");
}

const Adds kHere({{"nn.depth.gradients", Effort::quick, gradients},
                  {"nn.depth.learning", Effort::training, learning}});

}  // namespace

}  // namespace plaingrad::chapters
