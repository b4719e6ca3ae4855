#include "tests/calls.h"

#include <cerrno>
#include <utility>

#include "tests/defined_calls.h"

namespace plaingrad::tests {

namespace {
thread_local const Calls::Ask* asked = nullptr;
}

Calls::Calls(Ask ask) : ask_(std::move(ask)) { asked = &ask_; }
Calls::~Calls() { asked = nullptr; }

Fate fate_of(const char* call, bool can_fail) {
    const Calls::Ask* const ask = std::exchange(asked, nullptr);
    if (ask == nullptr)
        return {};
    const int error = errno;
    const Fate fate = (*ask)(call, can_fail);
    errno = error;
    asked = ask;
    return fate;
}

}  // namespace plaingrad::tests
