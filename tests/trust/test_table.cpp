// The table of `make trust`: what is not as asked must be reported, and every row of figures.txt must have an
// instrument.
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include "autograd/base/check.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/trust/table.h"

using namespace plaingrad;  // NOLINT
using namespace trust;      // NOLINT
using autograd::join;
using tests::contains;

namespace {

std::vector<Asked> asked(const std::string& text) {
    std::istringstream in(text);
    return read_asked(in, "figures.txt");
}
std::vector<Result> results(const std::string& text) {
    std::istringstream in(text);
    return read_results(in, "results.txt");
}
std::string complaint(const std::function<void()>& f) {
    try {
        f();
    } catch (const autograd::Error& error) {
        return error.what();
    }
    return "";
}

const std::string kAsked =
    "# a comment\n\n"
    "matmul.cases | products | > 10 / 100 / 1000 | Netlib 27,783\n"
    "matmul.wrong | differences | = 0 | \n"
    "math.exp | exp, ulp | < 2 | JAX 1.5\n";
const std::string kResults =
    "instrument matmul\ndate 2026-11-24\ncompiler g++ 12\nprocessor Zen 5\nseed 7\n"
    "some words\nfigure matmul.cases 100\nfigure matmul.wrong 0 none\nended 12\n"
    "instrument math\nfigure math.exp 1.25\nended 3\n";

int64_t missed(const std::string& what, const std::string& measured, Scale scale = Scale::sample) {
    return missed(judge(asked(what), results(measured), scale));
}
using Print = void(std::ostream& out, const std::vector<Row>& rows, const std::vector<Result>& results);
std::string printed(Print* print, const std::string& what, const std::string& measured, Scale scale) {
    std::ostringstream out;
    print(out, judge(asked(what), results(measured), scale), results(measured));
    return out.str();
}

}  // namespace

TEST_CASE("trust: the table says what is as asked, and what is not", "[trust]") {
    CHECK(missed(kAsked, kResults) == 0);
    CHECK(missed(kAsked, kResults, Scale::quick) == 0);
    CHECK(missed(kAsked, kResults, Scale::full) == 1);
    CHECK(missed(kAsked, "") == 3);
    const auto with = [](std::string text, const std::string& from, const std::string& to) {
        return text.replace(text.find(from), from.size(), to);
    };
    CHECK(missed(kAsked, with(kResults, "matmul.wrong 0", "matmul.wrong 1")) == 1);
    CHECK(missed(kAsked, with(kResults, "matmul.wrong 0", "matmul.wrong nan")) == 1);
    CHECK(missed(kAsked, with(kResults, "math.exp 1.25", "math.exp nan")) == 1);
    CHECK(missed(kAsked, with(kResults, "math.exp 1.25", "math.exp 2.01")) == 1);
    CHECK(missed(kAsked, with(kResults, "figure matmul.wrong 0 none\n", "")) == 1);
    // One that crashed has printed its figures, and is not believed.
    CHECK(missed(kAsked, with(kResults, "ended 12\n", "")) == 2);
    // The last block of an instrument counts.
    CHECK(missed(kAsked, kResults + "instrument math\nfigure math.exp 3\nended 1\n") == 1);
}

TEST_CASE("trust: both forms of the table", "[trust]") {
    const std::string text = printed(print_text, kAsked, kResults, Scale::full);
    CHECK(contains(text, "\nmatmul\n  (matmul: 2026-11-24, g++ 12, Zen 5, seed 7, 12 s)\n"));
    CHECK(contains(text, "  NOT   products: 100 (asked: at least 1,000; peers: Netlib 27,783)\n"));
    CHECK(contains(text, "  ok    differences: 0 (asked: 0)\n"));
    CHECK(contains(text, "\n2 of 3 figures are as asked, 1 not\n"));
    const std::string markdown = printed(print_markdown, kAsked, kResults, Scale::full);
    CHECK(contains(markdown, "**2 of 3 figures are as asked, 1 not**\n"));
    CHECK(contains(markdown,
                   "|\n| **matmul** | | | |\n| products | at least 1,000 | 100 ✗ | Netlib 27,783 |\n"));
    CHECK(contains(markdown, "| exp, ulp | at most 2 | 1.25 | JAX 1.5 |\n"));
    CHECK(contains(markdown, "\n- 2026-11-24, g++ 12, Zen 5, seed 7: matmul\n"));
}

