#include "tests/trust/print_table/table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <istream>
#include <iterator>
#include <ostream>
#include <set>
#include <sstream>

#include "apps/kit/text.h"
#include "autograd/base/check.h"

namespace plaingrad::trust {

using autograd::check;
using autograd::join;

namespace {

std::string trimmed(const std::string& text) {
    const auto begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
    return begin == text.npos ? "" : text.substr(begin, end - begin + 1);
}

std::vector<std::string> split(const std::string& line, char at) {
    std::vector<std::string> parts(1);
    for (const char c : line)
        c == at ? (void)parts.emplace_back() : parts.back().push_back(c);
    for (std::string& part : parts)
        part = trimmed(part);
    return parts;
}

double number_of(const std::string& text, const std::string& where) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);  // libc++ 14 has no from_chars for it
    check(!text.empty() && *end == '\0', where, ": expected a number, got '", text, "'");
    return value;
}

// 100000 as 100,000; 0.0000012 as 1.2e-06.
std::string shown(double value) {
    if (std::isfinite(value) && value == std::floor(value) && std::fabs(value) < 1e15)
        return kit::grouped(static_cast<int64_t>(value));
    std::ostringstream text;
    text.precision(3);
    text << value;
    return std::isnan(value) ? "nan" : text.str();
}

std::string shown(const Asked& a, double value) { return shown(value) + (a.is_percent ? " %" : ""); }

std::string shown(const Asked& a, Scale scale) {
    return join(a.relation == '>'   ? "at least "
                : a.relation == '<' ? "at most "
                                    : "",
                shown(a, *a.value(scale)));
}

std::string instrument_of(const Asked& a) { return a.name.substr(0, a.name.find('.')); }

// The block of this instrument, or those of its parts.
std::vector<Result> blocks_of(const std::string& instrument, const std::vector<Result>& results) {
    std::vector<Result> blocks;
    std::copy_if(results.begin(), results.end(), std::back_inserter(blocks), [&](const Result& r) {
        return r.instrument == instrument || r.instrument.starts_with(instrument + ".");
    });
    return blocks;
}

// All parts as one, under the first one's name. What several of them count is added up; of an error, which is
// asked to be at most so large, and of percents the worst is that of all. A NaN stays.
std::optional<Result> joined(const std::vector<Result>& blocks, const Asked& a) {
    if (blocks.empty())
        return std::nullopt;
    Result all = {.instrument = blocks[0].instrument, .ended = true};
    for (const Result& block : blocks) {
        all.ended = all.ended && block.ended;
        all.skipped.insert(block.skipped.begin(), block.skipped.end());
        for (const auto& [name, measured] : block.figures) {
            const auto [place, is_first] = all.figures.try_emplace(name);
            Measured& sum = place->second;
            const bool is_no_worse =
                a.relation == '<' ? measured.value <= sum.value : measured.value >= sum.value;
            if (is_first || (a.relation != '<' && !a.is_percent))
                sum.value += measured.value;
            else if (!is_no_worse && !std::isnan(sum.value))
                sum.value = measured.value;
            sum.detail += (sum.detail.empty() || measured.detail.empty() ? "" : "; ") + measured.detail;
        }
    }
    return all;
}

bool is_count(const Asked& a) { return a.relation == '>' && !a.is_percent; }

Row judged(const Asked& a, const std::optional<Result>& result, Scale scale) {
    Row row = {.asked = a, .limit = shown(a, scale), .value = "-"};
    const auto figure = result ? result->figures.find(a.name) : std::map<std::string, Measured>::iterator();
    row.is_measured = result && (result->instrument == instrument_of(a) || figure != result->figures.end());
    if (!row.is_measured) {
        row.why = "not measured";
        return row;
    }
    if (figure == result->figures.end()) {
        const auto skipped =
            std::find_if(result->skipped.begin(), result->skipped.end(),
                         [&](const auto& begin_and_why) { return a.name.starts_with(begin_and_why.first); });
        row.is_skipped = result->ended && skipped != result->skipped.end();
        row.why = row.is_skipped  ? skipped->second
                  : result->ended ? "not printed"
                                  : "the instrument did not end";
        return row;
    }
    row.value = shown(a, figure->second.value);
    row.why = figure->second.detail;
    row.is_good = a.holds(figure->second.value, scale) && result->ended;
    // Of parts, what one counts may be a part of all.
    row.is_partial = is_count(a) && result->ended && figure->second.value > 0 &&
                     figure->second.value < *a.value(scale) && result->instrument != instrument_of(a);
    return row;
}

