#include "apps/kit/saved.h"

#include <filesystem>

#include "apps/kit/options.h"
#include "autograd/base/check.h"
#include "nn/checkpoint/file.h"

namespace plaingrad::kit {

void check_can_save(const std::string& path, const std::vector<std::string>& inputs) {
    std::error_code none;
    for (const std::string& input : inputs)
        if (std::filesystem::equivalent(path, input, none))
            throw UsageError(autograd::join("--save ", path, " would overwrite the text to learn from"));
    nn::checkpoint::check_can_replace(path);
}

}  // namespace plaingrad::kit