TEST_CASE("trust: the page gets the table between its two lines", "[trust]") {
    const std::string page = "a\n<!-- trust -->\nold\n<!-- end -->\nb\n<!-- end -->\n";
    CHECK(with_table(page, "new\n") == "a\n<!-- trust -->\nnew\n<!-- end -->\nb\n<!-- end -->\n");
    CHECK(contains(complaint([] { with_table("a\n<!-- end -->\n", "new\n"); }), "has no lines '<!-- trust"));
}

TEST_CASE("trust: a figure that is not for a scale has no row there", "[trust]") {
    const std::string lines =
        "matmul.cases | products | > 10 | \n"
        "matmul.slow | more products | > - / 100 / 1000 | \n"
        "coverage.lines | lines, % | > - / - / 97 | \n";
    const std::string measured = "instrument matmul\nfigure matmul.cases 10\nended 1\n";
    CHECK(missed(lines, measured, Scale::quick) == 0);
    CHECK(missed(lines, measured, Scale::sample) == 1);
    CHECK(missed(lines, measured, Scale::full) == 2);
    CHECK(instruments(asked(lines), Scale::sample) == std::set<std::string>{"matmul"});
    CHECK(instruments(asked(lines), Scale::full) == std::set<std::string>{"coverage", "matmul"});
    const std::string text = printed(print_text, lines, measured, Scale::quick);
    CHECK(!contains(text, "more products"));
    CHECK(contains(text, "\n1 of 1 figures are as asked\n"));
}

TEST_CASE("trust: what this machine has no tool for is skipped, and said", "[trust]") {
    const std::string lines =
        "tools.tidy | units | > 10 | \ntools.tidy_findings | its findings | = 0 | \n"
        "tools.headers | headers | > 3 | \n";
    const std::string measured =
        "instrument tools\nskipped tools.tidy there is no clang-tidy\nfigure tools.headers 4\n";
    CHECK(missed(lines, measured + "ended 1\n") == 0);
    CHECK(missed(lines, measured) == 3);  // it crashed
    CHECK(missed(lines, "instrument tools\nskipped tools.tidy_ no\nfigure tools.headers 4\nended 1\n") == 1);
    CHECK(missed(lines, measured + "figure tools.tidy 9\nended 1\n") == 1);
    const std::string text = printed(print_text, lines, measured + "ended 1\n", Scale::sample);
    CHECK(contains(text, "  skip  units: - (asked: at least 10)  there is no clang-tidy\n"));
    CHECK(contains(text, "\n1 of 3 figures are as asked, 2 skipped\n"));
    const std::string page = printed(print_markdown, lines, measured + "ended 1\n", Scale::sample);
    CHECK(contains(page, "| units | at least 10 | - (skipped) |  |\n"));
}

TEST_CASE("trust: the table of some instruments", "[trust]") {
    const std::vector<Result> measured = results(kResults);
    const std::vector<Row> all = judge(asked(kAsked), measured, Scale::sample);
    CHECK(of_instruments(all, {}, measured).size() == 3);
    CHECK(of_instruments(all, {"matmul"}, measured).size() == 2);
    CHECK(of_instruments(all, {"math", "matmul"}, measured).size() == 3);
    CHECK(of_instruments(all, {"mat"}, measured).empty());
}

