// A fault meets a program that trains at one of its calls of the system: from the beginning of its run, or as
// it goes on after two steps.
#include <cerrno>
#include <csignal>
#include <cstring>

#include "autograd/base/check.h"
#include "tests/trust/crashes/parts.h"

namespace plaingrad::trust {

namespace {

// At the long scale each call meets every fault, below it one of them. A third of the calls that fail are
// followed by others that do, as on a full disk.
std::vector<Case> cases_of(const Part& part, const Runs& runs, const Instrument& trust) {
    std::vector<Case> all;
    const auto add = [&](const Run& run, const FaultCounts& calls, bool goes_on) {
        const int64_t count = part.counted == "memory" ? calls.memory
                              : part.counted == "disk" ? calls.disk
                                                       : calls.files;
        for (const int64_t n : some_of(count, trust.count(part.most[0], part.most[1], part.most[2]),
                                       trust.rng().fork(part.counted).fork(run.name())))
            for (std::size_t i = 0; i < part.how.size(); ++i)
                if (trust.scale == Scale::full || static_cast<std::size_t>(n) % part.how.size() == i) {
                    const bool on = part.how[i] > 0 && (n + static_cast<int64_t>(trust.seed)) % 3 == 0;
                    all.push_back({run, {part.counted, n, part.how[i], on ? "on" : "once"}, goes_on});
                }
    };
    for (const Run& run : runs.all) {
        add(run, run.calls, false);
        if (part.goes_on)
            add(run, run.resumed, true);
    }
    return all;
}

}  // namespace

int64_t cases_met(const Instrument& trust, const Runs& runs, const Part& part) {
    std::vector<Case> cases = cases_of(part, runs, trust);
    std::atomic<int64_t> happened = 0;
    for_each_case(std::ssize(cases), runs.damage, [&](int64_t i) {
        Case& c = cases[static_cast<std::size_t>(i)];
        const Folder all;
        c.folder = all / "run";
        const std::string& name = c.run.program.name;
        const Words begin = runs.begin(c.run, c.folder), resume = runs.resume(c.run, c.folder),
                    words = c.goes_on ? resume : begin;
        if (c.goes_on)
            runs.ran(name, joined(begin, {"--stop-after", "2"}));
        c.steps_before = steps_in(c.folder);
        c.which = runs.line(name, words, c.fault);
        const auto meanwhile = [&] {
            c.other = runs.ran(name, c.goes_on || c.fault.n % 2 == 0 ? resume : begin);
        };
        c.r = runs.ran(name, words, c.fault, &c.counts,
                       c.fault.how == -SIGSTOP ? meanwhile : std::function<void()>());
        part.judge(runs, c);
        happened += c.counts.faults > 0 ? 1 : 0;
    });
    return happened / (part.of == Part::each_program  ? std::ssize(runs.all)
                       : part.of == Part::each_signal ? std::ssize(part.how)
                                                      : 1);
}

namespace {

// The step of "saved after step N; continue with ...", or -1 if it does not say that.
int64_t saved_after(const Result& r) {
    const double step = tests::number_after(r.err, "saved after step ");
    return std::isnan(step) ? -1 : static_cast<int64_t>(step);
}

// Whether it has taken steps: "step  3/12  loss ...", or "epoch 1  step 3  loss ...".
bool has_trained(const Result& r) {
    const Words lines = tests::lines_of(r.err);
    return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
        return line.starts_with("step ") || line.starts_with("epoch ");
    });
}

// Before a call: what a process has left that is killed earlier, it had left before the call before.
void after_kill(const Runs& runs, const Case& c) {
    if (c.r.status != 128 + SIGKILL)
        runs.damage.note("died", c.which, "it was not killed");
    if (steps_in(c.folder) < c.steps_before)
        runs.damage.note("unequal", c.which, "it has lost steps");
    runs.check(c.run, c.folder, c.which);
}

