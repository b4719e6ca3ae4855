// Parallel text for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/text/training_data.h"

namespace plaingrad::tests {

// As if read from a.en and a.de: line i is {source, target}.
inline models::text::ParallelText parallel_text(
    const std::vector<std::pair<std::string, std::string>>& lines) {
    models::text::ParallelText text = {"a.en, a.de"};
    for (const auto& [source, target] : lines)
        text.pairs.push_back({source, target, static_cast<int64_t>(text.pairs.size()) + 1});
    return text;
}

// "count: first line"
inline std::string shown(const models::text::Lines& lines) {
    return std::to_string(lines.count) + ": " + std::to_string(lines.first);
}

}  // namespace plaingrad::tests
