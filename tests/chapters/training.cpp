// The numbers of nn/training.md and nn/machines.md.
#include "tests/chapters/nn.h"

namespace plaingrad::chapters {

Computed training_chapter() {
    return joined({training_walk(), training_depth(), training_layers(), training_loss(),
                   training_optimizers(), training_warmup(), training_overfitting(), training_parts()});
}

}  // namespace plaingrad::chapters
