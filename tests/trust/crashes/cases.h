// Which cases are tried, on all processors, and what was found.
#pragma once

#include <atomic>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "autograd/base/system.h"
#include "tests/trust/tally.h"

namespace plaingrad::trust {

// What was wrong, by its figure: corrupt, a saved file that does not open; unequal, other bits than without a
// fault; left_over, a file that an undisturbed run does not leave; died, no documented exit status, or no
// clear line that says why.
class Damage {
public:
    static constexpr const char* kWays[] = {"corrupt", "unequal", "left_over", "died"};
    Damage() {
        for (const char* const way : kWays)
            tally_.add(way, "");
    }
    void note(const std::string& way, const std::string& which, const std::string& what) {
        const std::lock_guard lock(mutex_);
        tally_.describe(way, "first: " + which);
        if (tally_.add(way, what.empty() ? which : what))
            std::printf("%s: %s\n    %s\n", way.c_str(), which.c_str(), what.c_str()), std::fflush(stdout);
    }
    void print(const Instrument& trust) const { tally_.print(trust, "crashes"); }

private:
    std::mutex mutex_;
    Tally tally_;
};

// f(i) for i in 0 .. n-1, on all processors. An exception counts as a death.
inline void for_each_case(int64_t n, Damage& damage, const std::function<void(int64_t i)>& f) {
    std::atomic<int64_t> next = 0;
    const auto work = [&] {
        for (int64_t i = next++; i < n; i = next++) {
            if (i > 0 && i % 500 == 0)
                std::puts((std::to_string(i) + " of " + std::to_string(n) + " cases").c_str()),
                    std::fflush(stdout);
            try {
                f(i);
            } catch (const std::exception& error) {
                damage.note("died", "case " + std::to_string(i) + " of the instrument", error.what());
            }
        }
    };
    std::vector<std::jthread> threads;
    for (int i = 1; i < autograd::processors(); ++i)
        threads.emplace_back(work);
    work();
}

// The numbers of 1 .. n to try: all, if they are at most `most`; else the first most / 2, where the paths
// differ most, and one at random from each of as many equal parts of the rest.
inline std::vector<int64_t> some_of(int64_t n, int64_t most, const autograd::Rng& rng) {
    std::vector<int64_t> all;
    const int64_t first = n <= most ? n : most / 2, parts = n <= most ? 0 : most - first;
    for (int64_t i = 1; i <= first; ++i)
        all.push_back(i);
    for (int64_t i = 0; i < parts; ++i) {
        const int64_t begin = first + (n - first) * i / parts, end = first + (n - first) * (i + 1) / parts;
        all.push_back(1 + begin + rng.below(static_cast<uint64_t>(i), end - begin));
    }
    return all;
}

}  // namespace plaingrad::trust
