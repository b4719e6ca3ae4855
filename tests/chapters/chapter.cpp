#include "tests/chapters/chapter.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "autograd/base/check.h"
#include "autograd/base/parallel.h"
#include "tests/chapters/command.h"
#include "tests/chapters/prose.h"

namespace plaingrad::chapters {

using autograd::Error;
using autograd::join;
using Lines = std::vector<std::string>;

std::string read_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw Error(path + ": cannot be read");
    return {std::istreambuf_iterator<char>(file), {}};
}

namespace {

Lines lines_of(const std::string& text) {
    std::istringstream in(text);
    Lines lines;
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

std::string text_of(const Lines& lines) {
    std::string text;
    for (const std::string& line : lines)
        text += line + '\n';
    return text;
}

// The number, from 1, of the only line with this text.
std::size_t line_with(const std::string& path, const Lines& lines, const std::string& text) {
    std::size_t found = 0, count = 0;
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (lines[i].find(text) != std::string::npos && ++count == 1)
            found = i + 1;
    if (count != 1)
        throw Error(join("'", text, "' occurs in ", count, " lines of ", path, ", not in one"));
    return found;
}

std::size_t indentation(const std::string& line) {
    return std::min(line.find_first_not_of(' '), line.size());
}

// ------------------------------------------------------------------------------------------------ excerpts

// The words of a marker, some of them quoted: `autograd/plain.cpp "Tensor attention("`.
Lines words_in(const std::string& text) {
    Lines words;
    for (std::size_t at = 0; (at = text.find_first_not_of(' ', at)) != std::string::npos;) {
        const bool quoted = text[at] == '"';
        const std::size_t end = text.find(quoted ? '"' : ' ', at + 1);
        words.push_back(text.substr(at + quoted, end - at - quoted));
        at = end == std::string::npos ? text.size() : end + quoted;
    }
    return words;
}

// From line `first` to the one that closes its block: the next one as little indented that begins with '}'.
std::size_t end_of_block(const Lines& lines, std::size_t first) {
    const std::size_t depth = indentation(lines[first]);
    std::size_t last = first;
    if (lines[first].find('}') == std::string::npos || lines[first].back() == '{')
        do
            ++last;
        while (last < lines.size() && !(indentation(lines[last]) == depth && lines[last][depth] == '}'));
    if (last >= lines.size())
        throw Error("the block that begins with '" + lines[first] + "' has no end");
    return last;
}

Lines excerpt(const std::string& marker) {
    const Lines words = words_in(marker);
    if (words.size() < 2 || words.size() > 3)
        throw Error("an excerpt is FILE \"text of its first line\", and a text of its last line");
    const Lines lines = lines_of(read_text(words[0]));
    const std::size_t first = line_with(words[0], lines, words[1]) - 1;
    std::size_t last = first;
    if (words.size() == 2)
        last = end_of_block(lines, first);
    else
        while (lines[last].find(words[2]) == std::string::npos)
            if (++last == lines.size())
                throw Error(join("'", words[2], "' does not follow '", words[1], "' in ", words[0]));
    Lines cut = {words[0].ends_with(".py") ? "```python" : "```cpp"};
    for (std::size_t i = first; i <= last; ++i)
        cut.push_back(lines[i].substr(std::min(indentation(lines[first]), indentation(lines[i]))));
    cut.emplace_back("```");
    return cut;
}

// ------------------------------------------------------------------------------------------------- numbers

// Tables, lists and what has a heading are Markdown; other text is shown as it stands.
Lines shown(const std::string& text) {
    Lines lines = lines_of(text);
    while (!lines.empty() && lines.back().empty())
        lines.pop_back();
    for (std::string& line : lines)
        line.erase(line.find_last_not_of(' ') + 1);
    if (lines.empty())
        throw Error("it prints nothing");
    if (lines[0].starts_with('|') || lines[0].starts_with("- ") || lines[0].starts_with("### "))
        return lines;
    lines.insert(lines.begin(), "```text");
    lines.emplace_back("```");
    return lines;
}

std::string machine_and_date() {
    std::string model = "a processor of unknown name";
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.starts_with("model name")) {
            model = line.substr(line.find(':') + 2);
            break;
        }
    const std::time_t now = std::time(nullptr);
    std::array<char, 16> date;
    std::strftime(date.data(), date.size(), "%Y-%m-%d", std::gmtime(&now));
    return join("Measured on: ", model, ", ", autograd::thread_count(), " threads, ", date.data(), ".");
}

// --------------------------------------------------------------------------------------------------- links

// Fills in the line numbers of the links in one line of prose, and looks whether their files exist.
std::string with_line_numbers(const std::string& line, const std::filesystem::path& folder) {
    std::string result;
    std::size_t done = 0;
    for (std::size_t at = 0; (at = line.find("](", at)) != std::string::npos;) {
        at += 2;
        const std::size_t end = line.find_first_of(" )", at);
        if (end == std::string::npos)
            throw Error("a link must end in the line in which it begins");
        const std::string target = line.substr(at, end - at), file = target.substr(0, target.find('#'));
        if (target.find("://") != std::string::npos || file.empty())
            continue;
        const std::string path = (folder / file).lexically_normal().string();
        if (!std::filesystem::exists(path))
            throw Error("there is no file " + path + ", to which a link leads");
        const bool titled = line[end] == ' ' && line[end + 1] == '"';
        if (!titled && target.find("#L") != std::string::npos)
            throw Error("the link to " + target + " needs the text of its line as a title: (file \"text\")");
        if (!titled)
            continue;
        const std::string title = line.substr(end + 2, line.find('"', end + 2) - end - 2);
        const std::size_t number = line_with(path, lines_of(read_text(path)), title);
        result += line.substr(done, at - done) + join(file, "#L", number);
        done = end;
    }
    return result + line.substr(done);
}

// ------------------------------------------------------------------------------------------------- minutes

constexpr std::size_t kWordsAMinute = 180;  // technical prose, read with understanding

// The minutes that a page takes to read, in steps of five: all its words count but those of comments.
std::size_t minutes_of(const std::string& path) {
    std::istringstream in(read_text(path));
    std::size_t words = 0;
    bool comment = false;
    for (std::string word; in >> word;) {
        comment |= word == "<!--";
        words += !comment &&
                 std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isalnum(c); });
        comment &= word != "-->";
    }
    return 5 * std::max<std::size_t>(1, (words + kWordsAMinute * 5 / 2) / (kWordsAMinute * 5));
}

