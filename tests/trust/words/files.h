// Every strange file, given to every command that reads files; and every strange place, to every command that
// writes.
#pragma once

#include "tests/trust/instrument.h"
#include "tests/trust/words/said.h"

namespace plaingrad::trust::words {

Said try_files(const Instrument& trust);

}  // namespace plaingrad::trust::words
