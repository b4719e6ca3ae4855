// A mask as a picture: which query sees which key.
#pragma once

#include "autograd/ops.h"
#include "tests/figures/figure.h"

namespace plaingrad::chapters {

// As the attention op sees it, not as the mask was made: with equal scores each key that a query sees has
// some weight.
inline kit::HeatMap mask_map(const std::string& title, const autograd::Mask& mask,
                             const std::vector<std::string>& queries, const std::vector<std::string>& keys) {
    using autograd::Tensor;
    const Tensor q = Tensor::zeros({1, std::ssize(queries), 1}), k = Tensor::zeros({1, std::ssize(keys), 1});
    Tensor weights;  // (1, T, S)
    autograd::attention(q, k, k, {.mask = mask, .weights = &weights});
    kit::HeatMap map = {.title = title,
                        .rows = queries,
                        .columns = keys,
                        .values = {},
                        .row_axis = "query",
                        .column_axis = "key"};
    for (const autograd::Real w : weights.to_vector())
        map.values.push_back(w > 0 ? 1 : 0);
    return map;
}

}  // namespace plaingrad::chapters
