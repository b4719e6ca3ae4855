// The numbers of nn/README.md, part one.
#include "tests/chapters/nn.h"

namespace plaingrad::chapters {

Computed joined(const std::vector<Computed>& parts) {
    Computed all;
    for (const Computed& part : parts) {
        all.sections.insert(all.sections.end(), part.sections.begin(), part.sections.end());
        all.figures.insert(all.figures.end(), part.figures.begin(), part.figures.end());
    }
    return all;
}

Computed attention_chapter() {
    return joined({nn_diagrams(), attention_by_hand(), attention_scale(), attention_recall(),
                   attention_heads(), attention_masks(), attention_order(), attention_positions(),
                   positions_trained(), attention_cost(), attention_others()});
}

}  // namespace plaingrad::chapters
