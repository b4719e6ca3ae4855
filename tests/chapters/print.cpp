#include "tests/chapters/print.h"

#include <cmath>
#include <cstdio>
#include <numeric>
#include <ostream>

#include "autograd/base/check.h"

namespace plaingrad::chapters {

static std::string formatted(const char* format, int n, double x) {
    char text[64];
    std::snprintf(text, sizeof text, format, n, x);
    return text;
}

std::string fixed(double x, int decimals) {
    const double least = 0.5 * std::pow(10.0, -decimals);
    return formatted("%.*f", decimals, std::abs(x) < least ? 0 : x);
}

std::string digits(double x, int n) {
    const double size = std::abs(x);
    if (x == 0 || !std::isfinite(x))
        return formatted("%.*f", 0, x);
    if (size < 1e-3 || size >= 1e6)
        return formatted("%.*e", n - 1, x);
    // What rounds up to the next power of ten has one digit more before the point.
    const int exponent =
        std::stoi(formatted("%.*e", n - 1, size).substr(static_cast<std::size_t>(n) + (n > 1) + 1));
    if (exponent >= n) {
        const double unit = std::pow(10.0, exponent - n + 1);
        return formatted("%.*f", 0, std::round(x / unit) * unit);
    }
    return formatted("%.*f", n - 1 - exponent, x);
}

std::string vector_text(const autograd::Tensor& x, int decimals) {
    std::string text;
    for (const autograd::Real value : x.to_vector())
        text += (text.empty() ? "(" : ", ") + fixed(static_cast<double>(value), decimals);
    return text + ")";
}

std::string padded(const std::string& text, std::size_t width) {
    return std::string(width - std::min(width, text.size()), ' ') + text;
}

void table(std::ostream& out, const std::vector<std::vector<std::string>>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        autograd::check(rows[i].size() == rows[0].size(), "[table] row ", i, " has ", rows[i].size(),
                        " cells, not ", rows[0].size());
        out << '|';
        for (const std::string& cell : rows[i])
            out << ' ' << cell << " |";
        out << '\n';
        for (std::size_t column = 0; i == 0 && column < rows[0].size(); ++column)
            out << (column == 0 ? "|---|" : "---:|");
        out << (i == 0 ? "\n" : "");
    }
}

void claim(bool holds, const std::string& what) {
    autograd::check(holds, "[claim] the numbers no longer show that ", what,
                    "; find out why, then mend the text");
}

double mean_of(const std::vector<double>& x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

std::string of_seeds(const std::vector<double>& x, int n) {
    std::string text;
    for (const double value : x)
        text += (text.empty() ? "" : ", ") + digits(value, n);
    return digits(mean_of(x), n) + " (" + text + ")";
}

}  // namespace plaingrad::chapters
