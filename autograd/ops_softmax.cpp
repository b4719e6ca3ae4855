// Softmax, its logarithm, and the loss. The formulas and their derivatives: kernels/rows.cpp.
#include "autograd/op.h"
#include "autograd/ops.h"

namespace autograd {
namespace {

int64_t rows_of(const Tensor& x) { return x.size(-1) > 0 ? x.numel() / x.size(-1) : 0; }

// A function of rows along another dim: that dim is moved to the end and back.
template <class F>
Tensor along(const Tensor& x, int dim, F f) {
    if (x.shape().index(dim) == x.rank() - 1)
        return f(x);
    return transpose(f(transpose(x, dim, -1)), dim, -1);
}

Tensor softmax_rows(const Tensor& x) {
    Tensor y = Tensor::uninitialized(x.shape());
    kernels::cpu().softmax(rows_of(x), x.size(-1), x.data(), y.mutable_data());
    return with_backward(y, {&x}, [dx = x.sink(), y = y.save()](const Tensor& dy) {
        kernels::cpu().softmax_backward(rows_of(dy), dy.size(-1), y.data(), dy.data(), dx.open());
    });
}

Tensor log_softmax_rows(const Tensor& x) {
    Tensor y = Tensor::uninitialized(x.shape());
    kernels::cpu().log_softmax(rows_of(x), x.size(-1), x.data(), y.mutable_data());
    return with_backward(y, {&x}, [dx = x.sink(), y = y.save()](const Tensor& dy) {
        kernels::cpu().log_softmax_backward(rows_of(dy), dy.size(-1), y.data(), dy.data(), dx.open());
    });
}

// How many targets count; all of them must be ids of the vocabulary.
int64_t count_targets(const Tokens& targets, int64_t vocabulary, int32_t ignore) {
    int64_t counted = 0;
    for (std::size_t i = 0; i < targets.ids.size(); ++i) {
        if (targets.ids[i] == ignore)
            continue;
        const auto at = static_cast<int64_t>(i);
        check(targets.ids[i] >= 0 && targets.ids[i] < vocabulary, "[cross_entropy] target id ",
              targets.ids[i], " at row ", at / targets.length, ", position ", at % targets.length,
              " is outside the vocabulary of ", vocabulary);
        ++counted;
    }
    check(counted > 0, "[cross_entropy] no target is counted: all ", targets.ids.size(),
          " are the ignored id ", ignore);
    return counted;
}

}  // namespace

// y = eˣ / Σ eˣ              dx = y (dy - Σ y dy)
Tensor softmax(const Tensor& x, int dim) { return along(x, dim, softmax_rows); }

// y = x - ln Σ eˣ            dx = dy - eʸ Σ dy
Tensor log_softmax(const Tensor& x, int dim) { return along(x, dim, log_softmax_rows); }

// loss = mean over counted rows of -Σ target log softmax(logits)
// dlogits = dloss / counted * (softmax(logits) - target)
Tensor cross_entropy(const Tensor& logits, const Tokens& targets, const CrossEntropyOptions& options) {
    const int64_t vocabulary = logits.size(-1), rows = rows_of(logits);
    check(rows == static_cast<int64_t>(targets.ids.size()), "[cross_entropy] logits ", logits.shape(),
          " have ", rows, " rows: got ", targets.ids.size(), " targets");
    check(options.label_smoothing >= 0 && options.label_smoothing < 1,
          "[cross_entropy] label smoothing must be in [0, 1): got ", options.label_smoothing);
    const int64_t counted = count_targets(targets, vocabulary, options.ignore);

    Tensor losses = Tensor::uninitialized({rows});
    Tensor log_sum_exp = Tensor::uninitialized({rows});
    kernels::cpu().cross_entropy(rows, vocabulary, logits.data(), targets.ids.data(), options.ignore,
                                 options.label_smoothing, losses.mutable_data(), log_sum_exp.mutable_data());
    double total = 0;
    for (int64_t r = 0; r < rows; ++r)
        total += static_cast<double>(losses.data()[r]);
    const Tensor loss = Tensor::scalar(static_cast<Real>(total / static_cast<double>(counted)));

    return with_backward(loss, {&logits},
                         [options, counted, targets = targets.ids, dlogits = logits.sink(),
                          logits = logits.save(), lse = log_sum_exp.save()](const Tensor& dloss) {
                             const Real scale = dloss.item() / static_cast<Real>(counted);
                             kernels::cpu().cross_entropy_backward(
                                 lse.numel(), logits.shape()[-1], logits.data(), targets.data(),
                                 options.ignore, options.label_smoothing, lse.data(), scale, dlogits.open());
                         });
}

}  // namespace autograd
