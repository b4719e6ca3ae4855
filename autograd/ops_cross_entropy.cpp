// Cross-entropy, by itself and with the output layer before it. The kernel: kernels/rows.cpp.
#include <algorithm>
#include <array>

#include "autograd/base/parallel.h"
#include "autograd/broadcast.h"
#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/plain.h"
#include "autograd/weight.h"

namespace plaingrad::autograd {
namespace {

// The targets of logits (..., V): their ids, which of them is ignored, and how many are not.
struct Targets {
    const std::vector<int32_t>& ids;
    int32_t ignore;
    int64_t counted;
};

Targets counted_targets(const Shape& logits, const Tokens& targets, const CrossEntropyOptions& options) {
    const Shape rows = logits.without(-1);
    const std::vector<int32_t>& ids = targets.ids();
    check(rows.numel() == std::ssize(ids) &&
              (rows.rank() != 2 || rows == Shape{targets.batch(), targets.length()}),
          "[cross_entropy] logits ", logits, " have ", rows.numel(), " rows: got ", ids.size(), " targets, (",
          targets.batch(), ", ", targets.length(), ")");
    check(options.label_smoothing >= 0 && options.label_smoothing < 1,
          "[cross_entropy] label smoothing must be in [0, 1): got ", options.label_smoothing);
    const int32_t ignore = options.ignore.value_or(targets.pad());
    const int64_t counted = targets.count("cross_entropy", logits[-1], ignore);
    check(counted > 0, "[cross_entropy] no target is counted: all ", ids.size(), " are the ignored id ",
          ignore);
    return {ids, ignore, counted};
}

// Summed in double.
Tensor mean_loss(const Tensor& losses, int64_t counted) {
    double total = 0;
    for (int64_t r = 0; r < losses.numel(); ++r)
        total += static_cast<double>(losses.data()[r]);
    return static_cast<Real>(total / static_cast<double>(counted));
}

}  // namespace

// loss = mean over counted rows of -Σ target log softmax(logits)
// dlogits = dloss / counted * (softmax(logits) - target)
Tensor cross_entropy(const Tensor& logits, const Tokens& tokens, const CrossEntropyOptions& options) {
    const Targets targets = counted_targets(logits.shape(), tokens, options);
    if (Plain::active())
        return plain::cross_entropy(logits, tokens, options);
    const int64_t rows = std::ssize(targets.ids);
    Tensor losses = Tensor::uninitialized({rows}), statistics = Tensor::uninitialized({rows, 2});
    kernels::cpu().cross_entropy(rows, logits.size(-1), logits.data(), targets.ids.data(), targets.ignore,
                                 options.label_smoothing, losses.mutable_data(), statistics.mutable_data());
    return with_backward("cross_entropy", mean_loss(losses, targets.counted), {&logits},
                         [smoothing = options.label_smoothing, counted = targets.counted,
                          ignore = targets.ignore, ids = targets.ids, dlogits = logits.sink(),
                          logits = logits.save(), statistics = statistics.save()](const Tensor& dloss) {
                             const Real scale = dloss.item() / static_cast<Real>(counted);
                             kernels::cpu().cross_entropy_backward(
                                 std::ssize(ids), logits.shape()[-1], logits.data(), ids.data(), ignore,
                                 smoothing, statistics.data(), scale, dlogits.open());
                         });
}

// The loss of the output layer, without all of its logits: equal to
//
//     cross_entropy(linear_transposed(x, weight, bias), targets)
//
// The logits of a whole batch are often the largest matrix of a training step (4096 x 10,000 are 164 MB,
// read or written six times). So the op processes a chunk of rows at a time: its logits, its losses, and
// immediately its gradients, while the logits are in the cache. The gradients are kept for backward, which
// multiplies them by dloss; that is nearly always 1, and then they are ready.
//
// loss = mean over counted rows of -Σ target log softmax(x @ weightᵀ + bias)
// dlogits = (softmax(logits) - target) / counted
// dx = dlogits @ weight           dweight = dlogitsᵀ @ x           dbias = Σ dlogits over the rows
namespace {

// A block of the matrix product's sums, so that dweight adds up as the product over all rows does.
constexpr int64_t kChunkRows = kernels::kGemmBlockK;
// Few enough rows that their logits are still in the L2 cache when the gradient reads them.
constexpr int64_t kRowsAtOnce = 8;

// Memory for a gradient, if it is needed.
Tensor gradient_of(const Tensor& x) {
    return x.needs_grad() && !NoGrad::active() ? Tensor::uninitialized(x.shape()) : Tensor();
}

struct OutputLoss {
    const Tensor &x, &weight, &bias;
    const Targets& targets;
    const Real smoothing;
    const Precision precision;
    const int64_t v = weight.size(0), d = weight.size(1);
    Tensor losses = Tensor::uninitialized({x.shape().without(-1).numel()});
    Tensor dx = gradient_of(x), dweight = gradient_of(weight), dbias = gradient_of(bias);
    // The sum over all chunks so far: in double, because rounding errors of thousands would add up.
    std::vector<double> bias_sum = std::vector<double>(dbias.defined() ? static_cast<std::size_t>(v) : 0);

