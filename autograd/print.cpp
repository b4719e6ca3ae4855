// Tensors as text.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "autograd/base/check.h"
#include "autograd/base/text_stream.h"
#include "autograd/tensor.h"

namespace plaingrad::autograd {
namespace {

constexpr int64_t kThreshold = 1000;  // tensors with more elements are shortened, as in PyTorch
constexpr int64_t kEdge = 3;          // entries shown at both ends of a shortened dimension

struct Printer {
    const Tensor& x;
    std::chars_format format = std::chars_format::fixed;
    int decimals = 4;
    std::size_t width = 0;  // of the longest number that is shown

    std::string text(double number) const {
        if (!std::isfinite(number))
            return join(number);  // without the sign that a NaN may have
        char digits[40];  // (snprintf would write a comma for the point where the host program wants that)
        const auto end = std::to_chars(digits, std::end(digits), number, format, decimals).ptr;
        return std::string(digits, end) + (decimals == 0 ? "." : "");
    }

    // As PyTorch chooses: whole numbers without decimals, others with four, and with an exponent where they
    // are very large, very small, or both.
    void choose_format() {
        bool whole = true;
        double largest = 0, nearest_to_0 = HUGE_VAL;
        for (int64_t i = 0; i < x.numel(); ++i) {
            const auto number = static_cast<double>(x.data()[i]);
            if (!std::isfinite(number))
                continue;
            whole = whole && number == std::floor(number);
            largest = std::max(largest, std::abs(number));
            nearest_to_0 = number == 0 ? nearest_to_0 : std::min(nearest_to_0, std::abs(number));
        }
        if (largest > 1e8 || (!whole && (largest / nearest_to_0 > 1000 || nearest_to_0 < 1e-4)))
            format = std::chars_format::scientific;
        else if (whole)
            decimals = 0;
    }

    // The part that begins with element `offset`, from dimension `dim` on.
    void print(std::ostream& out, int dim, int64_t offset) {
        if (dim == x.rank()) {
            const std::string number = text(static_cast<double>(x.data()[offset]));
            width = std::max(width, number.size());
            out << std::string(width - number.size(), ' ') << number;
            return;
        }
        const int inner = x.rank() - dim - 1;  // dimensions within: as many line breaks between two elements
        const std::string between = inner == 0 ? ", "
                                               : "," + std::string(static_cast<std::size_t>(inner), '\n') +
                                                     std::string(static_cast<std::size_t>(dim) + 1, ' ');
        const int64_t n = x.size(dim);
        const bool cut = x.numel() > kThreshold && n > 2 * kEdge;
        out << '[';
        for (int64_t i = 0; i < n; ++i) {
            out << (i > 0 ? between : "");
            if (cut && i == kEdge) {
                out << "..." << between;
                i = n - kEdge;
            }
            print(out, dim + 1, offset * n + i);
        }
        out << ']';
    }
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& x) {
    if (!x.defined())
        return out << "[empty tensor]";
    Printer printer{x};
    printer.choose_format();
    TextWriter nowhere;
    printer.print(nowhere, 0, 0);  // finds the width
    printer.print(out, 0, 0);
    return out << "  " << x.shape();
}

}  // namespace plaingrad::autograd
