// The progress of a training run, on standard error: one updated line on a terminal, with the curve of the
// loss; occasional plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace plaingrad::kit {

class Progress {
public:
    // For steps done + 1 to total. Outside a terminal, prints a line for the first step, every `every` steps,
    // and for the last.
    Progress(int64_t total, int64_t every, int64_t done = 0);
    ~Progress();
    Progress(Progress&&) = delete;  // nor copied

    // To be called after step `step` (from 1), with its loss and its number of target tokens.
    void update(int64_t step, double loss, int64_t tokens);

    // Prints a line that stays above the progress line.
    void note(const std::string& text);

private:
    std::string line(int64_t step, double loss) const;
    std::string curve(int width) const;

    int64_t total_, every_, done_, tokens_ = 0;
    std::vector<double> losses_;
    bool terminal_, open_ = false;  // open_: the terminal's line is not ended yet
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), drawn_ = start_;
};

// Shows on a terminal how much of a large model was read, "gpt2: 62 of 124 million numbers", on a line that
// goes away at the end.
std::function<void(int64_t done, int64_t all)> loading(const std::string& path);

}  // namespace plaingrad::kit
