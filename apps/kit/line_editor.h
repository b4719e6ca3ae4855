// A line that is typed: edited with the arrow keys, Home, End, Delete, and Ctrl-A, E, U, K as in a shell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/kit/keys.h"

namespace plaingrad::kit {

// Returns the line that is typed behind `prompt`, on standard error; none after Ctrl-D. Up and down lead to
// earlier lines; adds the new one to them. A line that is wider than the terminal is shown around the cursor.
// tabs: whether the line may have tabs, which are shown as arrows.
std::optional<std::string> edit_line(const Keys& keys, const std::string& prompt,
                                     std::vector<std::string>& history, bool tabs = false);

}  // namespace plaingrad::kit
