// A step of the lecture as it is shown. Its words are in lecture.txt, which says where which numbers go:
//
//     # name: title
//     {encoder.q 0 2 1}            in a line: row 2, column 1 of head 0; or words, {S} and {S 2}
//     [q = encoder.q 0 | k = ...]  a line of matrices with titles; without a head, all of them
//     ?loss.rose It rose.          a line that is there only if this value is not 0
//
// Matrices stand side by side as far as 80 columns hold them.
#pragma once

#include "apps/kit/picture.h"
#include "apps/programs/explain/values.h"

namespace plaingrad::explain {

struct Step {
    std::string name, title, text;
};
std::vector<Step> lecture_steps();

// number: "7/29". Throws std::out_of_range for a name that the values do not have. With colour, the title is
// bold, the lines above the first empty one (formula, source, shape) are dim, and weights are shades of grey.
std::string page(const Step& step, const std::string& number, const Values& values, kit::Ink ink);

// Shows a page at a time: right, space or Enter for the next, left for the one before, Home and End; up and
// down, Page Up and Page Down where a page is higher than the terminal; q to leave. Standard input and output
// must be a terminal, which is left as it was (see Keys).
void turn_pages(const std::vector<std::string>& pages);

}  // namespace plaingrad::explain
