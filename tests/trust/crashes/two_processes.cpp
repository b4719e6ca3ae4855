// Two processes in one folder. The first is stopped before its n-th call about a file, the other runs from
// its start to its end, then the first goes on. One of them does the work, the other refuses in one line, or
// finds the run ended.
#include "tests/trust/crashes/parts.h"

namespace plaingrad::trust {

namespace {

// What a process may say that comes too late, or too early.
const Words kRefusals = {"another run is writing into this folder", "there is a run in this folder already",
                         "there is no run in this folder", "this belongs to a model, or to another run"};

// Whether it has taken steps: "step  3/12  loss ...", or "epoch 1  step 3  loss ...".
bool has_trained(const Result& r) {
    for (const std::string& line : tests::lines_of(r.err))
        if (line.starts_with("step ") || line.starts_with("epoch "))
            return true;
    return false;
}

struct Case {
    const Run* run;
    Fault fault;
    bool first_resumes, other_resumes;
};

// Returns whether the first was stopped.
bool one(const Runs& runs, const Case& c) {
    const Folder all;
    const std::string folder = all / "run", &name = c.run->program.name;
    const Words begin = runs.begin(*c.run, folder), resume = runs.resume(*c.run, folder);
    if (c.first_resumes)  // something to resume
        runs.ran(name, joined(begin, {"--stop-after", "2"}));
    const Words& first_words = c.first_resumes ? resume : begin;
    const std::string which = runs.line(name, first_words, c.fault) + "; then, while it is stopped, with --" +
                              (c.other_resumes ? "resume" : "save");
    Running first(name, first_words, runs.with(c.fault));
    const bool stopped = first.stops();
    const Result other = runs.ran(name, c.other_resumes ? resume : begin);
    first.interrupt(SIGCONT);
    const Result r = runs.wait(first);
    runs.check_told(*c.run, other, kRefusals, which + " (the other)");
    runs.check_told(*c.run, r, kRefusals, which + " (the first)");
    // Both take the same steps, so the files alone would not tell that nobody has refused.
    if (has_trained(r) && has_trained(other))
        runs.damage.note(Wrong::died, which, "both have trained");
    if (!has_trained(r) && !has_trained(other))
        runs.damage.note(Wrong::died, which, "neither has trained: " + r.err + other.err);
    if (stopped)
        runs.check_opens(folder, which);
    runs.check(*c.run, folder, which);
    return stopped;
}

}  // namespace

void two_processes(const Instrument& trust, const Runs& runs) {
    std::vector<Case> cases;
    for (const Run& run : runs.all) {
        const autograd::Rng rng = trust.rng().fork("two").fork(run.program.name);
        const bool all = trust.scale == Scale::full;
        const auto some = [&](const FaultCounts& calls) {
            return some_of(std::min<int64_t>(100, calls.files), trust.count(6, 12, 100), rng);
        };
        for (const int64_t n : some(run.calls_resumed))
            if (all || n % 2 == 0)
                cases.push_back({&run, {"files", n, "stop"}, true, true});
        for (const int64_t n : some(run.calls)) {
            if (all || n % 2 == 1)
                cases.push_back({&run, {"files", n, "stop"}, false, false});
            if (all)
                cases.push_back({&run, {"files", n, "stop"}, false, true});
        }
    }
    std::atomic<int64_t> pairs = 0;
    for_each_case(std::ssize(cases), runs.damage,
                  [&](int64_t i) { pairs += one(runs, cases[static_cast<std::size_t>(i)]) ? 1 : 0; });
    trust.figure("crashes.pairs", static_cast<double>(pairs), "in all programs together");
}

}  // namespace plaingrad::trust
