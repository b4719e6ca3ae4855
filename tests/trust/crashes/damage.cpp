#include "tests/trust/crashes/damage.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <thread>
#include <vector>

#include "autograd/base/system.h"

namespace plaingrad::trust {

namespace {
constexpr std::array<const char*, 5> kNames = {"corrupt", "unequal", "left_over", "died", "leaks"};
}

void Damage::note(Wrong wrong, const std::string& which, const std::string& what) {
    const std::lock_guard lock(mutex_);
    const auto i = static_cast<std::size_t>(wrong);
    if (++counts_[i] == 1)
        first_[i] = which;
    if (counts_[i] <= kPrinted)
        std::printf("%s: %s\n    %s\n", kNames[i], which.c_str(), what.c_str());
    std::fflush(stdout);
}

void Damage::print(const Instrument& trust) const {
    for (std::size_t i = 0; i < kNames.size(); ++i)
        trust.figure(std::string("crashes.") + kNames[i], static_cast<double>(counts_[i]),
                     first_[i].empty() ? "" : "first: " + first_[i]);
}

void for_each_case(int64_t n, Damage& damage, const std::function<void(int64_t i)>& f) {
    std::atomic<int64_t> next = 0;
    const auto work = [&] {
        for (int64_t i = next++; i < n; i = next++) {
            if (i > 0 && i % 500 == 0) {
                std::printf("%lld of %lld cases\n", static_cast<long long>(i), static_cast<long long>(n));
                std::fflush(stdout);
            }
            try {
                f(i);
            } catch (const std::exception& error) {
                damage.note(Wrong::died, "case " + std::to_string(i) + " of the instrument", error.what());
            }
        }
    };
    std::vector<std::thread> threads;
    for (int i = 1; i < autograd::processors(); ++i)
        threads.emplace_back(work);
    work();
    for (std::thread& thread : threads)
        thread.join();
}

std::vector<int64_t> some_of(int64_t n, int64_t most, const autograd::Rng& rng) {
    std::vector<int64_t> all;
    const int64_t first = n <= most ? n : most / 2;
    for (int64_t i = 1; i <= first; ++i)
        all.push_back(i);
    // One from each of equal parts of the rest.
    const int64_t parts = n <= most ? 0 : most - first;
    for (int64_t i = 0; i < parts; ++i) {
        const int64_t begin = first + (n - first) * i / parts, end = first + (n - first) * (i + 1) / parts;
        all.push_back(1 + begin + rng.below(static_cast<uint64_t>(i), end - begin));
    }
    return all;
}

}  // namespace plaingrad::trust
