// Files that no program was made for: empty, cut, in other encodings, endless, not files at all.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace plaingrad::trust::words {

struct Torture {
    std::string name;                              // "no final newline"
    std::function<void(const std::string&)> make;  // makes it at this path; none: it is never there
    std::string path = {};                         // else: where it is already, e.g. /dev/null
    bool is_long = false;                          // takes long to read: at the largest scale only
    std::string file = {};                         // how it is called, where that is what is strange
};

// model: any saved model, whose bytes some of them are made of.
std::vector<Torture> torture_files(const std::string& model);

}  // namespace plaingrad::trust::words
