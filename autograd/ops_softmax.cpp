// Softmax, its logarithm, and the loss. The formulas and their derivatives: kernels/rows.cpp.
#include <algorithm>
#include <array>

#include "autograd/base/parallel.h"
#include "autograd/broadcast.h"
#include "autograd/op.h"
#include "autograd/ops.h"
#include "autograd/plain.h"

namespace plaingrad::autograd {
namespace {

int64_t rows_of(const Tensor& x) { return x.size(-1) > 0 ? x.numel() / x.size(-1) : 0; }

// A function of rows, whose gradient is one of its output's. Another dim is moved to the end and back.
Tensor along(const char* op, const Tensor& x, int dim, decltype(kernels::Kernels::softmax) forward,
             decltype(kernels::Kernels::softmax_backward) backward) {
    if (x.shape().index(dim) != x.rank() - 1)
        return transpose(along(op, transpose(x, dim, -1), -1, forward, backward), dim, -1);
    Tensor y = Tensor::uninitialized(x.shape());
    forward(rows_of(x), x.size(-1), x.data(), y.mutable_data());
    return with_backward(op, y, {&x}, [backward, dx = x.sink(), y = y.save()](const Tensor& dy) {
        backward(rows_of(dy), dy.size(-1), y.data(), dy.data(), dx.open());
    });
}

// How many targets count; there must be one a row, and all must be ids of the vocabulary.
int64_t count_targets(const Shape& logits, const Tokens& targets, const CrossEntropyOptions& options) {
    const int64_t vocabulary = logits[-1], rows = logits.without(-1).numel();
    const int32_t ignore = options.ignore;
    check(rows == static_cast<int64_t>(targets.ids().size()), "[cross_entropy] logits ", logits, " have ",
          rows, " rows: got ", targets.ids().size(), " targets");
    check(options.label_smoothing >= 0 && options.label_smoothing < 1,
          "[cross_entropy] label smoothing must be in [0, 1): got ", options.label_smoothing);
    int64_t counted = 0;
    for (std::size_t i = 0; i < targets.ids().size(); ++i) {
        if (targets.ids()[i] == ignore)
            continue;
        const auto at = static_cast<int64_t>(i);
        check(targets.ids()[i] >= 0 && targets.ids()[i] < vocabulary, "[cross_entropy] target id ",
              targets.ids()[i], " at row ", at / targets.length(), ", position ", at % targets.length(),
              " is outside the vocabulary of ", vocabulary);
        ++counted;
    }
    check(counted > 0, "[cross_entropy] no target is counted: all ", targets.ids().size(),
          " are the ignored id ", ignore);
    return counted;
}

// Summed in double.
Tensor mean_loss(const Tensor& losses, int64_t counted) {
    double total = 0;
    for (int64_t r = 0; r < losses.numel(); ++r)
        total += static_cast<double>(losses.data()[r]);
    return Tensor::scalar(static_cast<Real>(total / static_cast<double>(counted)));
}

}  // namespace

// y = eˣ / Σ eˣ              dx = y (dy - Σ y dy)
Tensor softmax(const Tensor& x, int dim) {
    return along("softmax", x, dim, kernels::cpu().softmax, kernels::cpu().softmax_backward);
}

// y = x - ln Σ eˣ            dx = dy - eʸ Σ dy
Tensor log_softmax(const Tensor& x, int dim) {
    return along("log_softmax", x, dim, kernels::cpu().log_softmax, kernels::cpu().log_softmax_backward);
}

// loss = mean over counted rows of -Σ target log softmax(logits)
// dlogits = dloss / counted * (softmax(logits) - target)
Tensor cross_entropy(const Tensor& logits, const Tokens& targets, const CrossEntropyOptions& options) {
    const int64_t counted = count_targets(logits.shape(), targets, options), rows = rows_of(logits);
    if (Plain::active())
        return plain::cross_entropy(logits, targets, options);
    Tensor losses = Tensor::uninitialized({rows}), log_sum_exp = Tensor::uninitialized({rows});
    kernels::cpu().cross_entropy(rows, logits.size(-1), logits.data(), targets.ids().data(), options.ignore,
                                 options.label_smoothing, losses.mutable_data(), log_sum_exp.mutable_data());
    return with_backward("cross_entropy", mean_loss(losses, counted), {&logits},
                         [options, counted, targets = targets.ids(), dlogits = logits.sink(),
                          logits = logits.save(), lse = log_sum_exp.save()](const Tensor& dloss) {
                             const Real scale = dloss.item() / static_cast<Real>(counted);
                             kernels::cpu().cross_entropy_backward(
                                 lse.numel(), logits.shape()[-1], logits.data(), targets.data(),
                                 options.ignore, options.label_smoothing, lse.data(), scale, dlogits.open());
                         });
}

// loss = mean (x - target)²
Tensor mse_loss(const Tensor& x, const Tensor& target) {
    check(x.shape() == target.shape(), "[mse_loss] x is ", x.shape(), ", the target is ", target.shape(),
          "; they must be equal");
    const Tensor difference = x - target;
    return mean(difference * difference);
}

// A logit is how far class 1 is ahead of class 0, so that both have their place in a softmax over two:
// sigmoid(x) = eˣ / (e⁰ + eˣ). Finite where log(sigmoid(x)) is not.
Tensor bce_with_logits(const Tensor& logits, const Tensor& target) {
    check(logits.shape() == target.shape(), "[bce_with_logits] the logits are ", logits.shape(),
          ", the target is ", target.shape(), "; they must be equal");
    const Tensor x = reshape(logits, {-1}), t = reshape(target, {-1});             // (N)
    const Tensor log_p = log_softmax(stack({Tensor::zeros(x.shape()), x}, 0), 0);  // (2, N)
    const Tensor if_one = t * log_p[1];                                            // (N)
    const Tensor if_zero = (1 - t) * log_p[0];                                     // (N)
    return -mean(if_one + if_zero);
}

// loss = cross_entropy(x @ weightᵀ + bias, targets)
// dlogits = (softmax(logits) - target) / counted
// dx = dlogits @ weight           dweight = dlogitsᵀ @ x           dbias = Σ dlogits over the rows
//
// A chunk of rows at a time, and its gradients at once, while its logits are near: the logits of a whole
// batch are often the largest matrix of a training step (4096 x 10,000 are 164 MB, touched six times). Kept
// for backward are the gradients, which only wait for dloss; as that is nearly always 1, they are ready.
namespace {

// A block of the matrix product's sums, so that dweight adds up as the product over all rows does.
constexpr int64_t kChunkRows = kernels::kGemmBlockK;
// So few that their logits are still in the L2 cache when the loss is known and the gradient's turn comes.
constexpr int64_t kRowsAtOnce = 8;

// Room for a gradient that somebody wants.
Tensor gradient_of(const Tensor& x) {
    return x.needs_grad() && !NoGrad::active() ? Tensor::uninitialized(x.shape()) : Tensor();
}

struct OutputLoss {
    const Tensor &x, &weight, &bias;
    const Tokens& targets;
    const CrossEntropyOptions& options;
    const int64_t counted, v = weight.size(0), d = weight.size(1);
    Tensor losses = Tensor::uninitialized({x.shape().without(-1).numel()});
    Tensor dx = gradient_of(x), dweight = gradient_of(weight), dbias = gradient_of(bias);

