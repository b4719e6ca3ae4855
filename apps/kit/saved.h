// Whether a model can be saved, before it is trained.
#pragma once

#include <string>
#include <vector>

namespace plaingrad::kit {

// Training may take hours: what would keep its result from being saved is to be said before. Throws Error if
// `path` is no file, or cannot be written, and UsageError if it is one of the inputs.
void check_can_save(const std::string& path, const std::vector<std::string>& inputs);

}  // namespace plaingrad::kit
