#include "tests/figures/canvas.h"

#include <algorithm>

#include "apps/kit/text.h"
#include "autograd/base/check.h"
#include "models/text/lines.h"

namespace plaingrad::figures {

using namespace kit;  // NOLINT

extern const std::string_view stylesheet;  // stylesheet.txt

namespace {

using autograd::join;

// What XML reserves becomes an entity; what no XML file may hold, "?" or U+FFFD.
std::string escaped(const std::string& text) {
    std::string out;
    int64_t replaced = 0;
    for (const char c : models::text::replace_invalid_utf8(text, replaced)) {
        const bool is_control = static_cast<unsigned char>(c) < ' ';
        out += c == '&'   ? "&amp;"
               : c == '<' ? "&lt;"
               : c == '>' ? "&gt;"
                          : std::string(1, is_control ? '?' : c);
    }
    return out;
}

}  // namespace

std::string place(double x, double y) { return join(number(x), " ", number(y)); }

double text_width(std::size_t columns) { return 8.0 * static_cast<double>(columns); }
double text_width(const std::string& text) { return text_width(columns(text)); }

void Canvas::text(double x, double y, const std::string& text, const std::string& style) {
    if (!text.empty())
        body_ += join("<text x='", number(x), "' y='", number(y), "'",
                      style.empty() ? "" : join(" class='", style, "'"), ">", escaped(text), "</text>\n");
}

void Canvas::path(const std::string& shape, const std::string& style) {
    body_ += join("<path class='", style, "' d='", shape, "'/>\n");
}

std::string Canvas::page(const std::string& title, const std::string& description, double width,
                         double height) const {
    width = std::max(width, 32 + 1.2 * text_width(title));
    const std::string size = join("width='", number(width), "' height='", number(height), "'");
    return join("<svg xmlns='http://www.w3.org/2000/svg' ", size, " viewBox='0 0 ", number(width), " ",
                number(height), "' role='img'>\n<title>", escaped(title), "</title>\n<desc>",
                escaped(description), "</desc>\n<style>\n", stylesheet, "</style>\n<rect class='page' ", size,
                "/>\n<text x='16' y='28' class='title'>", escaped(title), "</text>\n", body_, "</svg>\n");
}

}  // namespace plaingrad::figures
