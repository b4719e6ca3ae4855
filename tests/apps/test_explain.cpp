// explain, run as a user runs it; and what it has of the kit: matrices and pages.
#include <cmath>
#include <map>
#include <regex>

#include "apps/kit/picture.h"
#include "apps/kit/text.h"
#include "tests/apps/run.h"
#include "tests/apps/terminal.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

// All steps for 5 3 9.
const Result& whole() {
    static const Result r = must_run("explain", {});
    return r;
}

Words names() {
    std::string help = run("explain", {"--help"}).out;
    help.erase(0, help.find("Steps: ") + 7);
    help.erase(help.find('.'));
    std::erase(help, ',');
    return words_of(help);
}

// The pages of all steps; two empty lines are between them.
Words pages(std::string text) {
    Words all;
    for (std::size_t end; (end = text.find("\n\n\n")) != text.npos; text.erase(0, end + 3))
        all.push_back(text.substr(0, end + 1));
    all.push_back(text);
    return all;
}

}  // namespace

TEST_CASE("explain shows the numbers that every machine computes", "[apps][explain][bits]") {
    const Result r = must_run("explain", {"--step", "cross"});
    check_says(r.err, {" 614 parameters\n"});
    if (!fast_build())
        SKIP("in double precision they are others, and a slow build takes too long");
    CHECK(contains(content("nn/README.md"), "```text\n" + r.out + "```\n"));
    for (const char* isa : {"baseline", "avx2"}) {
        const Result other = run("explain", {}, {.env = {std::string("PLAINGRAD_ISA=") + isa}});
        CHECK((other.out == whole().out || contains(other.err, "this processor can run")));
    }
}

TEST_CASE("explain shows every step that its help names", "[apps][explain]") {
    const Words all = names(), shown = pages(whole().out);
    REQUIRE(all.size() >= 25);
    REQUIRE(shown.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Words lines = lines_of(shown[i]);
        CAPTURE(shown[i]);
        CHECK(lines[0].starts_with(std::to_string(i + 1) + "/" + std::to_string(all.size()) + "  "));
        CHECK(lines[0].ends_with("[" + all[i] + "]"));
        CHECK(lines.size() <= 23);  // with the line of keys, a terminal of 24
        for (const std::string& line : lines)
            CHECK(kit::columns(line) <= 80);
    }
    CHECK_FALSE(contains(whole().out, "\033"));
    CHECK(run("explain", {"--step", all[8]}).out == shown[8]);
    CHECK(run("explain", {"--step=backward"}).out ==
          shown[22] + "\n\n" + shown[23]);  // and backward-attention
}

TEST_CASE("what explain names as the source is there", "[apps][explain]") {
    int found = 0;
    for (const std::string& page : pages(whole().out)) {
        std::istringstream words(page.substr(0, page.find("\n\n")));
        for (std::string word; words >> word;) {
            const std::size_t colon = word.find(':');
            if (colon == std::string::npos || !contains(word.substr(0, colon), "/"))
                continue;
            const std::string name = word.substr(colon + 1);
            CAPTURE(word);
            CHECK(contains(content(word.substr(0, colon)), name.substr(0, name.find_last_not_of(',') + 1)));
            ++found;
        }
    }
    CHECK(found >= 30);
}

TEST_CASE("explain's gradient is the slope of the loss, and Adam's step lowers the loss", "[apps][explain]") {
    const std::string& out = whole().out;
    const double gradient = number_after(out, "backward     ");
    CHECK(std::abs(gradient) > 1e-3);
    CHECK(std::abs(number_after(out, "h = 0.01     ") / gradient - 1) < 0.02);
    CHECK(std::abs(number_after(out, "h = 0.001    ") / gradient - 1) < 0.02);
    CHECK(number_after(out, "loss after   ") < number_after(out, "loss before  "));
}

TEST_CASE("explain takes other digits and another seed", "[apps][explain]") {
    const Place here;
    const Result r = here.must("explain 7 7 0 --step model --seed 2");
    check_says(r.out, {"It reads 7 7 0 and writes ", "held out; 7 7 0 was one of these."});
    CHECK(r.out != here("explain 7 7 0 --step model").out);
}

