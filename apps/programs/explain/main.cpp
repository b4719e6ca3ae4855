// A forward and a backward pass of a tiny trained Transformer, step by step, with all their numbers.
//
// train.cpp trains it; values.cpp computes the numbers, with the library in its plain form; lecture.txt has
// the words.
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "apps/kit/keyboard.h"
#include "apps/kit/options.h"
#include "apps/kit/picture.h"
#include "apps/programs/explain/explain.h"
#include "autograd/base/list.h"
#include "autograd/base/text_stream.h"
#include "nn/checkpoint/utf8.h"

using namespace plaingrad;
using namespace plaingrad::explain;
using autograd::join;

namespace {

// ----------------------------------------------------------------------------------------------------- pages

// A step of the lecture as it is shown. Its words are in lecture.txt, which says where which numbers go:
//
//     # name: title
//     {encoder.q 0 2 1}            in a line: row 2, column 1 of head 0; or words, {S} and {S 2}
//     [q = encoder.q 0 | k = ...]  a line of matrices with titles; without a head, all of them
//
// Matrices stand side by side as far as 80 columns hold them.
struct Step {
    std::string name, title, text;
};

Words labels(char kind, int64_t n, const Values& values) {
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
std::string matrices(const std::string& line, const Values& values, kit::Ink ink) {
    Words pictures;
    for (std::size_t begin = 0, end = 0; begin < line.size(); begin = end + 3) {
        end = std::min(line.find(" | ", begin), line.size());
        const std::size_t equals = line.rfind(" = ", end);
        const Reference of(line.substr(equals + 3, end - equals - 3));
        const auto& [kinds, x] = values.all.at(of.name);
        const int64_t heads = x.rank() == 4 ? x.size(1) : 1;
        const Tensor each = autograd::reshape(x, {heads, x.size(-2), x.size(-1)});
        for (int64_t h = 0; h < heads; ++h) {
            const std::string head = heads > 1 ? join("head ", h + 1, ": ") : "";
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

std::string element(const Reference& of, const Values& values) {
    if (const auto words = values.words.find(of.name); words != values.words.end())
        return of.indices.empty() ? models::listed(words->second, " ")
                                  : words->second.at(static_cast<std::size_t>(of.indices[0]));
    Tensor x = values(of.name);
    x = x.rank() > static_cast<int>(of.indices.size()) ? x[0] : x;  // B is 1
    for (const int64_t i : of.indices)
        x = x[i];
    return kit::rounded(static_cast<double>(x.item()), 4);
}

std::string filled(std::string line, const Values& values) {
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

// number: "7/29". With colour, the title is bold, the lines above the first empty one (formula, source,
// shape) are dim, and weights are shades of grey.
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

// A page at a time: right, space or Enter for the next, left for the one before, Home and End; q to leave.
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

// --------------------------------------------------------------------------------------------------- options

int64_t parse_triple(const Words& digits) {
    if (digits.empty())
        return 539;
    kit::check_usage(digits.size() == 3, "three digits are needed: got ", digits.size());
    int64_t n = 0;
    for (const std::string& digit : digits)
        n = 10 * n + kit::parse_integer("a digit", digit, {.max = 9});
    return n;
}

// The steps whose names begin so.
std::vector<std::size_t> choose(const Words& names, const std::string& wanted) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i].starts_with(wanted))
            chosen.push_back(i);
    kit::check_usage(!chosen.empty(), "unknown step '", wanted, "'", kit::suggestion(wanted, names),
                     " there are ", models::listed(names));
    return chosen;
}

Values compute(int64_t n, int64_t seed) {
    Trained trained(seed);
    kit::announce("explain", nn::parameter_count(trained.model));
    const Ids ids = triple_of(n);
    const models::Batch example = models::make_batch({{ids, {ids.rbegin(), ids.rend()}}});
    Values values = forward(trained.model, example);
    values.words["answer"] = names_of(trained.answer(ids));
    values.words["held.out"] = {held_out(n) ? "was one of these" : "was not one of these"};
    values.words["ids"] = {join(ids[0], " ", ids[1], " ", ids[2])};
    values.keep("steps", double(trained.adam.steps()));
    backward(trained, example, values);
    return values;
}

void main_program(kit::Options& options) {
    const std::vector<Step> steps = lecture_steps();
    std::string wanted;
    bool interactive = false;
    int64_t seed = 1;
    Words digits, pages;
    const Words names = autograd::mapped(steps, &Step::name);
    // No --precision: the lecture derives each number from those before it, in float32, and then checks that
    // the library has the same. With rounded factors it would have others.
    options.rest("DIGIT DIGIT DIGIT", "the digits to reverse (5 3 9)", digits);
    options.add("--step", "NAME", "only the steps whose names begin with NAME", wanted);
    options.add("--interactive", "one step on a screen; the arrow keys turn pages", interactive);
    options.add("--seed", "N", "random seed of weights and training data", seed);
    options.note("Steps: " + models::listed(names) + ".");
    options.parse();

    const std::vector<std::size_t> chosen = choose(names, wanted);
    kit::check_usage(!interactive || (kit::is_terminal(STDIN_FILENO) && kit::is_terminal(STDOUT_FILENO)),
                     "--interactive turns pages by key: standard input and output must be a terminal");
    const Values values = compute(parse_triple(digits), seed);
    for (const std::size_t i : chosen)
        pages.push_back(page(steps[i], join(i + 1, "/", steps.size()), values, kit::stdout_ink()));
    if (interactive)
        turn_pages(pages);
    else
        std::cout << models::listed(pages, "\n\n");
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program(
        "explain", argc, argv,
        {{"", "shows every number of a tiny Transformer that reverses three digits", main_program}});
}
