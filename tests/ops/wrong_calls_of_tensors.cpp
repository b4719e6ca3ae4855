// Tensors, token ids, masks, random numbers, the graph, packed weights, threads.
#include <limits>

#include "autograd/base/check.h"
#include "autograd/base/parallel.h"
#include "autograd/gradcheck.h"
#include "autograd/inspect.h"
#include "autograd/ops.h"
#include "autograd/plain.h"
#include "autograd/weight.h"
#include "tests/ops/family.h"

namespace plaingrad::trust::words {
namespace {

using namespace autograd;  // NOLINT
using namespace tests;     // NOLINT

Tensor leaf(const Shape& shape) { return t(shape).require_grad(); }

void twice(const Tensor& loss) {
    loss.backward();
    loss.backward();
}
void changed_after_forward() {
    const Tensor w = leaf({2});
    const Tensor loss = sum(w * w);
    w.mutable_data()[0] = 3;
    loss.backward();
}
Tensor packed(Precision precision, bool transposed = false) {
    const Tensor weight = t({3, 4});
    const autograd::UsePrecision use(precision);
    pack(weight, transposed);
    return weight;
}
Tensor plain_linear(const Tensor& x, const Tensor& weight) {
    const Plain plain;
    return linear(x, weight);
}
void guarded() {
    const NanGuard guard;
    log(Tensor::full({2}, -1));
}
void guarded_backward() {
    const NanGuard guard;
    sum(sqrt(Tensor::full({2}, 0).require_grad())).backward();
}

}  // namespace

Calls calls_of_tensors() {
    return {
        CALL(Shape{-1}),
        CALL(Shape{2, -3}),
        CALL(Shape{1, 1, 1, 1, 1}),
        CALL(Shape{int64_t{1} << 40, int64_t{1} << 40}),
        CALL(Shape{2, 3}[2]),
        CALL(Shape{2, 3}[-3]),
        CALL(Shape{}[0]),
        CALL(Shape{2, 3}.with(2, 1)),
        CALL(Shape{2, 3}.with(0, -1)),
        CALL(Tensor::zeros({int64_t{1} << 50})),
        CALL(Tensor::uninitialized({int64_t{1} << 61})),
        CALL(Tensor::full({-2}, 0)),
        CALL(Tensor::ones({2, -1})),
        CALL(Tensor::from({2}, {1})),
        CALL(Tensor::from({2}, {1, 2, 3})),
        CALL(Tensor::from({}, {})),
        CALL(Tensor::from({0}, {1})),
        CALL(Tensor::from_function({-1}, [](uint64_t) { return 0.0; })),
        CALL(Tensor::arange(0, 10, 0)),
        CALL(Tensor::arange(0, 10, kNan)),
        CALL(Tensor::arange(0, std::numeric_limits<double>::infinity())),
        CALL(Tensor::arange(kNan)),
        CALL(Tensor::arange(0, 1e18)),
        CALL(Tensor::rand({-1}, Rng(1))),
        CALL(Tensor::randn({2, -2}, Rng(1))),
        CALL(kNone.data()),
        CALL(kNone.mutable_data()),
        CALL(kNone.to_vector()),
        CALL(kNone.item()),
        CALL(kNone.clone()),
        CALL(kNone.detach().data()),
        CALL(kNone.size(0)),
        CALL(kNone[0]),
        CALL(kNone.grad()),
        CALL(kNone.backward()),
        CALL(kNone.backward(t({2}))),
        CALL(kNone.with_shape({1})),
        CALL(Tensor().require_grad()),
        CALL(t({2}).item()),
        CALL(t({0}).item()),
        CALL(t({2, 3}).size(2)),
        CALL(t({2, 3}).size(-3)),
        CALL(t({})[0]),
        CALL(t({2, 3})[2]),
        CALL(t({2, 3})[-3]),
        CALL(t({0, 3})[0]),
        CALL(t({2, 3}).with_shape({7})),
        CALL(t({2, 3}).with_shape({-2, -3})),
        CALL((leaf({2}) * 2).require_grad()),
        CALL((leaf({2}) * 2).require_grad(false)),
        CALL((leaf({2}) * 2).grad()),
        CALL(t({2}).grad()),
        CALL(leaf({2}).grad()),
        CALL(leaf({2}).backward()),
        CALL(t({1}).backward()),
        CALL(sum(t({2})).backward()),
        CALL((leaf({2}) * 2).backward()),
        CALL((leaf({2}) * 2).backward(t({3}))),
        CALL((leaf({2}) * 2).backward(kNone)),
        CALL(twice(sum(leaf({2})))),
        CALL(changed_after_forward()),
        CALL(print_graph(t({2}))),
        CALL(print_graph(kNone)),
        CALL(guarded()),
        CALL(guarded_backward()),

        CALL(Tokens(-1, 2, {})),
        CALL(Tokens(2, -1, {})),
        CALL(Tokens(2, 2, {1, 2, 3})),
        CALL(Tokens(1, 1, {1, 2})),
        CALL(Tokens(1, 2, {1, -5})),
        CALL(Tokens(int64_t{1} << 40, int64_t{1} << 40, {})),
        CALL(Tokens::padded({{1, 2, 3}}, 0, 2)),
        CALL(Tokens::padded({{1, 0, 3}}, 0)),
        CALL(Tokens::padded({{1}}, 0, -1)),
        CALL(Tokens::padded({{1}}, 0, int64_t{1} << 40)),
        CALL(Tokens::padded({{1, -2}}, 0)),
        CALL(Tokens(1, 2, {1, 2}).at(1, 0)),
        CALL(Tokens(1, 2, {1, 2}).at(0, 2)),
        CALL(Tokens(1, 2, {1, 2}).at(-1, 0)),
        CALL(Tokens(1, 2, {1, 2}).at(0, -1)),
        CALL(Tokens(1, 3, {1, 0, 2}, 0).lengths()),
        CALL(Tokens(1, 3, {1, 0, 2}).slice(2, 1)),
        CALL(Tokens(1, 3, {1, 0, 2}).slice(-1, 1)),
        CALL(Tokens(1, 3, {1, 0, 2}).slice(0, 4)),
        CALL(Tokens(1, 3, {1, 0, 9}).count("op", 5, -1)),
        CALL(Mask::allowed(1, 2, 2, {1, 1, 1})),
        CALL(Mask::allowed(1, -2, 2, {})),
        CALL(Mask::padding(Tokens(1, 3, {0, 1, 1}, 0))),
        CALL(Mask::key_counts({1}).check_fits(2, 1, 1)),
        CALL(Mask::key_counts({3}).check_fits(1, 1, 2)),
        CALL(Mask::key_counts({-1}).check_fits(1, 1, 2)),
        CALL(Mask::causal().check_fits(1, 3, 2)),
        CALL(Mask::allowed(1, 2, 2, {1, 1, 1, 1}).check_fits(1, 3, 2)),
        CALL(Mask::allowed(1, 2, 2, {1, 1, 1, 1}).check_fits(2, 2, 2)),
        CALL(Rng(1).below(0, 0)),
        CALL(Rng(1).below(0, -3)),
        CALL(Rng(1).permutation(-1)),

        CALL(pack(t({3}))),
        CALL(pack(kNone)),
        CALL(pack(t({2, 3}) * leaf({2, 3}))),
        CALL(pack(packed(Precision::bf16))),
        CALL(packed(Precision::bf16).data()),
        CALL(packed(Precision::bf16).mutable_data()),
        CALL(packed(Precision::bf16).clone()),
        CALL(packed(Precision::bf16).require_grad()),
        CALL(packed(Precision::bf16)[0]),
        CALL(packed(Precision::bf16) + 1),
        CALL(packed(Precision::bf16).to_vector()),
        CALL(packed(Precision::bf16).with_shape({4, 3})),
        CALL(join(packed(Precision::bf16))),
        CALL(reshape(packed(Precision::bf16), {12})),
        CALL(matmul(t({2, 3}), packed(Precision::float32))),
        CALL(sum(packed(Precision::float32))),
        CALL(transpose(packed(Precision::float32), 0, 1)),
        CALL(slice(packed(Precision::float32), 0, 1, 2)),
        CALL(plain_linear(t({2, 3}), packed(Precision::float32))),
        CALL(sum(linear(leaf({2, 3}), packed(Precision::float32))).backward()),
        CALL(pack(packed(Precision::float32, true))),
        CALL(linear(t({2, 3}), packed(Precision::bf16))),
        CALL(linear(t({2, 3}), packed(Precision::float32, true))),
        CALL(linear_transposed(t({2, 4}), packed(Precision::float32))),
        CALL(embedding(packed(Precision::float32), Tokens(1, 1, {0}))),

        CALL(set_thread_count(0)),
        CALL(set_thread_count(-1)),
        CALL(set_thread_count(1025)),
        CALL(parallel_for(0, 10, 0, [](int64_t, int64_t) {})),
        CALL(parallel_for(0, 10, -1, [](int64_t, int64_t) {})),
        CALL(parallel_for(0, 4, 1, [](int64_t, int64_t) { set_thread_count(2); })),
        CALL(parallel_for(0, 4, 1, [](int64_t, int64_t) { Shape{-1}; })),
        CALL(gradcheck([](const std::vector<Tensor>&) { return t({2}); }, {})),
        CALL(gradcheck([](const std::vector<Tensor>& x) { return add(x[0], x[1]); }, {t({2}), t({3})})),
    };
}

}  // namespace plaingrad::trust::words
