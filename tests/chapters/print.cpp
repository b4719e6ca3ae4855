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
    const double least = kit::times_ten_to(0.5, -decimals);
    return formatted("%.*f", decimals, std::abs(x) < least ? 0 : x);
}

std::string number(double x) {
    std::string text = fixed(x, 4);
    text.erase(text.find_last_not_of('0') + 1);
    return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
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
        const double unit = kit::times_ten_to(1, exponent - n + 1);
        return formatted("%.*f", 0, std::round(x / unit) * unit);
    }
    return formatted("%.*f", n - 1 - exponent, x);
}

std::string numbers(const autograd::Tensor& x) {
    std::string text;
    for (int64_t i = 0; i < x.numel(); ++i) {
        const bool next_row = x.rank() == 2 && i % x.size(1) == 0;
        text += (i == 0 ? "" : next_row ? "; " : " ") + number(value(x, i));
    }
    return text;
}

std::string vector_text(const autograd::Tensor& x, int decimals) {
    std::string text;
    for (const autograd::Real value : x.to_vector())
        text += (text.empty() ? "(" : ", ") + fixed(static_cast<double>(value), decimals);
    return text + ")";
}

void table(std::ostream& out, const Rows& rows, const std::string& columns) {
    const std::string kinds = columns.empty() ? "t" + std::string(rows.at(0).size() - 1, 'n') : columns;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        autograd::check(rows[i].size() == kinds.size(), "[table] row ", i, " has ", rows[i].size(),
                        " cells, not ", kinds.size());
        out << '|';
        for (const std::string& cell : rows[i])
            out << ' ' << cell << " |";
        out << '\n';
        if (i > 0)
            continue;
        out << '|';
        for (const char kind : kinds)
            out << (kind == 't' ? "---|" : "---:|");
        out << '\n';
    }
}

std::string share_of_peak(double speed, double peak) {
    claim(speed <= 1.05 * peak, autograd::join("nothing is faster than the peak: ", speed, " of ", peak));
    return fixed(100 * speed / peak, 0) + " %";
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
