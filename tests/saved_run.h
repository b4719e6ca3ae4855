// What a run has saved in its folder.
#pragma once

#include <map>
#include <string>

#include "nn/checkpoint/safetensors.h"
#include "tests/apps/programs.h"

namespace plaingrad::tests {

// The files of a folder, by name.
using Contents = std::map<std::string, std::string>;
inline Contents contents(const std::string& folder) {
    Contents all;
    std::error_code none;
    for (const std::string& name : nn::checkpoint::names_in(folder, none))
        all[name] = content(folder + "/" + name);
    return all;
}

// Without what depends on the moment: the times of each call of a run.
inline Contents comparable(const std::string& folder) {
    Contents all = contents(folder);
    if (all.contains("log.csv"))
        all["log.csv"] = without_times(all["log.csv"]);
    if (all.contains("report.jsonl"))
        all["report.jsonl"].clear();
    return all;
}

// How many steps its checkpoint has done; -1 if there is none that says it.
inline int64_t steps_in(const std::string& folder) {
    try {
        return std::stoll(nn::checkpoint::read(folder + "/last.safetensors").metadata().at("training.steps"));
    } catch (const std::exception&) {
        return -1;
    }
}

}  // namespace plaingrad::tests
