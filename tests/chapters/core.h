// The sections and figures of autograd/README.md and autograd/kernels/README.md, one file for each of their
// subjects.
#pragma once

#include "autograd/tensor.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

Computed autograd_gradients();
Computed autograd_passes();
Computed autograd_derivatives();
Computed autograd_checking();
Computed autograd_memory();

Computed kernels_drawing();
Computed kernels_lanes();
Computed kernels_bits();
Computed kernels_attention();
Computed kernels_roofline();
Computed kernels_times();

// "1,048,576"
std::string grouped(int64_t n);
// "4 5; 10 11": rows of a matrix; as many decimals as needed, at most four.
std::string numbers(const autograd::Tensor& x);
std::string number(double x);

// The parts of a chapter as one.
Computed in_order(const std::vector<Computed>& parts);

}  // namespace plaingrad::chapters
