// What a program has said, and whether it is what a user can use: it succeeds, or prints one line that says
// what is wrong, with the exit status 1 for bad data and 2 for a wrong command line.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/trust/words/kept.h"
#include "tests/trust/words/process.h"

namespace plaingrad::trust::words {

struct Said {
    Texts texts = {};  // "exit 1: char_lm: FILE: the file is empty"; or "ok"
    int64_t tried = 0;
    // Of them: ended by a signal; not ended in time; failed without a word; with more than one line; with a
    // control character, which could be a sequence that a terminal obeys.
    int64_t crashed = 0, hung = 0, silent = 0, several_lines = 0, raw = 0;

    // text: what the program has said, in the form that is kept.
    void add(const Case& one, const std::string& program, const Ended& ended, const std::string& text);
};

// The last line that a failed program has said on standard error, without the program's name, and with names
// that differ from run to run replaced by others; or "ok".
std::string text_of(const std::string& program, const Ended& ended,
                    const std::vector<std::pair<std::string, std::string>>& names);

// Calls f(i, worker) for i from 0 to n - 1, two at a time: worker is 0 or 1.
void two_at_a_time(int64_t n, const std::function<void(int64_t i, int worker)>& f);

}  // namespace plaingrad::trust::words
