#include "apps/kit/keys.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <map>
#include <utility>

#include "nn/utf8.h"

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
        {"\033[A", "up"},       {"\033[B", "down"},       {"\033[C", "right"},   {"\033[D", "left"},
        {"\033[H", "home"},     {"\033[1~", "home"},      {"\033[F", "end"},     {"\033[4~", "end"},
        {"\033[5~", "page up"}, {"\033[6~", "page down"}, {"\033[3~", "delete"}, {"\x7f", "backspace"},
        {"\b", "backspace"},    {"\n", "enter"},          {"\r", "enter"}};
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    while (poll(&input, 1, 100) <= 0)
        if (std::exchange(redraw, 0) != 0)
            return "resized";
    std::string key;
    for (char c = 0; poll(&input, 1, 50) == 1 && read(STDIN_FILENO, &c, 1) == 1;) {
        key += c;
        // An escape sequence ends with a letter or "~", as in "\033[C" or "\033[4~".
        if (key[0] == '\033' ? key.size() > 2 && c >= '@' : nn::utf8_length(key) > 0 || key.size() == 4)
            break;
    }
    return names.contains(key) ? names.at(key) : key;
}

}  // namespace plaingrad::kit
