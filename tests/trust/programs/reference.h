// What the double build says of a random program: its results, how far rounding to float may move each of
// them, and whether the program's gradients are right. A program of that build (double.cpp) writes these, one
// after the other, and the instrument reads them from a pipe.
//
// The bound for a float is found, not guessed: the program runs again with all numbers disturbed a little
// more than rounding would (How::noise), and each result's largest deviation, times a factor, bounds it. A
// program that amplifies errors amplifies these, too.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace plaingrad::trust {

// Rounding a float is an error of up to 2^-24 of it, a sum of many has the error of many, exp that of a few.
inline constexpr double kNoise = 0x1p-20, kBf16Noise = 0x1p-8;
inline constexpr double kFactor = 8;
// How much smaller the errors of doubles are.
inline constexpr double kDoubleToFloat = 0x1p-29;

struct Expected {
    int32_t node = 0;
    int32_t is_gradient = 0;
    double deviation = 0;  // the largest, of any element, in the disturbed runs
    std::vector<double> x = {};
};

struct Reference {
    uint64_t seed = 0, branches = 0;
    std::vector<Expected> all = {};
    int32_t has_bounds = 0;  // false: each disturbed run took other branches
    int32_t compared_plain = 0, compared_slope = 0;
    // What is wrong, in words; "" if nothing is.
    std::string plain = {};   // fused and plain in double
    std::string slope = {};   // the gradients, against central differences
    std::string memory = {};  // still in use at the end
    std::string errors = {};  // an unexpected one, or an expected one that did not come

    void write(std::FILE* to) const;
    bool read(std::FILE* from);  // false at the end
};

}  // namespace plaingrad::trust