// A chapter begins with `*About 40 minutes.`, and a table's cell behind a link to a page holds its minutes.
std::string with_minutes(const std::string& line, const std::string& path) {
    static const std::regex own("^\\*About [0-9]+ minutes"),
        of_link("\\]\\(([^)# ]+\\.md)\\) \\| [0-9]+ \\|");
    std::smatch found;
    if (std::regex_search(line, own))
        return std::regex_replace(line, own, join("*About ", minutes_of(path), " minutes"));
    if (std::regex_search(line, found, of_link)) {
        const std::string page =
            (std::filesystem::path(path).parent_path() / found[1].str()).lexically_normal();
        return found.prefix().str() + join("](", found[1].str(), ") | ", minutes_of(page), " |") +
               found.suffix().str();
    }
    return line;
}

// ------------------------------------------------------------------------------------------------ chapters

struct Marker {
    std::string kind, what;
};

// `<!-- kind: what -->`, alone in its line; an empty kind for every other line.
Marker marker_of(const std::string& line) {
    const std::size_t colon = line.find(": ");
    if (!line.starts_with("<!-- ") || !line.ends_with(" -->") || colon == std::string::npos)
        return {};
    return {line.substr(5, colon - 5), line.substr(colon + 2, line.size() - colon - 6)};
}

