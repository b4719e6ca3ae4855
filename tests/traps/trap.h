// A mistake of the museum: what the head of its patch says, and what the patch changes.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/folder.h"

namespace plaingrad::tests {

// One change of a file: the lines of the diff, and those that it expects in the file, in a row, a line's end
// before and after them.
struct Hunk {
    std::string file, before;
    std::string diff = {};
    bool changes = false;
};

struct Trap {
    std::string name;
    std::map<std::string, std::string> fields;
    std::vector<Hunk> hunks;

    // A field that it may lack.
    std::string field(const std::string& key) const {
        const auto found = fields.find(key);
        return found == fields.end() ? "" : found->second;
    }
    // The page shows a trap that teaches a lesson at length.
    bool is_exhibit() const { return fields.contains("Lesson"); }
};

// A head of `Name: value`, where indented lines go on with the value, and a unified diff.
inline Trap read_trap(const std::filesystem::path& path) {
    Trap trap = {path.stem().string(), {}, {}};
    std::istringstream lines(content(path.string()));
    std::string key, file;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(": ");
        if (line.starts_with("--- a/")) {
            file = line.substr(6);
        } else if (line.starts_with("@@")) {
            trap.hunks.push_back({file, "\n"});
        } else if (file.empty() && line.starts_with("  ")) {
            trap.fields[key] += line.substr(1);
        } else if (file.empty() && colon != std::string::npos) {
            key = line.substr(0, colon);
            trap.fields[key] = line.substr(colon + 2);
        } else if (!trap.hunks.empty() && !line.starts_with("+++ ")) {
            Hunk& hunk = trap.hunks.back();
            hunk.diff += line + '\n';
            hunk.changes = hunk.changes || line.starts_with("-") || line.starts_with("+");
            if (!line.starts_with("+"))
                hunk.before += line.substr(line.empty() ? 0 : 1) + '\n';
        }
    }
    return trap;
}

// All of them, by name. Tests run in the repository's root.
inline std::vector<Trap> traps() {
    std::vector<Trap> all;
    for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator("tests/traps"))
        if (entry.path().extension() == ".patch")
            all.push_back(read_trap(entry.path()));
    std::sort(all.begin(), all.end(), [](const Trap& a, const Trap& b) { return a.name < b.name; });
    return all;
}

}  // namespace plaingrad::tests
