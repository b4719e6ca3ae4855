#include "apps/kit/keyboard.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <iostream>
#include <map>
#include <utility>

#include "apps/kit/program.h"
#include "models/text/lines.h"
#include "nn/checkpoint/utf8.h"

namespace plaingrad::kit {
namespace {

termios usual, raw;
const char *entering = "", *leaving = "";
volatile std::sig_atomic_t redraw = 0;

void set(const termios& mode, const char* text) {
    tcsetattr(STDIN_FILENO, TCSANOW, &mode);  // keeps what was typed, or pasted, in the meantime
    [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, text, std::strlen(text));
}

void on_signals(void (*action)(int)) {
    struct sigaction now = {};
    now.sa_handler = action;
    // A signal may come again while it is handled; and one that comes while a page is written must not
    // interrupt that, which C's streams would take for a failure. (poll is interrupted all the same.)
    now.sa_flags = SA_NODEFER | SA_RESTART;
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGCONT, SIGWINCH})
        sigaction(signal, &now, nullptr);
}

// Calls nothing but what is safe in a signal handler.
void on_signal(int signal) {
    redraw = 1;
    if (signal != SIGWINCH && signal != SIGCONT) {
        set(usual, leaving);
        on_signals(SIG_DFL);
        std::raise(signal);  // ends or suspends the program
        on_signals(on_signal);
    }
    if (signal != SIGWINCH)
        set(raw, entering);
}

}  // namespace

Keys::Keys(const char* at_begin, const char* at_end) {
    entering = at_begin, leaving = at_end;
    tcgetattr(STDIN_FILENO, &usual);
    raw = usual;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
    raw.c_cc[VMIN] = 1, raw.c_cc[VTIME] = 0;
    on_signals(on_signal);
    set(raw, entering);
}

Keys::~Keys() {
    set(usual, leaving);
    on_signals(SIG_DFL);
}

std::string Keys::next() const {
    static const std::map<std::string, std::string> names = {
        {"\033[A", "up"},      {"\033[B", "down"},    {"\033[C", "right"}, {"\033[D", "left"},
        {"\033[H", "home"},    {"\033[1~", "home"},   {"\033[F", "end"},   {"\033[4~", "end"},
        {"\033[3~", "delete"}, {"\x7f", "backspace"}, {"\b", "backspace"}, {"\n", "enter"},
        {"\r", "enter"}};
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    while (poll(&input, 1, 100) <= 0)
        if (std::exchange(redraw, 0) != 0)
            return "resized";
    std::string key;
    for (char c = 0; poll(&input, 1, 50) == 1 && read(STDIN_FILENO, &c, 1) == 1;) {
        key += c;
        // An escape sequence ends with a letter or "~", as in "\033[C" or "\033[4~".
        if (key[0] == '\033' ? key.size() > 2 && c >= '@'
                             : nn::checkpoint::utf8_length(key) > 0 || key.size() == 4)
            break;
    }
    return names.contains(key) ? names.at(key) : key;
}

namespace {

// Tabs become arrows: a tab has no width of its own.
std::string shown(const std::string& text) { return models::text::replace_all(text, "\t", "→"); }

// A line in valid UTF-8. Positions are in bytes.
struct EditedLine {
    std::string text = {};
    std::size_t cursor = 0;

    std::size_t after(std::size_t at) const {
        return std::min(text.size(), at + nn::checkpoint::utf8_length(std::string_view(text).substr(at)));
    }
    std::size_t before(std::size_t at) const {
        while (at > 0 && (text[--at] & 0xc0) == 0x80) {
        }
        return at;
    }
    void erase(std::size_t from, std::size_t to) {
        text.erase(from, to - from);
        cursor = from;
    }
    void press(const std::string& key);
    void draw(const std::string& prompt) const;
};

void EditedLine::press(const std::string& key) {
    if (key == "left" || key == "right")
        cursor = key == "left" ? before(cursor) : after(cursor);
    else if (key == "home" || key == "\x01")  // Ctrl-A
        cursor = 0;
    else if (key == "end" || key == "\x05")  // Ctrl-E
        cursor = text.size();
    else if (key == "backspace" || key == "\x15")  // Ctrl-U
        erase(key == "backspace" ? before(cursor) : 0, cursor);
    else if (key == "delete" || key == "\x04" || key == "\x0b")  // Ctrl-D, Ctrl-K
        erase(cursor, key == "\x0b" ? text.size() : after(cursor));
    else if (nn::checkpoint::utf8_length(key) == key.size() && (key >= " " || key == "\t")) {
        text.insert(cursor, key);
        cursor += key.size();
    }
}

// As much as fits: before the cursor, and then behind it. A character of three bytes or more may take two
// columns.
void EditedLine::draw(const std::string& prompt) const {
    const std::size_t room = static_cast<std::size_t>(terminal_width(STDERR_FILENO)) - 1;
    const auto fits = [&](std::size_t from, std::size_t to) {
        const std::string part = prompt + shown(text.substr(from, to - from));
        const auto wide = std::count_if(part.begin(), part.end(), [](char c) { return (c & 0xe0) == 0xe0; });
        return nn::checkpoint::columns_of(part) + static_cast<std::size_t>(wide) <= room;
    };
    std::size_t begin = cursor, end = cursor;
    while (begin > 0 && fits(before(begin), cursor))
        begin = before(begin);
    while (end < text.size() && fits(begin, after(end)))
        end = after(end);
    std::cerr << '\r' << prompt << shown(text.substr(begin, cursor - begin)) << "\0337"
              << shown(text.substr(cursor, end - cursor)) << "\033[K\0338" << std::flush;
}

}  // namespace

std::optional<std::string> edit_line(const Keys& keys, const std::string& prompt,
                                     std::vector<std::string>& history) {
    history.emplace_back();  // what is typed, while an earlier line is shown
    std::size_t entry = history.size() - 1;
    EditedLine line;
    std::string key = "resized";
    for (; key != "enter" && !key.empty() && (key != "\x04" || !line.text.empty()); key = keys.next()) {
        if (entry + 1 == history.size())
            history.back() = line.text;
        if ((key == "up" && entry > 0) || (key == "down" && entry + 1 < history.size())) {
            line.text = history[key == "up" ? --entry : ++entry];
            line.cursor = line.text.size();
        }
        line.press(key);
        line.draw(prompt);
    }
    std::cerr << '\n';
    history.back() = line.text;
    if (line.text.empty() || (history.size() > 1 && history[history.size() - 2] == line.text))
        history.pop_back();
    return key == "enter" ? std::optional(line.text) : std::nullopt;
}

}  // namespace plaingrad::kit
