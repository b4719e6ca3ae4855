// The page of the museum and its figures, made from the heads of the patches and from curves.csv.
// `make chapters` puts them into this folder's README.md.
#pragma once

#include "tests/chapters/sections.h"
#include "tests/traps/trap.h"

namespace plaingrad::tests {

// Sections: traps.runs, traps.NAME for each trap that teaches a lesson, and traps.others.
chapters::Computed museum(const std::vector<Trap>& traps, const std::string& csv);

// The file with the test case of this name. Throws Error unless there is exactly one.
std::string file_of_test(const std::string& name);

}  // namespace plaingrad::tests