namespace {

// The pages of other digits, by name.
std::map<std::string, std::string> pages_of(const std::string& arguments) {
    std::map<std::string, std::string> all;
    for (const std::string& page : pages(must_run("explain", words_of(arguments)).out)) {
        const std::string first = lines_of(page)[0];
        all[first.substr(first.rfind('[') + 1, first.rfind(']') - first.rfind('[') - 1)] = page;
        for (const std::string& line : lines_of(page))
            CHECK(kit::columns(line) <= 80);
    }
    return all;
}

// p of the right answer of the second row, as the page of the cross-attention says: "0.9889 as it is".
double p_of(const std::string& page, const std::string& words) {
    for (const std::string& line : lines_of(page))
        if (line.ends_with(words))
            return std::strtod(line.c_str(), nullptr);
    FAIL(words);
    return 0;
}

}  // namespace

TEST_CASE("what explain says follows from the numbers of each sentence", "[apps][explain]") {
    if (!fast_build())
        SKIP("a slow build takes too long");
    int rose = 0, falls = 0, looks = 0, mixes = 0;
    for (const std::string arguments :
         {"7 7 7", "0 9 0", "0 6 6 --seed 4", "5 5 4 --seed 3", "6 1 5 --seed 7"}) {
        CAPTURE(arguments);
        const auto all = pages_of(arguments);
        const std::string& page = all.at("cross-attention");
        const double whole = p_of(page, " as it is"),
                     unseen = p_of(page, " if this row cannot look at place 2");
        CHECK(std::abs(whole - std::stod(lines_of(all.at("loss")).at(5).substr(5))) < 0.006);
        looks += unseen < whole / 2;
        mixes += p_of(page, " if the encoder mixes place 2 into no other place") != whole;
        CHECK(std::regex_search(all.at("weight"), std::regex("q_proj.weight, row [0-9]+, column [0-9]+")));

        const std::string& after = all.at("after");
        CAPTURE(after);
        const double change = number_after(after, "loss after ") - number_after(after, "loss before ");
        CHECK(std::abs(number_after(after, "It changed by ") - change) < 1e-4);
        rose += change > 0;
        falls += number_after(after, "it would have changed by ") < 0 && change < 0;
    }
    CHECK((rose > 0 && falls > 0));
    CHECK((looks > 0 && looks < 5 && mixes > 0));  // what the row needs depends on the sentence
}

TEST_CASE("the arrow keys turn explain's pages, and the terminal is left as it was", "[apps][explain]") {
    NEEDS_TERMINAL();
    const std::string last = std::to_string(names().size());
    Terminal t("explain", {"--interactive"});
    REQUIRE(t.draws("1/" + last + "  "));
    CHECK(t.modes() != t.usual_modes());
    for (const auto& [keys, page] : {std::pair(kRight + kRight + kRight + kLeft, std::string("3")),
                                     {kEnd + kRight, last},
                                     {kHome + kLeft + " ", "2"},
                                     {"\n", "3"}}) {
        t.type(keys);
        CHECK(t.draws(page + "/" + last + "  "));
    }
    t.type("q");
    CHECK(t.status() == 0);
    CHECK(t.modes() == t.usual_modes());
    for (const int signal : {0, SIGTERM, SIGHUP, SIGINT, SIGQUIT}) {
        CAPTURE(signal);
        Terminal ended("explain", {"--interactive"});
        REQUIRE(ended.draws("1/" + last + "  "));
        signal == 0 ? ended.type("\x03") : ended.signal(signal);  // Ctrl-C
        CHECK(ended.status() == 128 + (signal == 0 ? SIGINT : signal));
        CHECK(ended.modes() == ended.usual_modes());
    }
}

