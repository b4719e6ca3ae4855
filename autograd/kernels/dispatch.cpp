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
extern const Kernels kernels_neon;

namespace {

struct Candidate {
    const Kernels* kernels;
    bool (*runs_here)();
};

// Best first.
constexpr Candidate kCandidates[] = {
#ifdef PLAINGRAD_HAVE_AVX512
    {&kernels_avx512,
     [] {
         return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
     }},
#endif
#ifdef PLAINGRAD_HAVE_AVX2
    {&kernels_avx2, [] { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }},
#endif
#ifdef PLAINGRAD_HAVE_NEON
    {&kernels_neon, [] { return true; }},
#endif
    {&kernels_baseline, [] { return true; }},
};

std::string names() {
    std::string text;
    for (const char* const* name = available(); *name != nullptr; ++name)
        text += (text.empty() ? "" : ", ") + std::string(*name);
    return text;
}

const Kernels& find(const char* name) {
    for (const Candidate& candidate : kCandidates) {
        if (std::strcmp(candidate.kernels->name, name) == 0) {
            check(candidate.runs_here(), "[PLAINGRAD_ISA] this processor cannot run '", name,
                  "'; it can run ", names());
            return *candidate.kernels;
        }
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

const Kernels& cpu() { return *current(); }

void use(const char* name) { current() = &find(name); }

const char* const* available() {
    static const auto& names = *[] {  // never destroyed, as objects of static duration may compute
        auto* list = new std::vector<const char*>;
        for (const Candidate& candidate : kCandidates)
            if (candidate.runs_here())
                list->push_back(candidate.kernels->name);
        list->push_back(nullptr);
        return list;
    }();
    return names.data();
}

}  // namespace plaingrad::autograd::kernels
