#include "autograd/base/check.h"

#include <sstream>

namespace plaingrad::autograd {

std::string join(std::initializer_list<Part> parts) {
    std::ostringstream text;
    for (const Part& part : parts)
        part.print(text, part.value);
    return text.str();
}

void fail(std::initializer_list<Part> parts) { throw Error(join(parts)); }

}  // namespace plaingrad::autograd
