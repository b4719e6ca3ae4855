// The exercises themselves: are their pages whole, and does each mark as it must?
#include <cstdlib>
#include <filesystem>
#include <string>
#include <tuple>

#include "tests/catch.h"
#include "tests/folder.h"

using namespace plaingrad;  // NOLINT
using tests::contains;
using tests::content;

static std::string folder_of(int exercise) {
    return "tests/exercises/" + std::string(exercise < 10 ? "0" : "") + std::to_string(exercise);
}

// "before" and "after" of the first `mark` in a text; `after` is empty if there is none.
static std::pair<std::string, std::string> split(const std::string& text, const std::string& mark) {
    const std::size_t at = text.find(mark);
    return at == std::string::npos ? std::pair(text, std::string())
                                   : std::pair(text.substr(0, at), text.substr(at + mark.size()));
}

TEST_CASE("exercises: each has its head, and stands in the table of apps/README.md", "[exercises]") {
    const std::string table = split(content("apps/README.md"), "## Exercises").second;
    for (int i = 1; i <= 12; ++i) {
        const std::string head = content(folder_of(i) + "/exercise.h");
        INFO(folder_of(i));
        const auto [title, rest] = split(split(head, "// Exercise " + std::to_string(i) + ": ").second, " (");
        for (const char* part : {"\n// The idea: ", "\n// Given", "\n// Write: ", "\n// Read before: "})
            CHECK(contains(head, part));
        const std::string time = split(rest, ")\n").first;
        CHECK(contains(table, "\n| " + std::to_string(i) + " | " + title + " | " + time + " |"));
    }
}

TEST_CASE("exercises: what to read before is a heading, and linked in the table", "[exercises]") {
    const std::string table = split(content("apps/README.md"), "## Exercises").second;
    for (int i = 1; i <= 12; ++i) {
        const std::string page = content(folder_of(i) + "/exercise.h");
        INFO(folder_of(i));
        const auto [chapter, rest] = split(split(page, "\n// Read before: ").second, " (\"");
        const std::string row = split(split(table, "\n| " + std::to_string(i) + " |").second, "\n").first;
        const std::string text = content(chapter);
        std::string name, names = split(rest, "\")").first;
        while (!names.empty()) {
            std::tie(name, names) = split(names, "\", \"");
            INFO(name);
            CHECK(contains(text, "\n## " + name + "\n"));
            CHECK(contains(row, "[" + name + "](../" + chapter + "#"));
        }
        CHECK(!name.empty());
    }
}

TEST_CASE("exercises: our answer names a place of the library that exists", "[exercises]") {
    for (int i = 1; i <= 12; ++i) {
        std::string rest = content(folder_of(i) + "/exercise.h");
        INFO(folder_of(i));
        int places = 0;
        while (!(rest = split(rest, "\n// In the library: ").second).empty()) {
            const auto [file, name] = split(split(rest, "\n").first, ", ");
            INFO(file << ", " << name);
            CHECK(std::filesystem::exists(file));
            CHECK((name.empty() || contains(content(file), name)));
            ++places;
        }
        CHECK(places > 0);
    }
}

// Builds the page to fill in, our answer, and our answer with each mistake of tests/exercises/mistakes.txt.
static void try_exercise(const char* number) {
    const char *apps = std::getenv("PLAINGRAD_APPS"), *folder = std::getenv("PLAINGRAD_MARK_IN");
    if (folder == nullptr || (apps != nullptr && std::string(apps) != "apps"))
        SKIP("exercises are marked in the plain build only");
    const std::string command =
        std::string("sh tests/tools/exercises.sh test ") + number + " '" + folder + "'";
    REQUIRE(std::system(command.c_str()) == 0);
}

TEST_CASE("exercise 1: red, green, and its mistakes named", "[exercises][slow]") { try_exercise("01"); }
TEST_CASE("exercise 2: red, green, and its mistakes named", "[exercises][slow]") { try_exercise("02"); }
TEST_CASE("exercise 3: red, green, and its mistakes named", "[exercises][slow]") { try_exercise("03"); }
TEST_CASE("exercise 4: red, green, and its mistakes named", "[exercises][slow]") { try_exercise("04"); }
TEST_CASE("exercise 5: red, green, and its mistakes named", "[exercises][slow]") { try_exercise("05"); }
TEST_CASE("exercise 6: red, green, and its mistakes named", "[exercises][slow]") { try_exercise("06"); }
TEST_CASE("exercise 7: red, green, and its mistakes named", "[exercises][slow]") { try_exercise("07"); }
TEST_CASE("exercise 8: red, green, and its mistakes named", "[exercises][slow]") { try_exercise("08"); }
TEST_CASE("exercise 9: red, green, and its mistakes named", "[exercises][slow]") { try_exercise("09"); }
TEST_CASE("exercise 10: red, green, and its mistakes named", "[exercises][slow]") { try_exercise("10"); }
TEST_CASE("exercise 11: red, green, and its mistakes named", "[exercises][slow]") { try_exercise("11"); }
TEST_CASE("exercise 12: red, green, and its mistakes named", "[exercises][slow]") { try_exercise("12"); }
