// Picks the set of kernels that fits this processor.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "autograd/base/check.h"
#include "autograd/kernels/kernels.h"

namespace plaingrad::autograd::kernels {

// Defined by unit.cpp, once per instruction set that the Makefile compiles. Of one that it leaves out, the
// address is null: the symbols are weak.
extern const Kernels kernels_baseline;
[[gnu::weak]] extern const Kernels kernels_avx2;
[[gnu::weak]] extern const Kernels kernels_avx512;
[[gnu::weak]] extern const Products kernels_avx512bf16;
[[gnu::weak]] extern const Kernels kernels_neon;

namespace {

// A set of this architecture.
struct Candidate {
    const char* name;
    const Kernels* kernels;  // nullptr: this build has none
    bool runs_here;
};

#ifdef __x86_64__
// All but the products of bfloat16 are AVX-512's.
const Kernels* avx512bf16() {
    static const Kernels kernels = [] {
        Kernels all = kernels_avx512;
        all.name = "avx512bf16";
        all.bf16 = kernels_avx512bf16;
        return all;
    }();
    return &kernels;
}

void add_vectors(std::vector<Candidate>& all) {
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    all.push_back({"avx512", &kernels_avx512, avx512});
#if !defined(__clang__) || __clang_major__ != 16  // which crashes while it compiles this set
    const bool is_whole = &kernels_avx512 != nullptr && &kernels_avx512bf16 != nullptr;
    // Where the instruction is slow (bf16.h), AVX-512's two fmas are the better choice.
    all.insert(
        __builtin_cpu_is("intel") ? all.end() : all.begin(),
        {"avx512bf16", is_whole ? avx512bf16() : nullptr, avx512 && __builtin_cpu_supports("avx512bf16")});
#endif
    all.push_back({"avx2", &kernels_avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")});
}
#elif defined(__aarch64__)
void add_vectors(std::vector<Candidate>& all) { all.push_back({"neon", &kernels_neon, true}); }
#else
void add_vectors(std::vector<Candidate>&) {}
#endif

// Best first.
const std::vector<Candidate>& candidates() {
    static const std::vector<Candidate> list = [] {
        std::vector<Candidate> all;
        if (!kRealIsDouble)
            add_vectors(all);
        all.push_back({"baseline", &kernels_baseline, true});
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
    for (const Candidate& set : candidates())
        if (std::strcmp(set.name, name) == 0) {
            check(set.runs_here, "[PLAINGRAD_ISA] this processor cannot run '", name, "'; it can run ",
                  names());
            check(set.kernels != nullptr, "[PLAINGRAD_ISA] this build has no ", name,
                  " kernels: make ISA=all");
            return *set.kernels;
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

void use(const char* name) { use(find(name)); }
void use(const Kernels& kernels) { current() = &kernels; }

const char* const* available() {
    static const std::vector<const char*> names = [] {
        std::vector<const char*> list;
        for (const Candidate& set : candidates())
            if (set.runs_here && set.kernels != nullptr)
                list.push_back(set.name);
        list.push_back(nullptr);
        return list;
    }();
    return names.data();
}

const char* missing() {
    for (const Candidate& set : candidates())
        if (set.runs_here)
            return set.kernels != nullptr ? nullptr : set.name;
    return nullptr;
}

}  // namespace plaingrad::autograd::kernels
