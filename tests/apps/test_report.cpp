// --report, and the program `report`: the page is there, follows a resumed run, and shows what there is.
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

TEST_CASE("every program that trains writes a page", "[apps][page]") {
    const Folder folder;
    const std::string page = folder / "page.html";
    const std::vector<std::pair<std::string, Words>> programs = {
        {"reverse_task", small({})},
        {"toy_translate", {"--epochs", "3", "hello"}},
        {"tasks", {"sort", "--steps", "4"}},
        {"classify", {}}};
    for (const auto& [program, words] : programs) {
        INFO(program);
        Words all = words;
        all.insert(all.end(), {"--report", page});
        std::filesystem::remove(page);
        tests::run(program, all);  // too few steps for a status of 0
        REQUIRE(std::filesystem::exists(page));
        const std::string html = content(page);
        CHECK(html.find("<!doctype html>") == 0);
        CHECK(count(html, "\\\"kind\\\":\\\"snapshot\\\"") >= 2);
        CHECK(count(html, "\\\"module\\\":") >= 4);
        CHECK(html.size() < 2'000'000);
    }
}

TEST_CASE("a resumed run continues its recording, and `report` shows it", "[apps][page]") {
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
    std::filesystem::remove(whole + "/report.jsonl");
    CHECK(tests::run("report", {whole}).status == 0);  // the log alone
    const Result nothing = tests::run("report", {folder.path});
    CHECK(nothing.status == 1);
    CHECK(contains(nothing.err, "there is no run in this folder"));
    CHECK(tests::run("report", {}).status == 2);
    const Result lost = tests::run("report", {whole, "--out", folder / "no/such/page.html"});
    CHECK(lost.status == 1);
    CHECK(contains(lost.err, "no/such/page.html"));
    CHECK(tests::run("reverse_task", small({"--report", folder / "no/such/page.html"})).status == 1);
}
