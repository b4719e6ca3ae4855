// A program in a pipe: it reads lines, and answers each.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

namespace plaingrad::kit {

// Says on standard error how many bytes were not text, if any.
void report_replaced(const std::string& where, int64_t bytes);

// Calls f(line, where) for each line of a stream, where is "standard input:3" if that is its name. Bytes that
// are not text become U+FFFD, and are reported. Throws Error for a line that is no text (text::clean_line).
// std::cin needs std::ios::sync_with_stdio(false): otherwise a read error looks like the end of the input.
void for_each_line(std::istream& in, const std::string& name,
                   const std::function<void(const std::string& line, const std::string& where)>& f);

}  // namespace plaingrad::kit
