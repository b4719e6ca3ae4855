// A family of ops: the rows of its ops, their known values, and their wrong calls. Each is in a file of its
// own in this folder, or two are in one.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "tests/autograd/values.h"
#include "tests/ops.h"
#include "tests/trust/words/calls.h"

namespace plaingrad::tests {

using trust::words::Call;
using trust::words::Calls;

// A call, and what it returns by hand or from a pocket calculator; ties, bounds, NaN and infinity as in
// PyTorch.
struct Known {
    const char* call;  // as it stands in the source
    std::function<Tensor()> run;
    Tensor expected;
};
#define KNOWN(call, ...)                                 \
    Known {                                              \
#call, [=] { return Tensor(call); }, __VA_ARGS__ \
    }
// The gradient of a call, a function of x, where x is `at`, and `start` comes from above. (It is not named as
// the op, which has to have a known value, too.)
#define SLOPE(call, at, start, ...)        \
    Known {                                \
        "slope_of_" #call,                 \
            [=] {                          \
                const Tensor x = leaf(at); \
                (call).backward(start);    \
                return x.grad();           \
            },                             \
            __VA_ARGS__                    \
    }

struct OpFamily {
    const std::vector<OpRow>& rows;
    std::vector<Known> (*values)();
    const Calls& wrong_calls;  // what these say is in trust/words/calls.txt
};
extern const OpFamily kElementwise, kMoves, kProducts, kLosses, kNorms, kAttention;
inline constexpr const OpFamily* kOpFamilies[] = {&kElementwise, &kMoves, &kProducts,
                                                  &kLosses,      &kNorms, &kAttention};

// ---- arguments
inline constexpr Real kInf = std::numeric_limits<Real>::infinity(), kMost = std::numeric_limits<Real>::max();
inline constexpr auto kRelu = autograd::Activation::relu;
inline const autograd::Rng kRng(1);
inline const Tensor kNone;

inline Tensor t(const Shape& shape) { return Tensor::full(shape, 1); }
inline Tensor tensor(const Shape& shape, const std::vector<double>& x) {
    return Tensor::from(shape, std::vector<Real>(x.begin(), x.end()));
}
inline Tensor vec(std::initializer_list<double> x) { return tensor({std::ssize(x)}, x); }
// 0, 1, 2, ... in this shape.
inline Tensor counting(const Shape& shape) {
    return Tensor::arange(static_cast<double>(shape.numel())).with_shape(shape);
}
// An input that a call may have.
inline Tensor or_none(const Inputs& x, std::size_t i) { return i < x.size() ? x[i] : Tensor(); }

}  // namespace plaingrad::tests
