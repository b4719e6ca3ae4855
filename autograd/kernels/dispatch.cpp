// Picks the set of kernels that fits this processor.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "autograd/base/check.h"
#include "autograd/kernels/kernels.h"

namespace plaingrad::autograd::kernels {

// Defined by unit.cpp, once per instruction set that the Makefile compiles for this architecture.
extern const Kernels kernels_baseline;
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
extern const Products kernels_avx512bf16;
extern const Kernels kernels_neon;

namespace {

struct Candidate {
    const Kernels* kernels;
    bool (*runs_here)();
};

#ifdef PLAINGRAD_HAVE_AVX512
bool has_avx512() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}
#endif

#ifdef PLAINGRAD_HAVE_AVX512BF16
const Kernels& avx512bf16() {
    static const Kernels kernels = [] {
        Kernels all = kernels_avx512;
        all.name = "avx512bf16";
        all.bf16 = kernels_avx512bf16;
        return all;
    }();
    return kernels;
}
#endif

// Best first.
const std::vector<Candidate>& candidates() {
    static const auto& list = *[] {  // never destroyed, as objects of static duration may compute
        auto* all = new std::vector<Candidate>;
#ifdef PLAINGRAD_HAVE_AVX512
        all->push_back({&kernels_avx512, has_avx512});
#endif
#ifdef PLAINGRAD_HAVE_AVX512BF16
        // Where the instruction is slow (bf16.h), AVX-512's two fmas are the better choice.
        all->insert(__builtin_cpu_is("intel") ? all->end() : all->begin(),
                    {&avx512bf16(), [] { return has_avx512() && __builtin_cpu_supports("avx512bf16"); }});
#endif
#ifdef PLAINGRAD_HAVE_AVX2
        all->push_back(
            {&kernels_avx2, [] { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }});
#endif
#ifdef PLAINGRAD_HAVE_NEON
        all->push_back({&kernels_neon, [] { return true; }});
#endif
        all->push_back({&kernels_baseline, [] { return true; }});
        return all;
    }();
    return list;
}

std::string names() {
    std::string text;
    for (const char* const* name = available(); *name != nullptr; ++name)
        text += (text.empty() ? "" : ", ") + std::string(*name);
    return text;
}

const Kernels& find(const char* name) {
    for (const Candidate& candidate : candidates())
        if (std::strcmp(candidate.kernels->name, name) == 0) {
            check(candidate.runs_here(), "[PLAINGRAD_ISA] this processor cannot run '", name,
                  "'; it can run ", names());
            return *candidate.kernels;
        }
    throw Error(
        join("[PLAINGRAD_ISA] unknown instruction set '", name, "'; this processor can run ", names()));
}

const Kernels& at_start() {
    const char* name = std::getenv("PLAINGRAD_ISA");
    return find(name != nullptr && *name != '\0' ? name : available()[0]);
}

const Kernels*& current() {
    static const Kernels* kernels = &at_start();
    return kernels;
}

}  // namespace

const Products& Kernels::products(Precision p) const {
    check(p == Precision::float32 || p == Precision::bf16, "[Precision] there is no precision ", int(p));
    return p == Precision::bf16 ? bf16 : float32;
}

const Kernels& cpu() { return *current(); }

void use(const char* name) { use(find(name)); }
void use(const Kernels& kernels) { current() = &kernels; }

const char* const* available() {
    static const auto& names = *[] {  // never destroyed, for the same reason
        auto* list = new std::vector<const char*>;
        for (const Candidate& candidate : candidates())
            if (candidate.runs_here())
                list->push_back(candidate.kernels->name);
        list->push_back(nullptr);
        return list;
    }();
    return names.data();
}

}  // namespace plaingrad::autograd::kernels
