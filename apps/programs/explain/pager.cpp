#include "apps/programs/explain/pager.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <iostream>

#include "apps/kit/program.h"

namespace plaingrad::explain {

using namespace kit;

namespace {

// While it exists, the terminal shows a screen of its own, and gives each key at once, without echo.
struct Screen {
    Screen() {
        tcgetattr(STDIN_FILENO, &before);
        termios raw = before;
        raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);  // Ctrl-C is a key too
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
        std::cout << "\033[?1049h\033[?25l";  // the other screen, without a cursor
    }
    ~Screen() {
        std::cout << "\033[?25h\033[?1049l" << std::flush;
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    }
    Screen(Screen&&) = delete;  // nor copied
    termios before{};
};

// What a key sends, "\033[C" for the right arrow; "" at the end of input.
std::string read_key() {
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    while (poll(&input, 1, 100) <= 0)
        if (interrupted())
            stop_listening_for_interrupt();  // throws Interrupted
    std::string key;
    for (char c = 0; poll(&input, 1, 50) == 1 && read(STDIN_FILENO, &c, 1) == 1;) {
        key += c;
        if (key[0] != '\033' ||
            (key.size() > 2 && c >= '@' && c <= '~'))  // the last of "\033[C" or "\033[4~"
            break;
    }
    return key;
}

}  // namespace

void turn_pages(const std::vector<std::string>& pages) {
    if (pages.empty())
        return;
    listen_for_interrupt();
    const Screen screen;
    std::size_t page = 0;
    for (std::string key = "none"; !key.empty() && key != "q";) {
        std::cout << "\033[H\033[2J" << pages[page] << "\033[999H← → turn pages, Home, End; q quits";
        flush_output();
        key = read_key();
        if (key == "\x03")  // Ctrl-C
            throw Interrupted{};
        if (key == "\033[C" || key == " " || key == "\n")
            page += page + 1 < pages.size();
        else if (key == "\033[D")
            page -= page > 0;
        else if (key == "\033[H" || key == "\033[1~")
            page = 0;
        else if (key == "\033[F" || key == "\033[4~")
            page = pages.size() - 1;
    }
}

}  // namespace plaingrad::explain
