// --report, and the program `report`: the page is there, follows a resumed run, and shows what there is.
#include <memory>

#include "tests/apps/browser.h"
#include "tests/apps/run.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT

namespace {

const Words kSmall = {"--steps", "20", "--d-model", "8", "--heads", "2", "--d-ff", "16"};

// reverse_task, small: it learns too little for a status of 0.
Result reverse(const Words& more) { return run("reverse_task", joined(kSmall, more)); }

}  // namespace

TEST_CASE("every program that trains writes a page, which shows all that it has", "[apps][report][page]") {
    const Folder folder;
    const std::string page = folder / "page.html",
                      book = folder.write("book.txt",
                                          repeated("The lamp was lit at dusk, the sea was calm. ", 120)),
                      pairs = folder.write("both.tsv", repeated("good\tlovely day\n", 120));
    for (const std::string program : {"generate", "fill"})  // models of others
        must_run(program, {"new", folder / program, book, "--layers", "1", "--d-model", "16", "--context",
                           "16", "--vocabulary", "300"});
    const std::string curves = "curves attention masks positions embeddings ", last = "values model run",
                      samples = curves + "samples " + last;
    const std::vector<std::tuple<std::string, Words, std::string>> programs = {
        {"reverse_task", kSmall, samples},
        {"toy_translate", {"--epochs", "3", "hello"}, samples},
        {"tasks", {"sort", "--steps", "4"}, curves + last},
        {"generate", {"train", book, "--steps", "4", "--d-model", "16"}, samples},
        {"translate",
         {"train", pairs, "--save", folder / "run", "--steps", "3", "--d-model", "16", "--merges", "20"},
         samples},
        {"classify", {}, curves + "confusion " + last},
        {"generate",
         {"train", folder / "generate", book, "--steps", "4", "--save", folder / "more"},
         samples},
        {"fill",
         {"train", folder / "fill", book, "--steps", "4", "--save", folder / "filled"},
         curves + last}};
    const std::unique_ptr<Browser> browser = chromium().empty() ? nullptr : std::make_unique<Browser>();
    for (const auto& [program, words, sections] : programs) {
        std::filesystem::remove(page);
        const Result result = run(program, joined(words, {"--report", page}));
        CAPTURE(program, result.err);
        const std::string html = content(page);
        CHECK(html.starts_with("<!doctype html>"));
        CHECK(count_of("\\\"kind\\\":\\\"snapshot\\\"", html) >= 2);
        CHECK(count_of("attention\\\",", html) >= 4);
        CHECK(html.size() < 2'000'000);
        if (browser == nullptr)
            continue;
        browser->open(page, 768);
        CHECK(browser->sections() == sections);
        CHECK(browser->complaints() == "");
    }
}

TEST_CASE("a run that Ctrl-C ends writes its page, too", "[apps][report][page]") {
    const Folder folder;
    Running program("reverse_task", {"--steps", "100000000", "--report", folder / "page.html"});
    REQUIRE(program.says("step         1/100000000  loss "));
    program.interrupt();
    CHECK(program.wait().status == 130);
    check_says(content(folder / "page.html"), {R"(["reverse_task",0,[)"});  // it does not load itself again
}

TEST_CASE("a resumed run continues its recording, and `report` shows it", "[apps][report][page]") {
    const Folder folder;
    const std::string whole = folder / "whole", pieces = folder / "pieces", both = folder / "both.html",
                      nowhere = folder / "no/such/page.html";
    reverse({"--save", whole});
    reverse({"--save", pieces, "--save-every", "5", "--stop-after", "7"});
    run("reverse_task", {"--resume", pieces});
    const auto snapshots = [](const std::string& run) {
        Words lines = lines_of(content(run + "/report.jsonl"));
        std::erase_if(lines,
                      [](const std::string& line) { return !line.starts_with("{\"kind\":\"snapshot\""); });
        return lines;
    };
    const Words of_whole = snapshots(whole), of_pieces = snapshots(pieces);
    CHECK(of_whole.size() == 8);     // 0, 2, 3, 6, 8, 12, 15, 20
    REQUIRE(of_pieces.size() == 9);  // and where it was stopped
    CHECK(of_pieces.back() == of_whole.back());

    must_run("report", {whole});
    CHECK(content(whole + "/report.html").size() > 20'000);
    CHECK_FALSE(contains(content(whole + "/report.html"), "pieces"));
    must_run("report", {whole, pieces, "--out", both});
    check_says(content(both), {"pieces"});
    must_run("report", {whole, pieces});
    CHECK(content(whole + "/report.html") == content(both));  // in the first folder
    CHECK_FALSE(std::filesystem::exists(pieces + "/report.html"));
    std::filesystem::remove(whole + "/report.jsonl");
    must_run("report", {whole});  // the log alone
    check_refused("report", run("report", {folder.path}), 1,
                  "there is no run in this folder (no log.csv, no report.jsonl)");
    check_refused("report", run("report", {whole, "--out", nowhere}), 1, nowhere);
    CHECK(reverse({"--report", nowhere}).status == 1);

    // A page is replaced by a new one; any other file stays, and nothing is trained in vain.
    for (const std::string text : {"mine", "<!doctype html>\nmine"}) {
        const std::string mine = folder.write("mine.html", text),
                          says = "mine.html: this file is there already, and it is no page about a run;";
        check_refused("reverse_task", reverse({"--report", mine, "--save", folder / "no"}), 1, says);
        check_refused("report", run("report", {whole, "--out", mine}), 1, says);
        CHECK(content(mine) == text);
        CHECK_FALSE(std::filesystem::exists(folder / "no"));
    }
    check_says(reverse({"--save", folder / "a", "--report", folder / "a/log.csv"}).err,
               {"log.csv: the name of a page ends with .html"});
    reverse(
        {"--save", folder / "new", "--report", folder / "new/page.html"});  // in a folder that the run makes
    CHECK(std::filesystem::exists(folder / "new/page.html"));
    reverse({"--report", both, "--steps", "1"});
    CHECK_FALSE(contains(content(both), "pieces"));
}
