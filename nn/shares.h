// How the weights of a model are shared out among processes: in buckets, which are sent one after the other,
// and each bucket in pieces, one for each process.
#pragma once

#include "nn/optim.h"

namespace plaingrad::nn {

// Stretches of parameters that are sent together, one after the other as one flat tensor of `size` elements.
// Process r owns elements cuts[r] .. cuts[r + 1] - 1 of it, which are whole stretches.
struct Bucket {
    std::vector<Stretch> stretches = {};
    int64_t size = 0;
    std::vector<int64_t> cuts = {};
};

// Buckets of at least so many elements, except the last. The parameters stand in the order in which backward
// completes their gradients, the last layer first, as far as the order of `visit` is that of forward. Only
// those that are trained are shared out: others have no gradient to send. A process owns 1/processes of the
// elements, to within one stretch.
std::vector<Bucket> make_buckets(const std::vector<NamedParameter>& parameters, int64_t processes,
                                 int64_t bucket);

// The stretches of a bucket that a process owns, and where each begins in the bucket.
struct Owned : Stretch {
    int64_t at = 0;
};
std::vector<Owned> owned_by(int64_t process, const Bucket& bucket);

}  // namespace plaingrad::nn
