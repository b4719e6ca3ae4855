// The parts of the instrument. Each returns how many cases it had.
#pragma once

#include "tests/trust/crashes/runs.h"

namespace plaingrad::trust {

// A program that trains, where it calls the system: is killed; gets a signal; the call fails; memory is out;
// it pauses, while another one comes into its folder.
int64_t kills(const Instrument& trust, const Runs& runs);
int64_t signals(const Instrument& trust, const Runs& runs);
int64_t failing_calls(const Instrument& trust, const Runs& runs);
int64_t failing_allocations(const Instrument& trust, const Runs& runs);
int64_t pairs(const Instrument& trust, const Runs& runs);

}  // namespace plaingrad::trust
