#include "tests/trust/words/said.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <functional>
#include <sstream>
#include <thread>

#include "autograd/base/check.h"
#include "nn/utf8.h"

namespace plaingrad::trust::words {
namespace {

// C0 except for the line feed, DEL, and C1, which terminals obey as they do escape sequences.
bool has_control(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto [code, length] = nn::first_code_point(std::string_view(text).substr(at));
        if ((code < 0x20 && code != '\n') || (code >= 0x7f && code < 0xa0))
            return true;
        at += length;
    }
    return false;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

// What programs may say before the line that ends them, as they also say it when they succeed: what they run
// on, and what they leave out. (fill complains about each line of its input without a mask, and goes on.)
bool is_note(const std::string& line) {
    for (const char* note : {", 1 thread, ", "read as U+FFFD", "left out", "read only that far",
                             "unknown words: ", "there is no [MASK]"})
        if (line.find(note) != line.npos)
            return true;
    return false;
}

// Whether a failed program complains in one line, the last.
bool complains_once(const std::string& program, const Ended& ended) {
    const std::vector<std::string> lines = lines_of(ended.err);
    const auto is_its_own = [&](const std::string& line) { return line.starts_with(program + ": "); };
    return is_its_own(lines.back()) &&
           std::none_of(lines.begin(), lines.end() - 1,
                        [&](const std::string& line) { return is_its_own(line) && !is_note(line); });
}

}  // namespace

void Said::add(const Case& one, const std::string& program, const Ended& ended, const std::string& text) {
    ++tried;
    texts[one] = text;
    const auto count = [&](int64_t& figure, const char* what) {
        if (++figure <= 30)
            std::printf("%s: %s | %s\n  %s\n", what, one.first.c_str(), one.second.c_str(),
                        printable((ended.err + ended.out).substr(0, 1000)).c_str());
    };
    if (!ended.in_time)
        count(hung, "not ended in time");
    else if (ended.status > 2)
        count(crashed, "crashed");
    else if (ended.status != 0 && ended.err.empty())
        count(silent, "silent");
    else if (ended.status != 0 && !complains_once(program, ended))
        count(several_lines, "several lines");
    // What other commands print on standard output is the text that they were asked for, as it is.
    const bool describes = one.second.find(" info ") != one.second.npos;
    if (has_control(ended.err) || (describes && has_control(ended.out)))
        count(raw, "a control character");
}

std::string text_of(const std::string& program, const Ended& ended,
                    const std::vector<std::pair<std::string, std::string>>& names) {
    if (ended.in_time && ended.status == 0)
        return kRight;
    const std::vector<std::string> lines = lines_of(ended.err);
    std::string text = lines.empty() ? "" : lines.back();
    if (text.starts_with(program + ": "))
        text = text.substr(program.size() + 2);
    for (const auto& [from, to] : names)
        if (!from.empty())
            text = replaced(text, from, to);
    return autograd::join(ended.in_time ? "" : "not ended in time; ", "exit ", ended.status, ": ",
                          printable(text));
}

void two_at_a_time(int64_t n, const std::function<void(int64_t i, int worker)>& f) {
    std::atomic<int64_t> next = 0;
    std::exception_ptr errors[2];
    const auto work = [&](int worker) {
        try {
            for (int64_t i; (i = next++) < n;)
                f(i, worker);
        } catch (...) {
            errors[worker] = std::current_exception();
            next = n;
        }
    };
    std::thread other(work, 1);
    work(0);
    other.join();
    for (const std::exception_ptr& error : errors)
        if (error)
            std::rethrow_exception(error);
}

}  // namespace plaingrad::trust::words
