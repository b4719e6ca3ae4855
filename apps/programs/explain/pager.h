// Pages on a terminal, turned with the arrow keys.
#pragma once

#include <string>
#include <vector>

namespace plaingrad::explain {

// Shows a page at a time: right, space or Enter for the next, left for the one before, Home and End; up and
// down, Page Up and Page Down where a page is higher than the terminal; q to leave. Standard input and output
// must be a terminal, which is left as it was (see Keys).
void turn_pages(const std::vector<std::string>& pages);

}  // namespace plaingrad::explain
