// All kernels, as one unit. It is compiled once per instruction set, with PLAINGRAD_KERNELS naming
// the table it defines (kernels_avx2, ...) and the compiler's flags choosing simd.h's vector.
//
// Everything but the table is in an unnamed namespace: if two objects compiled for different
// processors shared a function, the linker would keep one of them, perhaps the one that this
// processor cannot run. For the same reason no file here includes a standard header with code in
// it. `make lint` inspects the objects to enforce this.
#include "autograd/kernels/kernels.h"
//
#include "autograd/kernels/bf16.h"
#include "autograd/kernels/simd.h"
//
#include "autograd/kernels/math.h"
//
#include "autograd/kernels/adam.cpp"
#include "autograd/kernels/attention.cpp"
#include "autograd/kernels/gemm.cpp"
#include "autograd/kernels/lookup.cpp"
#include "autograd/kernels/peak.cpp"
#include "autograd/kernels/pointwise.cpp"
#include "autograd/kernels/reduce.cpp"
#include "autograd/kernels/rotary.cpp"
#include "autograd/kernels/rows.cpp"

#define PLAINGRAD_STRING_(x) #x
#define PLAINGRAD_STRING(x) PLAINGRAD_STRING_(x)

namespace plaingrad::autograd::kernels {
namespace {

template <class T>
constexpr Products kProducts = {
    .gemm = gemm<T>,
    .pack = pack_panels<T>,
    .unpack_column = unpack_column<T>,
    .attention = attention<T>,
    .attention_backward = attention_backward<T>,
    .fma_chains = fma_chains<T>,
};

}  // namespace

#if defined(__AVX512BF16__)
// Nothing else gains from the instruction: dispatch.cpp takes the rest from AVX-512's table, and the compiler
// drops here what these functions do not call.
extern const Products PLAINGRAD_KERNELS;
const Products PLAINGRAD_KERNELS = kProducts<Bf16>;
#else
// "kernels_avx2" + 8 is "avx2".
extern const Kernels PLAINGRAD_KERNELS;
const Kernels PLAINGRAD_KERNELS = {
    .name = &PLAINGRAD_STRING(PLAINGRAD_KERNELS)[8],
    .float32 = kProducts<Real>,
    .bf16 = kProducts<Bf16>,
    .unary = unary,
    .unary_backward = unary_backward,
    .glu = glu,
    .glu_backward = glu_backward,
    .binary = binary,
    .dropout = dropout,
    .residual = residual,
    .fill = fill,
    .rotary = rotary,
    .copy = copy,
    .sum = sum,
    .max = max,
    .max_backward = max_backward,
    .sum_of_squares = sum_of_squares,
    .softmax = softmax,
    .softmax_backward = softmax_backward,
    .log_softmax = log_softmax,
    .log_softmax_backward = log_softmax_backward,
    .first_from = first_from,
    .cross_entropy = cross_entropy,
    .cross_entropy_backward = cross_entropy_backward,
    .layer_norm = layer_norm,
    .layer_norm_backward = layer_norm_backward,
    .gather = gather,
    .scatter_add = scatter_add,
    .adam = adam,
};
#endif

}  // namespace plaingrad::autograd::kernels
