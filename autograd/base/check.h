// Errors: one exception type, one way to raise it.
//
// The text of every error is `[where] rule: what was given; the fix`, on one line, so that a program
// can print `error.what()` as it is and a user knows what to do next.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace plaingrad::autograd {

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// All parts, streamed one after the other into one string.
template <class... Parts>
std::string join(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    return text.str();
}

// Throws Error made of all parts unless `condition` holds. The parts are put together only then.
template <class... Parts>
inline void check(bool condition, const Parts&... parts) {
    if (!condition) [[unlikely]]
        throw Error(join(parts...));
}

}  // namespace plaingrad::autograd
