// Runs that are killed, once or twice, at any moment: half of them at a random time, the others before a
// random call about a file, which hits saving more often, and is found again by its number. The second kill
// must not undo what was saved before it.
#include <atomic>
#include <numeric>

#include "nn/checkpoint/safetensors.h"
#include "tests/trust/crashes/parts.h"

namespace plaingrad::trust {

namespace {

// Starts a program and kills it. Returns how, or "" if it had ended before.
std::string killed(const Runs& runs, const Run& run, const Words& words, bool by_time,
                   const autograd::Rng& moment) {
    const std::string& name = run.program.name;
    const Fault fault = {"files", 1 + moment.below(0, std::max<int64_t>(1, run.calls.files)), "kill"};
    const auto time = static_cast<unsigned>(1e6 * run.seconds * moment.uniform(0));
    Running running(name, words, by_time ? With{} : runs.with(fault));
    if (by_time) {
        usleep(time);
        running.interrupt(SIGKILL);
    }
    if (runs.wait(running).status != 128 + SIGKILL)
        return "";
    return by_time ? name + ", killed after " + std::to_string(time) + " us" : runs.line(name, words, fault);
}

// How many steps this checkpoint has done; -1 if it does not say so, which Runs::check_opens tells.
int64_t steps_in(const std::string& path) {
    try {
        return std::stoll(nn::checkpoint::read(path).metadata().at("training.steps"));
    } catch (const std::exception&) {
        return -1;
    }
}

// Returns how many kills there were.
int64_t one(const Runs& runs, const Run& run, const autograd::Rng& moments) {
    const Folder all;
    const std::string folder = all / "run";
    const auto by_time = [&](uint64_t i) { return !runs.can_fail() || moments.bits(i) % 2 == 0; };
    std::string which = killed(runs, run, runs.begin(run, folder), by_time(0), moments.fork("first"));
    int64_t kills = which.empty() ? 0 : 1;
    const std::string last = folder + "/last.safetensors";
    if (std::error_code none; moments.bits(2) % 2 == 0 && std::filesystem::exists(last, none)) {
        const int64_t before = steps_in(last);
        const std::string then =
            killed(runs, run, runs.resume(run, folder), by_time(1), moments.fork("second"));
        kills += then.empty() ? 0 : 1;
        which += then.empty() ? "" : "; then " + then;
        if (const int64_t after = steps_in(last); after < before)
            runs.damage.note(Wrong::unequal, which,
                             autograd::join("it had ", before, " steps, and now ", after));
    }
    runs.check(run, folder, which);
    return kills;
}

}  // namespace

void kills(const Instrument& trust, const Runs& runs) {
    const int64_t wanted = trust.count(4, 15, 200);
    std::vector<std::atomic<int64_t>> done(runs.all.size());
    const auto programs = static_cast<int64_t>(done.size());
    // Some have ended before they were to be killed.
    for_each_case(3 * wanted * programs, runs.damage, [&](int64_t i) {
        const auto p = static_cast<std::size_t>(i % programs);
        if (done[p] >= wanted)
            return;
        const Run& run = runs.all[p];
        done[p] += one(runs, run, trust.rng().fork("kills").fork(static_cast<uint64_t>(i)));
    });
    int64_t least = done[0];
    for (const auto& n : done)
        least = std::min<int64_t>(least, n);
    trust.figure("crashes.kills", static_cast<double>(least), "of each program that trains");
}

}  // namespace plaingrad::trust