// SIGINT, SIGTERM and SIGHUP: the run finishes its step, saves, and says how to continue; or, before it
// trains or after, it ends at once. SIGPIPE does nothing: a run must not end because somebody has closed the
// pipe that shows it.
void after_signal(const Runs& runs, const Case& c) {
    const int signal = -c.fault.how;
    const int64_t steps = steps_in(c.folder), said = saved_after(c.r);
    const std::string end = signal == SIGINT ? ": interrupted\n" : ": terminated\n";
    const auto wrong = [&](const char* what) {
        runs.damage.note("died", c.which, autograd::join(what, ", status ", c.r.status, ": ", c.r.err));
    };
    if (said < 0 && signal != SIGPIPE && steps >= 0 && steps < c.run.program.steps)
        wrong("it has not saved");
    if (said >= 0 && (said != steps || c.r.status != 128 + signal || !c.r.err.ends_with(end)))
        wrong("it says that it has saved");
    // In its first moments a program has not yet said that it ignores SIGPIPE.
    const bool early = c.r.err.empty() && !std::filesystem::exists(c.folder);
    if (!c.ended() && (c.r.status != 128 + signal || (signal == SIGPIPE && !early)))
        wrong("it has ended");
    runs.check(c.run, c.folder, c.which);
}

// Some calls that fail change nothing, as the fsync of a folder: then the run ends as usual.
void after_failure(const Runs& runs, const Case& c) {
    runs.check_told(c.run, c.r, {std::strerror(c.fault.how), "could not be written"}, c.which);
    if (c.counts.faults > 0 && std::string(c.counts.call) == "fsync" && c.ended())
        runs.damage.note("died", c.which, "a file that may not be on the disk counts as saved");
    runs.check_ended(c.run, c.r, c.folder, c.which);
}

void without_memory(const Runs& runs, const Case& c) {
    // (Who has no byte for a line of its own is ended by the C++ library.)
    if (c.r.status != 128 + SIGABRT || !c.r.err.ends_with("std::bad_alloc\n"))
        runs.check_told(c.run, c.r,
                        {"memory", std::strerror(ENOMEM), "gives this program no more than 1 of "}, c.which);
    runs.check_ended(c.run, c.r, c.folder, c.which);
}

// A run is stopped, another one comes into its folder, from its start to its end, then the first goes on. One
// of them does the work, the other refuses in one line, or finds the run ended.
void after_another(const Runs& runs, const Case& c) {
    const Words refusals = {"another run is writing into this folder",
                            "there is a run in this folder already", "there is no run in this folder",
                            "this belongs to a model, or to another run"};
    runs.check_told(c.run, c.r, refusals, c.which + " (the first)");
    runs.check_told(c.run, c.other, refusals, c.which + " (the other)");
    // Both take the same steps, so the files alone would not tell that nobody has refused.
    if (has_trained(c.r) == has_trained(c.other))
        runs.damage.note("died", c.which, "both have trained, or neither: " + c.r.err + c.other.err);
    runs.check_ended(c.run, c.r, c.folder, c.which);
}

}  // namespace

using enum Part::Of;
const std::vector<int> kSignals = {-SIGINT, -SIGTERM, -SIGHUP, -SIGPIPE};
// (Few allocations, as one step is as the other; tests/models/test_exhausted_memory.cpp takes all of a step.)
const std::vector<Part> kParts = {
    {"kills", "kills", each_program, "files", {-SIGKILL}, {2, 8, 200}, after_kill, true},
    {"signals", "signals", each_signal, "files", kSignals, {4, 13, 50}, after_signal},
    {"failing_calls", "failing_calls", all, "disk", {EIO, ENOSPC, EROFS}, {12, 50, 1 << 20}, after_failure},
    {"failing_memory", "failing_allocations", all, "memory", {ENOMEM}, {12, 60, 2'000}, without_memory},
    {"two_processes", "pairs", all, "files", {-SIGSTOP}, {3, 6, 100}, after_another, true}};

}  // namespace plaingrad::trust
