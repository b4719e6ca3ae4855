#include "models/text/lines.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>

#include "autograd/base/check.h"
#include "autograd/base/random.h"
#include "nn/checkpoint/file.h"

namespace plaingrad::models::text {

using autograd::check;
using autograd::join;
using nn::checkpoint::check_file;

std::string clean_line(std::string line, const std::string& where, int64_t& replaced, InvalidUtf8 rule) {
    check(line.size() <= kLongestLine, where, ": a line of ", line.size(), " bytes; a sentence has at most ",
          kLongestLine);
    if (!line.empty() && line.back() == '\r')
        line.pop_back();
    check(line.find('\0') == std::string::npos, where,
          ": this line contains a NUL byte; is this a text file?");
    return rule == InvalidUtf8::keep ? line : replace_invalid_utf8(line, replaced);
}

std::string clean_line(std::string line, const std::string& where) {
    const std::size_t invalid = find_invalid_utf8(line);
    check(invalid == std::string_view::npos, where, ": byte ", invalid + 1,
          " of this line is not UTF-8; convert the file, e.g. with iconv -t UTF-8");
    int64_t replaced = 0;
    return clean_line(std::move(line), where, replaced);
}

bool next_line(std::istream& in, std::string& line, const std::string& name, int64_t number) {
    line.clear();
    errno = 0;
    try {
        int c = 0;
        while ((c = in.rdbuf()->sbumpc()) != EOF && c != '\n' && line.size() <= kLongestLine)
            line.push_back(static_cast<char>(c));
        const bool failed = &in == &std::cin ? std::ferror(stdin) != 0 : errno != 0 && errno != EINTR;
        if (c == EOF && failed)
            throw std::ios_base::failure("");  // as not every library's streams do
        if (c == EOF && line.empty())
            return false;
    } catch (const std::ios_base::failure&) {  // the system's reason is in errno, if there is one
        const std::string reason = errno == 0 ? "" : join(": ", std::strerror(errno));
        throw autograd::Error(join(name, ": cannot be read", reason));
    }
    line.erase(0, number == 1 && line.starts_with("\xef\xbb\xbf") ? 3 : 0);
    if (number == 1)
        check_unpacked(line, name);
    return true;
}

std::string replace_invalid_utf8(std::string_view text, int64_t& replaced) {
    std::string valid;
    for (std::size_t at = 0; (at = find_invalid_utf8(text)) != text.npos; ++replaced) {
        valid.append(text.substr(0, at)).append("\xef\xbf\xbd");  // U+FFFD
        text.remove_prefix(at + 1);
    }
    return valid.append(text);
}

std::string read_file(std::FILE* file, const std::string& name) {
    struct stat now = {};
    const bool is_open = fstat(fileno(file), &now) == 0;
    check_file(is_open, name, ": cannot be opened: ", std::strerror(errno));
    check_file(!S_ISDIR(now.st_mode), name, ": this is a directory; a text file is needed");
    const bool regular = S_ISREG(now.st_mode);
    std::string bytes, piece(std::size_t{1} << 20, '\0');  // in pieces, as the length of a pipe is not known
    while (const std::size_t n = std::fread(piece.data(), 1, piece.size(), file)) {
        bytes.append(piece, 0, n);
        check_file(regular || bytes.size() <= std::size_t{1} << 28, name,
                   ": this pipe or device has more than 256 MiB; is it endless?");
    }
    check_file(std::ferror(file) == 0, name, ": cannot be read to its end: ", std::strerror(errno));
    return bytes;
}

static std::string read_unsized(const std::string& path) {
    const auto shut = [](std::FILE* f) { std::fclose(f); };
    const std::unique_ptr<std::FILE, decltype(shut)> file(std::fopen(path.c_str(), "rb"), shut);
    check_file(file != nullptr, path, ": cannot be opened: ", std::strerror(errno));
    return read_file(file.get(), path);
}

std::string read_file(const std::string& path) {
    std::error_code none;  // a pipe, a device, and a file of /proc tell no size
    const auto size = std::filesystem::file_size(path, none);
    std::string bytes = none || size == 0 ? read_unsized(path) : nn::checkpoint::read_file(path);
    check_file(!bytes.empty(), path, ": the file is empty");
    return bytes;
}

void check_unpacked(std::string_view bytes, const std::string& path) {
    for (const char* const magic : {"\x1f\x8b", "\xfd\x37zXZ", "\x28\xb5\x2f\xfd", "PK\x03\x04"})
        check_file(!bytes.starts_with(magic), path,
                   ": this file is compressed; unpack it first, e.g. with gunzip, unxz or unzip");
}

// Without a count of what is `replaced`, all must be UTF-8.
static std::vector<std::string> split_lines(std::string_view text, const std::string& path,
                                            int64_t* replaced = nullptr, InvalidUtf8 rule = {}) {
    check_unpacked(text, path);
    std::vector<std::string> lines;
    for (std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string line(text.substr(at, end - at)), where = join(path, ":", lines.size() + 1);
        lines.push_back(replaced != nullptr ? clean_line(line, where, *replaced, rule)
                                            : clean_line(line, where));
        at = end + 1;
    }
    check(!lines.empty() && !(lines.size() == 1 && lines[0].empty()), path, ": the file is empty");
    return lines;
}

std::vector<std::string> lines_of(std::string_view text, const std::string& path) {
    return split_lines(text, path);
}

std::vector<std::string> read_lines_leniently(const std::string& path, int64_t& replaced, InvalidUtf8 rule) {
    return split_lines(read_file(path), path, &replaced, rule);
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
    std::string out;
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from)) {
        out.append(text.substr(0, at)).append(to);
        text.remove_prefix(at + from.size());
    }
    return out.append(text);
}

