// What is typed on a terminal: keys, as they are pressed, and lines that are edited with them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace plaingrad::kit {

// While it exists, the terminal (standard input) gives each key immediately, unechoed. Then it is as before,
// also after an exception, after a signal that ends the program, and while Ctrl-Z suspends it. There is only
// one at a time.
class Keys {
public:
    // What standard output is told at the beginning and at the end, such as to show another screen.
    explicit Keys(const char* at_begin = "", const char* at_end = "");
    ~Keys();
    Keys(Keys&&) = delete;  // nor copied

    // The next key: a character of UTF-8; or its name, such as "left" or "enter"; "resized" if the picture
    // must be drawn anew; "" at the end of input.
    std::string next() const;
};

// Returns the line that is typed behind `prompt`, on standard error; none after Ctrl-D. Up and down lead to
// earlier lines; adds the new one to them. A line that is wider than the terminal is shown around the cursor.
// Tabs are shown as arrows.
std::optional<std::string> edit_line(const Keys& keys, const std::string& prompt,
                                     std::vector<std::string>& history);

}  // namespace plaingrad::kit
