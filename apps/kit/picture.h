// Pictures for the terminal, as texts of whole lines.
#pragma once

#include "apps/kit/figure.h"

namespace plaingrad::kit {

// The grid with its labels, aligned. Shades are greys from black (low) to white (high) if `colour`, else
// block characters, denser for larger values. Numbers have two decimals if they also have a shade, else as
// many as they need. A number below -1e30 is -∞. The label of a single column is left out if it has numbers.
std::string draw(const HeatMap& map, bool colour);

// A line chart of this many characters: braille dots, eight a character, the name of each series at its end,
// and if `colour`, each in its own. Throws Error for what figure.h's charts do not allow.
std::string draw(const LineChart& chart, std::size_t width, std::size_t height, bool colour);

// Pictures side by side, in as many rows as it takes to keep to `width` characters.
std::string beside(const std::vector<std::string>& pictures, std::size_t width);

// 1.234 with 2 decimals is "1.23". A small number has one more for each 0 behind its point, a whole one none.
std::string rounded(double value, int decimals);

}  // namespace plaingrad::kit