TEST_CASE("trust: parts of an instrument, which were measured one by one, are one result", "[trust]") {
    const std::string lines =
        "fuzz.json | JSON texts | > 10 | \nfuzz.bleu | BLEU | > 10 | \nfuzz.crashes | crashes | = 0 | \n";
    const std::string json =
        "instrument fuzz.json\ndate 2026-11-24\nfigure fuzz.json 10\n"
        "figure fuzz.crashes 0\nended 12\n";
    const std::string bleu = "instrument fuzz.bleu\ndate 2026-11-25\nfigure fuzz.bleu 11\n";
    CHECK(missed(lines, json) == 1);
    CHECK(
        contains(printed(print_text, lines, json, Scale::sample), "  part  crashes: 0 so far (asked: 0)\n"));
    CHECK(contains(printed(print_text, lines, json + "figure fuzz.crashes 2\n", Scale::sample),
                   "  NOT   crashes: 2 ("));
    CHECK(missed(lines, json + bleu + "figure fuzz.crashes 0\nended 1\n") == 0);
    CHECK(missed(lines, json + bleu + "figure fuzz.crashes 1 a\nended 1\n") == 1);
    CHECK(missed(lines, json + bleu + "figure fuzz.crashes 0\n") == 3);  // one has not ended
    const std::vector<Result> measured = results(json);
    CHECK(of_instruments(judge(asked(lines), measured, Scale::sample), {"fuzz.json"}, measured).size() == 2);
    const std::string text = printed(print_text, lines, json + bleu, Scale::sample);
    CHECK(contains(text, "\nfuzz\n  (fuzz.json: 2026-11-24, "));
    CHECK(contains(text, "\n  (fuzz.bleu: 2026-11-25, "));
    const std::string page = printed(print_markdown, lines, json, Scale::sample);
    CHECK(page.starts_with("**1 of 3 figures are as asked, 1 measured in part, 1 not measured**\n"));
    CHECK(!contains(page, "| BLEU |"));
    CHECK(contains(page, "| crashes | 0 | 0 so far |  |\n"));
    // Of what a part alone counts, nothing is left to be measured.
    const std::string tools =
        "tools.tidy_units | units | > 1 | \ntools.tidy_findings | findings | = 0 | \ntools.headers | headers "
        "| > 1 | \n";
    CHECK(contains(
        printed(print_text, tools,
                "instrument tools.tidy\nfigure tools.tidy_units 2\nfigure tools.tidy_findings 0\nended 1\n",
                Scale::sample),
        "  ok    findings: 0 (asked: 0)\n"));
    CHECK(contains(page, "\nNot measured at this length yet, or not all of it: fuzz.\n"));
    CHECK(!contains(printed(print_markdown, lines, json + bleu + "ended 1\n", Scale::sample), "yet"));
}

TEST_CASE("trust: what has no row, as it failed before or does not exist, is not as asked", "[trust]") {
    const std::vector<Asked> lines =
        asked("fuzz.json | JSON texts | > 10 | \nbits.ways | ways | > - / 1 / 1 | \n");
    const std::vector<Result> measured = results(
        "instrument fuzz.json\nfigure fuzz.json 10\nended 12\ninstrument fuzz.bleu\ninstrument "
        "fuzz.text\nended 1\n");
    using Names = std::vector<std::string>;
    CHECK(unfinished(lines, {"fuzz.json", "fuzz.text"}, measured, Scale::quick).empty());
    CHECK(unfinished(lines, {"fuzz.json", "fuzz.bleu", "fuzz.jsn"}, measured, Scale::quick) ==
          Names{"fuzz.bleu", "fuzz.jsn"});
    CHECK(unfinished(lines, {"bits"}, measured, Scale::quick).empty());  // nothing is asked of it
    CHECK(unfinished(lines, {"bits"}, measured, Scale::sample) == Names{"bits"});
}

TEST_CASE("trust: of an error, the largest of all parts counts", "[trust]") {
    const std::string lines = "math.n | numbers | > 5 | \nmath.bounds | error | < 1 | \n";
    const auto parts = [](const std::string& one, const std::string& two) {
        const std::string begin = "instrument math.", end = "\nended 1\n";
        return begin + "exp\nfigure math.n 2\nfigure math.bounds " + one + end + begin +
               "log\nfigure math.n 3\nfigure math.bounds " + two + end;
    };
    CHECK(missed(lines, parts("0.6", "0.7")) == 0);
    CHECK(missed(lines, parts("0.7", "1.2")) == 1);
    CHECK(missed(lines, parts("1.2", "0.7")) == 1);
    CHECK(missed(lines, parts("nan", "0.7")) == 1);
    CHECK(missed(lines, parts("0.7", "nan")) == 1);
    CHECK(contains(printed(print_text, lines, parts("0.75", "0.5"), Scale::sample), " 0.75 "));
}

