// A small run of each program that trains, and what must hold after it was disturbed: every file that it
// saved opens, and it resumes to the same end as a run that nothing has disturbed.
#pragma once

#include "tests/apps/small_runs.h"
#include "tests/saved_run.h"
#include "tests/trust/crashes/cases.h"
#include "tests/trust/preload/faults.h"

namespace plaingrad::trust {

using tests::Contents;
using tests::Folder;
using tests::joined;
using tests::Program;
using tests::Result;
using tests::Running;
using tests::steps_in;
using tests::With;
using tests::Words;

// What is asked of the preloaded library; the words are explained in faults.h.
struct Fault {
    std::string what = "none";
    int64_t n = 0;
    int how = 0;
    std::string last = "once";
};

struct Run {
    Program program;
    std::string name() const { return program.name + std::to_string(program.steps); }  // some have two runs
    Result ended = {};         // as the run that nothing disturbs ends
    Contents files = {};       // what it leaves in its folder
    FaultCounts calls = {};    // that it makes
    FaultCounts resumed = {};  // that it makes if it goes on after two steps
};

// Whether it ended as the undisturbed run does. (Status 1 is that of an error, but also that of a task that
// is not solved: the last line tells which.)
bool is_usual_end(const Run& run, const Result& r);

// To be loaded before a program.
std::string library_of_faults();

class Runs {
public:
    explicit Runs(Damage& all);

    Words begin(const Run& run, const std::string& folder) const;
    Words resume(const Run& run, const std::string& folder) const;
    // With a fault, and `meanwhile` if that stops it. A program that runs for more than 100 seconds is
    // killed, which counts as a death.
    Result ran(const std::string& program, const Words& words, const Fault& fault = {},
               FaultCounts* counts = nullptr, const std::function<void()>& meanwhile = {}) const;

    // After a fault that has not killed it: that no file is half written, and, if it ended as usual, that all
    // are as they should be; then as `check`, which would repair both.
    void check_ended(const Run& run, const Result& r, const std::string& folder,
                     const std::string& which) const;
    // After a fault: that all saved files open; then resumes the run (or begins it, if nothing was saved) and
    // looks that it ends as the undisturbed one.
    void check(const Run& run, const std::string& folder, const std::string& which) const;
    // That it ended as usual, or with status 1 and a last line with one of these reasons in it.
    void check_told(const Run& run, const Result& result, const Words& reasons,
                    const std::string& which) const;
    // How a user would try the case again.
    std::string line(const std::string& program, const Words& words, const Fault& fault) const;

    Damage& damage;
    std::vector<Run> all;

private:
    Run undisturbed(const Program& program, const std::string& folder) const;
    void check_same(const Run& run, const std::string& folder, const std::string& which) const;
    const tests::SmallRuns small_;
};

}  // namespace plaingrad::trust
