// Text files as people have them: UTF-8 lines, with or without a byte order mark, ending in LF or CRLF.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace models::text {

// All lines of a file. Throws Error naming the file, and the line where there is one, if it cannot be read,
// is empty, or is not UTF-8 text.
std::vector<std::string> read_lines(const std::string& path);

struct SentencePair {
    std::string source, target;
    int64_t line = 0;  // in its file, from 1
};
// A file with `source<TAB>target` on every line. Lines without any text are passed over. Throws Error with
// file and line for a line without exactly one tab, or with nothing on one side of it.
std::vector<SentencePair> read_pairs(const std::string& path);

// A line without its CR; throws Error naming `where` ("file:line") if it is not UTF-8 or contains a NUL.
std::string clean_line(std::string line, const std::string& where);

// Where the first byte stands that cannot be UTF-8, or npos. Overlong forms, surrogates, and what is beyond
// U+10FFFF are not UTF-8 (RFC 3629).
std::size_t find_invalid_utf8(std::string_view text);

}  // namespace models::text
