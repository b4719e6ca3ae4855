// The parts of the instrument; each is a file of this name.
#pragma once

#include "tests/trust/crashes/runs.h"

namespace plaingrad::trust {

void kills(const Instrument& trust, const Runs& runs);
void failing_calls(const Instrument& trust, const Runs& runs);
void failing_memory(const Instrument& trust, const Runs& runs);    // in the programs
void exhausted_memory(const Instrument& trust, const Runs& runs);  // in calls of the library
void signals(const Instrument& trust, const Runs& runs);
void full_disks(const Instrument& trust, const Runs& runs);
void two_processes(const Instrument& trust, const Runs& runs);

}  // namespace plaingrad::trust
