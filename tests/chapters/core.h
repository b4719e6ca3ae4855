// The sections and figures of autograd/README.md and autograd/kernels/README.md, one file for each of their
// subjects.
#pragma once

#include "apps/kit/text.h"
#include "autograd/tensor.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using kit::grouped;

Computed autograd_gradients();
Computed autograd_passes();
Computed autograd_derivatives();
Computed autograd_checking();
Computed autograd_memory();
Computed autograd_training();

Computed kernels_drawing();
Computed kernels_lanes();
Computed kernels_bf16();
Computed kernels_bits();
Computed kernels_attention();
Computed kernels_roofline();
Computed kernels_times();

// "4 5; 10 11": the rows of a matrix, with as many decimals as needed, at most four.
std::string numbers(const autograd::Tensor& x);

}  // namespace plaingrad::chapters