// How many shares there are: 8 of "fuzz.checkpoint.1of8", 0 of "fuzz.json".
std::ptrdiff_t shares_of(const std::string& block) {
    const std::string last = block.substr(block.rfind('.') + 1);
    const std::size_t of = last.find("of");
    if (of == last.npos || last.find_first_not_of("of0123456789") != last.npos)
        return 0;
    return of == 0 || of + 2 == last.size() ? 0 : std::stoi(last.substr(of + 2));
}

// Whether all parts that have this figure are measured: the part whose own it is, as its name says, or as
// another part does not have it; or all shares of it.
bool is_whole(const Asked& a, const std::vector<Result>& results) {
    const std::vector<Result> blocks = blocks_of(instrument_of(a), results);
    std::vector<std::string> having;
    for (const Result& block : blocks)
        if (block.figures.contains(a.name))
            having.push_back(block.instrument);
    if (having.empty())
        return false;
    const std::string of = having[0].substr(0, having[0].rfind('.') + 1);
    if (std::ssize(having) == shares_of(having[0]) &&
        std::all_of(having.begin(), having.end(), [&](const auto& share) { return share.starts_with(of); }))
        return true;
    if (shares_of(having[0]) > 0)
        return false;
    return std::any_of(having.begin(), having.end(),
                       [&](const auto& part) { return a.name.starts_with(part); }) ||
           (having.size() == 1 && blocks.size() > 1);
}

std::string circumstances(const Result& r) {
    return join(r.date, ", ", r.compiler, ", ", r.processor, ", seed ", r.seed);
}

}  // namespace

std::optional<double> Asked::value(Scale scale) const {
    return scale == Scale::quick ? quick : scale == Scale::sample ? sample : full;
}

bool Asked::holds(double measured, Scale scale) const {
    const double limit = value(scale).value();
    return relation == '>' ? measured >= limit : relation == '<' ? measured <= limit : measured == limit;
}

std::vector<Asked> read_asked(std::istream& in, const std::string& where) {
    std::vector<Asked> all;
    std::set<std::string> names;
    int64_t number = 0;
    for (std::string line; std::getline(in, line);) {
        const std::string here = join(where, ":", ++number);
        if (trimmed(line).empty() || line[0] == '#')
            continue;
        const std::vector<std::string> parts = split(line, '|');
        check(parts.size() == 4, here, ": expected 'name | what | relation value | peers', got '", line, "'");
        check(parts[2].size() > 1 && std::string("><=").find(parts[2][0]) != std::string::npos, here,
              ": expected >, < or = and a value, got '", parts[2], "'");
        check(names.insert(parts[0]).second, here, ": '", parts[0], "' is there twice");
        const bool is_percent = parts[2][1] == '%';
        const std::vector<std::string> values = split(parts[2].substr(is_percent ? 2 : 1), '/');
        check(values.size() == 1 || values.size() == 3, here,
              ": expected a value, or one for each of quick, ", "sample and long, got '", parts[2], "'");
        Asked a = {.name = parts[0],
                   .what = parts[1],
                   .relation = parts[2][0],
                   .is_percent = is_percent,
                   .peers = parts[3]};
        const auto value = [&](const std::string& text) {
            return text == "-" ? std::optional<double>() : number_of(text, here);
        };
        a.quick = value(values[0]);
        a.sample = value(values[values.size() / 2]);
        a.full = value(values.back());
        all.push_back(a);
    }
    return all;
}

