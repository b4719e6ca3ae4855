// Errors: one exception type, one way to raise it.
//
// The text of every error is `[where] rule: what was given; the fix`, on one line, so that a program
// can print `error.what()` as it is and a user knows what to do next.
#pragma once

#include <cmath>
#include <initializer_list>
#include <ostream>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace plaingrad::autograd {

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A value and how to print it, with its type erased, so that each `check` compiles to a few pointers and not
// to a string stream of its own, which took a sixth of the compile time of most files.
struct Printable {
    template <class T>
    Printable(const T& v)
        : value(&v), print([](std::ostream& out, const void* p) {
              const T& x = *static_cast<const T*>(p);
              if constexpr (std::is_floating_point_v<T>)  // the sign of a NaN depends on the processor
                  out << (std::isnan(x) ? std::fabs(x) : x);
              else
                  out << x;
          }) {}
    Printable(const char* text)
        : value(text), print([](std::ostream& out, const void* p) { out << static_cast<const char*>(p); }) {}

    const void* value;
    void (*print)(std::ostream&, const void*);
};

std::string join(std::initializer_list<Printable> parts);
[[noreturn]] void fail(std::initializer_list<Printable> parts);

// All parts, one after the other, as one string.
template <class... Parts>
std::string join(const Parts&... parts) {
    return join(std::initializer_list<Printable>{parts...});
}

// Throws Error made of all parts unless `condition` holds. The parts are converted to text only then.
template <class... Parts>
inline void check(bool condition, const Parts&... parts) {
    if (!condition) [[unlikely]]
        fail({parts...});
}

}  // namespace plaingrad::autograd
