// The tree in which gradients of parts are added up.
#include "nn/parallel/data_parallel.h"

#include <map>
#include <set>
#include <utility>

#include "nn/parallel/team.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace nn;         // NOLINT

namespace {

// Which sums were added, of which parts, when `processes` of them compute their own first and the results are
// put together.
std::set<std::pair<std::pair<int64_t, int64_t>, int64_t>> additions(int64_t processes, int64_t parts,
                                                                    std::vector<PartSum>& left) {
    std::set<std::pair<std::pair<int64_t, int64_t>, int64_t>> all;
    const auto put = [&](std::vector<PartSum>& sums, const PartSum& sum) {
        std::vector<PartSum> before = sums;
        before.push_back(sum);
        append(sums, sum, parts, [&] {
            const PartSum right = before.back();
            before.pop_back();
            all.insert({{before.back().begin, before.back().end}, right.end});
            before.back().end = right.end;
        });
    };
    for (int64_t r = 0; r < processes; ++r) {
        const PartSum own = parts_of(r, processes, parts);
        std::vector<PartSum> sums;
        for (int64_t p = own.begin; p < own.end; ++p)
            put(sums, {p, p + 1});
        CHECK(sums == sums_of(own, parts));
        for (const PartSum& sum : sums)
            put(left, sum);
    }
    return all;
}

}  // namespace

TEST_CASE("parts: one tree, whoever adds", "[nn][team]") {
    for (int64_t parts = 1; parts <= 40; ++parts) {
        std::vector<PartSum> alone_left;
        const auto alone_added = additions(1, parts, alone_left);
        CHECK(alone_left == std::vector<PartSum>{{0, parts}});
        CHECK(std::ssize(alone_added) == parts - 1);
        for (int64_t processes = 2; processes <= parts; ++processes) {
            CAPTURE(parts, processes);
            std::vector<PartSum> left;
            CHECK(additions(processes, parts, left) == alone_added);
            CHECK(left == alone_left);
        }
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
