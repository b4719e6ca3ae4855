#include "nn/packing.h"

#include "autograd/packed_weights.h"

namespace plaingrad::nn {

void pack_weight(const NamedParameter& p) {
    if (const auto* const packed = p.tensor.packed())
        check(packed->precision == autograd::UsePrecision::active(), "[pack_weight] ", p.name,
              " is packed in the other precision");
    else if (p.is_matrix || p.is_table)
        autograd::pack(p.tensor, p.is_table);
}

}  // namespace plaingrad::nn
