// Tensors as text.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

#include "autograd/tensor.h"

namespace plaingrad::autograd {
namespace {

constexpr int64_t kCutFrom = 1000;  // elements, from which on a tensor is not shown whole
constexpr int64_t kEdge = 3;        // elements shown at both ends of a dimension that is cut

// Which elements of a dimension are shown; -1 stands for those left out.
std::vector<int64_t> shown(int64_t n, bool cut) {
    std::vector<int64_t> places;
    for (int64_t i = 0; i < n; ++i) {
        if (!cut || n <= 2 * kEdge || i < kEdge || i >= n - kEdge)
            places.push_back(i);
        else if (i == kEdge)
            places.push_back(-1);
    }
    return places;
}

// How all numbers are written, as PyTorch chooses: whole ones without decimals, others with four, and with an
// exponent where they are very large, very small, or both.
const char* format(const std::vector<double>& numbers) {
    bool whole = true;
    double largest = 0, smallest = HUGE_VAL;
    for (const double x : numbers) {
        if (!std::isfinite(x))
            continue;
        whole = whole && x == std::floor(x);
        largest = std::max(largest, std::abs(x));
        smallest = x == 0 ? smallest : std::min(smallest, std::abs(x));
    }
    const bool wide =
        largest > 1e8 || (!whole && largest > 0 && (largest / smallest > 1000 || smallest < 1e-4));
    return wide ? "%.4e" : whole ? "%.0f." : "%.4f";
}

std::string text(const char* format, double x) {
    char digits[40];
    std::snprintf(digits, sizeof digits, std::isfinite(x) ? format : "%f", x);
    return digits;
}

struct Printer {
    const Tensor& x;
    const bool cut = x.numel() > kCutFrom;
    std::vector<double> numbers;  // those shown, in their order

    // The numbers of the part at `offset` whose first dimension is `dim`.
    void collect(int dim, int64_t offset) {
        if (dim == x.rank())
            return numbers.push_back(static_cast<double>(x.data()[offset]));
        for (const int64_t i : shown(x.size(dim), cut))
            if (i >= 0)
                collect(dim + 1, offset * x.size(dim) + i);
    }

    // The same as text, from `next` on in the list of all.
    void print(std::ostream& out, int dim, const std::vector<std::string>& texts, std::size_t& next) const {
        if (dim == x.rank()) {
            out << texts[next++];
            return;
        }
        const int inner =
            x.rank() - dim - 1;  // dimensions within this one: as many line breaks between its elements
        const std::string between = inner == 0 ? ", "
                                               : "," + std::string(static_cast<std::size_t>(inner), '\n') +
                                                     std::string(static_cast<std::size_t>(dim) + 1, ' ');
        out << '[';
        bool first = true;
        for (const int64_t i : shown(x.size(dim), cut)) {
            out << (first ? "" : between);
            first = false;
            if (i < 0)
                out << "...";
            else
                print(out, dim + 1, texts, next);
        }
        out << ']';
    }
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& x) {
    if (!x.defined())
        return out << "[empty tensor]";
    Printer printer{.x = x, .numbers = {}};
    printer.collect(0, 0);
    const char* const how = format(printer.numbers);
    std::vector<std::string> texts;
    std::size_t width = 0, next = 0;
    for (const double number : printer.numbers)
        width = std::max(width, texts.emplace_back(text(how, number)).size());
    for (std::string& number : texts)
        number.insert(0, width - number.size(), ' ');
    printer.print(out, 0, texts, next);
    return out << "  " << x.shape();
}

}  // namespace plaingrad::autograd
