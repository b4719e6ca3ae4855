#include "apps/kit/canvas.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "autograd/base/check.h"
#include "models/text/lines.h"
#include "nn/utf8.h"

namespace plaingrad::kit {
namespace {

using autograd::join;

const char* const kStyle = R"(<style>
text{font:13px system-ui,sans-serif;fill:#1f2328}.soft{font-size:12px;fill:#59636e}.bold{font-weight:600}
.title{font-size:16px;font-weight:600}.end{text-anchor:end}.mid{text-anchor:middle}
.halo{paint-order:stroke;stroke:#fff;stroke-width:5px;stroke-linejoin:round}
.page,.over,.light{fill:#fff}.dark{fill:#1f2328}.empty{fill:#eff2f5}.heat{fill:#0550ae}
.cell{shape-rendering:crispEdges}.grid{stroke:#d8dee4}.axis{stroke:#818b98}.lead{stroke:currentColor}
.line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.box{fill:currentColor;fill-opacity:.13;stroke:currentColor}.head{fill:currentColor}
.arrow{fill:none;stroke:currentColor;stroke-width:1.6}
.s0{color:#6e7781}.s1{color:#0072b2}.s2{color:#d55e00}.s3{color:#009e73}.s4{color:#c45f9b}.s5{color:#b87f00}
.s6{color:#3a9bd9}.s7{color:#1f2328}.s0.line{stroke-dasharray:1 4}.s2.line{stroke-dasharray:7 5}
.s3.line{stroke-dasharray:1 4.5}.s4.line{stroke-dasharray:9 5 1 5}.s5.line{stroke-dasharray:14 5}
.s6.line{stroke-dasharray:4 4}.thin{stroke-width:1.4}.dot.line{stroke-width:8;stroke-dasharray:none}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.soft{fill:#9da7b1}.halo{stroke:#0d1117}
.page,.over{fill:#0d1117}.empty{fill:#1b222b}.heat{fill:#79c0ff}.grid{stroke:#2b323b}.axis{stroke:#6e7681}
.s0{color:#9198a1}.s1{color:#3fa7e6}.s2{color:#ff8340}.s3{color:#2bc79b}.s4{color:#e796c6}.s5{color:#f0b73a}
.s6{color:#9bd7ff}.s7{color:#e6edf3}}
</style>
)";

const char* const kEntities[] = {"&amp;", "&lt;", "&gt;"};

// What XML reserves becomes an entity; what no XML file may hold, "?" or U+FFFD.
std::string escaped(const std::string& text) {
    std::string out;
    int64_t replaced = 0;
    for (const char c : models::text::replace_invalid_utf8(text, replaced))
        if (const std::size_t reserved = std::string("&<>").find(c); reserved != std::string::npos)
            out += kEntities[reserved];
        else
            out += c >= 0 && c < ' ' ? '?' : c;
    return out;
}

}  // namespace

std::string number(double value, int decimals) {
    const double scale = std::pow(10, decimals),
                 rounded = std::round(value * scale) / scale + 0.0;  // -0 becomes 0
    char text[400];
    return {text, std::to_chars(text, std::end(text), rounded, std::chars_format::fixed, decimals).ptr};
}

std::string place(double x, double y) { return join(number(x), " ", number(y)); }

std::string rectangle(double x, double y, double width, double height) {
    return join("M", number(x), " ", number(y), "h", number(width), "v", number(height), "h", number(-width),
                "z");
}

double text_width(const std::string& text) { return 8.0 * static_cast<double>(nn::columns_of(text)); }

double widest(const std::vector<std::string>& texts) {
    double width = 0;
    for (const std::string& text : texts)
        width = std::max(width, text_width(text));
    return width;
}

void Canvas::text(double x, double y, const std::string& text, const std::string& style, double angle) {
    const std::string at = join(" x='", number(x), "' y='", number(y), "'");
    const std::string turn = join(" transform='rotate(", number(angle), " ", place(x, y), ")'");
    if (!text.empty())
        body_ += join("<text", at, angle == 0 ? "" : turn, style.empty() ? "" : join(" class='", style, "'"),
                      ">", escaped(text), "</text>\n");
}

void Canvas::path(const std::string& shape, const std::string& style, const std::string& attributes) {
    body_ += join("<path class='", style, "' ", attributes, "d='", shape, "'/>\n");
}

std::string Canvas::page(const std::string& title, const std::string& description, double width,
                         double height) const {
    width = std::max(width, 32 + 1.2 * text_width(title));
    const std::string size = join("width='", number(width), "' height='", number(height), "'");
    return join("<svg xmlns='http://www.w3.org/2000/svg' ", size, " viewBox='0 0 ", number(width), " ",
                number(height), "' role='img'>\n<title>", escaped(title), "</title>\n<desc>",
                escaped(description), "</desc>\n", kStyle, "<rect class='page' ", size,
                "/>\n<text x='16' y='28' class='title'>", escaped(title), "</text>\n", body_, "</svg>\n");
}

}  // namespace plaingrad::kit
