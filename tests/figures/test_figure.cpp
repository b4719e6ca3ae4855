// The figures of the pages, and how line charts are drawn.
#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "apps/kit/picture.h"
#include "apps/kit/text.h"
#include "tests/catch.h"
#include "tests/figures/figure.h"
#include "tests/folder.h"

using namespace plaingrad;  // NOLINT
using figures::LineChart;
using figures::svg;
using tests::contains;

namespace {

// Why it is no XML, or "". Knows what our files hold: elements, attributes in quotes, entities.
std::string fault(const std::string& xml) {
    static const std::regex tag("</?([a-z]+)((?: [A-Za-z-]+='[^'<]*')*) ?(/?)>");
    static const std::regex lone("&(?!(amp|lt|gt);)|[<>]|[\\x01-\\x09\\x0b-\\x1f]");
    std::vector<std::string> open;
    std::smatch match;
    for (auto begin = xml.begin(); begin != xml.end();) {
        const auto next = std::find(begin, xml.end(), '<');
        const std::string text(begin, next);
        if (std::regex_search(text, match, lone) && (open.empty() || open.back() != "style"))
            return "not allowed in text: " + text;
        if (next == xml.end())
            break;
        const std::string rest(next, std::find(next, xml.end(), '>') + 1);
        if (!std::regex_match(rest, match, tag))
            return "no tag: " + rest;
        if (rest[1] == '/' && (open.empty() || open.back() != match[1]))
            return "not open: " + rest;
        if (rest[1] == '/')
            open.pop_back();
        else if (match[3].length() == 0)
            open.push_back(match[1]);
        begin = next + static_cast<std::ptrdiff_t>(rest.size());
    }
    return open.empty() ? "" : "not closed: " + open.back();
}

std::vector<std::string> all(const std::string& text, const std::string& pattern) {
    const std::regex regex(pattern);
    std::vector<std::string> found;
    for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end; ++i)
        found.push_back((*i)[1]);
    return found;
}

LineChart chart_of(std::vector<figures::Series> series) {
    return {.x = {.name = "step"}, .y = {.name = "loss"}, .series = std::move(series)};
}

// The numbers beside the y axis.
std::vector<std::string> ticks(const figures::Axis& axis, const std::vector<double>& values) {
    return all(svg("t", "d", {LineChart{.x = {}, .y = axis, .series = {{"", values}}}}),
               "class='soft end'>([^<]*)<");
}

}  // namespace

TEST_CASE("every figure of the pages is XML, with a style for each of its classes", "[figures]") {
    int files = 0;
    for (const char* folder : {"autograd", "autograd/kernels", "nn", "models", "apps", "tests/traps"})
        for (const auto& entry : std::filesystem::directory_iterator(std::string(folder) + "/figures")) {
            if (entry.path().extension() != ".svg")
                continue;
            const std::string file = tests::content(entry.path()),
                              style = file.substr(0, file.find("</style>"));
            INFO(entry.path());
            CHECK(fault(file) == "");
            CHECK(contains(style, "@media(prefers-color-scheme:dark)"));
            std::set<std::string> classes;
            for (const std::string& names : all(file, "class='([^']*)'")) {
                std::istringstream words(names);
                for (std::string word; words >> word;)
                    classes.insert(word);
            }
            for (const std::string& name : classes)
                CHECK_FALSE(all(style, "(\\." + name + ")[.,{]").empty());
            ++files;
        }
    CHECK(files > 20);
}

TEST_CASE("a figure is XML whatever its texts are", "[figures]") {
    CHECK(fault("<a x='1'><b/>t</a>") == "");
    CHECK(fault("<a><b></a>") == "not open: </a>");
    CHECK(fault("<a>R&D</a>") == "not allowed in text: R&D");
    CHECK(fault("<a>") == "not closed: a");
    CHECK(fault("<a b=1/>") == "no tag: <a b=1/>");
    const std::string file =
        svg("a < b", "c > d & e\xff", {chart_of({{"it's & \x01", {1, 2}}, {"ln V", {1.5}}})});
    CHECK(fault(file) == "");
    CHECK(contains(file, "<title>a &lt; b</title>\n<desc>c &gt; d &amp; e\xef\xbf\xbd</desc>"));
    CHECK(contains(file, ">it's &amp; ?</text>"));
}

TEST_CASE("axes have round numbers, and lines gaps where they cannot be drawn", "[figures]") {
    using Labels = std::vector<std::string>;
    CHECK(ticks({}, {0, 100}) == Labels{"0", "20", "40", "60", "80", "100"});
    CHECK(ticks({}, {3, 3}) == Labels{"3", "3.5", "4", "4.5", "5", "5.5", "6"});
    CHECK(ticks({}, {3.2, NAN, 0.3, INFINITY}) == Labels{"0.5", "1", "1.5", "2", "2.5", "3"});
    CHECK(ticks({.log = true}, {std::nextafter(1, 2), 1e6}) ==
          Labels{"1", "10", "100", "1000", "10000", "100000", "1e+06"});
    CHECK(ticks({.log = true}, {4, 512}) == Labels{"5", "10", "20", "50", "100", "200", "500"});
    const std::string file = svg("t", "d", {chart_of({{"s", {1, NAN, 3, INFINITY, 4}}})});
    const Labels line = all(file, "<path class='line s1' d='([^']*)'");
    REQUIRE(line.size() == 1);
    CHECK(std::count(line[0].begin(), line[0].end(), 'M') == 3);
}

TEST_CASE("what cannot be drawn is refused", "[figures]") {
    CHECK_THROWS_WITH(svg("t", "d", {}), "[figure] a figure needs a panel: there is none");
    CHECK_THROWS_WITH(svg("t", "d", {chart_of({{"Adam", {1, 2}, {1}}})}),
                      "[figure] a series needs a y for each x: 'Adam' has 1 x and 2 y");
    CHECK_THROWS_WITH(
        svg("t", "d", {chart_of({{"Adam", {NAN, NAN}}})}),
        "[figure] an axis needs values that it can show: 'loss' has none; give it a low and a high end");
}

TEST_CASE("numbers of pictures are rounded, without a sign for zero", "[kit]") {
    CHECK(kit::number(12.34) == "12.3");
    CHECK(kit::number(-0.04) == "0.0");
    CHECK(kit::number(1.005, 2) == "1.00");  // which is less than 1.005 in binary
    CHECK(kit::number(2.5, 0) == "3");
    CHECK(kit::number(-NAN) == "nan");
}

TEST_CASE("pictures side by side", "[kit]") {
    CHECK(kit::beside({"ab\nc\n", "d\n", "e\nfg\nh\n"}, 80) == "ab   d    e\nc         fg\n          h\n");
    CHECK(kit::beside({"ab\nc\n", "d\n", "e\n"}, 7) == "ab   d\nc\ne\n\n");
    CHECK(kit::beside({"\033[38;5;33m—\033[0m\nabc\n", "d\ne\n"}, 80) ==
          "\033[38;5;33m—\033[0m     d\nabc   e\n");
    CHECK(kit::beside({"a\n\n", "b\n\n"}, 80) == "a   b\n\n");  // nothing but a line's end
    CHECK(kit::beside({}, 80).empty());
}
