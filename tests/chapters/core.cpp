#include "tests/chapters/core.h"

#include "tests/chapters/print.h"

namespace plaingrad::chapters {

std::string grouped(int64_t n) {
    std::string text = std::to_string(n);
    for (std::size_t i = text.size(); i > 3;)
        text.insert(i -= 3, ",");
    return text;
}

std::string number(double x) {
    std::string text = fixed(x, 4);
    text.erase(text.find_last_not_of('0') + 1);
    return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

std::string numbers(const autograd::Tensor& x) {
    std::string text;
    for (int64_t i = 0; i < x.numel(); ++i) {
        const bool next_row = x.rank() == 2 && i % x.size(1) == 0;
        text += (i == 0 ? "" : next_row ? "; " : " ") + number(static_cast<double>(x.data()[i]));
    }
    return text;
}

Computed in_order(const std::vector<Computed>& parts) {
    Computed all;
    for (const Computed& part : parts) {
        all.sections.insert(all.sections.end(), part.sections.begin(), part.sections.end());
        all.figures.insert(all.figures.end(), part.figures.begin(), part.figures.end());
    }
    return all;
}

}  // namespace plaingrad::chapters
