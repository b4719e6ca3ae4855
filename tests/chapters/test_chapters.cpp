// Are the chapters true? What they quote, compute and link to is as it is now, and the program that says so
// finds each kind of fault.
#include "autograd/base/check.h"
#include "autograd/base/real.h"
#include "tests/apps/run.h"
#include "tests/catch.h"
#include "tests/chapters/command.h"
#include "tests/chapters/prose.h"

using namespace plaingrad;  // NOLINT
using chapters::Effort;

static tests::Result make_chapters(const std::string& options) {
    const tests::Folder folder;
    const std::string program = chapters::quoted(tests::environment("PLAINGRAD_CHAPTERS", "build/chapters")),
                      log = folder / "log";
    const std::string command =
        tests::environment("PLAINGRAD_RUN", "") + " " + program + " --check " + options;
    const int status = std::system((command + " >" + chapters::quoted(log) + " 2>&1").c_str());
    return {status, tests::content(log), ""};
}

TEST_CASE("chapters quote, link and compute what is there now", "[chapters]") {
    if (autograd::kRealIsDouble)
        SKIP("the chapters' numbers are those of float");
    const tests::Result result = make_chapters("--quick");
    INFO(result.out);
    CHECK(result.status == 0);
}

TEST_CASE("chapters: a page that cannot be written stays as it was", "[chapters]") {
    namespace fs = std::filesystem;
    const tests::Folder copy;  // of this tree: links to all but the page
    for (const char* entry : {"README.md", "apps", "autograd", "models", "tests"})
        fs::create_symlink(fs::absolute(entry), copy / entry);
    fs::create_directory(copy / "nn");
    for (const auto& entry : fs::directory_iterator("nn"))
        if (entry.path().filename() != "README.md")
            fs::create_symlink(fs::absolute(entry.path()), copy / entry.path().string());
    std::string page = tests::content("nn/README.md");
    page.insert(page.find("-->\n", page.find("<!-- excerpt: ")) + 4, "stale\n");
    copy.write("nn/README.md", page);
    const std::string program = fs::absolute(tests::environment("PLAINGRAD_CHAPTERS", "build/chapters"));
    const tests::Result result = tests::run(program, {"--quick", "nn/README.md"},
                                            {.folder = copy.path, .largest_file = page.size() / 2});
    CHECK(result.status == 1);
    CHECK(tests::one_line(result.err, "chapters: nn/README.md: cannot be written: File too large"));
    CHECK((tests::content(copy / "nn/README.md") == page));  // in parentheses, or both would be printed
}

TEST_CASE("chapters: what has to train gives the numbers that they print", "[chapters][slow]") {
    if (autograd::kRealIsDouble)
        SKIP("the chapters' numbers are those of float");
    const tests::Result result = make_chapters("");
    INFO(result.out);
    CHECK(result.status == 0);
}

TEST_CASE("chapters: numbers of the prose", "[chapters]") {
    using chapters::numbers_in;
    CHECK(numbers_in("a loss of 2.30 after 1,024 steps, 3e-4 and -7.") ==
          tests::Words{"2.30", "1024", "3e-4", "7"});
    CHECK(numbers_in("float32, x86-64, d_2, 2nd, K1").empty());
    CHECK(numbers_in("(3)·4/5 = 2.4, 10–20 %") == tests::Words{"3", "4", "5", "2.4", "10", "20"});

    chapters::Prose prose;
    prose.add("2. In §3.2.1 of [the 17 pages](a.md#L99 \"x = 5\") 64 <!-- 3 --> of 65, Ba et al. 2016", 8);
    prose.add("```cpp", 9);
    prose.add("int x = 66;", 10);
    prose.add("```", 11);
    prose.explain("64 17");
    REQUIRE(prose.unexplained().size() == 1);
    CHECK(prose.unexplained()[0].number == "65");
    CHECK(prose.unexplained()[0].line == 8);
}

namespace {

// A chapter with this text, in a folder of its own beside code.cpp.
struct Small {
    explicit Small(const std::string& text) {
        folder.write("code.cpp", "int one() { return 1; }\n\n    int two() {\n        return 2;\n    }\n");
        path = folder.write("README.md", text);
    }
    std::string filled(const chapters::Request& request = {}) const {
        return chapters::fill(path, computed, request).text;
    }
    std::string error(const chapters::Request& request = {}) const {
        try {
            filled(request);
        } catch (const autograd::Error& error) {
            return error.what();
        }
        return "";
    }

