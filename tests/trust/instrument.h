// An instrument of `make trust`: a program that measures how well one promise is kept, over as many cases as
// it is told. It is no test: it prints figures, and the table (table.awk) says what each was asked to be.
//
//     int main(int argc, char** argv) {
//         return trust::run("matmul", "matrix products against the defined order", argc, argv,
//                           [](const trust::Instrument& trust) {
//                               const int64_t n = trust.count(2'000, 10'000, 100'000);
//                               ...
//                               trust.figure("matmul.cases", n);
//                               trust.figure("matmul.differences", wrong, "first: 3 x 5 @ 5 x 7, avx2");
//                           });
//     }
//
// Cases are drawn from the seed, so that a run with another seed sees others, and what one has found can be
// found again. A case that fails is reported as a figure, and not thrown: the rest is still measured.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/base/random.h"

namespace plaingrad::trust {

// quick: what CI runs, a minute or so for each instrument; sample: `make trust`, half an hour for all; full:
// `make trust TRUST=long`, hours (`long` is a keyword of C++).
enum class Scale { quick, sample, full };

struct Instrument {
    Scale scale = Scale::quick;
    uint64_t seed = 1;
    uint64_t only = 0;      // the number of a case that has failed, to run it alone; 0: all
    std::string part = {};  // of an instrument that has parts, the one to measure (TRUST_PART); empty: all

    int64_t count(int64_t quick, int64_t sample, int64_t full) const {
        return scale == Scale::quick ? quick : scale == Scale::sample ? sample : full;
    }
    autograd::Rng rng() const { return autograd::Rng(seed); }

    // Prints the line that the table reads. detail: one line, shown where the figure is not as asked.
    void figure(const std::string& name, double value, const std::string& detail = "") const;
};

// A program's main: the options --scale, --seed and --threads, and, if its cases have numbers, --only. A
// TRUST_PART that is none of `parts` ends it with status 2.
int run(const std::string& name, const std::string& summary, int argc, char** argv,
        const std::function<void(const Instrument& trust)>& measure,
        const std::vector<std::string>& parts = {}, bool numbers = false);

}  // namespace plaingrad::trust
