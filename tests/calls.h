// Calls of the system about files, of which a test decides what becomes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

// Elsewhere no call is asked about. (The thread sanitizer makes such calls before functions are counted.)
#if defined(__linux__) && !defined(__SANITIZE_THREAD__)
#define PLAINGRAD_ASKS_ABOUT_CALLS
#endif

namespace plaingrad::tests {

struct Fate {
    int error = 0;                   // it fails with this errno; 0: it does not
    std::size_t at_most = SIZE_MAX;  // it reads or writes no more bytes, and does not fail
};

// While this object exists, it is asked before each call that its thread makes, but not about its own calls.
class Calls {
public:
    // can_fail: whether a disk, or a lack of rights, can make this call fail.
    using Ask = std::function<Fate(std::string_view call, bool can_fail)>;
    explicit Calls(Ask ask);
    ~Calls();
    Calls(Calls&&) = delete;

private:
    const Ask ask_;
};

}  // namespace plaingrad::tests
