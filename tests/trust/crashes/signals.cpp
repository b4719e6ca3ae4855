// Signals at random moments. SIGINT, SIGTERM and SIGHUP: the run finishes its step, saves, and says how to
// continue; or, before it trains or after, it ends at once. SIGPIPE does nothing: a run must not end because
// somebody has closed the pipe that shows it.
#include <algorithm>
#include <atomic>
#include <csignal>

#include "nn/checkpoint/safetensors.h"
#include "tests/trust/crashes/parts.h"

namespace plaingrad::trust {

namespace {

struct Kind {
    int signal;
    std::string name;
};

// The step of "saved after step N; continue with ...", or -1 if it does not say that.
int64_t saved_after(const Result& r) {
    const std::string words = "saved after step ";
    const std::size_t at = r.err.find(words);
    return at == r.err.npos ? -1 : std::stoll(r.err.substr(at + words.size()));
}
bool says_saved(const Result& r) { return saved_after(r) >= 0; }

// A run that was between its first and its last step has said after which step it saved, and it has; it ends
// as one that a signal has stopped. (These runs save before their first step, and by themselves only if they
// validate.)
void check_saved(const Runs& runs, const Run& run, const Kind& kind, const std::string& folder,
                 const Result& r, const std::string& which) {
    const std::string last = folder + "/last.safetensors";
    std::error_code none;
    const int64_t steps = !std::filesystem::exists(last, none)
                              ? -1
                              : std::stoll(nn::checkpoint::read(last).metadata().at("training.steps"));
    if (steps >= 0 && steps < run.program.steps && !says_saved(r))
        runs.damage.note(Wrong::died, which, "it has not saved: " + r.err);
    if (says_saved(r) && saved_after(r) != steps)
        runs.damage.note(
            Wrong::died, which,
            autograd::join("it says that it has saved, but the file is of step ", steps, ": ", r.err));
    if (says_saved(r) && r.status != 128 + kind.signal)
        runs.damage.note(Wrong::died, which, "stopped, with status " + std::to_string(r.status));
}

struct Sent {
    std::atomic<int64_t> running{0};  // while the program still ran
    std::atomic<int64_t> stopped{0};  // and this signal was its end
};

void one(const Runs& runs, const Run& run, const Kind& kind, const autograd::Rng& moment, Sent& sent) {
    const Folder all;
    const std::string folder = all / "run";
    const auto time = static_cast<unsigned>(1e6 * run.seconds * moment.uniform(0));
    Running running(run.program.name, runs.begin(run, folder));
    usleep(time);
    const bool still_ran = running.runs();
    running.interrupt(kind.signal);
    const Result r = runs.wait(running);
    const std::string which = run.program.name + ", " + kind.name + " after " + std::to_string(time) + " us";
    if (kind.signal != SIGPIPE)
        check_saved(runs, run, kind, folder, r, which);
    const bool ended = is_usual_end(run, r);
    const bool may_stop = kind.signal != SIGPIPE && r.status == 128 + kind.signal;
    const bool told =
        !says_saved(r) || r.err.ends_with(kind.signal == SIGINT ? ": interrupted\n" : ": terminated\n");
    // In its first moments a program has not yet said that it ignores SIGPIPE.
    const bool early = r.status == 128 + SIGPIPE && r.err.empty() && !std::filesystem::exists(folder);
    if (!(ended || may_stop || early) || !told)
        runs.damage.note(Wrong::died, which, "status " + std::to_string(r.status) + ": " + r.err);
    runs.check(run, folder, which);
    sent.running += still_ran ? 1 : 0;
    sent.stopped += r.status == 128 + kind.signal ? 1 : 0;
}

}  // namespace

void signals(const Instrument& trust, const Runs& runs) {
    const std::vector<Kind> kinds = {
        {SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGPIPE, "SIGPIPE"}};
    const auto programs = std::ssize(runs.all);
    // How many signals of each kind; at the long scale, 50 of each kind to each program.
    const int64_t each = trust.count(programs, 25, 50 * programs), all = each * std::ssize(kinds);
    std::vector<Sent> sent(kinds.size());
    // nohup ignores it, and the programs would inherit that; of a handler they inherit nothing.
    const auto before = std::signal(SIGHUP, [](int) {});
    for_each_case(3 * all, runs.damage, [&](int64_t i) {  // some programs end before
        const auto k = static_cast<std::size_t>(i % std::ssize(kinds));
        if (sent[k].running >= each)
            return;
        const Run& run = runs.rarely_saving[static_cast<std::size_t>(i / std::ssize(kinds) % programs)];
        one(runs, run, kinds[k], trust.rng().fork("signals").fork(static_cast<uint64_t>(i)), sent[k]);
    });
    std::signal(SIGHUP, before);
    int64_t least = INT64_MAX;
    for (std::size_t k = 0; k < kinds.size(); ++k) {
        // A signal that never ends a program has not reached any.
        const bool has_effect = kinds[k].signal == SIGPIPE || sent[k].stopped > 0;
        least = std::min(least, has_effect ? sent[k].running.load() : 0);
    }
    trust.figure("crashes.signals", static_cast<double>(least), "of each kind");
}

}  // namespace plaingrad::trust