TEST_CASE("trust: of a percentage, the worst of all parts counts", "[trust]") {
    const std::string lines =
        "mutants.killed | killed | >% 92 | \nmutants.equivalent | equivalent | <% 20 | \n";
    const auto parts = [](const std::string& killed, const std::string& equivalent) {
        return "instrument mutants.1of2\nfigure mutants.killed 95\nfigure mutants.equivalent 12\nended 1\n"
               "instrument mutants.2of2\nfigure mutants.killed " +
               killed + "\nfigure mutants.equivalent " + equivalent + "\nended 1\n";
    };
    CHECK(missed(lines, parts("92", "20")) == 0);
    CHECK(missed(lines, parts("91", "12")) == 1);
    CHECK(missed(lines, parts("95", "21")) == 1);
    CHECK(missed(lines, parts("nan", "nan")) == 2);
    const std::string text = printed(print_text, lines, parts("93.5", "11"), Scale::sample);
    CHECK(contains(text, "killed: 93.5 % (asked: at least 92 %)"));
    CHECK(contains(text, "equivalent: 12 % (asked: at most 20 %)"));
}

TEST_CASE("trust: what one of several parts has measured is not all", "[trust]") {
    const std::string lines =
        "mutants.tried | tried | > 1500 | \nmutants.killed | killed | >% 92 | \n"
        "mutants.unanswered | unanswered | = 0 | \nmutants.of | own | > 3 | \n";
    const auto share = [](const std::string& name, const std::string& more) {
        return "instrument mutants." + name + "\nfigure mutants.tried 800\nfigure mutants.killed 95\n" + more;
    };
    const std::string good = "figure mutants.unanswered 0\nfigure mutants.of 3\nended 1\n",
                      one = share("1of2", good), both = one + share("2of2", good);
    CHECK(contains(printed(print_text, lines, one, Scale::sample),
                   "\n1 of 4 figures are as asked, 3 measured in part\n"));
    CHECK(contains(printed(print_text, lines, one, Scale::sample), "  part  tried: 800 so far"));
    CHECK(contains(printed(print_text, lines, both, Scale::sample), "\n4 of 4 figures are as asked\n"));
    CHECK(missed(lines, share("1of2", "figure mutants.unanswered 1\nfigure mutants.of 3\nended 1\n")) == 1);
    CHECK(missed(lines, share("1of2", "figure mutants.unanswered 0\nfigure mutants.of 3\n")) ==
          4);  // it failed
    CHECK(missed(lines, share("of", "figure mutants.unanswered 0\nfigure mutants.of 2\nended 1\n")) ==
          1);  // its own
}

TEST_CASE("trust: a count that only one part has, or all shares together, can fall short", "[trust]") {
    const std::string lines =
        "crashes.pairs | pairs | > 10 | \ncrashes.kills | kills | > 5 | \n"
        "crashes.corrupt | corrupt | = 0 | \nmutants.tried | tried | > 1500 | \n";
    const auto block = [](const std::string& name, const std::string& figure) {
        return "instrument " + name + "\nfigure " + figure + "\nfigure crashes.corrupt 0\nended 1\n";
    };
    const std::string pairs = block("crashes.two_processes", "crashes.pairs 9"),
                      kills = block("crashes.kills", "crashes.kills 5"),
                      first = block("mutants.1of2", "mutants.tried 700"),
                      second = block("mutants.2of2", "mutants.tried 700");
    CHECK(contains(printed(print_text, lines, pairs, Scale::sample), "  part  pairs: 9 so far"));
    CHECK(contains(printed(print_text, lines, pairs + kills, Scale::sample), "  NOT   pairs: 9 "));
    CHECK(contains(printed(print_text, lines, first, Scale::sample), "  part  tried: 700 so far"));
    CHECK(contains(printed(print_text, lines, first + second, Scale::sample), "  NOT   tried: 1,400 "));
    CHECK(missed(lines, pairs + kills + first + second) == 2);
    // A share of two and another part are two blocks, and not both shares.
    const std::string crashed = "\nfigure fuzz.crashes 0\nended 1\n",
                      half = "instrument fuzz.graph.1of2\nfigure fuzz.graph 5" + crashed,
                      other = "instrument fuzz.json\nfigure fuzz.json 5" + crashed;
    const std::string of_fuzz = "fuzz.graph | graphs | > 10 | \nfuzz.crashes | crashes | = 0 | \n";
    CHECK(contains(printed(print_text, of_fuzz, half + other, Scale::sample), "  part  crashes: 0 so far"));
    // But nothing is no part of what was asked for.
    const std::string none = "instrument fuzz.graph.1of2\nfigure fuzz.graph 0" + crashed;
    CHECK(contains(printed(print_text, of_fuzz, none + other, Scale::sample), "  NOT   graphs: 0 "));
}

