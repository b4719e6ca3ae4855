// tasks, run as a user runs it.
#include <algorithm>

#include "tests/apps/run.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

Result tasks(const Words& arguments, const With& with = {}) { return run("tasks", arguments, with); }

// The rows of the table, split into words: name, family, parameters, figure (two or three words), score,
// perhaps a star, seconds.
std::vector<Words> table(const Result& result) {
    std::vector<Words> rows;
    bool inside = false;
    for (const std::string& line : lines_of(result.out)) {
        if (inside && !line.starts_with("*")) {
            std::istringstream stream(line);
            rows.emplace_back();
            for (std::string word; stream >> word;)
                rows.back().push_back(word);
        }
        inside |= line.starts_with("task  ");
    }
    return rows;
}

// "10000/10000 *": the text between the figure's source and the seconds.
std::string score(const Words& row) {
    const auto source = std::find_if(row.begin(), row.end(), [](const std::string& word) {
        return word == "harvardnlp" || word == "phlippe" || word == "karpathy";
    });
    std::string words;
    for (auto word = source; word != row.end() && ++word != row.end() - 1;)
        words += (words.empty() ? "" : " ") + *word;
    return words;
}

// Everything on standard output but the seconds, which end the table's rows.
std::string without_seconds(const Result& result) {
    std::string text;
    bool inside = false;
    for (const std::string& line : lines_of(result.out)) {
        text +=
            (inside ? line.substr(0, line.find_last_not_of(' ', line.find_last_of(' ')) + 1) : line) + '\n';
        inside |= line.starts_with("task  ");
    }
    return text;
}

// The two sides of "  0 2 1  ->  0 1 2", for every line that contains `mark`, without spaces.
std::vector<std::pair<std::string, std::string>> examples(const Result& result, const std::string& mark) {
    std::vector<std::pair<std::string, std::string>> all;
    for (std::string line : lines_of(result.out))
        if (line.starts_with("  ") && contains(line, " " + mark + " ")) {
            line.erase(std::remove(line.begin(), line.end(), ' '), line.end());
            const std::size_t at = line.find(mark);
            all.emplace_back(line.substr(0, at), line.substr(at + mark.size()));
        }
    return all;
}

// A wrong command line: status 2, nothing on standard output, one line.
void refused(const Words& arguments, const std::string& error) {
    const Result r = tasks(arguments);
    CAPTURE(arguments, r.err);
    CHECK(r.status == 2);
    CHECK(r.out.empty());
    CHECK(r.err == "tasks: " + error + "\n");
}

}  // namespace

TEST_CASE("tasks reaches the published figures", "[apps][tasks][slow]") {
    if (!fast_build())
        SKIP("a slow build takes too long");
    const Result r = tasks({});
    INFO(r.out << r.err);
    CHECK(r.status == 0);
    const std::vector<Words> rows = table(r);
    REQUIRE(rows.size() == 4);
    CHECK(score(rows[0]) == "10000/10000 *");
    CHECK(score(rows[1]) == "10000/10000");  // as published: no star
    CHECK(score(rows[2]) == "5000/5000 *");
    CHECK((score(rows[3]) == "999/1000 *" || score(rows[3]) == "1000/1000 *"));
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
    const Result r = tasks({"--steps", "2"});
    INFO(r.out << r.err);
    CHECK(r.status == 1);
    CHECK(
        r.err.ends_with("\ntasks: too few right answers: copy, reverse, sort, add; more --steps may help\n"));
    CHECK(contains(r.out, "\n* trained with our own recipe"));
    const std::vector<Words> rows = table(r);
    REQUIRE(rows.size() == 4);
    // minGPT's adder has 400,128: we have four reserved ids more, in the embedding and in the output.
    const std::vector<Words> starts = {{"copy", "encoder-decoder", "119,694", "no", "figure,", "harvardnlp"},
                                       {"reverse", "encoder-only", "10,574", "100.00", "%,", "phlippe"},
                                       {"sort", "decoder-only", "86,112", "5000/5000,", "karpathy"},
                                       {"add", "decoder-only", "401,152", "999/1000,", "karpathy"}};
    const Words totals = {"/10000 *", "/10000 *", "/5000 *", "/1000 *"};
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(Words(rows[i].begin(), rows[i].begin() + static_cast<std::ptrdiff_t>(starts[i].size())) ==
              starts[i]);
        CHECK(score(rows[i]).ends_with(totals[i]));
        CHECK(contains(r.err, "tasks " + starts[i][0] + ": "));
    }
    CHECK(contains(r.out, "  (wrong)\n"));
}

