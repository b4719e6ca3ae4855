#include "apps/kit/text.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "autograd/base/text_stream.h"
#include "nn/checkpoint/utf8.h"

namespace plaingrad::kit {

std::string grouped(int64_t n) {
    std::string digits = std::to_string(n);
    for (std::size_t i = digits.size(); i > 3; i -= 3)
        digits.insert(i - 3, 1, ',');
    return digits;
}

std::string counted(int64_t n, const std::string& noun) {
    return grouped(n) + " " + noun + (n == 1 ? "" : "s");
}

std::string duration(double seconds) {
    const int64_t whole = std::llround(std::min(seconds, 1e15));
    if (whole < 100)
        return std::to_string(whole) + " s";
    const int64_t large = whole < 6000 ? whole / 60 : whole / 3600,
                  small = (whole < 6000 ? whole : whole / 60) % 60;
    return std::to_string(large) + (small < 10 ? ":0" : ":") + std::to_string(small) +
           (whole < 6000 ? " min" : " h");
}

double times_ten_to(double x, int n) {
    double power = 1;  // exact up to 10²²
    for (int i = 0; i < std::abs(n); ++i)
        power *= 10;
    return n < 0 ? x / power : x * power;
}

std::string number(double value, int decimals) {
    if (std::isnan(value))
        return "nan";  // without its sign, which depends on the processor
    const double whole = std::round(times_ten_to(value, decimals)) + 0.0;  // -0 becomes 0
    char text[400];
    return {text, std::to_chars(text, std::end(text), times_ten_to(whole, -decimals),
                                std::chars_format::fixed, decimals)
                      .ptr};
}

std::size_t columns(std::string text) {
    for (std::size_t at = text.find('\033'); at != text.npos; at = text.find('\033'))
        text.erase(at, std::min(text.find('m', at), text.size()) + 1 - at);
    return nn::checkpoint::columns_of(text);
}

std::string right(const std::string& text, std::size_t width) {
    return std::string(std::max(width, columns(text)) - columns(text), ' ') + text;
}
std::string left(const std::string& text, std::size_t width) {
    return text + std::string(std::max(width, columns(text)) - columns(text), ' ');
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
    std::vector<std::string> lines;
    autograd::TextInput paragraphs(text);
    for (std::string paragraph; std::getline(paragraphs, paragraph);) {
        if (columns(paragraph) <= width) {
            lines.push_back(paragraph);
            continue;
        }
        std::size_t begin = std::min(paragraph.find_first_not_of(' '), paragraph.size());
        const std::size_t column = paragraph.find_first_not_of(' ', paragraph.find("  ", begin));
        begin = column < width / 2 ? column : begin;
        std::string line = paragraph.substr(0, begin);
        autograd::TextInput words(paragraph.substr(begin));
        for (std::string word; words >> word;) {
            if (line.size() > begin && columns(line) + 1 + columns(word) > width)
                lines.push_back(std::exchange(line, std::string(begin, ' ')));
            line += (line.size() > begin ? " " : "") + word;
        }
        lines.push_back(line);
    }
    return lines;
}

std::string as_line(std::string text) {
    // Also U+0080 to U+009F, C2 80 to C2 9F in UTF-8, which terminals obey as they do an escape.
    for (std::size_t i = 0; i < text.size(); ++i)
        if (const int c = static_cast<unsigned char>(text[i]);
            c < 0x20 || c == 0x7f || (c / 0x20 == 4 && i > 0 && text[i - 1] == '\xc2'))
            text[i] = c < 0x80 ? '?' : '\xbf';  // C2 BF is a question mark, too, though upside down
    return text;
}

}  // namespace plaingrad::kit