TEST_CASE("trust: wrong lines are refused with their number", "[trust]") {
    CHECK(contains(complaint([] { asked("\na | b | > 1\n"); }), "figures.txt:2: expected 'name |"));
    CHECK(contains(complaint([] { asked("a | b | 1 | c\n"); }), "figures.txt:1: expected >, < or ="));
    CHECK(contains(complaint([] { asked("a | b | > one | c\n"); }), "expected a number, got 'one'"));
    CHECK(contains(complaint([] { asked("a | b | > 1 / 2 | c\n"); }), "one for each of quick"));
    CHECK(contains(complaint([] { asked("a | b | = 0 | \na | b | = 0 | \n"); }), "'a' is there twice"));
    CHECK(contains(complaint([] { results("instrument a\nfigure a.b\n"); }),
                   "results.txt:2: expected a number"));
    CHECK(contains(complaint([] { results("instrument a\nskipped a.b\n"); }), "results.txt:2: expected how"));
}

TEST_CASE("trust: what is measured again takes the place of what it was, and of nothing else", "[trust]") {
    const tests::Folder folder;
    folder.write("print_table", "#!/bin/sh\n[ $# -gt 1 ] || echo drawn\necho \"$3\" >>${0%/*}/pages\n");
    folder.write("drawn",
                 "#!/bin/sh\n"
                 "case $TRUST_PART in none) echo there is no part of this name && exit 2 ;; dies) exit 139 "
                 ";; fails) exit 2 ;; esac\n"
                 "echo left behind >$TMPDIR/left && echo $TMPDIR >${0%/*}/own\n"
                 "echo words\necho figure drawn.$TRUST_PART 1\n");
    folder.write("other", "");
    for (const char* program : {"print_table", "drawn", "other"})
        std::filesystem::permissions(folder / program, std::filesystem::perms::owner_all);
    const auto blocks_after = [&](const std::string& measured, const std::string& jobs = "1",
                                  const std::string& seed = "1") {
        const std::string command = "JOBS=" + jobs + " sh tests/trust/trust.sh '" + folder.path + "' '" +
                                    (folder / "results") + "' long '" + seed + "' g++ " + measured + " > '" +
                                    (folder / "said") + "'";
        const int status = std::system(command.c_str());
        if (status != 0)
            return join("status ", WEXITSTATUS(status));
        std::istringstream lines(tests::content(folder / "results"));
        std::string blocks;
        for (std::string word, name; lines >> word;)
            if (word == "instrument" && lines >> name)
                blocks += (blocks.empty() ? "" : " ") + name;
        return blocks;
    };
    CHECK(blocks_after("drawn.a drawn.b.1of2 drawn.b.2of2") == "drawn.a drawn.b.1of2 drawn.b.2of2");
    // First no page, then one after each of the three, and at the end.
    const std::string page = "tests/trust/README.md\n";
    CHECK(tests::content(folder / "pages") == "\n" + page + page + page + page);
    CHECK(blocks_after("drawn.b.1of2 other.a") == "drawn.a drawn.b.2of2 drawn.b.1of2");
    CHECK(blocks_after("drawn.b.1of3") == "drawn.a drawn.b.1of3");  // halves and thirds would be added up
    CHECK(blocks_after("drawn.b.2of3 drawn.b2.1of2") == "drawn.a drawn.b.1of3 drawn.b.2of3 drawn.b2.1of2");
    CHECK(blocks_after("drawn.b") == "drawn.a drawn.b2.1of2 drawn.b");
    const std::string many = blocks_after("drawn.c drawn.d drawn.e drawn.f drawn.g", "3");  // three at a time
    CHECK(std::count(many.begin(), many.end(), ' ') + 1 == 3 + 5);
    CHECK(blocks_after("drawn") == "drawn");
    CHECK(blocks_after("drawn.a") == "drawn.a");
    CHECK(blocks_after("drawn.a nobody") == "status 2");
    for (const char* no_seed : {"x", "-1", "", "1.5", "0", "1234567890"})
        CHECK(blocks_after("drawn.a", "1", no_seed) == "status 2");
    CHECK(blocks_after("drawn.b.3of2") == "status 2");
    CHECK(blocks_after("drawn.b.0of2") == "status 2");
    CHECK(blocks_after("bits.nobody") == "status 2");  // a script without parts
    CHECK(blocks_after("drawn.none") == "status 1");
    CHECK(!contains(tests::content(folder / "results"), "drawn.none"));
    // So many seconds no run of this test takes. (One second it may take.)
    folder.write("results", tests::content(folder / "results") + "instrument drawn.dies\nended 98765\n");
    CHECK(blocks_after("drawn.dies") == "drawn.a drawn.dies");  // in place of one that had ended
    CHECK(!contains(tests::content(folder / "results"), "ended 98765\n"));
    // As a shell or an awk that has failed: only the words say that there is no such part.
    folder.write("results", tests::content(folder / "results") + "instrument drawn.fails\nended 98765\n");
    CHECK(blocks_after("drawn.fails") == "drawn.a drawn.dies drawn.fails");
    CHECK(!contains(tests::content(folder / "results"), "ended 98765\n"));
    CHECK(contains(tests::content(folder / "results"), "seed 1\n"));
    const bool has_commits =
        std::system("git rev-parse HEAD >/dev/null 2>&1") == 0;  // git is there, and trusts us
    CHECK(contains(tests::content(folder / "results"), "\nsources ") == has_commits);
    std::string own = tests::content(folder / "own");  // what a part leaves behind is removed
    own.pop_back();
    CHECK(!std::filesystem::exists(own));
    CHECK(contains(tests::content(folder / "results"), "figure drawn.a 1\nended "));
}

