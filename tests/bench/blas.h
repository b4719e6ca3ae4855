// The vendors' matrix products, where they are installed. They are loaded at run time, so that nothing
// depends on them.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "autograd/kernels/kernels.h"

namespace plaingrad::bench {

using autograd::Real;  // float; the double build does not use these libraries

struct Blas {
    std::string name;
    std::function<void(int threads)> set_threads;
    std::function<void(const autograd::kernels::Gemm&, const Real* a, const Real* b, Real* c)>
        gemm;  // c = op(a) op(b)
};

template <class Function>
Function* symbol(void* library, const char* name) {
    return reinterpret_cast<Function*>(dlsym(library, name));
}

// How BLAS for C says row-major, as it is, and transposed.
constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;

using CblasSgemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, Real alpha,
                        const Real* a, int lda, const Real* b, int ldb, Real beta, Real* c, int ldc);
using DnnlSgemm = int(char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k, Real alpha,
                      const Real* a, int64_t lda, const Real* b, int64_t ldb, Real beta, Real* c,
                      int64_t ldc);

// OpenBLAS picks its kernels when it is loaded. On a processor newer than itself it takes those for AVX2.
inline void find_openblas(std::vector<Blas>& found) {
    const bool avx512 = std::string(autograd::kernels::available()[0]) == "avx512";
    if (avx512)
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
    void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return;
    auto* sgemm = symbol<CblasSgemm>(library, "cblas_sgemm");
    auto* set_threads = symbol<void(int)>(library, "openblas_set_num_threads");
    if (sgemm == nullptr || set_threads == nullptr)
        return;
    found.push_back({"OpenBLAS", set_threads,
                     [=](const autograd::kernels::Gemm& g, const Real* a, const Real* b, Real* c) {
                         const auto i = [](int64_t n) { return static_cast<int>(n); };
                         sgemm(kRowMajor, g.a_transposed ? kTransposed : kPlain,
                               g.b_transposed ? kTransposed : kPlain, i(g.m), i(g.n), i(g.k), 1, a, i(g.lda),
                               b, i(g.ldb), 0, c, i(g.ldc));
                     }});
}

// oneDNN uses OpenMP and loads its library.
inline void find_onednn(std::vector<Blas>& found) {
    void* library = nullptr;
    for (const char* name : {"libdnnl.so.3", "libdnnl.so.2"})
        if (library == nullptr)
            library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return;
    auto* sgemm = symbol<DnnlSgemm>(library, "dnnl_sgemm");
    auto* set_threads = symbol<void(int)>(library, "omp_set_num_threads");
    if (sgemm == nullptr || set_threads == nullptr)
        return;
    found.push_back(
        {"oneDNN", set_threads, [=](const autograd::kernels::Gemm& g, const Real* a, const Real* b, Real* c) {
             sgemm(g.a_transposed ? 'T' : 'N', g.b_transposed ? 'T' : 'N', g.m, g.n, g.k, 1, a, g.lda, b,
                   g.ldb, 0, c, g.ldc);
         }});
}

}  // namespace plaingrad::bench
