// The numbers of autograd/README.md.
#include "tests/chapters/core.h"

namespace plaingrad::chapters {

Computed autograd_chapter() {
    return joined({autograd_gradients(), autograd_passes(), autograd_derivatives(), autograd_checking(),
                   autograd_memory(), autograd_training()});
}

}  // namespace plaingrad::chapters
