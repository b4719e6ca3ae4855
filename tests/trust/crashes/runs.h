// A small run of each program that trains, and what must hold after it was disturbed: every file that it
// saved opens, and it resumes to the same end as a run that nothing has disturbed.
#pragma once

#include <atomic>
#include <map>

#include "tests/apps/programs.h"
#include "tests/trust/crashes/damage.h"
#include "tests/trust/preload/faults.h"

namespace plaingrad::trust {

using tests::Folder;
using tests::joined;
using tests::Program;
using tests::Result;
using tests::Running;
using tests::With;
using tests::Words;

// What is asked of the preloaded library; the words are explained in faults.h.
struct Fault {
    std::string what;
    int64_t n = 0;
    std::string how = "0", last = "once";
};

// By name, without what depends on the moment.
using Contents = std::map<std::string, std::string>;
Contents contents(const std::string& folder);

struct Run {
    Program program;
    std::string name() const { return program.name + std::to_string(program.steps); }  // some have two runs
    Result ended = {};               // as the run that nothing disturbs ends
    Contents files = {};             // what it leaves in its folder
    double seconds = 0;              // that it takes
    FaultCounts calls = {};          // that it makes
    FaultCounts calls_resumed = {};  // that it makes if it goes on after two steps
};

// Whether it ended as the undisturbed run does. (Status 1 is that of an error, but also that of a task that
// is not solved: the last line tells which.)
bool is_usual_end(const Run& run, const Result& r);

// What the preloaded library has written into this file; zeros, if nothing.
FaultCounts counts_in(const std::string& path);

class Runs {
public:
    explicit Runs(Damage& all);

    // Whether the library of faults can be loaded before the programs.
    bool can_fail() const { return !faults_.empty(); }
    With with(const Fault& fault, const std::string& counts = "") const;

    Words begin(const Run& run, const std::string& folder) const;
    Words resume(const Run& run, const std::string& folder) const;
    // Waits for its end. A program that runs for more than 100 seconds is killed, which counts as a death.
    Result wait(Running& running) const;
    Result ran(const std::string& program, const Words& words, const With& with = {}) const;
    // With a fault; adds 1 to `happened` if it came, and was not only asked for.
    Result ran(const std::string& program, const Words& words, const Fault& fault,
               std::atomic<int64_t>& happened, FaultCounts* counts = nullptr) const;

    // After a fault that has not killed it: that no file is half written, and, if it ended as usual, that all
    // are as they should be; then as `check`, which would repair both.
    void check_ended(const Run& run, const Result& r, const std::string& folder,
                     const std::string& which) const;
    // After a fault: that all saved files open; then resumes the run (or begins it, if nothing was saved) and
    // looks that it ends as the undisturbed one.
    void check(const Run& run, const std::string& folder, const std::string& which) const;
    void check_opens(const std::string& folder, const std::string& which) const;
    void check_same(const Run& run, const std::string& folder, const std::string& which) const;
    // That it ended as usual, or with status 1 and a last line with one of these reasons in it.
    void check_told(const Run& run, const Result& result, const Words& reasons,
                    const std::string& which) const;

    // How a user would try the case again.
    std::string line(const std::string& program, const Words& words, const Fault& fault) const;

    Damage& damage;
    std::vector<Run> all;
    std::vector<Run> rarely_saving;  // the same, with --save-every 0

private:
    Run undisturbed(const Program& program, const std::string& folder) const;
    tests::Texts texts_;
    std::string faults_;  // the library, "" if it cannot be used
};

}  // namespace plaingrad::trust
