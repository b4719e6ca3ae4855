// What exercise 10 has: words as symbols.
#pragma once

#include <utility>

#include "tests/exercises/given.h"

namespace plaingrad::exercises {

using Symbols = std::vector<std::string>;  // a word's parts: {"l", "o", "w</w>"}
using Pair = std::pair<std::string, std::string>;

struct Word {
    Symbols symbols;
    int64_t count;  // how often the word stands in the text
};

}  // namespace plaingrad::exercises
