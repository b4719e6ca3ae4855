#include "apps/programs/classify/report.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

namespace plaingrad::classify {
namespace {

// "87.5 %", or "-" where there is nothing to divide by.
std::string percent(int64_t part, int64_t whole) {
    char text[32] = "-";
    if (whole > 0)
        std::snprintf(text, sizeof text, "%.1f %%",
                      100 * static_cast<double>(part) / static_cast<double>(whole));
    return text;
}

// `text` cut or padded to `width` columns, aligned to the right unless `left`. A letter takes one column.
std::string column(const std::string& text, std::size_t width, bool left = false) {
    std::size_t letters = 0, fits = 0;
    for (std::size_t i = 0; i < text.size(); ++i)
        if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80 &&
            ++letters == width)  // where a letter begins
            fits = i;
    if (letters > width)
        return text.substr(0, fits) + "…";
    const std::string blanks(width - letters, ' ');
    return left ? text + blanks : blanks + text;
}

// Columns are headed by numbers, so that many labels fit on a line. row_width: of the labels.
void print_matrix(const Confusion& c, std::size_t row_width) {
    const std::size_t number_width = std::to_string(c.labels.size()).size();
    const std::size_t width = std::max(std::to_string(c.total).size(), number_width + 1);
    std::cout << "\nConfusion matrix: a row for each true label, a column for what was predicted.\n\n"
              << column("", number_width + 2 + row_width);
    for (std::size_t i = 0; i < c.labels.size(); ++i)
        std::cout << "  " << column(std::to_string(i + 1), width);
    for (std::size_t i = 0; i < c.labels.size(); ++i) {
        std::cout << '\n'
                  << column(std::to_string(i + 1), number_width) << "  "
                  << column(c.labels[i], row_width, true);
        for (const int64_t count : c.counts[i])
            std::cout << "  " << column(count > 0 ? std::to_string(count) : ".", width);
    }
    std::cout << "\n\n";
}

void print_labels(const Confusion& c, std::size_t row_width) {
    std::cout << column("label", row_width, true) << "  precision   recall   texts\n";
    for (std::size_t i = 0; i < c.labels.size(); ++i) {
        int64_t texts = 0, predicted = 0;
        for (std::size_t j = 0; j < c.labels.size(); ++j) {
            texts += c.counts[i][j];
            predicted += c.counts[j][i];
        }
        std::cout << column(c.labels[i], row_width, true) << "  "
                  << column(percent(c.counts[i][i], predicted), 9) << "  "
                  << column(percent(c.counts[i][i], texts), 7) << "  " << column(std::to_string(texts), 6)
                  << '\n';
    }
}

}  // namespace

void print(const Confusion& c) {
    constexpr std::size_t kWidestRow = 24;
    std::size_t row_width = 5;
    for (const std::string& label : c.labels)
        row_width = std::max(row_width, std::min(label.size(), kWidestRow));
    std::cout << "accuracy " << percent(c.right, c.total) << ": " << c.right << " of " << c.total
              << " texts\n";
    print_matrix(c, row_width);
    print_labels(c, row_width);
}

}  // namespace plaingrad::classify
