// The tree in which gradients of parts are added up.
#include "nn/parallel/data_parallel.h"

#include <bit>

#include "nn/parallel/team.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT

namespace {

// A sum of these depends on the order in the last bit.
Real of_part(int64_t part) { return static_cast<Real>(Rng(1).normal(static_cast<uint64_t>(part))); }

// The sum of parts begin .. end - 1. The left child has as many parts as the largest power of two that leaves
// some for the right one.
Real tree(int64_t begin, int64_t end) {
    if (end - begin == 1)
        return of_part(begin);
    const int64_t middle =
        begin + static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(end - begin - 1)));
    const Real left = tree(begin, middle);
    return left + tree(middle, end);
}

}  // namespace

TEST_CASE("parts: one tree, whoever adds; processes own neighbours, and send few sums", "[nn][team]") {
    for (int64_t parts = 1; parts <= 66; ++parts)
        for (int64_t processes = 1; processes <= parts; ++processes) {
            CAPTURE(parts, processes);
            std::vector<GradientSum> left;
            int64_t next = 0;
            for (int64_t r = 0; r < processes; ++r) {
                const PartSum own = parts_of(r, processes, parts);
                CHECK((own.begin == next && own.end - own.begin >= parts / processes &&
                       own.end - own.begin <= (parts + processes - 1) / processes));
                next = own.end;
                std::vector<GradientSum> sums;
                for (int64_t p = own.begin; p < own.end; ++p)
                    append(sums, {{p, p + 1}, Tensor::full({1}, of_part(p))}, parts);
                const std::vector<GradientSum> told = sums_of(own, parts);
                REQUIRE(told.size() == sums.size());
                for (std::size_t i = 0; i < sums.size(); ++i) {
                    CHECK((told[i].begin == sums[i].begin && told[i].end == sums[i].end));
                    CHECK(sums[i].gradients.item() == tree(sums[i].begin, sums[i].end));
                    append(left, sums[i], parts);
                }
                const auto log = static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(parts - 1))),
                           share = parts / processes;
                CHECK(std::ssize(sums) <= std::max<int64_t>(1, 2 * log));
                if (parts % processes == 0 && std::has_single_bit(static_cast<uint64_t>(share)))
                    CHECK(sums.size() == 1);  // a subtree
            }
            CHECK(next == parts);
            REQUIRE(left.size() == 1);
            CHECK((left[0].begin == 0 && left[0].end == parts));
            CHECK(left[0].gradients.item() == tree(0, parts));
        }
}
