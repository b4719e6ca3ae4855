// What memory a graph holds until backward has run.
#include <functional>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/ops.h"
#include "autograd/storage.h"
#include "tests/chapters/core.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

constexpr int64_t kRows = 64, kModel = 256, kFf = 1024, kVocabulary = 1024;

struct SmallModel {
    Tensor w1 = Tensor::randn({kModel, kFf}, Rng(1)).require_grad();
    Tensor w2 = Tensor::randn({kFf, kModel}, Rng(2)).require_grad();
    Tensor gain = Tensor::ones({kModel}).require_grad(), bias = Tensor::zeros({kModel}).require_grad();
    Tensor output = Tensor::randn({kModel, kVocabulary}, Rng(3)).require_grad();
};

double kib(int64_t since) { return static_cast<double>(storage_statistics().bytes_in_use - since) / 1024; }

std::string kib_text(double kib) {
    const auto whole = static_cast<int64_t>(kib);
    const double rest = kib - static_cast<double>(whole);
    return grouped(whole) + (rest > 0 ? fixed(rest).substr(1) : "");
}

// KiB in use after each op, of what the ops allocated.
std::vector<double> memory(const SmallModel& model, bool backward) {
    const Tensor input = Tensor::randn({kRows, kModel}, Rng(4));
    Tensor x = input;
    const Tokens targets(kRows, 1, std::vector<int32_t>(kRows, 1));
    const int64_t before = storage_statistics().bytes_in_use;
    std::vector<double> used;
    const auto step = [&](const Tensor& result) {
        x = result;
        used.push_back(kib(before));
    };
    step(matmul(x, model.w1));
    step(relu(x));
    step(matmul(x, model.w2));
    step(layer_norm(x, model.gain, model.bias));
    step(matmul(x, model.output));
    step(cross_entropy(x, targets));
    if (backward) {
        x.backward();
        used.push_back(kib(before));
    }
    return used;
}

void bytes(std::ostream& out) {
    const SmallModel model;
    storage_trim();  // so that no buffer is larger than asked for
    const std::vector<double> with = memory(model, true), without = [&] {
        const NoGrad no_grad;
        return memory(model, false);
    }();
    const std::vector<std::string> ops = {
        "`matmul(x, w1)`",     "`relu`",          "`matmul(…, w2)`", "`layer_norm`",
        "`matmul(…, output)`", "`cross_entropy`", "after `backward`"};
    const std::string wide = join(kRows, " × ", kFf), narrow = join(kRows, " × ", kModel);
    const std::vector<std::string> results = {wide, wide, narrow, narrow, join(kRows, " × ", kVocabulary),
                                              "1",  ""};
    const std::vector<std::string> kept = {"x and w1",
                                           "its input",
                                           "its input and w2",
                                           "its input, gain, 3 numbers a row",
                                           "its input and the weight",
                                           "its input, 2 numbers a row",
                                           "nothing; new: 5 gradients"};
    Rows rows = {{"op", "result", "its closure keeps", "KiB in use", "KiB with NoGrad"}};
    for (std::size_t i = 0; i < ops.size(); ++i)
        rows.push_back(
            {ops[i], results[i], kept[i], kib_text(with[i]), i < without.size() ? kib_text(without[i]) : ""});
    claim(with[5] > 5 * without[5], "a graph holds memory, and NoGrad does not");
    table(out, rows);
}

}  // namespace

Computed autograd_memory() { return {.sections = {{"autograd.memory", Effort::quick, bytes}}}; }

}  // namespace plaingrad::chapters
