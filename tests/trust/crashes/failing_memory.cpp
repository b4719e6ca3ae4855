// The n-th allocation of a program fails, or it and all later ones: in training, and in what each program
// does with a model. Either the program can do without it, and ends as usual, or it says that memory is out.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <mutex>

#include "autograd/base/check.h"
#include "tests/trust/crashes/parts.h"

namespace plaingrad::trust {

namespace {

constexpr const char* kWrong = "--no-such-option";

struct Command {
    std::string program;
    Words words;
    const Run* trains = nullptr;  // the run that it makes, if it trains: its folder is checked afterwards
    bool checks = false;          // with --check, it trains without a folder
    Result ended = {};
    int64_t allocations = 0;
};

// With the models of runs that have ended, in the folder `in`, by the names of their programs.
std::vector<Command> commands(const Runs& runs, const std::string& in) {
    std::vector<Command> all;
    for (const Run& run : runs.all) {
        all.push_back({run.program.name, run.program.train, &run});
        // (The others train until the time is up, so how much they allocate varies.)
        if (run.name() == "generate12" || run.program.name == "classify" || run.program.name == "translate")
            all.push_back(
                {.program = run.program.name,
                 .words = joined(run.program.train, {"--check", "--threads", "1", "--save-every", "0"}),
                 .checks = true});
        all.push_back({run.program.name, {"info", in + "/" + run.name()}});
        all.push_back({run.program.name, {"--help"}});
    }
    const Words few = {"--tokens", "8", "--seed", "3"};
    for (const std::string& model : {in + "/generate12", in + "/generate10"})
        all.push_back({"generate", joined({model, "--prompt", "one two"}, few)});
    all.push_back({"fill", {in + "/fill10", "one [MASK] three."}});
    all.push_back({"classify", {"predict", in + "/classify12", "one two.", "six"}});
    tests::put(in + "/text", "one two.\n");
    all.push_back({"translate", {"run", in + "/translate8", in + "/text"}});
    all.push_back({"translate", {kWrong}});
    return all;
}

// Returns whether the allocation was made, and has failed.
bool one(const Runs& runs, const Command& c, const Fault& fault) {
    const Folder all;
    const std::string folder = all / "run";
    const Words words = c.trains != nullptr ? runs.begin(*c.trains, folder) : c.words;
    const std::string which = runs.line(c.program, words, fault);
    std::atomic<int64_t> happened = 0;
    const Result r = runs.ran(c.program, words, fault, happened);
    const Run reference = {{c.program}, c.ended};
    const Words reasons = {"memory", std::strerror(ENOMEM),
                           "the system gives this program no more than 1 of "};
    const bool has_no_byte = r.status == 128 + SIGABRT && r.err.ends_with("std::bad_alloc\n");
    if (!has_no_byte)  // for a line of its own
        runs.check_told(reference, r, reasons, which);
    // (What a check says depends on the time that it had.)
    if (r.status == c.ended.status && c.trains == nullptr && !c.checks && r.out != c.ended.out)
        runs.damage.note(Wrong::unequal, which, "other output");
    if (c.trains != nullptr)
        runs.check_ended(*c.trains, r, folder, which);
    return happened > 0;
}

}  // namespace

void failing_memory(const Instrument& trust, const Runs& runs) {
    const Folder models;
    std::vector<Command> all = commands(runs, models.path);
    for (const Run& run : runs.all)
        runs.ran(run.program.name, runs.begin(run, models / run.name()));
    std::vector<std::pair<const Command*, Fault>> cases;
    int64_t made = 0;
    std::map<const Command*, int64_t> last;  // of those that have failed; 0 where none has
    for (Command& c : all) {
        last[&c] = 0;
        const Folder here;
        const Words words = c.trains != nullptr ? runs.begin(*c.trains, here / "run") : c.words;
        c.ended = runs.ran(c.program, words, runs.with({"none"}, here / "counts"));
        autograd::check(c.trains != nullptr || c.ended.status == (c.words[0] == kWrong ? 2 : 0), c.program,
                        ": it fails without a fault: ", c.ended.err);
        c.allocations = counts_in(here / "counts").memory;
        const autograd::Rng rng = trust.rng().fork("memory").fork(std::to_string(&c - all.data()));
        // Of a program that does not train, every one at the long scale. (Of training, where one step is as
        // the other, exhausted_memory.cpp takes every one of a step.)
        const bool is_training = c.trains != nullptr || c.checks;
        const int64_t most = is_training ? trust.count(6, 30, 400) : trust.count(6, 30, 100'000);
        for (const int64_t n : some_of(c.allocations, most, rng)) {
            const char* const when = (n + static_cast<int64_t>(trust.seed)) % 3 == 0 ? "on" : "once";
            cases.emplace_back(&c, Fault{"memory", n, std::to_string(ENOMEM), when});
        }
        made += c.allocations;
    }
    int64_t happened = 0;
    std::mutex mutex;
    for_each_case(std::ssize(cases), runs.damage, [&](int64_t i) {
        const auto& [command, fault] = cases[static_cast<std::size_t>(i)];
        const bool has_failed = one(runs, *command, fault);
        const std::lock_guard lock(mutex);
        happened += has_failed ? 1 : 0;
        last[command] = std::max(last[command], has_failed ? fault.n : 0);
    });
    const auto earliest = std::min_element(last.begin(), last.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
    trust.figure("crashes.failing_allocations", static_cast<double>(happened),
                 autograd::join("of ", made, " that ", all.size(), " command lines make"));
    trust.figure("crashes.last_allocation", static_cast<double>(earliest->second), earliest->first->program);
}

}  // namespace plaingrad::trust
