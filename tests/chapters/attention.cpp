// The numbers of nn/README.md, the chapter on attention.
#include "tests/chapters/nn.h"

namespace plaingrad::chapters {

Computed attention_chapter() {
    return joined({nn_diagrams(), attention_by_hand(), attention_scale(), attention_recall(),
                   attention_heads(), attention_masks(), attention_order(), attention_positions(),
                   positions_trained(), attention_cost(), attention_others()});
}

}  // namespace plaingrad::chapters