// What belongs between the marker and its end; `now`, what stands there, if it need not be computed.
Lines content(const Marker& marker, const Lines& now, const Computed& computed, const Request& request) {
    const bool timed = marker.kind == "timed";
    if (marker.kind == "excerpt")
        return excerpt(marker.what);
    if (marker.kind == "output")
        return request.most == Effort::quick ? now : shown(output_of(marker.what));
    if (marker.kind == "measured")
        return now;
    if (marker.kind != "computed" && !timed)
        throw Error("unknown kind '" + marker.kind + "'; known: computed, timed, measured, output, excerpt");
    for (const Section& section : computed.sections)
        if (section.name == marker.what) {
            if ((section.effort == Effort::timed) != timed)
                throw Error(section.name + ": `timed` is for sections that print times, and only for them");
            if (timed ? !request.times : section.effort > request.most)
                return now;
            std::ostringstream out;
            section.print(out);
            Lines lines = shown(out.str());
            if (timed)
                lines.insert(lines.begin(), {machine_and_date(), ""});
            return lines;
        }
    throw Error("no section is called '" + marker.what + "'");
}

constexpr const char* kEnd = "<!-- end -->";

// What the block that begins at line `at` is to hold, as text. `at` moves to the block's last line.
std::string filled(const Lines& lines, std::size_t& at, const Marker& marker, const Computed& computed,
                   const Request& request) {
    const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = std::find(begin, lines.end(), kEnd);
    if (end == lines.end())
        throw Error(std::string("no ") + kEnd + " follows");
    const Lines then = content(marker, Lines(begin + 1, end), computed, request);
    if (then.empty())
        throw Error("this block is empty; `make chapters" +
                    std::string(marker.kind == "timed" ? " TIMES=1`" : "`") + " fills it");
    at = static_cast<std::size_t>(end - lines.begin());
    return text_of(then);
}

// Files of the drawings that a text shows: ![...](figures/NAME.svg).
Lines drawings_in(const std::string& text, const std::filesystem::path& folder) {
    static const std::regex drawing(R"(\]\((figures/[a-z_]+\.svg))");
    Lines files;
    for (std::sregex_iterator at(text.begin(), text.end(), drawing), end; at != end; ++at)
        files.push_back((folder / (*at)[1].str()).string());
    return files;
}

bool is_drawn(const Computed& computed, const std::string& file) {
    return std::any_of(computed.figures.begin(), computed.figures.end(),
                       [&](const Figure& figure) { return figure.file == file; });
}

// What one reads in a drawing. A text that is one number is left out: it labels a row or a column of a grid.
std::string words_of(const std::string& drawing) {
    static const std::regex text(">([^<>]*[^<>0-9.][^<>]*)</(text|title|desc)>");
    const std::string svg = read_text(drawing);
    std::string words;
    for (std::sregex_iterator at(svg.begin(), svg.end(), text), end; at != end; ++at)
        words += (*at)[1].str() + "; ";
    return words;
}

}  // namespace

Chapter fill(const std::string& path, const Computed& computed, const Request& request) {
    const Lines lines = lines_of(read_text(path));
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    Chapter chapter;
    Prose prose;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::size_t line = i + 1;
        try {
            const Marker marker = marker_of(lines[i]);
            if (marker.kind.empty()) {
                chapter.text += with_minutes(with_line_numbers(lines[i], folder), path) + '\n';
                prose.add(lines[i], static_cast<int64_t>(line));
                for (const std::string& file : drawings_in(lines[i], folder))
                    if (!is_drawn(computed, file))
                        prose.add(words_of(file), static_cast<int64_t>(line));
                continue;
            }
            const std::string text = filled(lines, i, marker, computed, request);
            chapter.text += lines[line - 1] + '\n' + text + kEnd + '\n';
            prose.explain(text);
            chapter.used.push_back(marker.what);
        } catch (const std::exception& error) {
            throw Error(join(path, ":", line, ": ", error.what()));
        }
    }
    const Lines drawings = drawings_in(chapter.text, folder);
    chapter.used.insert(chapter.used.end(), drawings.begin(), drawings.end());
    chapter.unexplained = prose.unexplained();
    return chapter;
}

}  // namespace plaingrad::chapters
