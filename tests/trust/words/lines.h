// Wrong command lines of every command of every program.
//
// Most are made from the help: each option that it lists is given without a value, with values that are none
// of its kind, misspelled; what is wrong in other ways is a list.
#pragma once

#include "tests/trust/instrument.h"
#include "tests/trust/words/said.h"

namespace plaingrad::trust::words {

struct SaidOfLines : Said {
    // Not refused with exit status 2; refused in a line that does not have the option's name.
    int64_t accepted = 0, unnamed = 0;
};
SaidOfLines try_lines(const Instrument& trust);

// "char_lm", "char_lm train", ...: what the programs' helps list.
std::vector<std::string> all_commands();

}  // namespace plaingrad::trust::words
