// Figures: SVG files, and charts on a terminal.
#include <algorithm>
#include <locale>
#include <regex>
#include <set>
#include <sstream>

#include "apps/kit/picture.h"
#include "apps/kit/text.h"
#include "tests/catch.h"
#include "tests/figures/canvas.h"
#include "tests/figures/figure.h"
#include "tests/figures/scale.h"

using namespace plaingrad;  // NOLINT
using figures::LineChart;
using figures::Scale;
using figures::svg;
using kit::HeatMap;
using tests::contains;

namespace {

// Why it is no XML, or "". Knows what our files hold: elements, attributes in quotes, entities.
std::string fault(const std::string& xml) {
    static const std::regex tag("</?([a-z]+)((?: [A-Za-z-]+='[^'<]*')*) ?(/?)>");
    static const std::regex lone("&(?!(amp|lt|gt);)|[<>]|[\\x01-\\x09\\x0b-\\x1f]");
    std::vector<std::string> open;
    std::smatch match;
    bool in_style = false;
    for (auto begin = xml.begin(); begin != xml.end();) {
        const auto next = std::find(begin, xml.end(), '<');
        const std::string text(begin, next);
        if (std::regex_search(text, match, lone) && !in_style)
            return "not allowed in text: " + text;
        if (next == xml.end())
            break;
        const std::string rest(next, std::find(next, xml.end(), '>') + 1);
        if (!std::regex_match(rest, match, tag))
            return "no tag: " + rest;
        in_style = rest == "<style>";
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

// What is drawn, without head and style.
std::string body(const std::string& file) { return file.substr(file.find("</style>") + 9); }

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

std::vector<std::string> ticks(const figures::Axis& axis, const std::vector<double>& values, double most) {
    std::vector<std::string> labels;
    const Scale scale({LineChart{.x = {}, .y = axis, .series = {{"", values}}}}, false, most);
    for (const Scale::Tick& tick : scale.ticks())
        labels.push_back(tick.label);
    return labels;
}

using Labels = std::vector<std::string>;

const HeatMap kMap = {.rows = {"a", "b"}, .columns = {"c", "d"}, .values = {0, 0.25, 0.5, 1}};

}  // namespace

TEST_CASE("a figure is XML whatever its texts are", "[kit][figure]") {
    CHECK(fault("<a x='1'><b/>t</a>") == "");
    CHECK(fault("<a><b></a>") == "not open: </a>");
    CHECK(fault("<a>R&D</a>") == "not allowed in text: R&D");
    CHECK(fault("<a>") == "not closed: a");
    CHECK(fault("<a b=1/>") == "no tag: <a b=1/>");
    HeatMap map = kMap;
    map.rows = {"<sos> & \"x\"", "line\nbreak\x01"};
    map.columns = {"it's", "\xff"};
    const std::string file = svg("a < b", "c > d & e", {map});
    CHECK(fault(file) == "");
    CHECK(contains(file, "<title>a &lt; b</title>\n<desc>c &gt; d &amp; e</desc>"));
    CHECK(contains(file, ">&lt;sos&gt; &amp; \"x\"</text>"));
    CHECK(contains(file, ">line?break?</text>"));
    CHECK(contains(file, ">it's</text>"));
    CHECK(contains(file, ">\xef\xbf\xbd</text>"));
    CHECK(fault(svg("t", "d", {chart_of({{"a & b", {1, 2}}, {"ln V", {1.5}}})})) == "");
}

TEST_CASE("a small heat map, byte by byte", "[kit][figure]") {
    HeatMap map = kMap;
    map.cells = kit::Cells::both;
    const std::string file = svg("T", "D", {map});
    CHECK(file.substr(0, file.find("text{")) ==
          "<svg xmlns='http://www.w3.org/2000/svg' width='196.0' height='163.0' viewBox='0 0 196.0 163.0' "
          "role='img'>\n<title>T</title>\n<desc>D</desc>\n<style>\n");
    const std::string drawn = body(file);
    CHECK(drawn.substr(0, drawn.find("<path class='cell heat' fill-opacity='0.00' d='M136")) ==
          R"(<rect class='page' width='196.0' height='163.0'/>
<text x='16' y='28' class='title'>T</text>
<text x='52.0' y='51.0' class='mid'>c</text>
<text x='92.0' y='51.0' class='mid'>d</text>
<text x='24.0' y='81.0' class='end'>a</text>
<text x='24.0' y='121.0' class='end'>b</text>
<path class='empty' d='M32.0 57.0h79.0v79.0h-79.0z'/>
<path class='cell heat' fill-opacity='0.00' d='M32.0 57.0h39.0v39.0h-39.0z'/>
<path class='cell heat' fill-opacity='0.25' d='M72.0 57.0h39.0v39.0h-39.0z'/>
<path class='cell heat' fill-opacity='0.50' d='M32.0 97.0h39.0v39.0h-39.0z'/>
<path class='cell heat' fill-opacity='1.00' d='M72.0 97.0h39.0v39.0h-39.0z'/>
<text x='51.5' y='80.5' class='mid'>0.00</text>
<text x='91.5' y='80.5' class='mid'>0.25</text>
<text x='51.5' y='120.5' class='mid over'>0.50</text>
<text x='91.5' y='120.5' class='mid over'>1.00</text>
)");
    CHECK(drawn.substr(drawn.find("<text x='154")) == R"(<text x='154.0' y='142.0' class='soft'>0</text>
<text x='154.0' y='102.0' class='soft'>0.5</text>
<text x='154.0' y='62.0' class='soft'>1</text>
</svg>
)");
}

TEST_CASE("a small chart, byte by byte", "[kit][figure]") {
    const LineChart chart = {.x = {.name = "x", .ticks = {0, 4}},
                             .y = {.name = "y", .low = 0, .high = 2, .ticks = {1}},
                             .series = {{"s", {0, 2, NAN, 1, 9}, {0, 1, 2, 3, 4}}, {"l", {1}}}};
    CHECK(body(svg("T", "D", {chart})) == R"(<rect class='page' width='760.0' height='428.0'/>
<text x='16' y='28' class='title'>T</text>
<text x='16.0' y='52.0' class='soft'>y</text>
<path class='grid' d='M24.0 226.0h692.0'/>
<text x='16.0' y='230.0' class='soft end'>1</text>
<path class='axis' d='M24.0 376.0v4'/>
<text x='24.0' y='394.0' class='soft mid'>0</text>
<path class='axis' d='M716.0 376.0v4'/>
<text x='716.0' y='394.0' class='soft mid'>4</text>
<path class='axis' d='M24.0 376.0h692.0'/>
<path class='line s1' d='M24.0 376.0h0L197.0 76.0M543.0 226.0h0L716.0 76.0'/>
<path class='line dot s1' d='M24.0 376.0h0M197.0 76.0h0M543.0 226.0h0M716.0 76.0h0'/>
<path class='line s0' d='M24.0 226.0h0L716.0 226.0'/>
<path class='lead s1' d='M721.0 76.0L731.0 76.0'/>
<text x='735.0' y='80.0'>s</text>
<path class='lead s0' d='M721.0 226.0L731.0 226.0'/>
<text x='735.0' y='230.0'>l</text>
<text x='370.0' y='412.0' class='soft mid'>x</text>
</svg>
)");
}

TEST_CASE("numbers are rounded, without a sign for zero, and the same in every locale", "[kit][figure]") {
    CHECK(kit::number(12.34) == "12.3");
    CHECK(kit::number(-0.04) == "0.0");
    CHECK(kit::number(1.005, 2) == "1.00");  // which is less than 1.005 in binary
    CHECK(kit::number(2.5, 0) == "3");
    CHECK(ticks({}, {0, 20000}, 2) == Labels{"0", "10000", "20000"});
    CHECK(ticks({}, {0, 1e-5}, 1) == Labels{"0", "1e-05"});
    struct German : std::numpunct<char> {
        char do_decimal_point() const override { return ','; }
        char do_thousands_sep() const override { return '.'; }
        std::string do_grouping() const override { return "\1"; }
    };
    const LineChart chart = chart_of({{"s", {0.5, 1234.5, 20000}}});
    const std::string plain = svg("t", "d", {chart}), map = svg("t", "d", {kMap});
    const std::locale before = std::locale::global(std::locale(std::locale(), new German));
    const std::string german = svg("t", "d", {chart}), german_map = svg("t", "d", {kMap});
    std::locale::global(before);
    CHECK(german == plain);
    CHECK(german_map == map);
}

TEST_CASE("axes have round numbers", "[kit][figure]") {
    CHECK(ticks({}, {0, 100}, 6) == Labels{"0", "20", "40", "60", "80", "100"});
    CHECK(ticks({}, {1, 800}, 8) == Labels{"0", "100", "200", "300", "400", "500", "600", "700", "800"});
    CHECK(ticks({}, {-0.98, 0.97}, 5) == Labels{"-1", "-0.5", "0", "0.5", "1"});
    CHECK(ticks({}, {0.1, 0.3}, 5) == Labels{"0.1", "0.15", "0.2", "0.25", "0.3"});
    CHECK(ticks({}, {3, 3}, 5) == Labels{"3", "4", "5", "6"});
    CHECK(ticks({}, {3.2, NAN, 0.3, INFINITY}, 4) == Labels{"1", "2", "3"});  // 0 is too far away for an end
    CHECK(ticks({.low = 0, .high = 4}, {3.2}, 4) == Labels{"0", "1", "2", "3", "4"});
    CHECK(ticks({.log = true}, {0.01, 100}, 5) == Labels{"0.01", "0.1", "1", "10", "100"});
    // What rounding has moved by the last bit, log10 may move across a power of ten.
    CHECK(ticks({.log = true}, {1e-4, std::nextafter(1, 0)}, 2) == Labels{"0.0001", "0.01", "1"});
    CHECK(ticks({.log = true}, {std::nextafter(1, 2), 1e6}, 3) == Labels{"1", "100", "10000", "1e+06"});
    CHECK(ticks({.log = true}, {4, 512}, 8) == Labels{"5", "10", "20", "50", "100", "200", "500"});
    CHECK(ticks({.log = true}, {1e-9, 1}, 5) == Labels{"1e-09", "1e-07", "1e-05", "0.001", "0.1"});
    CHECK(ticks({.log = true}, {120, 190}, 4) == Labels{"120", "140", "160", "180"});
    CHECK(ticks({.log = true, .ticks = {4, 512}}, {4, 512}, 8) == Labels{"4", "512"});
    const Scale scale({chart_of({{"s", {1, 100}, {0, 0}}})}, false, 5),
        log({{.x = {}, .y = {.log = true}, .series = {{"s", {1, 100}}}}}, false, 5);
    CHECK(scale(50) == Approx(0.5));
    CHECK(scale(1e9) == 1);
    CHECK(log(10) == Approx(0.5));
    CHECK(std::isnan(log(0)));
    CHECK(std::isnan(scale(NAN)));
}

TEST_CASE("a line has gaps where it cannot be drawn", "[kit][figure]") {
    const auto lines = [](const figures::Series& series, bool log) {
        LineChart chart = chart_of({series});
        chart.y.log = log;
        const Labels found = all(svg("t", "d", {chart}), "<path class='line s1' d='([^']*)'");
        REQUIRE(found.size() == 1);
        return std::count(found[0].begin(), found[0].end(), 'M');
    };
    CHECK(lines({"s", {1, 2, 3, 4}}, false) == 1);
    CHECK(lines({"s", {1, NAN, 3, 4}}, false) == 2);
    CHECK(lines({"s", {1, 0, 3, INFINITY, 4}}, true) == 3);
    CHECK(lines({"s", {1, 2, 3}, {1, NAN, 3}}, false) == 2);
}

TEST_CASE("a long line has a point for each column of pixels", "[kit][figure]") {
    figures::Series series = {"s", {}};
    for (int i = 0; i < 10000; ++i)
        series.y.push_back(i % 2);
    const std::vector<LineChart> charts = {chart_of({series})};
    const std::vector<figures::Curve> curves =
        figures::curves_of(charts[0], Scale(charts, true, 5), Scale(charts, false, 5), 100, 80, 17);
    REQUIRE((curves.size() == 1 && curves[0].lines.size() == 1 && curves[0].lines[0].size() == 101));
    for (const figures::Point& point : curves[0].lines[0])
        CHECK(point.y == Approx(40).margin(2));  // the mean of 0 and 1
}

TEST_CASE("a level crosses the chart and has no place on the x axis", "[kit][figure]") {
    const std::string file = svg("t", "d", {chart_of({{"s", {0, 4}, {10, 20}}, {"ln V", {3}}})});
    const Labels level = all(file, "<path class='line s0' d='M([0-9. ]+)h0L[0-9. ]+'");
    const Labels line = all(file, "<path class='line s1' d='M([0-9.]+) [0-9. ]+h0L[0-9. ]+'");
    REQUIRE((level.size() == 1 && line.size() == 1));
    CHECK(level[0].substr(0, line[0].size()) == line[0]);
    CHECK_FALSE(contains(file, ">5</text>"));
}

TEST_CASE("names at the ends of lines do not overlap", "[kit][figure]") {
    const auto placed = [](const std::vector<double>& ends, double gap, double limit) {
        std::vector<figures::Curve> curves;
        for (const double y : ends)
            curves.push_back({.lines = {}, .end = {0, y}});
        figures::place_names(curves, gap, limit);
        std::vector<double> names;
        for (const figures::Curve& curve : curves)
            names.push_back(curve.name);
        return names;
    };
    CHECK(placed({10, 50, 90}, 17, 100) == std::vector<double>{10, 50, 90});
    CHECK(placed({50, 40, 45}, 17, 100) == std::vector<double>{74, 40, 57});
    CHECK(placed({100, 99, 98}, 10, 100) == std::vector<double>{100, 90, 80});
    CHECK(placed({}, 10, 100).empty());
}

TEST_CASE("small multiples share their axes and their key", "[kit][figure]") {
    std::vector<LineChart> panels;
    for (const char* title :
         {"first", "a title that takes two lines, it is so long", "third", "fourth", "fifth"}) {
        panels.push_back(chart_of({{"with", {3, 2, 1}}, {"without", {3, 3, 3}}}));
        panels.back().title = title;
    }
    panels[2].series[0].y = {NAN, NAN, NAN};
    panels[3].series[0].y = {3, 30, 90};
    const std::string file = svg("t", "d", panels, 3);
    CHECK(fault(file) == "");
    CHECK(all(file, ">(with|without)</text>").size() == 2);
    CHECK(all(file, ">(loss|step)</text>").size() == 2);
    CHECK(all(file, ">(50)</text>").size() == 2);           // one in each row
    CHECK(all(file, ">(2\\.5)</text>").size() == 3);        // below the last panel of each column
    CHECK(all(file, "class='bold'>([^<]*)<").size() == 6);  // titles, one on two lines
    const std::string heads = svg("t", "d", std::vector<HeatMap>(4, kMap), 2);
    CHECK(all(heads, ">(a)</text>").size() == 4);
    CHECK(all(heads, ">(0.5)</text>").size() == 1);
}

TEST_CASE("cells without a shade", "[kit][figure]") {
    HeatMap map = kMap;
    map.cells = kit::Cells::numbers;
    const std::string drawn = body(svg("t", "d", {map}));
    CHECK(all(drawn, "class='mid'>([0-9.]+)<") == Labels{"0.00", "0.25", "0.50", "1.00"});
    CHECK(all(drawn, "fill-opacity='([0-9.]+)' d='M[0-9. ]+h39").empty());
}

TEST_CASE("labels of a heat map are turned or left out where they would overlap", "[kit][figure]") {
    HeatMap map;
    for (int i = 0; i < 64; ++i) {
        map.columns.push_back(std::to_string(i));
        map.rows.push_back(std::to_string(i));
    }
    map.values.assign(64 * 64, 0.5);
    CHECK(all(svg("t", "d", {map}), "class='mid'>([0-9]+)<").size() == 13);  // every fifth
    map.columns = {"because", "tired"};
    map.values.assign(2 * 64, 0.5);
    CHECK(all(svg("t", "d", {map}), "<text [^>]*rotate\\(-45[^>]*>([a-z]+)<") == Labels{"because", "tired"});
}

TEST_CASE("colours of values", "[kit][figure]") {
    HeatMap map = kMap;
    map.values = {NAN, -5, 0.5, 7};
    Labels seen = all(svg("t", "d", {map}), "fill-opacity='([0-9.]+)' d='M[0-9. ]+h39");
    CHECK(seen == Labels{"0.00", "0.50", "1.00"});
    map.low = -1;
    seen = all(svg("t", "d", {map}), "fill='(rgb[^']+)' d='M[0-9. ]+h39");
    CHECK(seen == Labels{"rgb(0,34,78)", "rgb(189,178,88)", "rgb(254,232,56)"});
}

TEST_CASE("each class of a figure has a style, and each colour one for dark pages", "[kit][figure]") {
    HeatMap map = kMap;
    map.low = -1;
    map.cells = kit::Cells::both;
    map.values[0] = NAN;
    const LineChart chart = chart_of({{"1", {1, 2}},
                                      {"2", {2, 3}},
                                      {"3", {3, 4}},
                                      {"4", {4, 5}},
                                      {"5", {5, 6}},
                                      {"6", {6, 7}},
                                      {"7", {7, 8}},
                                      {"level", {4}}});
    const std::string file = svg("t", "d", {map}) + svg("t", "d", {kMap}) + svg("t", "d", {chart}) +
                             svg("t", "d", {chart, chart}, 2);
    const std::string style = file.substr(0, file.find("</style>"));
    const std::size_t dark = style.find("@media(prefers-color-scheme:dark)");
    REQUIRE(dark != std::string::npos);
    std::set<std::string> classes;
    for (const std::string& names : all(file, "class='([^']*)'")) {
        std::istringstream words(names);
        for (std::string word; words >> word;)
            classes.insert(word);
    }
    CHECK(classes.size() > 20);
    for (const std::string& name : classes) {
        INFO(name);
        const std::string light = style.substr(0, dark);
        CHECK_FALSE(all(light, "(\\." + name + ")[.,{]").empty());
        const bool coloured = !all(light, "[}\n](?:\\.[a-z0-9]+,)*\\." + name +
                                              "(?:,\\.[a-z]+)*\\{(?:[a-z0-9:-]+;)*(fill|stroke|color):#")
                                   .empty();
        if (coloured && name != "light" && name != "dark")
            CHECK_FALSE(all(style.substr(dark), "(\\." + name + ")[,{]").empty());
    }
}

TEST_CASE("what cannot be drawn is refused", "[kit][figure]") {
    CHECK_THROWS_WITH(svg("t", "d", std::vector<HeatMap>{}),
                      "[figure] a figure needs a panel: there is none");
    CHECK_THROWS_WITH(svg("t", "d", std::vector<LineChart>{}),
                      "[figure] a figure needs a panel: there is none");
    CHECK_THROWS_WITH(svg("t", "d", {chart_of({{"Adam", {}}})}),
                      "[figure] a series needs a y for each x: 'Adam' has 0 x and 0 y");
    CHECK_THROWS_WITH(svg("t", "d", {chart_of({{"Adam", {1, 2}, {1}}})}),
                      "[figure] a series needs a y for each x: 'Adam' has 1 x and 2 y");
    CHECK_THROWS_WITH(
        svg("t", "d", {chart_of({{"Adam", {NAN, NAN}}})}),
        "[figure] an axis needs values that it can show: 'loss' has none; give it a low and a high end");
    CHECK_THROWS_WITH(
        svg("t", "d",
            {LineChart{.x = {}, .y = {.name = "loss", .log = true, .low = 0}, .series = {{"Adam", {1, 2}}}}}),
        "[figure] a logarithmic axis begins above 0: 'loss' begins at 0");
    HeatMap map = kMap;
    map.low = 1;
    CHECK_THROWS_WITH(svg("t", "d", {map}),
                      "[figure] a heat map's low lies below its high: they are 1 and 1");
    map.low = 0;
    map.values.pop_back();
    map.title = "head 1";
    CHECK_THROWS_WITH(svg("t", "d", {map}),
                      "[figure] a heat map needs a value for each row and column: 'head 1' has 2 rows, 2 "
                      "columns and 3 values");
}

TEST_CASE("pictures side by side", "[kit][figure]") {
    CHECK(kit::beside({"ab\nc\n", "d\n", "e\nfg\nh\n"}, 80) == "ab   d    e\nc         fg\n          h\n");
    CHECK(kit::beside({"ab\nc\n", "d\n", "e\n"}, 7) == "ab   d\nc\ne\n\n");
    CHECK(kit::beside({"\033[38;5;33m—\033[0m\nabc\n", "d\ne\n"}, 80) ==
          "\033[38;5;33m—\033[0m     d\nabc   e\n");
    CHECK(kit::beside({"a\n\n", "b\n\n"}, 80) == "a   b\n\n");  // nothing but a line's end
    CHECK(kit::beside({}, 80).empty());
}

TEST_CASE("a scale of what is nearly nothing, and a tick that a logarithmic axis cannot show",
          "[kit][figure]") {
    const Scale tiny({chart_of({{"s", {0, 5e-324}, {}}})}, false, 5);
    CHECK_FALSE(tiny.ticks().empty());
    LineChart chart = chart_of({{"s", {1, 10}, {}}});
    chart.y = {.log = true, .ticks = {0, 1, 10}};
    const Scale log({chart}, false, 5);
    CHECK(log.ticks().size() == 2);
}
