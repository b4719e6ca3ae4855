// The parts of the instrument: faults of one kind, at a call of the system of a program that trains.
#pragma once

#include "tests/trust/crashes/runs.h"

namespace plaingrad::trust {

// A run that meets a fault, and what becomes of it.
struct Case {
    const Run& run;
    Fault fault;
    bool goes_on;
    std::string folder = {}, which = {};
    int64_t steps_before = -1;
    Result r = {}, other = {};  // the other one ran in the same folder while this one was stopped
    FaultCounts counts = {};
    bool ended() const { return is_usual_end(run, r); }
};

struct Part {
    std::string name, figure;                       // how many cases it has
    enum Of { all, each_program, each_signal } of;  // what the figure counts the cases of
    std::string counted;                            // memory, disk or files: see faults.h
    std::vector<int> how;                           // errnos, or signals, which are negative
    int64_t most[3];                                // of the calls of each program, at each scale
    void (*judge)(const Runs& runs, const Case& c);
    bool goes_on = false;  // whether runs that go on after two steps are disturbed, too
};
extern const std::vector<Part> kParts;

// Tries all cases, and lets the part judge each. Returns the figure: in how many the fault came.
int64_t cases_met(const Instrument& trust, const Runs& runs, const Part& part);

}  // namespace plaingrad::trust
