// The numbers of a chapter's prose. Each must be one that a filled part of the chapter shows, so that none
// is typed from memory.
#pragma once

#include <set>

#include "tests/chapters/chapter.h"

namespace plaingrad::chapters {

// "a loss of 2.30 falls to 1,024e-3" -> "2.30", "1024e-3". What is part of a word (float32, x86-64, d_2) is
// no number.
std::vector<std::string> numbers_in(const std::string& text);

class Prose {
public:
    // A line of the chapter. Of links only the text counts; a paper's year and sections ("Ba et al. 2016,
    // §3"), times to read or work ("40 minutes"), what stands in comments, and the numbers of a numbered
    // list, heading or table do not. Nor do programs, what they print, and commands: all between ```WORD and
    // ```.
    void add(const std::string& line, int64_t number);
    // Text whose numbers are known to be right.
    void explain(const std::string& filled);
    std::vector<Found> unexplained() const;

private:
    bool in_program_ = false;
    std::vector<Found> found_;
    std::set<std::string> known_;
};

}  // namespace plaingrad::chapters
