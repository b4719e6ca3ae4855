// The tests' main. It adds to Catch2's own: it records each finished test case in the file that
// PLAINGRAD_COUNTS names, so that tests/tools/run_tests.sh can sum over several binaries, and knows how far a
// binary came that has crashed. A test case that came to its end without an assertion has failed, as it can
// say nothing.
#define CATCH_CONFIG_RUNNER  // version 2: the implementation is compiled here, and only here
#include "tests/catch.h"
//
#include <cstdio>
#include <cstdlib>
#include <utility>

using namespace plaingrad;  // NOLINT

namespace {

#if CATCH_VERSION_MAJOR >= 3
using Listener = Catch::EventListenerBase;
#else
using Listener = Catch::TestEventListenerBase;
#endif

// A member in version 2, a pointer in version 3.
[[maybe_unused]] const Catch::TestCaseInfo& info(const Catch::TestCaseInfo& i) { return i; }
[[maybe_unused]] const Catch::TestCaseInfo& info(const Catch::TestCaseInfo* i) { return *i; }

void note(const char* what, const char* name) {
    const char* path = std::getenv("PLAINGRAD_COUNTS");
    std::FILE* file = path != nullptr ? std::fopen(path, "a") : nullptr;
    if (file == nullptr)
        return;
    std::fprintf(file, "%s %s\n", what, name);
    std::fclose(file);  // at once: the next test case may crash
}

bool was_skipped(const auto& counts) {
    if constexpr (requires { counts.skipped; })
        return counts.skipped > 0;
    return std::exchange(tests::skipped, false);
}

bool one_says_nothing = false;

// A test case that fails and may ([!mayfail]) is not counted.
struct Counter : Listener {
    using Listener::Listener;
    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        const auto& counts = stats.totals.testCases;
        const char* name = info(stats.testInfo).name.c_str();
        const bool skipped = was_skipped(counts);
        if (counts.failed > 0)
            note("failed", name);
        else if (skipped)
            note("skipped", name);
        else if (stats.totals.assertions.total() == 0)
            fail(name);
        else if (counts.passed > 0)
            note("passed", name);
    }
    void testRunEnded(const Catch::TestRunStats&) override { note("end", ""); }

private:
    static void fail(const char* name) {
        one_says_nothing = true;
        std::printf("no assertion in '%s'\n", name);
        note("failed", name);
    }
};

}  // namespace

CATCH_REGISTER_LISTENER(Counter)

int main(int argc, char** argv) {
    const int status = Catch::Session().run(argc, argv);
    return status == 0 && one_says_nothing ? 1 : status;
}