std::vector<std::string> split_words(std::string_view sentence) {
    std::vector<std::string> words;
    constexpr std::string_view space = " \t";
    for (std::size_t at = sentence.find_first_not_of(space); at != std::string_view::npos;) {
        const std::size_t end = std::min(sentence.find_first_of(space, at), sentence.size());
        words.emplace_back(sentence.substr(at, end - at));
        at = sentence.find_first_not_of(space, end);
    }
    return words;
}

void check_utf8(std::string_view text, const std::string& where, int64_t line) {
    const std::size_t at = find_invalid_utf8(text);
    if (at == std::string_view::npos)
        return;
    const std::string_view before = text.substr(0, at);
    line += std::count(before.begin(), before.end(), '\n');
    throw autograd::Error(
        autograd::join(where, ":", line, ": byte ", at - before.rfind('\n'),  // npos is -1
                       " of this line is not UTF-8; convert the text, e.g. with iconv -t UTF-8"));
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i)
        for (std::size_t j = 0; j <= b.size(); ++j) {
            d[i][j] = i + j;
            if (i == 0 || j == 0)
                continue;
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[a.size()][b.size()];
}

bool has_text(std::string_view line) { return line.find_first_not_of(" \t\r") != std::string_view::npos; }

SentencePair split_pair(std::string_view line, const std::string& path, int64_t number) {
    const std::size_t tab = line.find('\t');
    check(tab != std::string_view::npos, path, ":", number,
          ": there is no tab; a line must be source<TAB>target",
          line.find(',') != line.npos ? ", not CSV" : "");
    check(line.find('\t', tab + 1) == std::string_view::npos, path, ":", number,
          ": there is more than one tab; a line must be source<TAB>target");
    return {std::string(line.substr(0, tab)), std::string(line.substr(tab + 1)), number};
}

std::vector<SentencePair> read_pairs(const std::string& path) { return pairs_of(read_file(path), path); }

std::vector<SentencePair> pairs_of(std::string_view text, const std::string& path) {
    std::vector<SentencePair> pairs;
    int64_t number = 0;
    for (const std::string& line : lines_of(text, path)) {
        ++number;
        if (line.find_first_not_of(" \r") == std::string::npos)
            continue;
        pairs.push_back(split_pair(line, path, number));
        const SentencePair& pair = pairs.back();
        check(has_text(pair.source), path, ":", number, ": there is no text before the tab");
        check(has_text(pair.target), path, ":", number, ": there is no text after the tab");
    }
    check(!pairs.empty(), path, ": there are no sentence pairs in this file");
    return pairs;
}

std::string fingerprint(const std::vector<std::string>& texts) {
    autograd::Hash hash;
    for (const std::string& text : texts)
        hash.add(text).add(0x100);  // marks the end of a text
    return join(texts.size(), " texts, ", hash.value);
}

std::string fingerprint(const std::vector<std::string>& texts, const std::vector<std::vector<int32_t>>& ids) {
    autograd::Hash hash;
    for (const std::vector<int32_t>& text : ids) {
        hash.add(text.size());
        for (const int32_t id : text)
            hash.add(static_cast<uint64_t>(id));
    }
    return join(fingerprint(texts), "; tokens ", hash.value);
}

}  // namespace plaingrad::models::text
