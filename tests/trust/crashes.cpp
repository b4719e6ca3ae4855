// No saved work may be lost: programs that train are killed, interrupted, paused, denied memory and disks, at
// one call of the system after the other. Afterwards every saved file must open, the run must resume to the
// same bits as an undisturbed one, no stray file may be left, and each failure must have been reported in one
// line. A power cut is not tried. TRUST_PART=kills measures this part only.
#include <cstdlib>

#include "tests/trust/crashes/parts.h"

using namespace plaingrad;  // NOLINT
using namespace trust;      // NOLINT

namespace {

void skip_all() {
    std::vector<std::string> figures(std::begin(Damage::kWays), std::end(Damage::kWays));
    for (const Part& part : kParts)
        figures.push_back(part.figure);
    for (const std::string& figure : figures)
        std::printf("skipped crashes.%s no library can be loaded before programs\n", figure.c_str());
}

void measure(const Instrument& trust) {
    // A file system in memory, if there is one: on a disk each save would wait until it is written, and that
    // matters only when the power is cut.
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    if (!std::filesystem::exists(library_of_faults()))  // it is built on Linux
        return skip_all();
    // nohup ignores it, and the programs would inherit that; of a handler they inherit nothing.
    std::signal(SIGHUP, [](int) {});
    Damage damage;
    const Runs runs(damage);
    for (const Part& part : kParts)
        if (trust.part.empty() || trust.part == part.name)
            trust.figure("crashes." + part.figure, static_cast<double>(cases_met(trust, runs, part)));
    damage.print(trust);
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> names;
    for (const Part& part : kParts)
        names.push_back(part.name);
    return trust::run("crashes", "runs that are disturbed in every way end with the same bits", argc, argv,
                      measure, names);
}
