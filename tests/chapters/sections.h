// What the chapters (each folder's README.md) print and draw, computed by this library. A chapter quotes a
// section by its name; `make chapters` computes it anew, so no number in a chapter can be out of date.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace plaingrad::chapters {

enum class Effort {
    quick,     // all of these together take a second or two: `make test` computes them
    training,  // seconds to minutes each: `make chapters` and `make test-long`
    timed      // prints times, which differ from machine to machine: only `make chapters TIMES=1`
};

// `print` writes Markdown that begins with a table, a list or a heading of the third level, or else text that
// is to be shown as it stands.
struct Section {
    std::string name;  // in a chapter: <!-- computed: name --> ... <!-- end -->
    Effort effort = Effort::quick;
    std::function<void(std::ostream& out)> print = {};
};

// `draw` returns an SVG.
struct Figure {
    std::string file;  // "nn/figures/positions.svg"
    Effort effort = Effort::quick;
    std::function<std::string()> draw = {};
};

struct Computed {
    std::vector<Section> sections = {};
    std::vector<Figure> figures = {};
};

// Of all files of this folder.
inline Computed& computed() {
    static Computed all;
    return all;
}

// Adds to them what a file computes, before main begins:
//
//     const Adds kHere({{"nn.scale", Effort::quick, scale}});
struct Adds {
    explicit Adds(const std::vector<Section>& sections, const std::vector<Figure>& figures = {}) {
        Computed& all = computed();
        all.sections.insert(all.sections.end(), sections.begin(), sections.end());
        all.figures.insert(all.figures.end(), figures.begin(), figures.end());
    }
};

}  // namespace plaingrad::chapters
