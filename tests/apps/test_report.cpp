// --report, and the program `report`: the page is there, follows a resumed run, and shows what there is.
#include <memory>

#include "tests/apps/browser.h"
#include "tests/apps/run.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT

namespace {

int64_t count(const std::string& text, const std::string& part) {
    int64_t n = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1))
        ++n;
    return n;
}

// Of reverse_task, small.
Words small(const Words& more) {
    Words words = {"--steps", "20", "--d-model", "8", "--heads", "2", "--d-ff", "16"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

}  // namespace

TEST_CASE("every program that trains writes a page, which shows all that it has, silently",
          "[apps][report][page]") {
    const Folder folder;
    const std::string page = folder / "page.html";
    std::string log, pairs;
    for (int i = 0; i < 120; ++i) {
        log += "The lamp was lit at dusk, and the sea was calm. ";
        pairs += "good\tlovely day\n";
    }
    const std::string book = folder.write("book.txt", log), both = folder.write("both.tsv", pairs);
    const std::string curves = "curves attention masks positions embeddings ", last = "values model run";
    const std::vector<std::tuple<std::string, Words, std::string>> programs = {
        {"reverse_task", small({}), curves + "samples " + last},
        {"toy_translate", {"--epochs", "3", "hello"}, curves + "samples " + last},
        {"tasks", {"sort", "--steps", "4"}, curves + last},
        {"generate", {"train", book, "--steps", "4", "--d-model", "16"}, curves + "samples " + last},
        {"translate",
         {"train", both, "--save", folder / "run", "--steps", "3", "--d-model", "16", "--merges", "20"},
         curves + "samples " + last},
        {"classify", {}, curves + "confusion " + last}};
    const Words sizes = {"--layers", "1", "--d-model", "16", "--context", "16", "--vocabulary", "300"};
    std::vector<std::tuple<std::string, Words, std::string>> all_programs = programs;
    for (const std::string program : {"generate", "fill"}) {  // models of others
        Words fresh = {"new", folder / program, book};
        fresh.insert(fresh.end(), sizes.begin(), sizes.end());
        REQUIRE(tests::run(program, fresh).status == 0);
        const Words train = {"train",  folder / program,           book, "--steps", "4",
                             "--save", folder / (program + "_run")};
        all_programs.emplace_back(program, train, curves + (program == "generate" ? "samples " : "") + last);
    }
    const std::unique_ptr<Browser> browser = chromium().empty() ? nullptr : std::make_unique<Browser>();
    for (const auto& [program, words, sections] : all_programs) {
        INFO(program);
        Words all = words;
        all.insert(all.end(), {"--report", page});
        std::filesystem::remove(page);
        const Result result = tests::run(program, all);  // too few steps for a status of 0
        INFO(result.err);
        REQUIRE(std::filesystem::exists(page));
        const std::string html = content(page);
        CHECK(html.find("<!doctype html>") == 0);
        CHECK(count(html, "\\\"kind\\\":\\\"snapshot\\\"") >= 2);
        CHECK(count(html, "attention\\\",") >= 4);
        CHECK(html.size() < 2'000'000);
        if (browser == nullptr)
            continue;
        browser->open(page, 768);
        CHECK(browser->value("[...document.querySelectorAll('section')].map(s => s.id).join(' ')") ==
              sections);
        CHECK(browser->value("document.documentElement.scrollWidth - innerWidth") == "0");
        CHECK(browser->console == Words());
        CHECK(browser->requests == Words());
    }
}

TEST_CASE("a run that Ctrl-C ends writes its page, too", "[apps][report][page]") {
    const Folder folder;
    const std::string page = folder / "page.html";
    Running program("reverse_task", small({"--steps", "100000000", "--report", page}));
    REQUIRE(program.says("step         1/100000000  loss "));
    program.interrupt();
    CHECK(program.wait().status == 130);
    REQUIRE(std::filesystem::exists(page));
    CHECK(contains(content(page), R"(["reverse_task",0,[)"));  // it does not load itself again
}

TEST_CASE("a resumed run continues its recording, and `report` shows it", "[apps][report][page]") {
    const Folder folder;
    const std::string whole = folder / "whole", pieces = folder / "pieces";
    tests::run("reverse_task", small({"--save", whole}));
    tests::run("reverse_task", small({"--save", pieces, "--save-every", "5", "--stop-after", "7"}));
    tests::run("reverse_task", {"--resume", pieces});
    const auto snapshots = [](const std::string& run) {
        std::istringstream lines(content(run + "/report.jsonl"));
        std::string all;
        for (std::string line; std::getline(lines, line);)
            if (line.starts_with("{\"kind\":\"snapshot\""))
                all += line + '\n';
        return all;
    };
    CHECK(count(snapshots(whole), "\n") == 8);                                   // 0, 2, 3, 6, 8, 12, 15, 20
    CHECK(count(snapshots(pieces), "\n") == count(snapshots(whole), "\n") + 1);  // and where it was stopped
    CHECK(snapshots(pieces).ends_with(snapshots(whole).substr(snapshots(whole).rfind("{\"kind\""))));

    CHECK(tests::run("report", {whole}).status == 0);
    CHECK(content(whole + "/report.html").size() > 20'000);
    CHECK(tests::run("report", {whole, pieces, "--out", folder / "both.html"}).status == 0);
    CHECK(contains(content(folder / "both.html"), "pieces"));
    CHECK_FALSE(contains(content(whole + "/report.html"), "pieces"));
    CHECK(tests::run("report", {whole, pieces}).status == 0);
    CHECK(content(whole + "/report.html") == content(folder / "both.html"));  // in the first folder
    CHECK_FALSE(std::filesystem::exists(pieces + "/report.html"));
    std::filesystem::remove(whole + "/report.jsonl");
    CHECK(tests::run("report", {whole}).status == 0);  // the log alone
    const Result nothing = tests::run("report", {folder.path});
    CHECK(nothing.status == 1);
    CHECK(nothing.err.ends_with("there is no run in this folder (no log.csv, no report.jsonl)\n"));
    CHECK(tests::run("report", {}).status == 2);
    const Result lost = tests::run("report", {whole, "--out", folder / "no/such/page.html"});
    CHECK(lost.status == 1);
    CHECK(contains(lost.err, "no/such/page.html"));
    CHECK(tests::run("reverse_task", small({"--report", folder / "no/such/page.html"})).status == 1);

    // A page is replaced by a new one; any other file stays, and nothing is trained in vain.
    CHECK(tests::run("report", {whole, pieces, "--out", folder / "both.html"}).status == 0);
    for (const std::string text : {"mine", "<!doctype html>\nmine"}) {
        const std::string mine = folder.write("mine.html", text);
        for (const Result& r :
             {tests::run("reverse_task", small({"--report", mine, "--save", folder / "no"})),
              tests::run("report", {whole, "--out", mine})}) {
            CHECK(r.status == 1);
            CHECK(contains(lines_of(r.err).back(),
                           "mine.html: this file is there already, and it is no page about a run;"));
            CHECK(content(mine) == text);
            CHECK_FALSE(std::filesystem::exists(folder / "no"));
        }
    }
    CHECK(contains(
        tests::run("reverse_task", small({"--save", folder / "a", "--report", folder / "a/log.csv"})).err,
        "log.csv: the name of a page ends with .html"));
    const std::string within = folder / "new/page.html";  // in a folder that the run makes
    CHECK(tests::run("reverse_task", small({"--save", folder / "new", "--report", within})).status <= 1);
    CHECK(std::filesystem::exists(within));
    CHECK(tests::run("reverse_task", small({"--report", folder / "both.html", "--steps", "1"})).status <= 1);
    CHECK_FALSE(contains(content(folder / "both.html"), "pieces"));
}
