#include "tests/chapters/prose.h"

#include <regex>

namespace plaingrad::chapters {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
// ASCII letters only: the bytes of longer UTF-8 sequences, such as the minus sign's, are none.
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

std::vector<std::string> numbers_in(const std::string& text) {
    std::vector<std::string> numbers;
    const auto at = [&](std::size_t i) { return i < text.size() ? text[i] : '\0'; };
    const auto digits = [&](std::size_t i) {
        return is_digit(at(i)) && is_digit(at(i + 1)) && is_digit(at(i + 2)) && !is_digit(at(i + 3));
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!is_digit(text[i]))
            continue;
        const char before = i > 0 ? text[i - 1] : ' ', farther = i > 1 ? text[i - 2] : ' ';
        const bool in_word =
            is_letter(before) || (before == '-' && (is_letter(farther) || is_digit(farther)));
        std::string number;
        while (is_digit(at(i)) || (at(i) == '.' && is_digit(at(i + 1))) || (at(i) == ',' && digits(i + 1)))
            if (text[i++] != ',')
                number += text[i - 1];
        const std::size_t sign = at(i + 1) == '-' || at(i + 1) == '+' ? 1 : 0;
        if (at(i) == 'e' && is_digit(at(i + 1 + sign))) {
            number += text[i++];
            while (is_digit(at(i)) || at(i) == '-' || at(i) == '+')
                number += text[i++];
        }
        if (!in_word && !is_letter(at(i)))
            numbers.push_back(number);
        while (is_letter(at(i)) || is_digit(at(i)))
            ++i;
        --i;
    }
    return numbers;
}

void Prose::add(const std::string& line, int64_t number) {
    if (line.starts_with("```"))
        in_program_ = !in_program_ && line.size() > 3;
    if (in_program_)
        return;
    static const std::regex no_prose(
        R"(\]\([^)]*("[^"]*")?\)|<!--.*-->|§[0-9.]+|^#+ [0-9]+\.|^ *[0-9]+\. |^\| [0-9]+ \||)"
        R"(https?://[^ )]*|(et al\.|& [A-Z][a-z]+|RFC) [0-9]{4}|[0-9]+ minutes)");
    for (const std::string& text : numbers_in(std::regex_replace(line, no_prose, " ")))
        found_.push_back({text, number});
}

void Prose::explain(const std::string& filled) {
    for (const std::string& number : numbers_in(filled))
        known_.insert(number);
}

std::vector<Found> Prose::unexplained() const {
    std::vector<Found> rest;
    for (const Found& found : found_)
        if (!known_.contains(found.number))
            rest.push_back(found);
    return rest;
}

}  // namespace plaingrad::chapters
