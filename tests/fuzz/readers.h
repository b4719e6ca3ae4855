// What reads files of others, as functions of a file's bytes, for a fuzzer. A reader returns, or throws
// autograd::Error with one line, which is a FileError unless it is about lines; everything else is a crash.
#pragma once

#include <string>
#include <vector>

namespace plaingrad::fuzz {

struct Reader {
    const char* name;
    void (*read)(const std::string& bytes);
    std::vector<std::string> (*seeds)();  // files that it reads without a complaint, to begin from
};
const std::vector<Reader>& readers();

// Returns whether the bytes were read, and not refused. Throws std::logic_error for a complaint of several
// lines.
bool reads(const Reader& reader, const std::string& bytes);

}  // namespace plaingrad::fuzz
