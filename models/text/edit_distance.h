// How much two words differ.
#pragma once

#include <string>

namespace plaingrad::models::text {

// How many letters must be inserted, dropped, replaced or swapped with their neighbours to make one word the
// other (optimal string alignment).
std::size_t edit_distance(const std::string& a, const std::string& b);

}  // namespace plaingrad::models::text
