// What an instrument has found over all its cases: how many have failed, or the largest error; and the first,
// or the worst one.
#pragma once

#include <cmath>
#include <map>
#include <string>

#include "tests/trust/instrument.h"

namespace plaingrad::trust {

struct Figure {
    double value = 0;
    std::string detail = {};

    // what() names the case; it is called only for the first one.
    template <class What>
    void count(double seen, const What& what) {
        if (seen > 0 && value == 0)
            detail = what();
        value += seen;
    }
    template <class What>
    void largest(double seen, const What& what) {
        if (!(seen <= value) && !std::isnan(value))  // a NaN shows, and stays
            value = seen, detail = what();
    }
};

// For each way in which a case can fail.
class Tally {
public:
    // found: what is wrong with a case, "" if nothing is. Returns whether to print it: one of the first
    // three.
    bool add(const std::string& way, const std::string& found) {
        Figure& figure = figures_[way];
        return !found.empty() && ++figure.value <= 3;
    }
    // What the table shows of the first case of this kind; of later ones nothing.
    void describe(const std::string& way, const std::string& detail) {
        if (figures_[way].detail.empty())
            figures_[way].detail = detail;
    }
    // The figures instrument.way.
    void print(const Instrument& trust, const std::string& instrument) const {
        for (const auto& [way, figure] : figures_)
            trust.figure(instrument + '.' + way, figure.value, figure.detail);
    }

private:
    std::map<std::string, Figure> figures_;
};

}  // namespace plaingrad::trust
