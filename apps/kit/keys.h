// Keys, as they are pressed.
#pragma once

#include <string>

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

    // The next key: a character of UTF-8; or its name, such as "left" or "page up"; "resized" if the picture
    // must be drawn anew; "" at the end of input.
    std::string next() const;
};

}  // namespace plaingrad::kit
