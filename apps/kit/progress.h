// The progress of a training run, on standard error: one updated line on a terminal, occasional plain lines
// elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace plaingrad::kit {

std::string duration(double seconds);  // "42 s", "12:30 min", "2:46 h"

class Progress {
public:
    // Up to step `total`, after the `done` first ones; plain lines come every `every` steps, and after the
    // last.
    Progress(int64_t total, int64_t every, int64_t done = 0);
    ~Progress();
    Progress(Progress&&) = delete;  // nor copied

    // After step `step` (from 1), with its loss and how many target tokens it learned from.
    void update(int64_t step, double loss, int64_t tokens);

    // A line of its own, which stays.
    void note(const std::string& text);

private:
    void line(int64_t step, double loss);

    int64_t total_, every_, done_, tokens_ = 0;
    bool terminal_, open_ = false;  // open: the terminal's line has no end yet
    std::chrono::steady_clock::time_point start_, drawn_;
};

}  // namespace plaingrad::kit