std::set<std::string> instruments(const std::vector<Asked>& asked, Scale scale) {
    std::set<std::string> names;
    for (const Asked& a : asked)
        if (a.value(scale))
            names.insert(instrument_of(a));
    return names;
}

std::vector<Result> read_results(std::istream& in, const std::string& where) {
    std::vector<Result> all;
    int64_t number = 0;
    for (std::string line; std::getline(in, line);) {
        const std::string here = join(where, ":", ++number);
        std::istringstream words(line);
        std::string kind, rest;
        words >> kind;
        std::getline(words >> std::ws, rest);
        if (kind == "instrument") {
            std::erase_if(all, [&](const Result& r) { return r.instrument == rest; });
            all.push_back({.instrument = rest});
            continue;
        }
        if (all.empty())
            continue;
        Result& r = all.back();
        if (kind == "date")
            r.date = rest;
        else if (kind == "compiler")
            r.compiler = rest;
        else if (kind == "processor")
            r.processor = rest;
        else if (kind == "seed")
            r.seed = rest;
        else if (kind == "sources")
            r.sources = rest;
        else if (kind == "ended") {
            r.ended = true;
            r.seconds = number_of(rest, here);
        } else if (kind == "skipped") {
            const std::size_t space = rest.find(' ');
            check(space != rest.npos, here, ": expected how names begin, and why, got '", rest, "'");
            r.skipped[rest.substr(0, space)] = rest.substr(space + 1);
        } else if (kind == "figure") {
            std::istringstream figure(rest);
            std::string name, value, detail;
            figure >> name >> value;
            std::getline(figure >> std::ws, detail);
            r.figures[name] = {number_of(value, here), detail};
        }
    }
    return all;
}

std::vector<Row> judge(const std::vector<Asked>& asked, const std::vector<Result>& results, Scale scale) {
    std::vector<Row> rows;
    std::set<std::string> partly;  // measured instruments
    for (const Asked& a : asked)
        if (a.value(scale)) {
            rows.push_back(judged(a, joined(blocks_of(instrument_of(a), results), a), scale));
            Row& row = rows.back();
            row.is_partial = row.is_partial && !is_whole(a, results);
            if (is_count(a) && (!row.is_measured || row.is_partial))
                partly.insert(instrument_of(a));
        }
    for (Row& row : rows) {
        const bool is_of_all = !is_count(row.asked) && !is_whole(row.asked, results);
        row.is_partial =
            row.is_partial || (row.is_good && is_of_all && partly.contains(instrument_of(row.asked)));
        row.is_good = row.is_good && !row.is_partial;
        row.value += row.is_partial ? " so far" : "";
    }
    return rows;
}

std::vector<Row> of_instruments(const std::vector<Row>& rows, const std::vector<std::string>& names,
                                const std::vector<Result>& results) {
    std::vector<Row> chosen;
    const auto is_of = [&](const Row& row, const std::string& name) {
        return instrument_of(row.asked) == name ||
               std::any_of(results.begin(), results.end(), [&](const Result& block) {
                   return block.instrument == name && block.figures.contains(row.asked.name);
               });
    };
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(chosen), [&](const Row& row) {
        return names.empty() ||
               std::any_of(names.begin(), names.end(), [&](const auto& name) { return is_of(row, name); });
    });
    return chosen;
}

int64_t missed(const std::vector<Row>& rows) {
    return std::count_if(rows.begin(), rows.end(),
                         [](const Row& row) { return !row.is_good && !row.is_skipped && !row.is_partial; });
}

std::vector<std::string> unfinished(const std::vector<Asked>& asked, const std::vector<std::string>& names,
                                    const std::vector<Result>& results, Scale scale) {
    const std::set<std::string> measure = instruments(asked, scale);
    std::vector<std::string> left;
    std::copy_if(names.begin(), names.end(), std::back_inserter(left), [&](const std::string& name) {
        return measure.contains(name.substr(0, name.find('.'))) &&
               std::none_of(results.begin(), results.end(),
                            [&](const Result& r) { return r.instrument == name && r.ended; });
    });
    return left;
}

