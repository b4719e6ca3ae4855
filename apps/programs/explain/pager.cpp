#include "apps/programs/explain/pager.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "apps/kit/keys.h"
#include "apps/kit/program.h"
#include "apps/kit/text.h"
#include "autograd/base/check.h"

namespace plaingrad::explain {

using namespace kit;

void turn_pages(const std::vector<std::string>& pages) {
    // Another screen, without a cursor, on which what is too wide is cut.
    if (pages.empty())
        return;
    const Keys keys("\033[?1049h\033[?25l\033[?7l", "\033[?7h\033[?25h\033[?1049l");
    std::size_t page = 0, top = 0;  // top: the first line that is shown
    for (std::string key = "home"; !key.empty() && key != "q"; key = keys.next()) {
        winsize size{};
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
        const std::size_t before = page, height = size.ws_row > 1 ? size.ws_row - 1u : 23;
        if (key == "right" || key == " " || key == "enter")
            page += page + 1 < pages.size();
        else if (key == "left")
            page -= page > 0;
        else if (key == "home")
            page = top = 0;
        else if (key == "end")
            page = pages.size() - 1;
        else if (key == "down" || key == "page down")
            top += key == "down" ? 1 : height;
        else if (key == "up" || key == "page up")
            top -= std::min(top, key == "up" ? 1 : height);
        const std::size_t width = size.ws_col > 0 ? size.ws_col : 80;
        // A terminal writes the end of a line that is too wide into its last column, where it might be taken
        // for a digit. The mark covers it.
        const std::string mark = autograd::join("\033[", width, "G›");
        const std::vector<std::string> lines = wrapped(pages[page], std::string::npos);
        top = page == before ? std::min(top, lines.size() - std::min(lines.size(), height)) : 0;
        std::cout << "\033[H\033[2J";
        for (std::size_t i = top; i < std::min(lines.size(), top + height); ++i)
            std::cout << lines[i] << (columns(lines[i]) > width ? mark : "") << '\n';
        std::cout << "\033[999H← → turn pages, " << (lines.size() > height ? "↑ ↓ scroll, " : "")
                  << "Home, End; q quits";
        flush_output();
    }
}

}  // namespace plaingrad::explain
