#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

Computed joined(const std::vector<Computed>& parts) {
    Computed all;
    for (const Computed& part : parts) {
        all.sections.insert(all.sections.end(), part.sections.begin(), part.sections.end());
        all.figures.insert(all.figures.end(), part.figures.begin(), part.figures.end());
    }
    return all;
}

}  // namespace plaingrad::chapters
