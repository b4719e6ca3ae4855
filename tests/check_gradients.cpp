// Compares a model's gradients with finite differences, in double: in float, the difference of two nearly
// equal losses has too few correct digits. --check of the training programs starts it.
//
// usage: check_gradients MODEL [--plain]     (a saved model, with one example in its metadata)
// prints one line; exit status: 0 if they agree, 1 if a gradient is wrong, 2 if they cannot be compared
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>

#include "autograd/ops.h"
#include "autograd/plain.h"
#include "models/saved.h"
#include "nn/checkpoint/safetensors.h"

using namespace plaingrad;
using autograd::Real;
using autograd::Tensor;
using autograd::Tokens;

static_assert(autograd::kRealIsDouble, "make gradients builds this program");

namespace {

constexpr std::chrono::seconds kTime(8);              // there may be parameters left then
constexpr double kStep = 1e-5;                        // of the central difference
constexpr double kAbsolute = 1e-9, kRelative = 1e-4;  // tolerances

template <class Model>
Tensor logits_of(const Model& model, const std::vector<Tokens>& in) {
    const nn::Mode mode = nn::Mode::eval();
    if constexpr (std::is_same_v<Model, models::Transformer>)
        return model(in[0], in[1], mode);
    else
        return model(in[0], mode);
}

// Moves a parameter along a random direction d of length 1: the loss must change as the gradient says,
//     (L(w + h d) - L(w - h d)) / 2h = gradient · d
template <class Loss>
double derivative(Tensor& w, const Tensor& d, const Loss& loss) {
    const std::vector<Real> before = w.to_vector();
    const auto at = [&](double h) {
        for (std::size_t i = 0; i < before.size(); ++i)
            w.mutable_data()[i] = before[i] + h * d.data()[i];
        const autograd::NoGrad no_grad;
        return loss().item();
    };
    const double up = at(kStep), down = at(-kStep);
    std::copy(before.begin(), before.end(), w.mutable_data());
    return (up - down) / (2 * kStep);
}

template <class Model>
int check(const std::string& file) {
    nn::checkpoint::Metadata metadata;
    auto model = models::load_model<Model>(file, &metadata);
    block_of(model.config).precision = models::Precision::float32;  // the rounding of bf16 has no derivative
    std::vector<int32_t> example;  // of each input, and of the targets: length, padding + 1, ids
    nn::checkpoint::FieldReader{metadata, "", file}("example", example);
    std::vector<Tokens> tokens;
    for (auto at = example.begin(); at != example.end(); at += 2 + at[0])
        tokens.emplace_back(1, at[0], std::vector<int32_t>(at + 2, at + 2 + at[0]), at[1] - 1);
    const auto loss = [&] { return cross_entropy(logits_of(model, tokens), tokens.back()); };
    loss().backward();
    const std::vector<nn::NamedParameter> all = nn::parameters(model);
    const auto start = std::chrono::steady_clock::now();
    const auto n = static_cast<int64_t>(all.size());
    int64_t done = 0;
    for (; done < n && std::chrono::steady_clock::now() - start < kTime; ++done) {
        // The last parameters first: in every kind of model they are nearest to the loss.
        Tensor w = all[static_cast<std::size_t>(n - 1 - done)].tensor;
        const Tensor random = Tensor::randn(w.shape(), autograd::Rng(static_cast<uint64_t>(done)));
        const Tensor d = random / sqrt(sum(random * random));
        const double analytic = w.has_grad() ? sum(w.grad() * d).item() : 0, numeric = derivative(w, d, loss);
        const double difference = std::abs(analytic - numeric);
        if (!(difference <= kAbsolute + kRelative * std::abs(numeric))) {
            std::cout << all[static_cast<std::size_t>(n - 1 - done)].name << ": backward says " << analytic
                      << " along a random direction, differences say " << numeric << '\n';
            return 1;
        }
    }
    std::cout << (done < n ? "" : "all ") << done << " parameters agree with finite differences"
              << (done < n ? ", and then the time was up\n" : "\n");
    return 0;
}

int check_any(const std::string& file) {
    const std::string kind = nn::checkpoint::read(file).metadata().at("plaingrad.model");
    if (kind == models::Transformer::kKind)
        return check<models::Transformer>(file);
    if (kind == models::LanguageModel::kKind)
        return check<models::LanguageModel>(file);
    if (kind == models::Classifier::kKind)
        return check<models::Classifier>(file);
    return check<models::MaskedLanguageModel>(file);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const auto plain = argc == 3 ? std::make_unique<autograd::Plain>() : nullptr;
        return argc > 1 ? check_any(argv[1]) : 2;
    } catch (const std::exception& error) {
        std::cout << error.what() << '\n';
        return 2;
    }
}
