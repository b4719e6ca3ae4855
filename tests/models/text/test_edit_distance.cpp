// How many typing errors are between two words.
#include "models/text/lines.h"

#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using models::text::edit_distance;

TEST_CASE("edit distance: letters added, left out, changed or swapped", "[text]") {
    struct Row {
        const char *a, *b;
        std::size_t distance;
    };
    for (const auto& [a, b, distance] : {Row{"", "", 0},
                                         {"", "abc", 3},
                                         {"abc", "abc", 0},
                                         {"abc", "abxc", 1},
                                         {"abc", "xbc", 1},
                                         {"kitten", "sitting", 3},
                                         {"ab", "ba", 1},          // swapped
                                         {"--seed", "--esed", 1},  // in the middle
                                         {"abcd", "badc", 2},      // twice
                                         {"abc", "cab", 2},        // these two are no neighbours
                                         {"ca", "abc", 3},         // nothing between what was swapped
                                         {"aab", "bcd", 3},
                                         {"ab", "cdba", 3}}) {
        CAPTURE(a, b);
        CHECK(edit_distance(a, b) == distance);
        CHECK(edit_distance(b, a) == distance);
    }
}
