
// ---- Appended to tests/main.cpp, whose Listener and info it uses, in the copy of the tree that has mutants.
//
// After each test case, writes a line to the file PLAINGRAD_REACHED_LOG: whether it passed, how many seconds
// it took, the mutants that it reached, and its name; between tabs.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "autograd/base/mutant.h"

namespace {

struct ReachedListener : Listener {
    using Listener::Listener;
    using Clock = std::chrono::steady_clock;

    void testCaseStarting(const Catch::TestCaseInfo&) override {
        if (mutant::reached != nullptr)
            std::fill_n(mutant::reached, size_, static_cast<unsigned char>(0));
        begin_ = Clock::now();
    }
    void testCaseEnded(const Catch::TestCaseStats& stats) override {
        const char* const log = std::getenv("PLAINGRAD_REACHED_LOG");
        if (log == nullptr || mutant::reached == nullptr)
            return;
        std::ofstream out(log, std::ios::app);
        out << (stats.totals.testCases.failed > 0 ? "failed\t" : "passed\t")
            << std::chrono::duration<double>(Clock::now() - begin_).count() << '\t';
        for (std::uintmax_t i = 0; i < size_; ++i)
            if (mutant::reached[i] != 0)
                out << i << ',';
        out << '\t' << info(stats.testInfo).name << '\n';
    }

private:
    const char* const path_ = std::getenv("PLAINGRAD_REACHED");
    const std::uintmax_t size_ = path_ != nullptr ? std::filesystem::file_size(path_) : 0;
    Clock::time_point begin_;
};

}  // namespace

CATCH_REGISTER_LISTENER(ReachedListener)
