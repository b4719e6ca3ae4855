// Parallel text: sentences in one language with their translations in another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/text/lines.h"

namespace plaingrad::models::text {

// Some lines of a file: how many there are, and the number of the first one, from 1.
struct Lines {
    int64_t count = 0, first = 0;

    void add(int64_t line) { first = count++ == 0 ? line : first; }
};

struct ParallelText {
    std::string source_file, target_file;  // the same for a TSV
    std::vector<SentencePair> pairs = {};  // in the order of their lines, with text on both sides
    Lines no_text = {}, no_source = {}, no_target = {};  // skipped: without text on both sides or one
    int64_t replaced = 0;                                // bytes that are not UTF-8, read as U+FFFD

    std::string files() const;  // for messages: "a.en, a.de"
};

// Line i of one file and line i of the other are a pair. Throws Error if a file cannot be read as text (see
// read_lines_leniently), if one has more lines, or if there is no pair with text on both sides.
ParallelText read_parallel(const std::string& source_file, const std::string& target_file,
                           InvalidUtf8 rule = InvalidUtf8::replace);

// A line is source<TAB>target. Throws Error also for a line with text but without exactly one tab.
ParallelText read_parallel(const std::string& tsv_file, InvalidUtf8 rule = InvalidUtf8::replace);

}  // namespace plaingrad::models::text
