// What tests of all programs that train share: a small run of each, and texts to learn from.
#pragma once

#include "tests/apps/run.h"

namespace plaingrad::tests {

// English numbers, and their German translations in reverse order: 120 pairs.
inline std::string pairs() {
    const Words en = {"one", "two", "three", "four", "five", "six"},
                de = {"eins", "zwei", "drei", "vier", "fünf", "sechs"};
    std::string lines;
    for (std::size_t a = 0; a < 6; ++a)
        for (std::size_t b = 0; b < 6; ++b)
            for (std::size_t c = 0; c < 6; c += 2)
                lines += en[a] + " " + en[b] + (c > 0 ? " " + en[c] : "") + ".\t" +
                         (c > 0 ? de[c] + " " : "") + de[b] + " " + de[a] + ".\n";
    return lines;
}

// For the first six lines: the first word of each pair, and the pair.
inline std::string labels() {
    std::string lines;
    for (const std::string& line : lines_of(pairs()))
        lines += line.substr(0, line.find(' ')) + "\t" + line.substr(0, line.find('\t')) + "\n";
    return lines;
}

struct Texts {
    Place folder;
    std::string pairs_file = folder.write("pairs.tsv", pairs()), text = folder.write("text.txt", pairs()),
                labelled = folder.write("labelled.tsv", labels());
};

struct Program {
    std::string name;
    int64_t steps = 0;  // of the run
    Words train = {};   // a small run, without --save
    Words begin = {};   // the words before the options of --resume
};

// A log without its last two columns, the times.
inline std::string without_times(const std::string& log) {
    std::string rows;
    for (std::string row : lines_of(log)) {
        for (int column = 0; column < 2; ++column)
            row.erase(row.rfind(','));
        rows += row + '\n';
    }
    return rows;
}

}  // namespace plaingrad::tests
