// A key of the counter-based generator, as kernels take it: element i of its stream is a function of the key
// and i (base/random.h).
#pragma once

#include <cstdint>

namespace plaingrad::autograd::kernels {

struct RandomKey {
    uint32_t a, b;
};

}  // namespace plaingrad::autograd::kernels
