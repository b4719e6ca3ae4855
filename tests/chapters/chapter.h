// Fills a chapter: cuts excerpts from the sources, finds the lines that links point to, and puts in what
// sections.h computes.
//
//     <!-- computed: nn.scale -->                             what the section of this name prints
//     <!-- timed: kernels.roofline -->                        the same with times, and the machine and date
//     <!-- measured: make bench-blocks -->                    what this command printed, kept as it is, and
//                                                             on which machine
//     <!-- output: ./apps/explain --step scores -->           what the program prints
//     <!-- excerpt: autograd/plain.cpp "Tensor attention(" --> from the line with this text to the end of
//                                                             the block that begins there
//     <!-- excerpt: autograd/plain.cpp "from" "to" -->        or to the first line with the second text
//
// Each ends with <!-- end -->, and what stands between is written by this program. A block that stays empty,
// because what fills it was not asked for, is an error. A link whose title is a text that occurs in exactly
// one line of a file leads to that line:
//
//     [scores](../autograd/plain.cpp#L150 "matmul(q, k, true)")
//
// A drawing (figures/NAME.svg) is drawn by a program (sections.h), or it is a file whose numbers are those of
// prose: they, too, must be in a filled part of the page.
//
// The minutes that a page takes, in its first lines and in tables behind links to it, follow from its words.
#pragma once

#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

struct Request {
    Effort most = Effort::training;  // quick: sections that train stay as they are
    bool times = false;              // also those with times
};

// A number in the prose, and where.
struct Found {
    std::string number;
    int64_t line = 0;
};

struct Chapter {
    std::string text;               // the filled file
    std::vector<std::string> used;  // names of the sections and files of the figures in it
    // Numbers of the prose that none of the filled parts has.
    std::vector<Found> unexplained;
};

// `path` from the repository's root, the working directory. Throws Error("nn/README.md:12: ...") if a
// marker, an excerpt or a link is wrong.
Chapter fill(const std::string& path, const Computed& computed, const Request& request);

std::string read_text(const std::string& path);

}  // namespace plaingrad::chapters
