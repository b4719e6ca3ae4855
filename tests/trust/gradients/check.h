// Gradients against central differences. (autograd/gradcheck.h does the same for functions of tensors; here
// leaves may also be parameters inside of a model, and what is found is counted, not reported.)
#pragma once

#include <string>
#include <vector>

#include "tests/trust/gradients/case.h"

namespace plaingrad::trust {

// Rounds all leaves to float, so that both builds compute with the same numbers.
void round_leaves(const Case& c);

// For each leaf, the gradient of the sum of f's elements times random numbers. Throws Error if a leaf has got
// no gradient.
std::vector<std::vector<double>> gradients(const Case& c, const autograd::Rng& rng);

struct Checked {
    std::string wrong = {};  // the first element whose gradient is wrong; "" if there is none
    std::string zero = {};   // the first leaf whose gradient is 0 everywhere and must not be
    int64_t elements = 0;    // that were checked
};
// |gradient - difference| <= 1e-5 + 1e-3 |difference|, with steps of 1e-6: PyTorch's gradcheck. Of a leaf of
// more than 64 elements some are checked.
Checked check(const Case& c, const std::vector<std::vector<double>>& gradients, const autograd::Rng& rng);

}  // namespace plaingrad::trust
