// Attention to fewer keys: which pairs of a query and a key are left.
#include <functional>
#include <ostream>

#include "autograd/base/check.h"
#include "tests/chapters/nn.h"
#include "tests/chapters/print.h"
#include "tests/figures/figure.h"

namespace plaingrad::chapters {

using namespace autograd;

namespace {

struct Pattern {
    std::string name;
    std::function<bool(int64_t t, int64_t s)> allowed;  // for s <= t
};

// Causal patterns. The window and the stride are w: 4 for the 16 tokens of the picture, 64 in the table.
// "Strided" is that of Child et al. 2019, both of its halves at once.
std::vector<Pattern> patterns(int64_t w) {
    return {{"full", [](int64_t, int64_t) { return true; }},
            {"windowed", [w](int64_t t, int64_t s) { return t - s < w; }},
            {"strided", [w](int64_t t, int64_t s) { return t - s < w || (t - s) % w == 0; }},
            {"windowed, first token seen by all", [w](int64_t t, int64_t s) { return t - s < w || s == 0; }}};
}

int64_t pairs_of(const Pattern& pattern, int64_t T) {
    int64_t pairs = 0;
    for (int64_t t = 0; t < T; ++t)
        for (int64_t s = 0; s <= t; ++s)
            pairs += pattern.allowed(t, s);
    return pairs;
}

void pairs(std::ostream& out) {
    Rows rows = {{"pairs of query and key, causal, w = 64", "T = 1024", "T = 4096", "times as many"}};
    for (const Pattern& pattern : patterns(64)) {
        const int64_t few = pairs_of(pattern, 1024), many = pairs_of(pattern, 4096);
        claim(pattern.name == "full" ? many > 15 * few : many < 6 * few,
              "a pattern grows with the length, all pairs with its square");
        rows.push_back({pattern.name, std::to_string(few), std::to_string(many),
                        fixed(static_cast<double>(many) / static_cast<double>(few), 1)});
    }
    table(out, rows);
}

std::string draw_patterns() {
    constexpr int64_t T = 16, w = 4;
    std::vector<kit::HeatMap> maps;
    for (const Pattern& pattern : patterns(w)) {
        kit::HeatMap map = {.title = pattern.name,
                            .rows = labels(0, T),
                            .columns = labels(0, T),
                            .values = {},
                            .row_axis = "query",
                            .column_axis = "key"};
        for (int64_t t = 0; t < T; ++t)
            for (int64_t s = 0; s < T; ++s)
                map.values.push_back(s <= t && pattern.allowed(t, s) ? 1 : 0);
        maps.push_back(map);
    }
    return figures::svg("Causal attention to fewer keys",
                        autograd::join("Blue: the query sees the key. Patterns for ", T,
                                       " tokens, window and stride ", w, "."),
                        maps, 2);
}

}  // namespace

Computed attention_others() {
    return {.sections = {{"nn.others.pairs", Effort::quick, pairs}},
            .figures = {{"nn/figures/patterns.svg", Effort::quick, draw_patterns}}};
}

}  // namespace plaingrad::chapters
