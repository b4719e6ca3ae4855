// Signals at random moments. SIGINT and SIGTERM: the run finishes its step, saves, and says how to continue;
// or, before it trains or after, it ends at once. SIGHUP ends it at once. SIGPIPE does nothing: a run must
// not end because somebody has closed the pipe that shows it.
#include <algorithm>

#include "nn/checkpoint/safetensors.h"
#include "tests/trust/crashes/parts.h"

namespace plaingrad::trust {

namespace {

struct Kind {
    int signal;
    std::string name;
};

// A run that was between its first and its last step has said that it saved, and has.
void check_saved(const Runs& runs, const Run& run, const std::string& folder, const Result& r,
                 const std::string& which) {
    const std::string last = tests::folder_of(run.program, folder) + "/last.safetensors";
    if (std::error_code none; !std::filesystem::exists(last, none))
        return;
    const bool trains =
        std::stoll(nn::checkpoint::read(last).metadata().at("training.steps")) < run.program.steps;
    if (trains && r.err.find("saved; continue with --resume") == r.err.npos)
        runs.tally.note(Wrong::died, which, "it has not saved: " + r.err);
}

void one(const Runs& runs, const Run& run, const Kind& kind, const autograd::Rng& moment) {
    const Folder all;
    const std::string folder = all / "run";
    const auto time = static_cast<unsigned>(1e6 * run.seconds * moment.uniform(0));
    Running running(run.program.name, runs.begin(run, folder));
    usleep(time);
    running.interrupt(kind.signal);
    const Result r = runs.wait(running);
    const std::string which = run.program.name + ", " + kind.name + " after " + std::to_string(time) + " us";
    if (kind.signal == SIGINT || kind.signal == SIGTERM)
        check_saved(runs, run, folder, r, which);
    const bool ended = r.status == run.ended.status;
    const bool may_stop = kind.signal != SIGPIPE && r.status == 128 + kind.signal;
    const bool told = r.err.find("saved; continue with --resume") == r.err.npos ||
                      r.err.ends_with(kind.signal == SIGINT ? ": interrupted\n" : ": terminated\n");
    // In its first moments a program has not yet said that it ignores SIGPIPE.
    const bool early = r.status == 128 + SIGPIPE && r.err.empty() && !std::filesystem::exists(folder);
    if (!(ended || may_stop || early) || !told)
        runs.tally.note(Wrong::died, which, "status " + std::to_string(r.status) + ": " + r.err);
    runs.check(run, folder, which);
}

}  // namespace

void signals(const Instrument& trust, const Runs& runs) {
    const std::vector<Kind> kinds = {
        {SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGPIPE, "SIGPIPE"}};
    const auto programs = std::ssize(runs.all);
    // How many signals of each kind; at the long scale, 50 of each kind to each program.
    const int64_t each = trust.count(programs, 50, 50 * programs), all = each * std::ssize(kinds);
    for_each_case(all, runs.tally, [&](int64_t i) {
        one(runs, runs.all[static_cast<std::size_t>(i % programs)], kinds[static_cast<std::size_t>(i / each)],
            trust.rng().fork("signals").fork(static_cast<uint64_t>(i)));
    });
    trust.figure("crashes.signals", static_cast<double>(each), "of each kind");
}

}  // namespace plaingrad::trust
