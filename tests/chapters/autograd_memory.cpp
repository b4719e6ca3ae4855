// What memory a graph holds until backward has run.
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/ops.h"
#include "autograd/storage.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

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

// KiB in use after each op, of what the ops allocated; with a graph also after backward.
std::vector<std::string> memory(const SmallModel& model) {
    const Tensor input = Tensor::randn({kRows, kModel}, Rng(4));
    const Tokens targets(kRows, 1, std::vector<int32_t>(kRows, 1));
    Tensor x = input;
    const int64_t before = storage_statistics().bytes_in_use;
    std::vector<std::string> used;
    const auto note = [&] {
        const auto kib = static_cast<double>(storage_statistics().bytes_in_use - before) / 1024;
        used.push_back(number(std::round(100 * kib) / 100));
    };
    const auto step = [&](const Tensor& result) {
        x = result;
        note();
    };
    step(matmul(x, model.w1));
    step(relu(x));
    step(matmul(x, model.w2));
    step(layer_norm(x, model.gain, model.bias));
    step(matmul(x, model.output));
    step(cross_entropy(x, targets));
    if (NoGrad::active())
        return used;
    x.backward();
    note();
    return used;
}

void bytes(std::ostream& out) {
    const SmallModel model;
    storage_trim();  // so that no buffer is larger than asked for
    const std::vector<std::string> with = memory(model), without = [&] {
        const NoGrad no_grad;
        return memory(model);
    }();
    const std::string wide = join(kRows, " × ", kFf), narrow = join(kRows, " × ", kModel);
    Rows rows = {{"op", "result", "its closure keeps", "KiB in use", "KiB with NoGrad"},
                 {"`matmul(x, w1)`", wide, "x and w1"},
                 {"`relu`", wide, "its input"},
                 {"`matmul(…, w2)`", narrow, "its input and w2"},
                 {"`layer_norm`", narrow, "its input, gain, 3 numbers a row"},
                 {"`matmul(…, output)`", join(kRows, " × ", kVocabulary), "its input and the weight"},
                 {"`cross_entropy`", "1", "its input, 2 numbers a row"},
                 {"after `backward`", "", "nothing; new: 5 gradients"}};
    for (std::size_t i = 0; i < with.size(); ++i)
        rows[i + 1].insert(rows[i + 1].end(), {with[i], i < without.size() ? without[i] : ""});
    table(out, rows);
}

const Adds kHere({{"autograd.memory", Effort::quick, bytes}});

}  // namespace

}  // namespace plaingrad::chapters