TEST_CASE("trust: tests/trust/README.md shows the table of the long figures that are kept", "[trust]") {
    std::ifstream figures("tests/trust/figures.txt"), kept("tests/trust/long.txt");
    REQUIRE(figures.is_open());
    std::ostringstream table;  // nothing, if none are kept
    if (kept.is_open()) {
        const std::vector<Result> measured = read_results(kept, "tests/trust/long.txt");
        const auto asked = read_asked(figures, "tests/trust/figures.txt");
        print_markdown(table, judge(asked, measured, Scale::full), measured);
    }
    const std::string page = tests::content("tests/trust/README.md");
    INFO("make trust TRUST=long writes both; the page alone: print_table long tests/trust/long.txt PAGE");
    CHECK(with_table(page, table.str()) == page);
}

TEST_CASE("trust: each row of the table has its instrument, and each instrument a row", "[trust]") {
    std::ifstream in("tests/trust/figures.txt");
    REQUIRE(in.is_open());
    std::set<std::string> measured;
    for (const Asked& a : read_asked(in, "tests/trust/figures.txt"))
        measured.insert(a.name.substr(0, a.name.find('.')));
    std::set<std::string> instruments;
    for (const auto& file : std::filesystem::directory_iterator("tests/trust")) {
        const std::string name = file.path().stem();
        const bool is_instrument = file.path().extension() == ".sh" || file.path().extension() == ".cpp";
        if (is_instrument && !name.starts_with("test_") && name != "trust" && name != "print_table" &&
            name != "table" && name != "instrument")
            instruments.insert(name);
    }
    CHECK(measured == instruments);
}
