// A real browser, Chromium without a window, that opens a page and is asked what it shows. It is driven
// through two pipes (--remote-debugging-pipe): no port, no network.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "nn/checkpoint/json.h"
#include "tests/catch.h"
#include "tests/folder.h"

// Leaves a test case where there is no browser.
#define NEEDS_BROWSER()     \
    if (chromium().empty()) \
    SKIP("there is no Chromium")

namespace plaingrad::tests {

// The program's path, or "": tests are skipped then.
std::string chromium();

class Browser {
public:
    Browser();
    ~Browser();
    Browser(const Browser&) = delete;
    Browser& operator=(const Browser&) = delete;

    // Opens a file in a viewport of this size and waits until it is loaded. Pixels are those of CSS.
    void open(const std::string& path, int width, int height = 900, bool dark = false,
              const std::string& fragment = "");
    // The value of a JavaScript expression, as text; arrays and objects as JSON. What it throws begins with
    // "thrown: ".
    std::string value(const std::string& expression);
    // What the first element that the selector finds says.
    std::string text(const std::string& selector);
    // The ids of the sections, in order.
    std::string sections();
    // What the console printed, what was fetched but the page itself, and how many pixels the page is wider
    // than the window: "" if all is well.
    std::string complaints();
    // Moves the pointer to the middle of the first element that the selector finds, once it is in sight.
    void point_at(const std::string& selector);
    void press(const std::string& key);  // "ArrowRight"

private:
    // The result that it answers with; null for an error.
    nn::checkpoint::Json send(const std::string& method, const std::string& parameters = "");
    std::string receive();

    Folder profile_;
    pid_t process_ = -1;
    int to_ = -1, from_ = -1;
    int64_t id_ = 0;
    std::string session_, buffer_;
    // Since the page was opened: what the console printed, and requests for anything but the page.
    std::vector<std::string> console_, requests_;
};

}  // namespace plaingrad::tests
