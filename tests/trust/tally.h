// How many cases of an instrument have failed, in each way that they can, and the first of each.
#pragma once

#include <map>
#include <string>

#include "tests/trust/instrument.h"

namespace plaingrad::trust {

class Tally {
public:
    // found: what is wrong with a case, "" if nothing is. Returns whether to print it: one of the first
    // three.
    bool add(const std::string& way, const std::string& found) {
        Count& count = counts_[way];
        return !found.empty() && ++count.n <= 3;
    }
    // What the table shows of the first case of this kind; of later ones nothing.
    void describe(const std::string& way, const std::string& detail) {
        if (counts_[way].detail.empty())
            counts_[way].detail = detail;
    }
    // The figures instrument.way.
    void print(const Instrument& trust, const std::string& instrument) const {
        for (const auto& [way, count] : counts_)
            trust.figure(instrument + '.' + way, static_cast<double>(count.n), count.detail);
    }

private:
    struct Count {
        int64_t n = 0;
        std::string detail = {};
    };
    std::map<std::string, Count> counts_;
};

}  // namespace plaingrad::trust
