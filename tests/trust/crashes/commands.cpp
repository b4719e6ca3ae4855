// What each program does with a model, where its n-th allocation fails, or that and all later ones. Either
// the program can do without it, and ends as usual, or it says that memory is out.
#include <cerrno>

#include "autograd/base/check.h"
#include "tests/trust/crashes/parts.h"

namespace plaingrad::trust {

namespace {

struct Command {
    Run usual;  // of which only the program and its end matter
    Words words;
};

// With the models of runs that have ended, in the folder `in`, by their names.
std::vector<Command> commands(const Runs& runs, const std::string& in) {
    std::vector<Command> all;
    const auto add = [&](const std::string& program, const Words& words) {
        Command c = {{{program}}, words};
        c.usual.ended = runs.ran(program, words, {}, &c.usual.calls);
        autograd::check(c.usual.ended.status == 0, program, " fails without a fault: ", c.usual.ended.err);
        all.push_back(c);
    };
    for (const Run& run : runs.all) {
        const std::string& name = run.program.name;
        runs.ran(name, runs.begin(run, in + "/" + run.name()));
        add(name, {"info", in + "/" + run.name()});
        add(name, {"--help"});
        // (The others train until the time is up, so how much they allocate varies.)
        if (run.name() == "generate12" || name == "classify" || name == "translate")
            add(name, joined(run.program.train, {"--threads", "1", "--save-every", "0", "--check"}));
    }
    for (const char* const model : {"/generate12", "/generate10"})
        add("generate", {in + model, "--prompt", "one two", "--tokens", "8", "--seed", "3"});
    add("fill", {in + "/fill10", "one [MASK] three."});
    add("classify", {"predict", in + "/classify12", "one two.", "six"});
    tests::put(in + "/text", "one two.\n");
    add("translate", {"run", in + "/translate8", in + "/text"});
    return all;
}

}  // namespace

int64_t failing_allocations(const Instrument& trust, const Runs& runs) {
    const Folder models;
    const std::vector<Command> all = commands(runs, models.path);
    std::vector<std::pair<const Command*, int64_t>> cases;
    for (const Command& c : all) {
        const int64_t most = trust.count(6, 30, c.words.back() == "--check" ? 400 : 100'000);
        for (const int64_t n : some_of(c.usual.calls.memory, most, trust.rng().fork(c.words[0])))
            cases.emplace_back(&c, n);
    }
    std::atomic<int64_t> happened = failing_training(trust, runs);
    for_each_case(std::ssize(cases), runs.damage, [&](int64_t i) {
        const auto& [command, n] = cases[static_cast<std::size_t>(i)];
        const auto& [usual, words] = *command;
        const bool on = (n + static_cast<int64_t>(trust.seed)) % 3 == 0;
        const Fault fault = {"memory", n, ENOMEM, on ? "on" : "once"};
        const std::string which = runs.line(usual.program.name, words, fault);
        FaultCounts counts;
        const Result r = runs.ran(usual.program.name, words, fault, &counts);
        runs.check_out_of_memory(usual, r, which);
        // (What a check says depends on the time that it had.)
        if (is_usual_end(usual, r) && words.back() != "--check" && r.out != usual.ended.out)
            runs.damage.note("unequal", which, "other output");
        happened += counts.faults > 0 ? 1 : 0;
    });
    return happened;
}

}  // namespace plaingrad::trust
