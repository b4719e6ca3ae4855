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
    bool is_percent = false;
    std::optional<double> quick = {}, sample = {}, full = {};  // none: not measured at this scale
    std::string peers = {};  // what others state, and who; "" if nobody does

    std::optional<double> value(Scale scale) const;
    bool holds(double measured, Scale scale) const;  // never for NaN
};

// Lines of `name | what | relation[%] value [/ value / value] | peers`; one value is for all scales, and a
// value `-` says that a figure takes too long for that scale. Empty lines and comments (#) are left out.
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
    std::string instrument = {}, date = {}, compiler = {}, processor = {}, seed = {}, sources = {};
    double seconds = 0;
    bool ended = false;  // with status 0
    std::map<std::string, Measured> figures = {};
    std::map<std::string, std::string> skipped = {};  // how names of figures begin, and why there are none
};
// Blocks that begin with a line `instrument NAME`, then lines `date ...`, `figure NAME VALUE [detail]`,
// `skipped BEGIN why` for figures whose names begin so, `ended SECONDS`, `sources COMMIT`; other lines are
// left out. Of several blocks of an instrument the last one counts. NAME may be a part, INSTRUMENT.PART: the
// figures of all parts of an instrument are one result. Throws Error for a figure without a number.
std::vector<Result> read_results(std::istream& in, const std::string& where);

// A row of the table.
struct Row {
    Asked asked = {};
    std::string limit = {}, value = {};  // as they are shown: "at least 100", "-" for what was not measured
    std::string why = {};                // not as asked
    bool is_good = false, is_skipped = false;
    bool is_measured = false;  // its instrument was run, or its part of it
    // As asked so far, but other parts of the instrument, which count it too, were not run.
    bool is_partial = false;
};
// All rows of this scale. What an instrument that did not end has printed is not as asked. A figure is a
// part's own if its name begins with that part's, as tools.tidy_findings of tools.tidy, or if only one of
// several parts has it, as crashes.pairs. Others, as fuzz.crashes, are every part's, and as asked only when
// all parts are measured: when all shares are there, or else no count of the instrument falls short.
std::vector<Row> judge(const std::vector<Asked>& asked, const std::vector<Result>& results, Scale scale);
// The rows of the named instruments; for a part, INSTRUMENT.PART, the rows of the figures that it printed. No
// names: all rows.
std::vector<Row> of_instruments(const std::vector<Row>& rows, const std::vector<std::string>& names,
                                const std::vector<Result>& results);
// How many rows are not as asked. Skipped ones, whose tool this machine lacks, do not count, nor partial
// ones.
int64_t missed(const std::vector<Row>& rows);

// Those of these instruments and parts that have no block of their own which has ended, if anything is asked
// of them at this scale: a part that does not exist, or failed before its first figure, has no row to tell.
std::vector<std::string> unfinished(const std::vector<Asked>& asked, const std::vector<std::string>& names,
                                    const std::vector<Result>& results, Scale scale);

// For a terminal; and for tests/trust/README.md, in Markdown, where what was not measured has no rows, but is
// named.
void print_text(std::ostream& out, const std::vector<Row>& rows, const std::vector<Result>& results);
void print_markdown(std::ostream& out, const std::vector<Row>& rows, const std::vector<Result>& results);
// The page with this text in place of what is between its lines `<!-- trust -->` and `<!-- end -->`. Throws
// Error if it has none.
std::string with_table(const std::string& page, const std::string& table);

}  // namespace plaingrad::trust
