// Text files as users have them: lines of UTF-8, with or without a byte order mark, ending in LF or CRLF.
#pragma once

#include <cstdint>
#include <cstdio>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/check.h"
#include "nn/checkpoint/utf8.h"

namespace plaingrad::models::text {

using autograd::check;
using autograd::join;
using nn::checkpoint::find_invalid_utf8;

// All bytes of a file. Throws nn::checkpoint::FileError naming it if it cannot be read or is empty; or if it
// is a pipe or device, which may have no end, with more than 256 MiB.
std::string read_file(const std::string& path);
// The same of a file that is open already, from where it stands; `name` is for messages. It may be empty.
std::string read_file(std::FILE* file, const std::string& name);

// Throws FileError naming `path` if these bytes were compressed by gzip, xz, zstd or zip, or are UTF-16.
void check_plain(std::string_view bytes, const std::string& path);

constexpr std::size_t kLongestLine = std::size_t{1} << 20;  // longer than any sentence: it could take hours
enum class InvalidUtf8 { replace, keep };
// A line without its CR. Throws Error naming `where` ("file:line") if it is not UTF-8, contains a NUL, or is
// longer than kLongestLine. With a count the line need not be UTF-8: each byte that cannot be becomes U+FFFD,
// and is counted; or stays as it is, for models that read bytes.
std::string clean_line(std::string line, const std::string& where, int64_t* replaced = nullptr,
                       InvalidUtf8 rule = InvalidUtf8::replace);

// The lines of a text that was read from a file: without a byte order mark, and without the empty line after
// the last line break. Each is cleaned. Throws Error naming the file, and the line if possible, also if it is
// empty.
std::vector<std::string> lines_of(std::string_view text, const std::string& path, int64_t* replaced = nullptr,
                                  InvalidUtf8 rule = InvalidUtf8::replace);

// The next line of a stream that is `name`, the first one (number 1) without a byte order mark; false at the
// end. Of a line that is too long only its first kLongestLine + 1 bytes, which clean_line refuses. Throws
// Error if it cannot be read, or is packed or UTF-16. std::cin needs std::ios::sync_with_stdio(false), or its
// end and its failure are the same.
bool next_line(std::istream& in, std::string& line, const std::string& name, int64_t number);

// Replaces each byte that is not UTF-8 by U+FFFD, and counts it in `replaced`.
std::string replace_invalid_utf8(std::string_view text, int64_t& replaced);

// Replaces each `from`, which must not be empty, by `to`.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

// The words of a sentence, separated by spaces and tabs.
std::vector<std::string> split_words(std::string_view sentence);
// Throws Error naming `where`, the line and the byte in it for a text that is not UTF-8. line: the number of
// its first line.
void check_utf8(std::string_view text, const std::string& where, int64_t line = 1);

// How many letters must be inserted, dropped, replaced or swapped with their neighbours to make one word the
// other (optimal string alignment).
std::size_t edit_distance(const std::string& a, const std::string& b);

// Whether there is anything but spaces, tabs and CR.
bool has_text(std::string_view line);

// A short text that changes if any byte of the texts changes: a run must resume with the data that it began
// with. ids: what a tokenizer made of them, which may change while the texts stay.
std::string fingerprint(const std::vector<std::string>& texts,
                        const std::vector<std::vector<int32_t>>& ids = {});

}  // namespace plaingrad::models::text
