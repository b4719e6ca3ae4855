#include "tests/trust/crashes/runs.h"

#include <chrono>
#include <cstring>

#include "autograd/base/check.h"
#include "nn/checkpoint/safetensors.h"

namespace plaingrad::trust {

namespace fs = std::filesystem;
using tests::content;

namespace {

std::string words_of(const Fault& f) { return autograd::join(f.what, " ", f.n, " ", f.how, " ", f.last); }

std::string listed(const Contents& files) {
    std::string names;
    for (const auto& [name, content] : files)
        names += (names.empty() ? "" : " ") + name;
    return names;
}

std::string last_line(const std::string& text) {
    const Words lines = tests::lines_of(text);
    return lines.empty() ? "" : lines.back();
}

}  // namespace

bool is_usual_end(const Run& run, const Result& r) {
    return r.status == run.ended.status && (r.status == 0 || last_line(r.err) == last_line(run.ended.err));
}

std::string library_of_faults() {
    return fs::absolute(fs::path(tests::environment("PLAINGRAD_TRUST", "build/trust")) / "faults.so")
        .string();
}

Runs::Runs(Damage& all_) : damage(all_) {
    const Folder here;
    for (const Program& program : small_.all) {
        all.push_back(undisturbed(program, here / Run{program}.name()));
        const std::string part = here / Run{program}.name() + "-part";
        ran(program.name, joined(begin(all.back(), part), {"--stop-after", "2"}));
        ran(program.name, resume(all.back(), part), {}, &all.back().resumed);
    }
}

Run Runs::undisturbed(const Program& program, const std::string& folder) const {
    Run run = {program};
    run.ended = ran(program.name, begin(run, folder), {}, &run.calls);
    autograd::check(run.calls.memory > 0 && run.calls.disk > 0, library_of_faults(), ": it counts nothing");
    // Status 1: after so few steps, the task is not solved.
    autograd::check(run.ended.status <= 1 && steps_in(folder) == program.steps, program.name,
                    " ends before its last step: ", run.ended.err);
    run.files = tests::comparable(folder);
    return run;
}

Words Runs::begin(const Run& run, const std::string& folder) const {
    return joined(run.program.train, {"--threads", "1", "--save", folder});
}

Words Runs::resume(const Run& run, const std::string& folder) const {
    return joined(run.program.begin, {"--resume", folder, "--threads", "1"});
}

Result Runs::ran(const std::string& program, const Words& words, const Fault& fault, FaultCounts* counts,
                 const std::function<void()>& meanwhile) const {
    using Clock = std::chrono::steady_clock;
    const Folder here;
    const std::string temporary = here / "temporary", counted = here / "counts";
    fs::create_directory(temporary);
    With with = {.env = {"TMPDIR=" + temporary}};
    if (counts != nullptr)
        with.env = joined(with.env, {"LD_PRELOAD=" + library_of_faults(), kFaultCounts + ("=" + counted),
                                     kFault + ("=" + words_of(fault))});
    Running running(program, words, with);
    if (meanwhile && running.stops()) {
        meanwhile();
        running.interrupt(SIGCONT);
    }
    const Clock::time_point patience = Clock::now() + std::chrono::seconds(100);
    while (running.runs() && Clock::now() < patience)
        usleep(200);
    const bool hangs = running.runs();
    running.interrupt(SIGKILL);
    const Result r = running.wait();
    if (hangs)
        damage.note("died", line(program, words, fault), "it does not end: " + r.err);
    if (r.status != 128 + SIGKILL && !fs::is_empty(temporary))
        damage.note("left_over", line(program, words, fault),
                    "in TMPDIR: " + listed(tests::contents(temporary)));
    if (const std::string bytes = content(counted); bytes.size() == sizeof *counts)
        std::memcpy(counts, bytes.data(), sizeof *counts);
    return r;
}

void Runs::check_ended(const Run& run, const Result& r, const std::string& folder,
                       const std::string& which) const {
    for (const auto& [name, bytes] : tests::contents(folder))
        if (name.ends_with(".plaingrad-tmp"))  // as replace_file calls what is not whole yet
            damage.note("left_over", which, name);
    if (is_usual_end(run, r))
        check_same(run, folder, which + ", before it resumes");
    check(run, folder, which);
}

void Runs::check(const Run& run, const std::string& folder, const std::string& which) const {
    for (const auto& [name, bytes] : tests::contents(folder))
        if (name.ends_with(".safetensors")) {
            try {
                nn::checkpoint::read(folder + "/" + name);
            } catch (const std::exception& error) {
                damage.note("corrupt", which, error.what());
            }
        }
    const bool begun = fs::exists(folder + "/last.safetensors");
    if (begun && steps_in(folder) < 0)
        damage.note("corrupt", which, "last.safetensors has no number of steps");
    const Result r = ran(run.program.name, begun ? resume(run, folder) : begin(run, folder));
    if (is_usual_end(run, r))
        check_same(run, folder, which);
    else
        damage.note("died", which, "it does not go on: " + last_line(r.err));
}

void Runs::check_same(const Run& run, const std::string& folder, const std::string& which) const {
    const Contents files = tests::comparable(folder);
    for (const auto& [name, bytes] : run.files)
        if (const auto mine = files.find(name); mine == files.end() || mine->second != bytes)
            return damage.note("unequal", which,
                               name + (mine == files.end() ? " is missing" : " has other bits"));
    if (files.size() != run.files.size())
        damage.note("left_over", which, "there are " + listed(files));
}

void Runs::check_told(const Run& run, const Result& r, const Words& reasons, const std::string& which) const {
    const std::string last = last_line(r.err);
    const auto says = [&](const std::string& reason) { return last.find(reason) != last.npos; };
    const bool clear = last.starts_with(run.program.name + ": ") && r.err.ends_with('\n') &&
                       std::any_of(reasons.begin(), reasons.end(), says);
    if (!is_usual_end(run, r) && (r.status != 1 || !clear))
        damage.note("died", which, "status " + std::to_string(r.status) + ": " + last);
}

std::string Runs::line(const std::string& program, const Words& words, const Fault& fault) const {
    return autograd::join(kFault, "='", words_of(fault), "' LD_PRELOAD=", library_of_faults(), " ./apps/",
                          program, " ", nn::checkpoint::listed(words, " "));
}

}  // namespace plaingrad::trust
