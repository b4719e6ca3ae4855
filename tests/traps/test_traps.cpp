// The patches of this folder still apply to the sources and say what they are to say, and the page and its
// figures are what comes of them.
#include "tests/catch.h"
#include "tests/chapters/chapter.h"
#include "tests/traps/museum.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT

namespace {

const std::string kFolder = "tests/traps/";

// How often `part` stands in `text`.
int count(const std::string& text, const std::string& part) {
    int n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++n;
    return n;
}

std::string printed(const chapters::Computed& all, const std::string& section) {
    std::ostringstream out;
    for (const chapters::Section& s : all.sections)
        if (s.name == section)
            s.print(out);
    return out.str();
}

}  // namespace

TEST_CASE("traps: every patch applies, in one place", "[traps]") {
    const std::vector<Trap> all = traps();
    CHECK(all.size() >= 55);
    const bool has_patch = std::system("patch --version >/dev/null 2>&1") == 0;
    for (const Trap& trap : all) {
        INFO(trap.name);
        CHECK(!trap.hunks.empty());
        for (const Hunk& hunk : trap.hunks) {
            INFO(hunk.file << hunk.before);
            CHECK(hunk.changes);
            CHECK(count('\n' + content(hunk.file), hunk.before) == 1);
        }
        // As run.sh applies it: a hunk with less context behind than before would have to end its file.
        const std::string patch = "patch -s -p1 -F0 --dry-run <" + kFolder + trap.name + ".patch";
        CHECK((!has_patch || std::system((patch + " >/dev/null 2>&1").c_str()) == 0));
    }
}

TEST_CASE("traps: every patch says what it is, and names a test that there is", "[traps]") {
    for (const Trap& trap : traps()) {
        INFO(trap.name);
        for (const char* field : {"Title", "Part", "Mistake", "Symptom", "Caught-by", "Sources"}) {
            INFO(field);
            CHECK(trap.field(field).size() >= 4);
        }
        CHECK_NOTHROW(file_of_test(trap.field("Caught-by")));
    }
}

TEST_CASE("traps: the page and its figures are what the patches and the curves make", "[traps]") {
    const chapters::Computed all = museum(traps(), content(kFolder + "curves.csv"));
    const std::string page = content(kFolder + "README.md");
    // In parentheses, or both would be printed; make chapters-quick CHAPTER=tests/traps/README.md renews it.
    CHECK((chapters::fill(kFolder + "README.md", all, {chapters::Effort::quick}).text == page));
    for (const chapters::Figure& figure : all.figures) {
        INFO(figure.file);
        CHECK((figure.draw() == content(figure.file)));
    }
    for (const Trap& trap : traps()) {
        INFO(trap.name);
        CHECK(count(page, "](" + trap.name + ".patch)") == 1);
        CHECK(count(page, "](figures/" + trap.name + ".svg)") == (trap.is_exhibit() ? 1 : 0));
    }
}

TEST_CASE("traps: the page is made of heads, hunks and curves", "[traps]") {
    const Trap no_end = {"no_end",
                         {{"Title", "no end"},
                          {"Mistake", "It goes on."},
                          {"Symptom", "Nothing."},
                          {"Lesson", "It must stop."},
                          {"Caught-by", "traps: every patch applies, in one place"},
                          {"Sources", "a/b#1, PR #2, c/d.e PR #3, #4 (a remark), f/g (its loop)"}},
                         {{"code.cpp", "", "-stop();\n+go_on();\n", true}}};
    const std::string healthy = "run,score,20,40\nhealthy,2000/2000,3.0,2.0\n";
    const std::string text = printed(museum({no_end}, healthy + "no_end,7/2000,3.0,2.0\n"), "traps.no_end");
    CHECK(
        text.starts_with("### No end\n\nIt goes on.\n\n```diff\n@@ code.cpp @@\n-stop();\n+go_on();\n```\n"));
    CHECK(contains(text, "\n**What you see: 7 of 2000 right.** Nothing.\n"));
    std::string line = text;
    std::replace(line.begin(), line.end(), '\n', ' ');
    CHECK(contains(line,
                   "[`traps: every patch applies, in one place`](../traps/test_traps.cpp). It must stop. "));
    for (const char* link :
         {"[a/b#1](https://github.com/a/b/issues/1), ", "[a/b#2](https://github.com/a/b/pull/2), ",
          "[c/d.e#3](https://github.com/c/d.e/pull/3), ",
          "[c/d.e#4](https://github.com/c/d.e/issues/4) (a remark), ",
          "[f/g](https://github.com/f/g) (its loop) ([patch](no_end.patch))."}) {
        INFO(link);
        CHECK(contains(line, link));
    }

    const auto figure = [&](const std::string& csv) { return museum({no_end}, csv).figures.at(1).draw(); };
    CHECK_THROWS_WITH(figure(healthy + "no_end,0/2000,3.0,2.0,1.0\n"),
                      "curves.csv: the run no_end has 3 losses, the one without a mistake has 2");
    CHECK_THROWS_WITH(figure(healthy), "curves.csv has no no_end; make traps writes it");
    CHECK_THROWS_WITH(figure("run,score,20\nno_end,0/2000,3.0\n"),
                      "curves.csv has no healthy; make traps writes it");
}