    // Rows first .. first + n: their losses, and in place of the logits (n, V) the logits' gradient.
    void chunk(int64_t first, int64_t n, Real* logits, Real* statistics) {
        const kernels::Kernels& k = kernels::cpu();
        const int32_t* ids = targets.ids.data() + first;
        const Real* const b = bias.defined() ? bias.data() : nullptr;
        kernels::Gemm product = {.m = n, .n = v, .k = d, .lda = d, .ldb = d, .ldc = v, .b_transposed = true};
        product.bias = b;
        multiply(product, precision, x.data() + first * d, weight, logits);
        const bool wanted = dx.defined() || dweight.defined() || dbias.defined();
        Real* const losses_at = losses.mutable_data() + first;
        parallel_for(0, n, kRowsAtOnce, [&](int64_t begin, int64_t end) {
            Real *const rows = logits + begin * v, *const kept = statistics + 2 * begin;
            k.cross_entropy(end - begin, v, rows, ids + begin, targets.ignore, smoothing, losses_at + begin,
                            kept);
            if (wanted)
                k.cross_entropy_backward(end - begin, v, rows, ids + begin, targets.ignore, smoothing, kept,
                                         1 / static_cast<Real>(targets.counted), {rows});
        });
        if (wanted)
            gradients(first, n, logits);
    }

    void gradients(int64_t first, int64_t n, const Real* dlogits) {
        const auto multiply = kernels::cpu().products(precision).gemm;
        if (dx.defined())
            multiply({.m = n, .n = d, .k = v, .lda = v, .ldb = d, .ldc = d}, dlogits, weight.data(),
                     dx.mutable_data() + first * d);
        kernels::Gemm product = {.m = v, .n = d, .k = n, .lda = v, .ldb = d, .ldc = d, .a_transposed = true};
        product.accumulate = first > 0;
        if (dweight.defined())
            multiply(product, dlogits, x.data() + first * d, dweight.mutable_data());
        if (!dbias.defined())
            return;
        Real* const sum = dbias.mutable_data();
        kernels::cpu().sum({1, n, v}, 1, dlogits, {sum});
        for (std::size_t i = 0; i < bias_sum.size(); ++i)
            sum[i] = static_cast<Real>(bias_sum[i] += static_cast<double>(sum[i]));
    }
};

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tokens& tokens,
                            const CrossEntropyOptions& options) {
    check(x.rank() >= 1 && weight.rank() == 2 && x.size(-1) == weight.size(1) &&
              (!bias.defined() || bias.shape() == Shape{weight.size(0)}),
          "[linear_cross_entropy] x is ", x.shape(), ", weight is ", weight.shape(), ", bias is ",
          bias.shape(), "; they must be (..., K), (V, K) and (V)");
    const Targets targets = counted_targets(x.shape().with(-1, weight.size(0)), tokens, options);
    if (Plain::active())
        return plain::linear_cross_entropy(x, weight, bias, tokens, options);
    OutputLoss loss = {x, weight, bias, targets, options.label_smoothing, UsePrecision::active()};
    const int64_t rows = loss.losses.numel();
    Tensor logits = Tensor::uninitialized({std::min(rows, kChunkRows), loss.v});
    Tensor statistics = Tensor::uninitialized({logits.size(0), 2});
    for (int64_t first = 0; first < rows; first += kChunkRows)
        loss.chunk(first, std::min(kChunkRows, rows - first), logits.mutable_data(),
                   statistics.mutable_data());

    return with_backward("linear_cross_entropy", mean_loss(loss.losses, targets.counted),
                         {&x, &weight, &bias},
                         [sinks = std::array{x.sink(), weight.sink(), bias.sink()},
                          ready = std::array{loss.dx, loss.dweight, loss.dbias}](const Tensor& dloss) {
                             for (std::size_t i = 0; i < sinks.size(); ++i)
                                 pass_sum(ready[i], dloss.item(), ready[i].shape(), sinks[i]);
                         });
}

}  // namespace plaingrad::autograd
