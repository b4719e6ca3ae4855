#include <algorithm>
#include <iostream>

#include "apps/kit/keyboard.h"
#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "apps/programs/explain/explain.h"
#include "autograd/base/text_stream.h"
#include "nn/checkpoint/utf8.h"

namespace plaingrad::explain {

extern const std::string_view lecture;  // lecture.txt

static Words labels(char kind, int64_t n, const Values& values) {
    Words indices;
    for (int64_t i = 0; kind == 'i' && i < n; ++i)
        indices.push_back(std::to_string(i));
    return kind == 'i' ? indices : values.words.at({kind});
}

// "encoder.q 0 2 1": a name, and indices behind it.
struct Reference {
    explicit Reference(const std::string& text) {
        autograd::TextInput parts(text);
        parts >> name;
        for (int64_t i; parts >> i;)
            indices.push_back(i);
    }
    std::string name;
    std::vector<int64_t> indices;
};

// "q = encoder.q 0 | k = encoder.k 0"
static std::string matrices(const std::string& line, const Values& values, kit::Ink ink) {
    Words pictures;
    for (std::size_t begin = 0, end = 0; begin < line.size(); begin = end + 3) {
        end = std::min(line.find(" | ", begin), line.size());
        const std::size_t equals = line.rfind(" = ", end);
        const Reference of(line.substr(equals + 3, end - equals - 3));
        const auto& [kinds, x] = values.all.at(of.name);
        const int64_t heads = x.rank() == 4 ? x.size(1) : 1;
        const Tensor each = autograd::reshape(x, {heads, x.size(-2), x.size(-1)});
        for (int64_t h = 0; h < heads; ++h) {
            const std::string head = heads > 1 ? autograd::join("head ", h + 1, ": ") : "";
            const std::vector<autograd::Real> numbers = each[h].to_vector();
            if (of.indices.empty() || of.indices[0] == h)
                pictures.push_back(
                    kit::draw({.title = head + line.substr(begin, equals - begin),
                               .rows = labels(kinds[0], x.size(-2), values),
                               .columns = labels(kinds[1], x.size(-1), values),
                               .values = {numbers.begin(), numbers.end()},
                               .cells = kinds.size() == 3 ? kit::Cells::both : kit::Cells::numbers},
                              ink));
        }
    }
    return kit::beside(pictures, 80);
}

static std::string element(const Reference& of, const Values& values) {
    if (const auto words = values.words.find(of.name); words != values.words.end())
        return of.indices.empty() ? models::listed(words->second, " ")
                                  : words->second.at(static_cast<std::size_t>(of.indices[0]));
    Tensor x = values(of.name);
    x = x.rank() > static_cast<int>(of.indices.size()) ? x[0] : x;  // B is 1
    for (const int64_t i : of.indices)
        x = x[i];
    return kit::rounded(static_cast<double>(x.item()), 4);
}

static std::string filled(std::string line, const Values& values) {
    for (std::size_t at = line.find('{'); at != line.npos; at = line.find('{', at)) {
        const std::size_t size = line.find('}', at) + 1 - at;
        line.replace(at, size, element(Reference(line.substr(at + 1, size - 2)), values));
    }
    return line + '\n';
}

std::vector<Step> lecture_steps() {
    std::vector<Step> steps;
    autograd::TextInput lines{std::string(lecture)};
    for (std::string line; std::getline(lines, line);) {
        if (const std::size_t colon = line.find(": "); line.starts_with("# "))
            steps.push_back({line.substr(2, colon - 2), line.substr(colon + 2), ""});
        else if (!line.empty() || lines.peek() != '#')
            steps.back().text += line + '\n';
    }
    return steps;
}

std::string page(const Step& step, const std::string& number, const Values& values, kit::Ink ink) {
    const auto styled = [&](const char* style, const std::string& text) {
        return ink >= kit::Ink::greys ? style + text + "\033[0m" : text;
    };
    const std::string title = number + "  " + step.title, name = "[" + step.name + "]\n";
    const std::size_t gap = 81 - nn::checkpoint::columns_of(title) - name.size();
    std::string text = styled("\033[1m", title) + std::string(gap, ' ') + name;
    bool head = true;
    autograd::TextInput lines(step.text);
    for (std::string line; std::getline(lines, line);) {
        head = head && !line.empty();
        text += line.starts_with('[') ? matrices(line.substr(1, line.size() - 2), values, ink)
                                      : styled(head ? "\033[2m" : "", filled(line, values));
    }
    return text;
}

void turn_pages(const std::vector<std::string>& pages) {
    // Another screen, without a cursor, on which what is too wide is cut.
    const kit::Keys keys("\033[?1049h\033[?25l\033[?7l", "\033[?7h\033[?25h\033[?1049l");
    std::size_t page = 0;
    for (std::string key = "home"; !key.empty() && key != "q"; key = keys.next()) {
        if (key == "right" || key == " " || key == "enter")
            page += page + 1 < pages.size();
        else if (key == "left")
            page -= page > 0;
        else if (key == "home")
            page = 0;
        else if (key == "end")
            page = pages.size() - 1;
        std::cout << "\033[H\033[2J" << pages[page] << "\033[999H← → turn pages, Home, End; q quits";
        kit::flush_output();
    }
}

}  // namespace plaingrad::explain
