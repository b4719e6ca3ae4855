// Are the chapters true? What they quote, compute and link to is as it is now, and the program that says so
// finds each kind of fault.
#include "autograd/base/check.h"
#include "autograd/base/real.h"
#include "tests/apps/run.h"
#include "tests/catch.h"
#include "tests/chapters/command.h"
#include "tests/chapters/print.h"
#include "tests/chapters/prose.h"

using namespace plaingrad;            // NOLINT
using namespace plaingrad::chapters;  // NOLINT

namespace {

std::string program() { return tests::environment("PLAINGRAD_CHAPTERS", "build/chapters"); }

void check_chapters(const std::string& options) {
    if (autograd::kRealIsDouble)
        SKIP("the chapters' numbers are those of float");
    const tests::Folder folder;
    const std::string log = folder / "log", run = tests::environment("PLAINGRAD_RUN", "");
    const int status = std::system(
        (run + " " + quoted(program()) + " --check " + options + " >" + quoted(log) + " 2>&1").c_str());
    INFO(tests::content(log));
    CHECK(status == 0);
}

}  // namespace

TEST_CASE("chapters quote, link and compute what is there now", "[chapters]") { check_chapters("--quick"); }

TEST_CASE("chapters: what has to train gives the numbers that they print", "[chapters][slow]") {
    check_chapters("");
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
    const tests::Result result = tests::run(fs::absolute(program()), {"--quick", "nn/README.md"},
                                            {.folder = copy.path, .largest_file = page.size() / 2});
    CHECK(result.status == 1);
    CHECK(tests::one_line(result.err, "chapters: nn/README.md: cannot be written: File too large"));
    CHECK((tests::content(copy / "nn/README.md") == page));  // in parentheses, or both would be printed
}

namespace {

// A page in a folder of its own, beside code.cpp and a drawing.
Chapter filled(const std::string& text, const Request& request = {}) {
    const tests::Folder folder;
    folder.write("code.cpp", "int one() { return 1; }\n\n    int two() {\n        return 2;\n    }\n");
    std::filesystem::create_directory(folder / "figures");
    folder.write("figures/kept.svg",
                 "<svg><desc>3 boxes</desc><text x='9'>4 of 5</text><text>6</text></svg>");
    static const Computed computed = {
        {{"two", Effort::quick, [](std::ostream& out) { out << "| 2 |\n"; }},
         {"trained", Effort::training, [](std::ostream& out) { out << "loss 0.5  \n\n"; }},
         {"time", Effort::timed, [](std::ostream& out) { out << "7 ms\n"; }},
         {"broken", Effort::quick, [](std::ostream&) { throw std::out_of_range("no such row"); }}}};
    // Excerpts are found from the working directory, links from the page.
    const std::string code = folder / "code.cpp";
    std::string page = text;
    for (std::size_t at; (at = page.find("CODE")) != std::string::npos;)
        page.replace(at, 4, code);
    Chapter chapter = fill(folder.write("README.md", page), computed, request);
    for (std::size_t at; (at = chapter.text.find(code)) != std::string::npos;)
        chapter.text.replace(at, code.size(), "CODE");
    return chapter;
}

std::string block(const std::string& marker, const std::string& content) {
    return "<!-- " + marker + " -->\n" + content + "<!-- end -->\n";
}

const Request kQuick = {Effort::quick}, kTimes = {Effort::quick, true};

}  // namespace

TEST_CASE("chapters: blocks and links are filled", "[chapters]") {
    const auto fills = [](const std::string& marker, const std::string& content,
                          const Request& request = {}) {
        INFO(marker);
        CHECK(filled(block(marker, "old\n"), request).text == block(marker, content));
    };
    fills("computed: two", "| 2 |\n");
    fills("computed: trained", "```text\nloss 0.5\n```\n");
    fills("computed: trained", "old\n", kQuick);
    fills("timed: time", "old\n");
    fills("measured: anything", "old\n");
    fills("output: echo one two; echo three >&2", "```text\none two\n```\n");
    fills("excerpt: CODE \"two()\"", "```cpp\nint two() {\n    return 2;\n}\n```\n");
    fills("excerpt: CODE \"one()\"", "```cpp\nint one() { return 1; }\n```\n");
    fills("excerpt: CODE \"two()\" \"return\"", "```cpp\nint two() {\n    return 2;\n```\n");
    const std::string timed = filled(block("timed: time", "old\n"), kTimes).text;
    CHECK(timed.starts_with("<!-- timed: time -->\nMeasured on: "));
    CHECK(timed.ends_with(".\n\n```text\n7 ms\n```\n<!-- end -->\n"));
    CHECK(filled("[a](code.cpp#L99 \"return 2\"), [b](code.cpp \"one()\"), [c](https://a.b/x#L1), [d](#e)\n")
              .text ==
          "[a](code.cpp#L4 \"return 2\"), [b](code.cpp#L1 \"one()\"), [c](https://a.b/x#L1), [d](#e)\n");
}

