// No saved work may be lost: programs that train are killed, interrupted, paused, denied memory and disks, at
// random moments and at one call after the other. Afterwards every saved file must open, the run must resume
// to the same bits as an undisturbed one, no stray file may be left, and each failure must have been reported
// in one line. A power cut is not tried. TRUST_PART=kills measures this part only.
#include <cstdlib>

#include "tests/trust/crashes/parts.h"

using namespace plaingrad;  // NOLINT
using namespace trust;      // NOLINT

namespace {

// A file system in memory, if there is one: on a disk each save would wait until it is written, and that
// matters only when the power is cut.
void use_fast_folder() {
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
}

struct Part {
    const char* name;
    void (*run)(const Instrument& trust, const Runs& runs);
    std::vector<const char*> by_library = {};  // its figures, to be skipped without faults.so
};
const std::vector<Part> kParts = {
    {"kills", kills},
    {"signals", signals},
    {"full_disks", full_disks},
    {"failing_calls", failing_calls, {"failing_calls"}},
    {"failing_memory", failing_memory, {"failing_allocations", "last_allocation"}},
    {"two_processes", two_processes, {"pairs"}},
    {"exhausted_memory", exhausted_memory}};

std::vector<std::string> names_of_parts() {
    std::vector<std::string> names;
    for (const Part& part : kParts)
        names.emplace_back(part.name);
    return names;
}

void measure(const Instrument& trust) {
    use_fast_folder();
    Damage damage;
    const Runs runs(damage);
    for (const Part& part : kParts) {
        if (!trust.part.empty() && trust.part != part.name)
            continue;
        if (part.by_library.empty() || runs.can_fail())
            part.run(trust, runs);
        else
            for (const char* const figure : part.by_library)
                std::printf("skipped crashes.%s no library can be loaded before these programs\n", figure);
    }
    damage.print(trust);
}

}  // namespace

int main(int argc, char** argv) {
    return trust::run("crashes", "runs that are disturbed in every way end with the same bits", argc, argv,
                      measure, names_of_parts());
}
