#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "apps/kit/picture.h"
#include "autograd/base/check.h"
#include "nn/utf8.h"

namespace plaingrad::kit {
namespace {

std::string right(const std::string& text, std::size_t width) {
    return std::string(std::max(width, nn::columns_of(text)) - nn::columns_of(text), ' ') + text;
}

bool is_infinite(double number) { return number < -1e30; }

// `least`, and one more for each 0 that the largest number has behind its point; none if all are whole.
int decimals_for(const std::vector<double>& numbers, int least) {
    double most = 0;
    bool whole = true;
    for (const double x : numbers) {
        most = std::max(most, is_infinite(x) ? 0 : std::abs(x));
        whole = whole && x == std::floor(x);
    }
    for (; most > 0 && most < 0.1 && least < 9; most *= 10)
        ++least;
    return whole ? 0 : least;
}

std::string text_of(double number, int decimals) {
    std::ostringstream out;
    out << std::fixed << std::setprecision(number == 0 ? 0 : decimals) << number;
    const bool is_zero = out.str().find_first_of("123456789") == std::string::npos;
    return is_infinite(number) ? "-∞" : out.str().substr(is_zero && number < 0 ? 1 : 0);  // never "-0.00"
}

std::string shaded(const std::string& text, double weight, bool colour) {
    static const char* const blocks[] = {"·", "░", "▒", "▓", "█"};
    weight = weight > 0 ? std::min(weight, 1.0) : 0;  // a NaN, too, is drawn as 0
    if (!colour)
        return text + blocks[std::lround(weight * 4)];
    const long grey = std::lround(weight * 23);
    return autograd::join("\033[48;5;", 232 + grey, ";38;5;", grey < 12 ? 255 : 232, "m", text, " \033[0m");
}

}  // namespace

std::string rounded(double number, int decimals) { return text_of(number, decimals_for({number}, decimals)); }

std::string draw_matrix(const Matrix& m, bool colour) {
    const int decimals = m.weights ? 2 : decimals_for(m.numbers, 2);
    std::size_t margin = 0, cell = 5;
    for (const std::string& label : m.rows)
        margin = std::max(margin, nn::columns_of(label));
    for (const double number : m.numbers)
        cell = std::max(cell, nn::columns_of(text_of(number, decimals)));
    std::string text = std::string(margin + 1, ' ') + m.title;
    for (std::size_t c = 0; m.columns.size() > 1 && c < m.columns.size(); ++c)
        text += c == 0 ? '\n' + right(m.columns[c], margin + 1 + cell)
                       : right(m.columns[c], (m.weights ? 2 : 1) + cell);  // a block stands between weights
    for (std::size_t i = 0; i < m.numbers.size(); ++i) {
        if (i % m.columns.size() == 0)
            text += '\n' + right(m.rows[i / m.columns.size()], margin);
        const std::string number = right(text_of(m.numbers[i], decimals), cell + 1);
        text += m.weights ? shaded(number, m.numbers[i], colour) : number;
    }
    return text;
}

}  // namespace plaingrad::kit
