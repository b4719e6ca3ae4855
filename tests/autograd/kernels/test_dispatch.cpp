// Which set of kernels is used, and the error for one that does not exist.
#include <algorithm>
#include <cstring>
#include <fstream>

#include "tests/apps/running.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;          // NOLINT
using namespace autograd;           // NOLINT
using namespace autograd::kernels;  // NOLINT
using namespace tests;              // NOLINT

namespace {

std::vector<std::string> names() {
    std::vector<std::string> list;
    for (const char* const* name = available(); *name != nullptr; ++name)
        list.push_back(*name);
    return list;
}

}  // namespace

TEST_CASE("dispatch: the baseline is available, last, each name occurs once, and use switches",
          "[kernels][dispatch]") {
    std::vector<std::string> list = names();
    REQUIRE(!list.empty());
    CHECK(list.back() == "baseline");
    CHECK(std::count(list.begin(), list.end(), cpu().name) == 1);
    for_each_isa([](const char* name) { CHECK(std::string(cpu().name) == name); });
    std::sort(list.begin(), list.end());
    CHECK(std::adjacent_find(list.begin(), list.end()) == list.end());
}

#if defined(__x86_64__) && defined(__linux__)
TEST_CASE("dispatch: what the processor can do is used", "[kernels][dispatch]") {
    if (kRealIsDouble || !fast_build())
        SKIP("the double build has no vectors, sanitized ones have no AVX-512, and an emulator has its own");
    Words flags;
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; flags.empty() && std::getline(info, line);)
        if (line.starts_with("flags"))
            flags = words_of(line);
    const std::vector<std::string> here = names();
    for (const auto& [set, needs] : {std::pair("avx2", "avx2 fma"),
                                     {"avx512", "avx512f avx512dq avx512vl avx512bw"},
                                     {"avx512bf16", "avx512f avx512dq avx512vl avx512bw avx512_bf16"}}) {
        INFO(set);
        const Words all = words_of(needs);
        CHECK((std::count(here.begin(), here.end(), set) == 1) ==
              std::all_of(all.begin(), all.end(), [&](const std::string& flag) {
                  return std::count(flags.begin(), flags.end(), flag) == 1;
              }));
    }
}
#endif

TEST_CASE("dispatch: an unknown set is an error that lists the others", "[kernels][dispatch][errors]") {
    const std::string before = cpu().name;
    for (const char* name : {"nonsense", "", "AVX2", "avx", "baseline ", "sse2"}) {
        const std::string error = error_of([&] { use(name); });
        INFO(error);
        CHECK(error.rfind("[PLAINGRAD_ISA] ", 0) == 0);
        CHECK(contains(error, "'" + std::string(name) + "'"));
        for (const std::string& other : names())
            CHECK(contains(error, other));
        CHECK(!contains(error, "\n"));
        CHECK(cpu().name == before);
    }
    // Existing sets, of which no machine has all.
    for (const char* name : {"avx512", "avx2", "neon"}) {
        const std::vector<std::string> list = names();
        const bool here = std::count(list.begin(), list.end(), name) == 1;
        const std::string error = error_of([&] { use(name); });
        CHECK(error.empty() == here);
        CHECK((here || contains(error, "can run") || contains(error, "this build has no")));
    }
    use(before.c_str());
}

TEST_CASE("dispatch: no kernel is missing from a table", "[kernels][dispatch]") {
    for_each_isa([](const char* name) {
        INFO(name);
        static_assert(sizeof(Kernels) % sizeof(void*) == 0);  // a name and functions, nothing else
        const void* members[sizeof(Kernels) / sizeof(void*)];
        std::memcpy(members, &cpu(), sizeof(Kernels));
        for (std::size_t i = 0; i < std::size(members); ++i) {
            INFO("member " << i);
            CHECK(members[i] != nullptr);
        }
    });
}