TEST_CASE("tasks shows the published recipe beside its own", "[apps][tasks]") {
    const std::string published =
        "sort: 6 digits from 0 to 2, the smallest first\n"
        "  published  5000/5000, karpathy (github.com/karpathy/minGPT, demo.ipynb)\n"
        "             3 layers, 3 heads, 48 wide, dropout 0.1; 2000 steps of 64, rate 0.0005\n";
    const std::string here = "  here       3 layers, 3 heads, 48 wide, dropout 0.1; 2 steps of 64, rate ";
    CHECK(tasks({"sort", "--steps", "2"}).out.starts_with(published + here + "0.003\n"));
    CHECK(tasks({"sort", "--steps", "2", "--preset", "published"})
              .out.starts_with(published + here + "0.0005\n"));
}

TEST_CASE("tasks runs the tasks that are named, each once", "[apps][tasks]") {
    const Result r = tasks({"sort", "--steps=2", "reverse", "sort"});
    INFO(r.out << r.err);
    CHECK(r.status == 1);
    const std::vector<Words> rows = table(r);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0][0] == "reverse");
    CHECK(rows[1][0] == "sort");
    CHECK(r.err.ends_with("\ntasks: too few right answers: reverse, sort; more --steps may help\n"));
}

TEST_CASE("tasks: the same results for any number of threads, others for another seed",
          "[apps][tasks][slow]") {
    const Words few = {"--steps", "4"};
    const auto with = [&](const Words& more) {
        Words words = few;
        words.insert(words.end(), more.begin(), more.end());
        return tasks(words);
    };
    const Result one = with({"--threads", "1"}), three = with({"--threads", "3"});
    CHECK(losses(one).size() == 8);  // the first and the last step of each task
    CHECK(losses(one) == losses(three));
    CHECK(without_seconds(one) == without_seconds(three));
    const Result other = with({"--seed", "2"});
    CHECK(losses(other).size() == 8);
    CHECK(losses(other) != losses(one));
    CHECK(examples(other, "->") != examples(one, "->"));
}

TEST_CASE("tasks saves, checks and shows one task", "[apps][tasks][check][page]") {
    const Folder folder;
    const Result checked = tasks({"sort", "--check"});
    CHECK(checked.status == 0);
    CHECK(contains(checked.out, "first loss"));
    CHECK(tasks({"sort", "--check"}, {.no_reader = true}).status == 128 + SIGPIPE);
    const std::string run = folder / "run", page = folder / "page.html";
    const Words few = {"sort", "--steps", "4", "--stop-after", "2", "--save", run, "--report", page};
    CHECK(tasks(few).err.ends_with("stopped after step 2; continue with --resume " + run + "\n"));
    CHECK(std::filesystem::exists(page));
    const Result rest = tasks({"--resume", run});
    INFO(rest.out << rest.err);
    CHECK(rest.status == 1);  // it learned little
    REQUIRE(table(rest).size() == 1);
    CHECK(table(rest)[0][0] == "sort");
    for (const Words& words :
         std::vector<Words>{{"--save", folder / "new"}, {"--check"}, {"--report", page}}) {
        refused(words, "--save, --check and --report need one TASK");
        refused({"copy", "sort", words[0], words.back() == words[0] ? "--plain" : words[1]},
                "--save, --check and --report need one TASK");
    }
    CHECK_FALSE(std::filesystem::exists(folder / "new"));
}

TEST_CASE("tasks refuses a wrong command line", "[apps][tasks]") {
    refused({"multiply"}, "unknown task 'multiply'; there are copy, reverse, sort, add");
    refused({"copy", "", "--steps", "1"}, "unknown task ''; there are copy, reverse, sort, add");
    refused({"--preset", "mine"}, "--preset must be one of ours|published: got 'mine'");
    refused({"--steps", "-1"}, "--steps needs a whole number from 0 to 1000000000: got '-1'");
    refused({"--learning-rate", "1"}, "unknown option '--learning-rate'; ./apps/tasks --help lists them");
}

TEST_CASE("tasks --help", "[apps][tasks]") {
    const Result r = tasks({"--help"});
    CHECK(r.status == 0);
    CHECK(r.err.empty());
    for (const char* part :
         {"TASK...", "--preset ours|published", "--steps N", "--seed N", "--threads N", "\n  ./apps/tasks\n",
          "\n  ./apps/tasks copy add\n", "\n  ./apps/tasks sort --preset published\n",
          "copy: ", "reverse: ", "sort: ", "add: ", "100.00 %", "5000/5000", "999/1000", "3900 steps of 128",
          "here       the same", "Exit status: 0"}) {
        CAPTURE(part);
        CHECK(contains(r.out, part));
    }
}
