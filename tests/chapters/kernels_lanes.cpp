// A row's sum in 16 lanes.
#include <algorithm>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/ops.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

constexpr std::size_t kLanes = 16;

void print_lanes(std::ostream& out, const std::string& name, const std::vector<double>& lanes) {
    out << kit::left(name, 20);
    for (const double lane : lanes)
        out << kit::right(number(lane), 4);
    out << '\n';
}

// The numbers 1 to 20.
void lanes(std::ostream& out) {
    std::vector<double> index(kLanes), first(kLanes), second(kLanes);
    for (std::size_t i = 0; i < kLanes; ++i) {
        index[i] = static_cast<double>(i);
        first[i] = index[i] + 1;
        second[i] = i < 4 ? index[i] + 17 : 0;
    }
    print_lanes(out, "lane", index);
    print_lanes(out, "first vector", first);
    print_lanes(out, "second vector", second);
    std::vector<double> sums = first;
    for (std::size_t i = 0; i < kLanes; ++i)
        sums[i] += second[i];
    print_lanes(out, "partial sums", sums);
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
        for (std::size_t i = 0; i < half; ++i)
            sums[i] += sums[i + half];
        sums.resize(half);
        print_lanes(out, join("lane i + lane i+", half), sums);
    }
    claim(value(sum(Tensor::arange(1, 21))) == sums[0], "the lanes add up");
}

const Adds kHere({{"kernels.lanes", Effort::quick, lanes}});

}  // namespace

}  // namespace plaingrad::chapters
