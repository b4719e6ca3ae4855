// Residual connections and norms: how large the gradient of the first layer is beside that of the last, in
// stacks with and without them, and which of these stacks learn.
#include <ostream>

#include "autograd/base/portable_math.h"
#include "tests/chapters/nn.h"
#include "tests/chapters/print.h"
#include "tests/chapters/stack.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

constexpr Around kAll[] = {Around::nothing, Around::norm, Around::residual, Around::post, Around::pre};

const char* formula(Around around) {
    switch (around) {
        case Around::nothing:
            return "f(x)";
        case Around::norm:
            return "norm(f(x))";
        case Around::residual:
            return "x + f(x)";
        case Around::post:
            return "norm(x + f(x)), post-norm";
        case Around::pre:
            break;
    }
    return "x + f(norm(x)), pre-norm";
}

struct Measured {
    double gradient;  // RMS at the input, of one of RMS 1 at the output
    double stream;    // RMS of the output
};
Measured measure(Around how, int64_t depth, uint64_t seed) {
    const Stack stack(how, depth, Rng(seed));
    Tensor x = Tensor::randn({4, 16, kStackWidth}, Rng(seed).fork("x")).require_grad();
    const Tensor y = stack(x);
    sum(y * Tensor::randn(y.shape(), Rng(seed).fork("loss"))).backward();
    return {rms(x.grad()), rms(y)};
}

double geometric_mean(const std::vector<double>& x) {
    double logs = 0;
    for (const double value : x)
        logs += portable::log(value);
    return portable::exp(logs / static_cast<double>(x.size()));
}

// The geometric means of the seeds.
Measured mean_measure(Around how, int64_t depth) {
    std::vector<double> gradient, stream;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const Measured m = measure(how, depth, seed);
        gradient.push_back(m.gradient);
        stream.push_back(m.stream);
    }
    return {geometric_mean(gradient), geometric_mean(stream)};
}

void gradients(std::ostream& out) {
    Rows rows = {{"each sub-layer", "gradient through 2 layers", "8", "24", "RMS of the output of 2 layers",
                  "8", "24"}};
    std::vector<double> through24;
    for (const Around how : kAll) {
        std::vector<std::string> row(7);
        row[0] = formula(how);
        for (std::size_t i = 0; i < 3; ++i) {
            const Measured m = mean_measure(how, std::vector<int64_t>{2, 8, 24}[i]);
            row[1 + i] = digits(m.gradient, 2);
            row[4 + i] = digits(m.stream, 2);
            if (i == 2)
                through24.push_back(m.gradient);
        }
        rows.push_back(row);
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
    for (const Around how : kAll) {
        const std::vector<double> two = losses_after(how, 2), eight = losses_after(how, 8);
        rows.push_back({formula(how), of_seeds(two), of_seeds(eight)});
        deep.push_back(mean_of(eight));
        claim(mean_of(two) < 1.5, "with two layers every kind learns something");
    }
    rows.push_back({"guessing: ln 8", digits(portable::log(8.0)), digits(portable::log(8.0))});
    table(out, rows);
    out << "\nAfter 250 steps of Adam at 0.001.\n";
    claim(deep[4] < deep[3] && deep[3] < 0.7 * deep[0] && deep[3] < 0.7 * deep[1] && deep[3] < 0.7 * deep[2],
          "a deep stack needs residual connections and norms, and learns best with the norm first");
}

}  // namespace

Computed training_depth() {
    return {.sections = {{"nn.depth.gradients", Effort::quick, gradients},
                         {"nn.depth.learning", Effort::training, learning}}};
}

}  // namespace plaingrad::chapters
