// The table of `make trust`: what each figure was asked to be (figures.txt), what peers have, and what the
// instruments measured.
#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/trust/instrument.h"

namespace plaingrad::trust {

// A row of figures.txt: what must hold for a value.
struct Asked {
    std::string name = {};  // "matmul.cases"; before the dot, the instrument that measures it
    std::string what = {};  // "matrix products compared"
    char relation = 0;      // '>', at least; '<', at most; '=', exactly
    std::optional<double> quick = {}, sample = {}, full = {};  // none: not measured at this scale
    std::string peers = {};  // what others state, and who; "" if nobody does

    std::optional<double> value(Scale scale) const;
    bool holds(double measured, Scale scale) const;  // never for NaN
};

// Lines of `name | what | relation value [/ value / value] | peers`; one value is for all scales, and a value
// `-` says that a figure takes too long for that scale. Empty lines and those that begin with # are left out.
// Throws Error, with the line, for what is none of these.
std::vector<Asked> read_asked(std::istream& in, const std::string& where);
// Those with something to measure at this scale.
std::set<std::string> instruments(const std::vector<Asked>& asked, Scale scale);

struct Measured {
    double value = 0;
    std::string detail = {};
};
// What an instrument has printed, and how it was run.
struct Result {
    std::string instrument = {}, date = {}, compiler = {}, processor = {}, seed = {};
    double seconds = 0;
    bool ended = false;  // with status 0
    std::map<std::string, Measured> figures = {};
};
// Blocks that begin with a line `instrument NAME`, then lines `date ...`, `figure NAME VALUE [detail]`,
// `ended SECONDS`; other lines are an instrument's own words. Of several blocks of an instrument the last one
// counts. Throws Error for a figure without a number.
std::vector<Result> read_results(std::istream& in, const std::string& where);

enum class Format { text, markdown };
// Prints all rows of this scale. Returns how many are not as asked: another value, or none, as the instrument
// did not end or did not print it.
int print_table(std::ostream& out, const std::vector<Asked>& asked, const std::vector<Result>& results,
                Scale scale, Format format);

}  // namespace plaingrad::trust
