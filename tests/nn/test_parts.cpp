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

TEST_CASE("parts: one tree, whoever adds", "[nn][team]") {
    for (int64_t parts = 1; parts <= 40; ++parts)
        for (int64_t processes = 1; processes <= parts; ++processes) {
            CAPTURE(parts, processes);
            std::vector<GradientSum> left;
            for (int64_t r = 0; r < processes; ++r) {
                const PartSum own = parts_of(r, processes, parts);
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
            }
            REQUIRE(left.size() == 1);
            CHECK((left[0].begin == 0 && left[0].end == parts));
            CHECK(left[0].gradients.item() == tree(0, parts));
        }
}

TEST_CASE("parts: processes own neighbours, and send few sums", "[nn][team]") {
    for (int64_t parts = 1; parts <= 70; ++parts)
        for (int64_t size = 1; size <= parts; ++size) {
            int64_t next = 0;
            for (int64_t r = 0; r < size; ++r) {
                const PartSum own = parts_of(r, size, parts);
                CHECK((own.begin == next && own.end - own.begin >= parts / size &&
                       own.end - own.begin <= (parts + size - 1) / size));
                next = own.end;
                const auto sums = std::ssize(sums_of(own, parts));
                int64_t log = 0;
                while ((int64_t{1} << log) < parts)
                    ++log;
                CHECK(sums <= std::max<int64_t>(1, 2 * log));
                if (parts % size == 0 && ((parts / size) & (parts / size - 1)) == 0)
                    CHECK(sums == 1);  // a subtree
            }
            CHECK(next == parts);
        }
}
