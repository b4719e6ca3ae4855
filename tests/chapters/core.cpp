#include "tests/chapters/core.h"

#include "tests/chapters/print.h"

namespace plaingrad::chapters {

std::string numbers(const autograd::Tensor& x) {
    std::string text;
    for (int64_t i = 0; i < x.numel(); ++i) {
        const bool next_row = x.rank() == 2 && i % x.size(1) == 0;
        text += (i == 0 ? "" : next_row ? "; " : " ") + number(static_cast<double>(x.data()[i]));
    }
    return text;
}

}  // namespace plaingrad::chapters
