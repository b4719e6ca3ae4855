// The text of --help, wrapped to the terminal, and suggestions for mistyped words.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string_view>
#include <utility>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "autograd/base/list.h"
#include "autograd/base/real.h"
#include "autograd/base/text_stream.h"
#include "models/text/lines.h"

namespace plaingrad::kit {

extern const std::string_view help_texts;  // help_texts.txt, compiled in by the Makefile

namespace {

std::size_t output_width() { return static_cast<std::size_t>(std::max(terminal_width(STDOUT_FILENO), 40)); }

void print_paragraph(const std::string& text, std::size_t indent = 0) {
    for (const std::string& line : wrapped(text, output_width() - indent))
        std::cout << std::string(indent, ' ') << line << '\n';
}

// `left` in a column of this width, and `right` beside it; or below, if `left` is wider.
void print_row(const std::string& left, const std::string& right, std::size_t width) {
    std::string line = "  " + left;
    if (left.size() > width || right.empty())
        std::cout << std::exchange(line, "") << '\n';
    for (const std::string& part : wrapped(right, output_width() - width - 4)) {
        line.resize(width + 4, ' ');
        std::cout << std::exchange(line, "") << part << '\n';
    }
}

std::string left_of(const Option& row) {
    return row.argument.empty() ? row.name : row.name + " " + row.argument;
}

}  // namespace

std::string suggestion(const std::string& word, const std::vector<std::string>& words) {
    const std::string* nearest = nullptr;
    std::size_t least = 3;
    for (const std::string& candidate : words)
        if (word.size() < 40)
            if (const std::size_t d = models::text::edit_distance(word, candidate);
                d > 0 && d < least && candidate.size() > 2 * d)
                least = d, nearest = &candidate;
    return nearest == nullptr ? ";" : "; did you mean " + *nearest + "?";
}

void Options::print_presets() {
    std::cout << '\n';
    const Words usual = autograd::mapped(rows_, [](const Option& row) { return row.get(); });
    for (const std::string& choice : preset_choices_) {
        set_all({{preset_, choice}});
        Words settings;
        for (std::size_t i = 0; i < rows_.size(); ++i)
            if (&rows_[i] != preset_ && rows_[i].get() != usual[i])
                settings.push_back(rows_[i].name + " " + rows_[i].get());
        print_row(preset_->name + " " + choice,
                  settings.empty() ? "the values above" : models::listed(settings, " "), 20);
    }
}

// `text`, in which "./apps/classify" becomes the name by which the program was called. Without a text, that
// name and the command, as in "plaingrad-classify train".
std::string Options::as_called(std::string text) const {
    const std::string program = call_.program.substr(0, call_.program.find(' '));
    const std::string here = (program.find('/') == program.npos ? "./apps/" : "./") + program;
    if (text.empty())
        text = here + call_.program.substr(program.size());
    for (std::size_t at = text.find(here); at != text.npos && !called().empty();
         at = text.find(here, at + called().size()))
        text.replace(at, here.size(), called());
    return text;
}

void Options::print_version() const {
    std::cout << call_.program.substr(0, call_.program.find(' ')) << " (plaingrad) " << autograd::version()
              << '\n';
}

void Options::print_help() {
    set_all({});
    const std::size_t widest_word = std::max({rest_argument_.size(), widest(call_.commands, &Command::name),
                                              widest(rows_, left_of), std::size_t{9}});  // --version
    const std::size_t width = std::min<std::size_t>(widest_word, 24);
    print_paragraph(call_.program + ": " + call_.summary);
    const std::string words = rest_count_.least > 0 ? " " + rest_argument_ : " [" + rest_argument_ + "]";
    std::cout << "\nusage: " << as_called() << " [options]" << (lists_[0].words == nullptr ? "" : words)
              << '\n';
    if (!call_.commands.empty())
        std::cout << "       " << as_called() << " COMMAND --help\n\n";
    for (const Command& command : call_.commands)
        print_row(command.name, command.summary, width);
    std::cout << '\n';
    if (lists_[0].words != nullptr)
        print_row(rest_argument_, rest_help_, width);
    for (const Option& row : rows_) {
        const std::string value = row.argument.empty() ? "" : row.get();
        print_row(left_of(row), value.empty() ? row.help : row.help + " (" + value + ")", width);
    }
    print_row("--help", "print this help", width);
    print_row("--version", "print the version of plaingrad", width);
    if (preset_ != nullptr)
        print_presets();
    if (find("--resume") != nullptr)
        print_paragraph("\n--resume continues a run with its settings. These options may be given again: " +
                        changeable() + (lists_[0].has_files() ? ", and files that have moved." : "."));
    print_texts();
}

// What help_texts.txt has below the line "# PROGRAM COMMAND".
void Options::print_texts() const {
    autograd::TextReader texts{std::string(help_texts)};
    std::string line, before, paragraph;
    while (std::getline(texts, line) && line != "# " + call_.program)
        continue;
    for (; std::getline(texts, line) && !line.starts_with("# "); before = line)
        if (line.starts_with("$ "))
            std::cout << (before.empty() ? "\nexamples:\n  " : "  ") << as_called(line.substr(2)) << '\n';
        else if (line.starts_with("    "))
            print_paragraph(line.substr(4), 6);
        else if (line == "{note}")
            print_paragraph("\n" + note_);
        else if (!line.empty())
            paragraph += (paragraph.empty() ? "\n" : " ") + line;
        else
            print_paragraph(std::exchange(paragraph, ""));
    print_paragraph(paragraph);
}

}  // namespace plaingrad::kit
