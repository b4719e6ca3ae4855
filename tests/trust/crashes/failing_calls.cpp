// The n-th call that a disk can make fail (open, read, write, fsync, close, rename, mkdir, mmap) fails: at
// the long scale every n, below it some. (The programs map no files. The C library's own mmap is an
// allocation: failing_memory.cpp.)
#include <cerrno>
#include <cstring>

#include "tests/trust/crashes/parts.h"

namespace plaingrad::trust {

namespace {

// Some calls that fail change nothing, as the fsync of a folder: then the run ends as usual.
void one(const Runs& runs, const Run& run, const Fault& fault, int error, std::atomic<int64_t>& happened) {
    const Folder all;
    const std::string folder = all / "run";
    const Words words = runs.begin(run, folder);
    const std::string which = runs.line(run.program.name, words, fault);
    FaultCounts counts;
    const Result r = runs.ran(run.program.name, words, fault, happened, &counts);
    runs.check_told(run, r, {std::strerror(error), "could not be written"}, which);
    if (counts.faults > 0 && std::string(counts.call) == "fsync file" && is_usual_end(run, r))
        runs.damage.note(Wrong::died, which, "a file that may not be on the disk counts as saved");
    runs.check_ended(run, r, folder, which);
}

}  // namespace

void failing_calls(const Instrument& trust, const Runs& runs) {
    struct Case {
        const Run& run;
        Fault fault;
        int error;
    };
    std::vector<Case> cases;
    for (const Run& run : runs.all) {
        const autograd::Rng rng = trust.rng().fork("calls").fork(run.program.name);
        const int64_t most = trust.count(12, 50, 1 << 20);
        for (const int64_t n : some_of(run.calls.disk, most, rng))
            for (const int error : {EIO, ENOSPC})
                if (trust.scale == Scale::full || (n % 2 == 0) == (error == EIO))
                    cases.push_back({run, {"disk", n, std::to_string(error), "once"}, error});
    }
    std::atomic<int64_t> happened = 0;
    for_each_case(std::ssize(cases), runs.damage, [&](int64_t i) {
        const Case& c = cases[static_cast<std::size_t>(i)];
        one(runs, c.run, c.fault, c.error, happened);
    });
    trust.figure("crashes.failing_calls", static_cast<double>(happened), "in all programs together");
}

}  // namespace plaingrad::trust
