#include "autograd/base/check.h"

#include <locale>

#include "autograd/base/text_stream.h"

namespace plaingrad::autograd {

std::string join(std::initializer_list<Printable> parts) {
    TextOutput text;
    text.imbue(std::locale::classic());  // 12345, and not 12.345 where the host program speaks German
    for (const Printable& part : parts)
        part.print(text, part.value);
    return text.str();
}

void fail(std::initializer_list<Printable> parts) { throw Error(join(parts)); }

}  // namespace plaingrad::autograd
