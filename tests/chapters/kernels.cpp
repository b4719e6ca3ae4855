// The numbers of autograd/kernels/README.md.
#include "tests/chapters/core.h"

namespace plaingrad::chapters {

Computed kernels_chapter() {
    return joined({kernels_times(), kernels_drawing(), kernels_lanes(), kernels_bits(), kernels_bf16(),
                   kernels_attention(), kernels_roofline()});
}

}  // namespace plaingrad::chapters
