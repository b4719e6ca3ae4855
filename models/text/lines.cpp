#include "models/text/lines.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>

#include "autograd/base/random.h"
#include "models/text/unicode.h"
#include "nn/checkpoint/file.h"

namespace plaingrad::models::text {

using nn::checkpoint::check_file;

std::string clean_line(std::string line, const std::string& where, int64_t* replaced, InvalidUtf8 rule) {
    check(line.size() <= kLongestLine, where, ": a line of ", line.size(), " bytes; a sentence has at most ",
          kLongestLine);
    if (!line.empty() && line.back() == '\r')
        line.pop_back();
    const std::size_t invalid = find_invalid_utf8(line);
    check(replaced != nullptr || invalid == line.npos, where, ": byte ", invalid + 1,
          " of this line is not UTF-8; convert the file, e.g. with iconv -t UTF-8");
    check(line.find('\0') == line.npos, where, ": this line contains a NUL byte; is this a text file?");
    return rule == InvalidUtf8::keep || invalid == line.npos ? line : replace_invalid_utf8(line, *replaced);
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
        check_plain(line, name);
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
    check_file(!S_ISDIR(now.st_mode), name, ": this is a folder; a text file is needed");
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

std::string read_file(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
    check_file(file != nullptr, path, ": cannot be opened: ", std::strerror(errno));
    std::string bytes = read_file(file.get(), path);
    check_file(!bytes.empty(), path, ": the file is empty");
    return bytes;
}

void check_plain(std::string_view bytes, const std::string& path) {
    for (const char* const magic : {"\x1f\x8b", "\xfd\x37zXZ", "\x28\xb5\x2f\xfd", "PK\x03\x04"})
        check_file(!bytes.starts_with(magic), path,
                   ": this file is compressed; unpack it first, e.g. with gunzip, unxz or unzip");
    check_file(!bytes.starts_with("\xff\xfe") && !bytes.starts_with("\xfe\xff"), path,
               ": this file is UTF-16; convert it to UTF-8 first, e.g. with iconv -f UTF-16 -t UTF-8");
}

std::vector<std::string> lines_of(std::string_view text, const std::string& path, int64_t* replaced,
                                  InvalidUtf8 rule) {
    check_plain(text, path);
    std::vector<std::string> lines;
    for (std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(clean_line(std::string(text.substr(at, end - at)), join(path, ":", lines.size() + 1),
                                   replaced, rule));
        at = end + 1;
    }
    check(!lines.empty() && !(lines.size() == 1 && lines[0].empty()), path, ": the file is empty");
    return lines;
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
    const auto words = split(sentence, [](char32_t c) { return c == ' ' || c == '\t'; });
    return {words.begin(), words.end()};
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

std::string fingerprint(const std::vector<std::string>& texts, const std::vector<std::vector<int32_t>>& ids) {
    autograd::Hash hash, tokens;
    for (const std::string& text : texts)
        hash.add(text).add(0x100);  // marks the end of a text
    for (const std::vector<int32_t>& text : ids) {
        tokens.add(text.size());
        for (const int32_t id : text)
            tokens.add(static_cast<uint64_t>(id));
    }
    const std::string all = join(texts.size(), " texts, ", hash.value);
    return ids.empty() ? all : join(all, "; tokens ", tokens.value);
}

}  // namespace plaingrad::models::text