    // Rows first .. first + n: their losses, and in place of the logits (n, V) the logits' gradient.
    void chunk(int64_t first, int64_t n, Real* logits, Real* log_sum_exp) {
        const kernels::Kernels& k = kernels::cpu();
        const int32_t* ids = targets.ids().data() + first;
        kernels::Gemm product = {.m = n, .n = v, .k = d, .lda = d, .ldb = d, .ldc = v, .b_transposed = true};
        product.bias = bias.defined() ? bias.data() : nullptr;
        k.gemm(product, x.data() + first * d, weight.data(), logits);
        const bool wanted = dx.defined() || dweight.defined() || dbias.defined();
        Real* const losses_at = losses.mutable_data() + first;
        parallel_for(0, n, kRowsAtOnce, [&](int64_t begin, int64_t end) {
            Real *const rows = logits + begin * v, *const lse = log_sum_exp + begin;
            k.cross_entropy(end - begin, v, rows, ids + begin, options.ignore, options.label_smoothing,
                            losses_at + begin, lse);
            if (wanted)
                k.cross_entropy_backward(end - begin, v, rows, ids + begin, options.ignore,
                                         options.label_smoothing, lse, 1 / static_cast<Real>(counted),
                                         {rows});
        });
        if (wanted)
            gradients(first, n, logits);
    }

    void gradients(int64_t first, int64_t n, const Real* dlogits) {
        const kernels::Kernels& k = kernels::cpu();
        if (dx.defined())
            k.gemm({.m = n, .n = d, .k = v, .lda = v, .ldb = d, .ldc = d}, dlogits, weight.data(),
                   dx.mutable_data() + first * d);
        kernels::Gemm product = {.m = v, .n = d, .k = n, .lda = v, .ldb = d, .ldc = d, .a_transposed = true};
        product.accumulate = first > 0;
        if (dweight.defined())
            k.gemm(product, dlogits, x.data() + first * d, dweight.mutable_data());
        if (dbias.defined())
            k.sum({1, n, v}, 1, dlogits, {dbias.mutable_data(), first > 0});
    }
};

// A finished gradient, once dloss is known.
struct Waiting {
    GradSink sink;
    Tensor gradient;

    void pass(Real dloss) const {
        if (dloss == 1)
            return sink.pass(gradient);
        const Shape& shape = gradient.shape();
        kernels::cpu().binary(kernels::Binary::mul, broadcast_loop(shape, shape, {}), gradient.data(), &dloss,
                              sink.open());
    }
};

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tokens& targets,
                            const CrossEntropyOptions& options) {
    check(x.rank() >= 1 && weight.rank() == 2 && x.size(-1) == weight.size(1) &&
              (!bias.defined() || bias.shape() == Shape{weight.size(0)}),
          "[linear_cross_entropy] x is ", x.shape(), ", weight is ", weight.shape(), ", bias is ",
          bias.shape(), "; they must be (..., D), (V, D) and (V)");
    const int64_t counted = count_targets(x.shape().with(-1, weight.size(0)), targets, options);
    if (Plain::active())
        return plain::linear_cross_entropy(x, weight, bias, targets, options);
    OutputLoss loss = {x, weight, bias, targets, options, counted};
    const int64_t rows = loss.losses.numel();
    Tensor logits = Tensor::uninitialized({std::min(rows, kChunkRows), loss.v});
    Tensor log_sum_exp = Tensor::uninitialized({logits.size(0)});
    for (int64_t first = 0; first < rows; first += kChunkRows)
        loss.chunk(first, std::min(kChunkRows, rows - first), logits.mutable_data(),
                   log_sum_exp.mutable_data());

    return with_backward(
        "linear_cross_entropy", mean_loss(loss.losses, counted), {&x, &weight, &bias},
        [waiting = std::array{Waiting{x.sink(), loss.dx}, Waiting{weight.sink(), loss.dweight},
                              Waiting{bias.sink(), loss.dbias}}](const Tensor& dloss) {
            for (const Waiting& w : waiting)
                if (w.sink)
                    w.pass(dloss.item());
        });
}

}  // namespace plaingrad::autograd