static std::string sum_of(const std::vector<Row>& rows) {
    const auto count = [&](auto is) { return std::count_if(rows.begin(), rows.end(), is); };
    const auto good = count([](const Row&row) { return row.is_good; }),
               skipped = count([](const Row&row) { return row.is_skipped; }),
               partial = count([](const Row&row) { return row.is_partial; }),
               missing = count([](const Row&row) { return !row.is_measured; }),
               wrong = std::ssize(rows) - good - skipped - partial - missing;
    return join(good, " of ", rows.size(), " figures are as asked",
                wrong > 0 ? join(", ", wrong, " not") : "",
                skipped > 0 ? join(", ", skipped, " skipped") : "",
                partial > 0 ? join(", ", partial, " measured in part") : "",
                missing > 0 ? join(", ", missing, " not measured") : "");
}

void print_text(std::ostream& out, const std::vector<Row>& rows, const std::vector<Result>& results) {
    std::string instrument;
    for (const Row& row : rows) {
        if (const std::string mine = instrument_of(row.asked); mine != instrument) {
            instrument = mine;
            out << '\n' << instrument << '\n';
            for (const Result& block : blocks_of(instrument, results))
                out << "  (" << block.instrument << ": " << circumstances(block) << ", "
                    << shown(std::round(block.seconds)) << " s)\n";
        }
        const std::string& peers = row.asked.peers;
        out << (row.is_good      ? "  ok    "
                : row.is_skipped ? "  skip  "
                : row.is_partial ? "  part  "
                                 : "  NOT   ")
            << row.asked.what << ": " << row.value << " (asked: " << row.limit
            << (peers.empty() ? "" : "; peers: " + peers) << ")"
            << (row.is_good || row.why.empty() ? "" : "  " + row.why) << '\n';
    }
    out << '\n' << sum_of(rows) << '\n';
}

void print_markdown(std::ostream& out, const std::vector<Row>& rows, const std::vector<Result>& results) {
    out << "**" << sum_of(rows) << "**\n\n"
        << "| figure | asked | measured | peers |\n|---|---:|---:|---|\n";
    std::set<std::string> missing;
    std::string group;
    for (const Row& row : rows) {
        if (!row.is_measured) {
            missing.insert(instrument_of(row.asked));
            continue;
        }
        if (const std::string mine = instrument_of(row.asked); mine != group)
            out << "| **" << (group = mine) << "** | | | |\n";
        out << "| " << row.asked.what << " | " << row.limit << " | " << row.value
            << (row.is_good || row.is_partial ? ""
                : row.is_skipped              ? " (skipped)"
                                              : " ✗")
            << " | " << row.asked.peers << " |\n";
    }
    std::map<std::string, std::string> instruments;  // of each circumstances, in which they were run
    for (const Result& r : results)
        instruments[circumstances(r)] +=
            join(instruments[circumstances(r)].empty() ? "" : ", ", r.instrument,
                 r.sources.empty() ? "" : join(" (", r.sources.substr(0, 7), ")"));
    out << "\nWhen and with what each was measured; in parentheses the commit, where it was recorded:\n\n";
    for (const auto& [when, names] : instruments)
        out << "- " << when << ": " << names << '\n';
    std::string not_yet;
    for (const std::string& instrument : missing)
        not_yet += (not_yet.empty() ? "" : ", ") + instrument;
    if (!not_yet.empty())
        out << "\nNot measured at this length yet, or not all of it: " << not_yet << ".\n";
}

std::string with_table(const std::string& page, const std::string& table) {
    const std::string begin = "<!-- trust -->\n", end = "<!-- end -->\n";
    const std::size_t from = page.find(begin);
    const std::size_t to = from == page.npos ? page.npos : page.find(end, from);
    check(to != page.npos, "the page has no lines '<!-- trust -->' and '<!-- end -->'");
    return page.substr(0, from + begin.size()) + table + page.substr(to);
}

}  // namespace plaingrad::trust
