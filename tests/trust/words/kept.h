// What a user is told in each case, beside what was kept: a text that changes is seen, and read, before users
// see it.
//
// A line of a kept file is `what<TAB>text`. Cases that say the same are one line, `what | where; where; ...`.
// A case that is not there succeeds.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace plaingrad::trust::words {

// A case: what was wrong, e.g. "empty", and where, e.g. "char_lm train FILE"; or without a where.
using Case = std::pair<std::string, std::string>;
using Texts = std::map<Case, std::string>;

inline constexpr const char* kRight = "ok";  // the text of what succeeds

Texts read_kept(const std::string& path);  // without a file: none
void write_kept(const std::string& path, const Texts& texts);

// How many of these texts are not as they were kept. Prints each of them, at most 20.
int64_t count_changed(const Texts& texts, const std::string& path);

// How many cases that are kept are not among these. Prints each of them, at most 20.
int64_t count_missing(const Texts& texts, const std::string& path);

// The text on one line of printable characters, as a kept file has it.
std::string printable(const std::string& text);
// All occurrences of `from` replaced.
std::string replaced(std::string text, const std::string& from, const std::string& to);

}  // namespace plaingrad::trust::words
