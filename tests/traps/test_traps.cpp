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