    tests::Folder folder;
    std::string path;
    chapters::Computed computed = {
        {{"two", Effort::quick, [](std::ostream& out) { out << "| 2 |\n"; }},
         {"trained", Effort::training, [](std::ostream& out) { out << "loss 0.5  \n\n"; }},
         {"time", Effort::timed, [](std::ostream& out) { out << "7 ms\n"; }},
         {"broken", Effort::quick, [](std::ostream&) { throw std::out_of_range("no such row"); }}}};
};

std::string block(const std::string& marker, const std::string& content) {
    return "<!-- " + marker + " -->\n" + content + "<!-- end -->\n";
}

}  // namespace

TEST_CASE("chapters: a block is what its section prints", "[chapters]") {
    const Small chapter(block("computed: two", "old\n") + block("computed: trained", "old\n") +
                        block("timed: time", "old\n"));
    CHECK(chapter.filled({Effort::quick}) == block("computed: two", "| 2 |\n") +
                                                 block("computed: trained", "old\n") +
                                                 block("timed: time", "old\n"));
    CHECK(chapter.filled().find(block("computed: trained", "```text\nloss 0.5\n```\n")) != std::string::npos);
    const std::string timed = chapter.filled({Effort::quick, true});
    CHECK(timed.find("<!-- timed: time -->\nMeasured on: ") != std::string::npos);
    CHECK(timed.ends_with(".\n\n```text\n7 ms\n```\n<!-- end -->\n"));
    CHECK(chapter.filled({Effort::quick}).find("Measured") == std::string::npos);

    CHECK(Small(block("computed: three", "")).error().ends_with(":1: no section is called 'three'"));
    CHECK(Small(block("computed: time", "")).error().find("`timed`") != std::string::npos);
    CHECK(Small(block("counted: two", "")).error().find("unknown kind 'counted'") != std::string::npos);
    CHECK(Small("\n<!-- computed: two -->\n").error().ends_with(":2: no <!-- end --> follows"));
}

TEST_CASE("chapters: a block that stays empty is an error", "[chapters]") {
    const Small trained(block("computed: trained", "")), timed(block("timed: time", ""));
    CHECK(trained.error({Effort::quick}).ends_with(":1: this block is empty; `make chapters` fills it"));
    CHECK(trained.error().empty());
    CHECK(timed.error().ends_with(":1: this block is empty; `make chapters TIMES=1` fills it"));
    CHECK(timed.error({Effort::quick, true}).empty());
}

TEST_CASE("chapters: any exception of a section names its line", "[chapters]") {
    CHECK(Small("\n" + block("computed: broken", "")).error().ends_with("README.md:2: no such row"));
}

TEST_CASE("chapters: an excerpt is cut from a block's first line to its last", "[chapters]") {
    const Small chapter("");
    const std::string code = chapter.folder / "code.cpp";
    const auto excerpt = [&](const std::string& words) {
        return Small(block("excerpt: " + code + " " + words, "")).filled();
    };
    CHECK(excerpt("\"two()\"").find("```cpp\nint two() {\n    return 2;\n}\n```\n<!-- end") !=
          std::string::npos);
    CHECK(excerpt("\"one()\"").find("```cpp\nint one() { return 1; }\n```\n") != std::string::npos);
    CHECK(excerpt("\"two()\" \"return\"").find("```cpp\nint two() {\n    return 2;\n```\n") !=
          std::string::npos);
    CHECK(Small(block("excerpt: " + code + " \"int\"", "")).error().find("occurs in 2 lines") !=
          std::string::npos);
    CHECK(Small(block("excerpt: " + code + " \"three\"", "")).error().find("occurs in 0 lines") !=
          std::string::npos);
}

TEST_CASE("chapters: a link leads to the line with its title", "[chapters]") {
    CHECK(Small("[a](code.cpp#L99 \"return 2\") and [b](code.cpp \"one()\")\n").filled() ==
          "[a](code.cpp#L4 \"return 2\") and [b](code.cpp#L1 \"one()\")\n");
    CHECK(Small("[a](code.cpp), [b](https://example.org/x#L1), [c](#heading)\n").error().empty());
    CHECK(Small("[a](code.cpp#L4)\n").error().find("as a title") != std::string::npos);
    CHECK(Small("[a](code.cpp \"int\")\n").error().find("occurs in 2 lines") != std::string::npos);
    CHECK(Small("[a](none.cpp)\n").error().find("no file") != std::string::npos);
}
