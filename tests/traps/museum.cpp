#include "tests/traps/museum.h"

#include <cctype>
#include <regex>

#include "apps/kit/text.h"
#include "autograd/base/check.h"
#include "tests/figures/figure.h"

namespace plaingrad::tests {

using autograd::join;

namespace {

// ---------------------------------------------------------------------------------------------------- runs

// A row of curves.csv: "1998/2000" sequences reversed, and the loss after 20, 40, ... steps.
struct Run {
    std::string score;
    std::vector<double> loss;
};
using Runs = std::map<std::string, Run>;

Runs read_runs(const std::string& csv) {
    Runs runs;
    std::istringstream lines(csv);
    std::string line, name, cell;
    std::getline(lines, line);  // the heading
    while (std::getline(lines, line)) {
        std::istringstream cells(line);
        std::getline(cells, name, ',');
        Run& run = runs[name];
        std::getline(cells, run.score, ',');
        while (std::getline(cells, cell, ','))
            run.loss.push_back(std::max(std::stod(cell), 1e-4));  // 0.0000 has no logarithm
    }
    return runs;
}

const Run& run_named(const Runs& runs, const std::string& name) {
    const auto found = runs.find(name);
    autograd::check(found != runs.end(), "curves.csv has no ", name, "; make traps writes it");
    return found->second;
}

// The run without a mistake, with these options.
const Run& reference(const Runs& runs, const std::string& options) {
    return run_named(runs, std::regex_replace((options.empty() ? "healthy" : "healthy ") + options,
                                              std::regex("[^A-Za-z0-9]"), "_"));
}

// A mistake, its run, and the run without it.
struct Case {
    Trap trap;
    Run with, without;
    bool changes() const { return with.loss != without.loss; }
};

std::string spoken(const std::string& score) { return std::regex_replace(score, std::regex("/"), " of "); }

// `--preset article --d-model 64` -> `--preset article`
std::string shortened(const std::string& options) {
    return options.substr(0, options.find(' ', options.find(' ') + 1));
}

// ------------------------------------------------------------------------------------------------- figures

figures::LineChart panel(const Case& c, const std::string& title) {
    std::vector<double> steps;
    for (std::size_t i = 1; i <= c.without.loss.size(); ++i)
        steps.push_back(20 * static_cast<double>(i));
    autograd::check(c.with.loss.size() <= steps.size(), "curves.csv: the run ", c.trap.name, " has ",
                    c.with.loss.size(), " losses, the one without a mistake has ", steps.size());
    const std::vector<double> x(steps.begin(), steps.begin() + std::ssize(c.with.loss));
    return {.title = title,
            .x = {.name = "step", .ticks = {0, 400, 800, 1200}},
            .y = {.name = "loss", .log = true, .low = 0.003, .high = 10},
            .series = {{"without the mistake", c.without.loss, steps}, {"with it", c.with.loss, x}}};
}

std::string capital(std::string text) {
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return text;
}

std::string title_of(const Case& c) {
    std::string title = capital(c.trap.field("Title"));
    std::erase(title, '`');
    return title;
}

std::string figure_of(const Case& c) {
    const std::string score = spoken(c.with.score) + " sequences right";
    return figures::svg(
        title_of(c) + ": " + score,
        "The training loss of reverse_task with this mistake and without it. After training: " + score + ".",
        {panel(c, "")});
}

std::string figure_of_others(const std::vector<Case>& cases) {
    std::vector<figures::LineChart> panels;
    for (const Case& c : cases)
        if (c.changes() && !c.with.loss.empty() && !c.trap.is_exhibit())
            panels.push_back(panel(c, title_of(c) + '\n' + spoken(c.with.score)));
    return figures::svg(
        "The other mistakes that change the loss",
        "The training loss of reverse_task with each mistake and without it. Below each name: how "
        "many of 2000 sequences the model reverses after training.",
        panels, 4);
}

// ---------------------------------------------------------------------------------------------------- text

constexpr std::size_t kWidth = 118;

std::string paragraph(const std::string& text, const std::string& indent = "") {
    std::string lines;
    for (const std::string& line : kit::wrapped(text, kWidth - indent.size()))
        lines += (lines.empty() ? "" : indent) + line + '\n';
    return lines;
}

// `owner/name#1, #2, PR #3 (remark)` with a link for each; one without a repository is of that before it.
std::string linked(const std::string& sources) {
    static const std::regex source(R"((([\w.-]+/[\w.-]+)( PR )?)?(PR )?(#(\d+))?( \([^)]*\))?(, |$))");
    std::string text, repository;
    std::smatch found;
    for (std::string rest = sources; !rest.empty(); rest = found.suffix()) {
        autograd::check(std::regex_search(rest, found, source, std::regex_constants::match_continuous) &&
                            found.length() > 0,
                        "not a source: ", rest);
        if (found[2].matched)
            repository = found[2];
        const bool pull = found[3].matched || found[4].matched;
        text += join("[", repository, found[6].matched ? "#" : "", found[6].str(), "](https://github.com/",
                     repository, found[6].matched ? pull ? "/pull/" : "/issues/" : "", found[6].str(), ")",
                     found[7].str(), found[8].str());
    }
    return text;
}

std::string test_link(const Trap& trap, const std::string& words) {
    return "[" + words + "](.." + file_of_test(trap.field("Caught-by")).substr(5) + ")";
}

void print_exhibit(std::ostream& out, const Case& c) {
    const Trap& trap = c.trap;
    out << "### " << capital(trap.field("Title")) << "\n\n"
        << paragraph(trap.field("Mistake")) << "\n```diff\n@@ " << trap.hunks[0].file << " @@\n"
        << std::regex_replace(trap.hunks[0].diff, std::regex("( \n)+$"), "")
        << "```\n\n![Training loss with this mistake and without it](figures/" << trap.name << ".svg)\n\n"
        << paragraph("**What you see: " + spoken(c.with.score) + " right.** " + trap.field("Symptom")) << '\n'
        << paragraph("**What catches it:** " + test_link(trap, "`" + trap.field("Caught-by") + "`") + ". " +
                     trap.field("Lesson"))
        << '\n'
        << paragraph("**Found in:** " + linked(trap.field("Sources")) + " ([patch](" + trap.name +
                     ".patch)).");
}

// A list item of two lines: the mistake, and what one sees.
void print_short(std::ostream& out, const Case& c) {
    const Trap& trap = c.trap;
    const std::string options = shortened(trap.field("Options"));
    const std::string result = c.with.score.substr(0, c.with.score.find('/')) + " right" +
                               (options.empty() ? "" : " with `" + options + "`") +
                               (c.changes() ? "" : ", same loss");
    out << paragraph(join("- **[", capital(trap.field("Title")), "](", trap.name, ".patch).** ",
                          trap.field("Mistake"), "<br>"),
                     "  ")
        << "  "
        << paragraph(join("*", result, ".* ", trap.field("Symptom"), " ", test_link(trap, "Test"), "; ",
                          linked(trap.field("Sources")), "."),
                     "  ");
}

void print_others(std::ostream& out, const std::vector<Case>& cases) {
    for (const char* part : {"masks", "attention", "embeddings and positions", "layers", "loss and data",
                             "gradients", "training", "decoding"}) {
        out << "### " << capital(part) << "\n\n";
        for (const Case& c : cases)
            if (c.trap.field("Part") == part && !c.trap.is_exhibit())
                print_short(out, c);
        out << '\n';
    }
}

// The runs without a mistake, and how many of those with one end as well.
void print_runs(std::ostream& out, const std::vector<Case>& cases) {
    std::map<std::string, std::string> scores;  // by options
    int whole = 0, same = 0;
    for (const Case& c : cases) {
        scores[c.trap.field("Options")] = c.without.score;
        whole += c.with.score == "2000/2000" ? 1 : 0;
        same += c.changes() ? 0 : 1;
    }
    out << "| without a mistake | sequences right |\n|---|---|\n";
    for (const auto& [options, score] : scores)
        out << "| `reverse_task" << (options.empty() ? "" : " ") << shortened(options) << "` | "
            << spoken(score) << " |\n";
    out << '\n'
        << paragraph(join("Of the museum's ", cases.size(), " mistakes, ", whole,
                          " leave all 2000 sequences right, and ", same,
                          " do not change a bit of the training."));
}

}  // namespace

std::string file_of_test(const std::string& name) {
    static const std::map<std::string, std::string> files = [] {  // by path
        std::map<std::string, std::string> all;
        for (const auto& entry : std::filesystem::recursive_directory_iterator("tests"))
            if (const std::string file = entry.path().filename();
                file.starts_with("test_") && file.ends_with(".cpp"))
                all[entry.path()] = content(entry.path());
        return all;
    }();
    std::vector<std::string> found;
    for (const auto& [path, text] : files)
        if (text.find('"' + name + "\",") != std::string::npos)
            found.push_back(path);
    autograd::check(found.size() == 1, "the test '", name, "' stands in ", found.size(),
                    " files, not in one");
    return found[0];
}

chapters::Computed museum(const std::vector<Trap>& traps, const std::string& csv) {
    const Runs runs = read_runs(csv);
    std::vector<Case> cases;
    for (const Trap& trap : traps)
        cases.push_back({trap, run_named(runs, trap.name), reference(runs, trap.field("Options"))});
    const std::string folder = "tests/traps/figures/";
    using chapters::Effort;
    chapters::Computed all = {
        {{"traps.runs", Effort::quick, [=](std::ostream& out) { print_runs(out, cases); }},
         {"traps.others", Effort::quick, [=](std::ostream& out) { print_others(out, cases); }}},
        {{folder + "others.svg", Effort::quick, [=] { return figure_of_others(cases); }}}};
    for (const Case& c : cases)
        if (c.trap.is_exhibit()) {
            all.sections.push_back(
                {"traps." + c.trap.name, Effort::quick, [=](std::ostream& out) { print_exhibit(out, c); }});
            all.figures.push_back(
                {folder + c.trap.name + ".svg", Effort::quick, [=] { return figure_of(c); }});
        }
    return all;
}

}  // namespace plaingrad::tests
