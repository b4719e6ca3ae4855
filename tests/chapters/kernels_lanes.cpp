// A row's sum in 16 lanes.
#include <algorithm>
#include <ostream>

#include "autograd/base/check.h"
#include "autograd/ops.h"
#include "tests/chapters/core.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

constexpr std::size_t kLanes = 16;

void print_lanes(std::ostream& out, const std::string& name, const std::vector<double>& lanes,
                 std::size_t count) {
    std::string line = name + std::string(20 - name.size(), ' ');
    for (std::size_t i = 0; i < count; ++i)
        line += kit::right(number(lanes[i]), 4);
    out << line << '\n';
}

void lanes(std::ostream& out) {
    constexpr std::size_t kCount = 20;
    std::vector<double> x(2 * kLanes, 0), index(kLanes);
    for (std::size_t i = 0; i < kCount; ++i)
        x[i] = static_cast<double>(i + 1);
    for (std::size_t i = 0; i < kLanes; ++i)
        index[i] = static_cast<double>(i);
    print_lanes(out, "lane", index, kLanes);
    print_lanes(out, "first vector", x, kLanes);
    print_lanes(out, "second vector", {x.begin() + kLanes, x.end()}, kLanes);
    std::vector<double> sums(kLanes);
    for (std::size_t i = 0; i < kLanes; ++i)
        sums[i] = x[i] + x[i + kLanes];
    print_lanes(out, "partial sums", sums, kLanes);
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
        for (std::size_t i = 0; i < half; ++i)
            sums[i] += sums[i + half];
        print_lanes(out, join("lane i + lane i+", half), sums, half);
    }
    claim(sum(Tensor::arange(1, kCount + 1)).item() == static_cast<Real>(sums[0]), "the lanes add up");
}

}  // namespace

Computed kernels_lanes() { return {.sections = {{"kernels.lanes", Effort::quick, lanes}}}; }

}  // namespace plaingrad::chapters
