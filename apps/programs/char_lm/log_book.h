// The text that char_lm learns when it is given none: a lighthouse's log book, written for this purpose. The
// Makefile compiles it into the program from log_book.txt. It must not change: the losses in the README are
// of exactly these characters.
#pragma once

#include <string_view>

namespace plaingrad::char_lm {

extern const std::string_view log_book;

}  // namespace plaingrad::char_lm