TEST_CASE("chapters: each kind of fault is found, with its line", "[chapters]") {
    const auto refused = [](const std::string& text, const std::string& message,
                            const Request& request = {}) {
        INFO(text);
        try {
            filled("\n" + text, request);
            FAIL("nothing was found");
        } catch (const autograd::Error& error) {
            CHECK(tests::contains(error.what(), "README.md:2: "));
            CHECK(tests::contains(error.what(), message));
        }
    };
    refused(block("computed: three", ""), "no section is called 'three'");
    refused(block("computed: broken", ""), "no such row");
    refused(block("computed: time", ""), "`timed` is for sections that print times");
    refused(block("counted: two", ""), "unknown kind 'counted'");
    refused("<!-- computed: two -->\n", "no <!-- end --> follows");
    refused(block("computed: trained", ""), "this block is empty; `make chapters` fills it", kQuick);
    refused(block("timed: time", ""), "this block is empty; `make chapters TIMES=1` fills it");
    refused(block("output: exit 3", ""), "'exit 3' ended with status 768; has `make` built it?");
    refused(block("excerpt: CODE \"int\"", ""), "occurs in 2 lines");
    refused(block("excerpt: CODE \"three\"", ""), "occurs in 0 lines");
    refused("[a](code.cpp#L4)\n", "needs the text of its line as a title");
    refused("[a](code.cpp \"int\")\n", "occurs in 2 lines");
    refused("[a](none.cpp)\n", "there is no file");
}

TEST_CASE("chapters: a number that nothing computes is found, in prose and in a drawing", "[chapters]") {
    CHECK(numbers_in(
              "a loss of 2.30 after 1,024 steps, 3e-4 and -7, float32, x86-64, d_2, 2nd, (3)·4/5, 10–20 %") ==
          tests::Words{"2.30", "1024", "3e-4", "7", "3", "4", "5", "10", "20"});
    const Chapter chapter =
        filled("2. In §3.2.1 of [the 17 pages](code.cpp) 2 <!-- 8 --> of 65, Ba et al. 2016\n" +
               block("computed: two", "") + "```cpp\nint x = 66;\n```\n![](figures/kept.svg)\n");
    std::string found;
    for (const Found& number : chapter.unexplained)
        found += number.number + " in line " + std::to_string(number.line) + "; ";
    CHECK(found == "17 in line 1; 65 in line 1; 3 in line 7; 4 in line 7; 5 in line 7; ");
    CHECK(chapter.used.back().ends_with("figures/kept.svg"));
}

TEST_CASE("chapters: how numbers and tables are printed", "[chapters]") {
    for (const auto& [x, text] : std::vector<std::pair<double, const char*>>{{0.012345, "0.0123"},
                                                                             {0.09996, "0.100"},
                                                                             {-1.5, "-1.50"},
                                                                             {999.6, "1000"},
                                                                             {12345, "12300"},
                                                                             {0.000123, "1.23e-04"},
                                                                             {1234567, "1.23e+06"},
                                                                             {0, "0"}})
        CHECK(digits(x) == text);
    CHECK(fixed(-0.001) == "0.00");
    std::ostringstream out;
    table(out, {{"a", "b"}, {"1", "2"}});
    CHECK(out.str() == "| a | b |\n|---|---:|\n| 1 | 2 |\n");
    CHECK_THROWS_AS(table(out, {{"a", "b"}, {"1"}}), autograd::Error);
    CHECK_THROWS_AS(share_of_peak(53, 50), autograd::Error);
    CHECK_THROWS_WITH(rows_of("a,b\n1,2\n1\n", "a,b"), "row 2 of the table has 1 values, not 2: 1");
    CHECK_THROWS_WITH(rows_of("a,c\n1,2\n", "a,b"), "the table begins with 'a,c'; expected 'a,b'");
}
