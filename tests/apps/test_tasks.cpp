// tasks, run as a user runs it.
#include <algorithm>

#include "tests/apps/run.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

// The two sides of "  0 2 1  ->  0 1 2", for every line that contains `mark`, without spaces.
std::vector<std::pair<std::string, std::string>> examples(const Result& result, const std::string& mark) {
    std::vector<std::pair<std::string, std::string>> all;
    for (std::string line : lines_of(result.out))
        if (line.starts_with("  ") && contains(line, " " + mark + " ")) {
            std::erase(line, ' ');
            const std::size_t at = line.find(mark);
            all.emplace_back(line.substr(0, at), line.substr(at + mark.size()));
        }
    return all;
}

}  // namespace

TEST_CASE("tasks reaches the published figures", "[apps][tasks][slow]") {
    if (!fast_build())
        SKIP("a slow build takes too long");
    const Result r = must_run("tasks", {});
    INFO(r.out << r.err);
    check_says(r.out,
               {" harvardnlp  10000/10000 * ", " phlippe      10000/10000   ",  // as published: no star
                " karpathy    5000/5000   * "});
    CHECK((contains(r.out, " 999/1000    * ") || contains(r.out, " 1000/1000   * ")));
    CHECK_FALSE(contains(r.err, "too few right answers"));

    const auto shown = examples(r, "->");
    REQUIRE(shown.size() == 6);
    for (std::size_t i = 0; i < 6; ++i) {
        auto [question, answer] = shown[i];
        CAPTURE(question, answer);
        CHECK(question.size() == (i < 2 ? 10 : i < 4 ? 16 : 6));
        if (i / 2 == 1)
            std::reverse(question.begin(), question.end());
        if (i / 2 == 2)
            std::sort(question.begin(), question.end());
        CHECK(question == answer);
    }
    const auto sums = examples(r, "=");
    REQUIRE(sums.size() == 2);
    for (const auto& [terms, sum] : sums) {
        CAPTURE(terms, sum);
        REQUIRE((terms.size() == 5 && terms[2] == '+' && sum.size() == 3));
        CHECK(std::stoi(terms.substr(0, 2)) + std::stoi(terms.substr(3)) == std::stoi(sum));
    }
}

TEST_CASE("tasks trained too little ends with its table and status 1", "[apps][tasks]") {
    const Result r = run("tasks", {"--steps", "2"});
    CHECK(r.status == 1);
    CHECK(
        contains(r.err, "\ntasks: too few right answers: copy, reverse, sort, add; more --steps may help\n"));
    check_says(r.err, {"tasks copy: ", "tasks reverse: ", "tasks sort: ", "tasks add: "});
    // minGPT's adder has 400,128: we have four reserved ids more, in the embedding and in the output.
    check_says(r.out, {"\ncopy     encoder-decoder     119,694  no figure, harvardnlp  ", "/10000 ",
                       "\nreverse  encoder-only         10,574  100.00 %, phlippe      ", "/5000 ",
                       "\nsort     decoder-only         86,112  5000/5000, karpathy    ", "/1000 ",
                       "\nadd      decoder-only        401,152  999/1000, karpathy     ", "  (wrong)\n",
                       "\n* trained with our own recipe"});
}

TEST_CASE("tasks shows the published recipe beside its own", "[apps][tasks]") {
    const std::string published =
        "sort: 6 digits from 0 to 2, the smallest first\n"
        "  published  5000/5000, karpathy (github.com/karpathy/minGPT, demo.ipynb)\n"
        "             3 layers, 3 heads, 48 wide, dropout 0.1; 2000 steps of 64, rate 0.0005\n";
    const std::string here = "  here       3 layers, 3 heads, 48 wide, dropout 0.1; 2 steps of 64, rate ";
    const Place place;
    CHECK(place("tasks sort --steps 2").out.starts_with(published + here + "0.003\n"));
    CHECK(place("tasks sort --steps 2 --preset published").out.starts_with(published + here + "0.0005\n"));
}

TEST_CASE("tasks runs the tasks that are named, each once", "[apps][tasks]") {
    const Result r = run("tasks", {"sort", "--steps=2", "reverse", "sort"});
    CHECK(r.status == 1);
    CHECK(r.out.find("\nreverse  ") < r.out.find("\nsort  "));
    CHECK((count_of("\nsort  ", r.out) == 1 && count_of("/10000 ", r.out) == 1));
    CHECK(r.err.ends_with("\ntasks: too few right answers: reverse, sort; more --steps may help\n"));
}

TEST_CASE("tasks saves, checks and shows one task", "[apps][tasks][check][page]") {
    const Place here;
    CHECK(contains(here.must("tasks sort --check").out, "first loss"));
    CHECK(here("tasks sort --steps 4 --stop-after 2 --save run --report page.html")
              .err.ends_with("stopped after step 2; continue with --resume run\n"));
    CHECK(std::filesystem::exists(here / "page.html"));
    const Result rest = here("tasks --resume run");
    CHECK(rest.status == 1);  // it learned little
    CHECK((contains(rest.out, "\nsort  ") && !contains(rest.out, "\ncopy  ")));
    for (const std::string named : {"", "copy sort"})
        for (const std::string words : {" --save new", " --check", " --report page.html"})
            here.refuses({{"tasks " + named + words, 2, "--save, --check and --report need one TASK"}});
    CHECK_FALSE(std::filesystem::exists(here / "new"));
}