TEST_CASE("explain's matrices have the colours that the terminal promises", "[apps][explain]") {
    NEEDS_TERMINAL();
    const auto shown = [](const Words& variables) {
        Terminal t("explain", {"--interactive", "--step", "attention"}, {}, variables);
        REQUIRE(t.draws("q quits"));
        return t.screen();
    };
    const std::string colours = "\033[48;2;", coloured = shown({"COLORTERM=truecolor", "NO_COLOR="});
    CHECK(contains(coloured, colours));
    CHECK_FALSE(contains(shown({"COLORTERM=truecolor", "NO_COLOR=1"}), colours));
}

TEST_CASE("a page is drawn anew after a resize or Ctrl-Z", "[apps][explain]") {
    NEEDS_TERMINAL();
    Terminal t("explain", {"--interactive"});
    t.type(kRight);
    REQUIRE(t.draws("2/"));
    t.resize({30, 120});
    CHECK(t.draws("2/"));
    CHECK_FALSE(contains(t.screen(), "1/"));
    t.type("q");
    CHECK(t.status() == 0);

    // Ctrl-Z, and what a shell then does.
    Terminal shell("/bin/sh",
                   {"-c", "set -m; '" + apps() + "/explain' --interactive; echo asleep; read x; fg"});
    REQUIRE(shell.draws("1/"));
    shell.type("\x1a");
    CHECK(shell.says("asleep"));
    CHECK(shell.modes() == shell.usual_modes());
    shell.type("\n");
    CHECK(shell.says("q quits"));
    CHECK(shell.modes() != shell.usual_modes());
    shell.type("q");
    CHECK(shell.status() == 0);
    CHECK(shell.modes() == shell.usual_modes());
}

TEST_CASE("a terminal that is resized while it is slow gets all of the page", "[apps][explain]") {
    NEEDS_TERMINAL();
    Terminal t("explain", {"--interactive"});
    REQUIRE(t.draws("1/"));
    std::string keys;
    for (int i = 0; i < 100; ++i)
        keys += kRight + kLeft;
    // More pages than the terminal holds while nobody reads them: so the program waits to write.
    t.type(keys);
    for (unsigned short i = 0; i < 40; ++i) {
        usleep(5000);
        t.resize({24, static_cast<unsigned short>(80 + i)});
    }
    t.type("q");
    CHECK(t.status() == 0);
}

TEST_CASE("matrices are aligned, and their numbers have as many decimals as they need", "[apps][kit]") {
    for (const auto& [number, digits, text] : {std::tuple(1.2345, 2, "1.23"),
                                               {-0.0012345, 2, "-0.0012"},
                                               {-3.0, 2, "-3"},
                                               {0.5, 2, "0.50"},
                                               {0.1, 2, "0.10"},
                                               {0.0995, 2, "0.100"},
                                               {0.0095, 2, "0.0095"},
                                               {-0.00095, 1, "-0.0010"},
                                               {3.0, 2, "3"}})
        CHECK(kit::rounded(number, digits) == text);
    kit::HeatMap map = {.title = "two",
                        .rows = {"a", "<sos>"},
                        .columns = {"x", "longer"},
                        .values = {0.5, -12.3456, 0, -3e38},
                        .cells = kit::Cells::numbers};
    CHECK(kit::draw(map, kit::Ink::blocks) ==
          "      two\n"
          "           x longer\n"
          "    a   0.50 -12.35\n"
          "<sos>      0     -∞\n");
    map.columns = {"x", "a long label"};
    CHECK(kit::draw(map, kit::Ink::blocks) ==
          "      two\n"
          "                 x a long label\n"
          "    a         0.50       -12.35\n"
          "<sos>            0           -∞\n");
    map = {
        .title = "w", .rows = {"a"}, .columns = {"b", "c"}, .values = {1, 0.001}, .cells = kit::Cells::both};
    CHECK(kit::draw(map, kit::Ink::blocks) ==
          "  w\n"
          "      b      c\n"
          "a  1.00█  0.00·\n");
    CHECK(contains(kit::draw(map, kit::Ink::greys), "\033[48;5;255;38;5;232m  1.00 \033[0m"));
}
