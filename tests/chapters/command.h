// The programs that a chapter runs: what they print, and tables with commas among it.
#pragma once

#include <string>
#include <vector>

namespace plaingrad::chapters {

// What a shell's command prints on its standard output. If it begins with ./apps/ or build/bench/, the
// program is this build's: PLAINGRAD_APPS and PLAINGRAD_BENCH name its folders, and PLAINGRAD_RUN is put
// before it, such as an emulator. Throws Error if the command fails.
std::string output_of(const std::string& command);

// Text for a shell, as one word.
std::string quoted(const std::string& text);

// The rows of comma-separated values below a heading. Throws Error if the heading is another one, or if a row
// has more or fewer values.
std::vector<std::vector<std::string>> rows_of(const std::string& csv, const std::string& heading);

}  // namespace plaingrad::chapters
