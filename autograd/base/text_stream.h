// The standard's streams over a string, but they throw std::bad_alloc when memory is out. The standard's own
// only note it in a bit that hardly anybody asks for: what is written later is lost, and what is read seems
// to end there, so a program would go on with half of its data.
#pragma once

#include <sstream>
#include <string>
#include <utility>

namespace plaingrad::autograd {

struct TextInput : std::istringstream {
    explicit TextInput(std::string text) : std::istringstream(std::move(text)) { exceptions(badbit); }
};

struct TextOutput : std::ostringstream {
    TextOutput() { exceptions(badbit); }
};

}  // namespace plaingrad::autograd
