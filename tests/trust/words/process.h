// Starts a program as a shell does, and waits for it, but not for ever.
#pragma once

#include <string>
#include <vector>

namespace plaingrad::trust::words {

struct Start {
    std::vector<std::string> words = {};  // the first is the program: "char_lm"
    std::string input = "/dev/null";      // standard input
    std::string output = {};              // standard output; empty: a file in `scratch`
    std::string scratch = {};             // a folder for this call alone
    std::string fifo = {};                // a named pipe: whoever opens it reads `fifo_text`
    std::string fifo_text = {};
    double seconds = 20;  // at most
};

struct Ended {
    int status = 0;  // 128 + the signal, as in a shell
    bool in_time = true;
    std::string out = {}, err = {};
};

Ended run(const Start& start);

}  // namespace plaingrad::trust::words
