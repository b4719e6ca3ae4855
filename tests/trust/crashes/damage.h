// What has gone wrong, and how often. Cases run on all processors, so that every member can be called by any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "tests/trust/instrument.h"

namespace plaingrad::trust {

enum class Wrong {
    corrupt,    // a file that was saved does not open
    unequal,    // other bits than without a fault
    left_over,  // a file that an undisturbed run does not leave
    died,       // no documented exit status, or no clear line that says why
    leak,       // memory that is not given back
};

class Damage {
public:
    // Prints the case, at most kPrinted of a kind.
    void note(Wrong wrong, const std::string& which, const std::string& what);
    // As the figures crashes.corrupt and so on.
    void print(const Instrument& trust) const;

private:
    static constexpr int64_t kPrinted = 20;
    std::mutex mutex_;
    std::array<int64_t, 5> counts_ = {};
    std::array<std::string, 5> first_ = {};
};

// f(i) for i in 0 .. n-1, on all processors. An exception counts as a death.
void for_each_case(int64_t n, Damage& damage, const std::function<void(int64_t i)>& f);

// The numbers of 1 .. n to try: all, if they are at most `most`; else the first most / 2, where the paths
// differ most, and one at random from each of as many equal parts of the rest.
std::vector<int64_t> some_of(int64_t n, int64_t most, const autograd::Rng& rng);

}  // namespace plaingrad::trust
