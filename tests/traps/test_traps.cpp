// The patches of this folder still apply to the sources, say what they are to say, and stand on the page.
#include "tests/catch.h"
#include "tests/figures/figure.h"  // whose library this file needs
#include "tests/traps/figure.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT

namespace {

namespace fs = std::filesystem;

// How often `part` stands in `text`.
int count(const std::string& text, const std::string& part) {
    int n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++n;
    return n;
}

std::string all_tests() {
    std::string text;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator("tests"))
        if (const std::string name = entry.path().filename().string();
            name.starts_with("test_") && name.ends_with(".cpp"))
            text += content(entry.path().string());
    return text;
}

}  // namespace

TEST_CASE("traps: every patch applies, in one place", "[traps]") {
    const std::vector<Trap> all = traps();
    CHECK(all.size() >= 32);
    for (const Trap& trap : all) {
        INFO(trap.name);
        CHECK(!trap.hunks.empty());
        for (const Hunk& hunk : trap.hunks) {
            INFO(hunk.file << hunk.before);
            CHECK(hunk.changes);
            CHECK(count('\n' + content(hunk.file), hunk.before) == 1);
        }
    }
}

TEST_CASE("traps: every patch says what it is, and names a test that there is", "[traps]") {
    const std::string tests = all_tests();
    for (const Trap& trap : traps()) {
        INFO(trap.name);
        for (const char* field : {"Title", "Part", "Mistake", "Symptom", "Caught-by", "Sources"}) {
            INFO(field);
            REQUIRE(trap.fields.count(field) == 1);
            CHECK(trap.fields.at(field).size() >= 4);
        }
        CHECK(count(tests, "\"" + trap.fields.at("Caught-by") + "\",") == 1);
    }
}

TEST_CASE("traps: the page shows each, and no other", "[traps]") {
    const std::string page = content("tests/traps/README.md"), curves = content("tests/traps/curves.csv");
    const std::vector<Trap> all = traps();
    CHECK(count(page, ".patch)") == std::ssize(all));
    for (const Trap& trap : all) {
        INFO(trap.name);
        const std::string title = "**[" + trap.fields.at("Title") + "](" + trap.name + ".patch).** ";
        CHECK(count(page, "\n| " + title + trap.fields.at("Mistake") + " | ") == 1);
        CHECK(count(page,
                    " | " + trap.fields.at("Symptom") + " | [`" + trap.fields.at("Caught-by") + "`](") >= 1);
        CHECK(count(curves, "\n" + trap.name + ",") == 1);
    }
}

TEST_CASE("traps: the page's sentence counts its rows", "[traps]") {
    const std::string page = content("tests/traps/README.md");
    const std::vector<Trap> all = traps();
    int whole =
        0;  // rows with every sequence right; the runs without a mistake stand in a table of their own
    for (std::size_t row = page.find("\n| **["); row != std::string::npos;
         row = page.find("\n| **[", row + 1))
        whole += contains(page.substr(row + 1, page.find('\n', row + 1) - row), " | 2000/2000") ? 1 : 0;
    CHECK(contains(page, "\nOf these " + std::to_string(all.size()) + " mistakes, " + std::to_string(whole) +
                             " leave `reverse_task` with 2000 of 2000 sequences right; " +
                             std::to_string(count(page, " | the same bits | ")) +
                             " do not change a bit of its training.\n"));
}

TEST_CASE("traps: the figure is drawn from the table of curves", "[traps]") {
    const std::string figure = traps_figure(traps(), content("tests/traps/curves.csv"));
    CHECK(figure == content("tests/traps/curves.svg"));
    CHECK(contains(figure, "no causal mask"));
    const std::string healthy = "run,score,20,40\nhealthy,2000/2000,3.0,2.0\n";
    CHECK_THROWS_WITH(traps_figure(traps(), healthy + "no_end,0/2000,3.0,2.0,1.0\n"),
                      "curves.csv: the run no_end has 3 losses, the one without a mistake has 2");
    CHECK_THROWS_WITH(traps_figure(traps(), "run,score,20\nno_end,0/2000,3.0\n"),
                      "curves.csv has no healthy; make traps writes it");
}
