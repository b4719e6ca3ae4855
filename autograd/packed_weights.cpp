#include "autograd/packed_weights.h"

#include <string_view>

#include "autograd/base/check.h"
#include "autograd/base/parallel.h"

namespace plaingrad::autograd {
namespace {

// A product with all of a weight, of no rows yet.
kernels::Gemm whole(const Tensor& weight, bool transposed) {
    const int64_t rows = weight.size(0), columns = weight.size(1);
    return {.m = 0,
            .n = transposed ? rows : columns,
            .k = transposed ? columns : rows,
            .lda = transposed ? columns : rows,
            .ldb = columns,
            .ldc = transposed ? rows : columns,
            .b_transposed = transposed};
}

// The numbers of a packed weight, which is to be read in this way.
const Real* numbers_of(const PackedNumbers& packed, const Shape& weight, bool transposed, Precision p) {
    check(packed.precision == p, "[packed weight] weight ", weight, " is packed for products in ",
          kPrecisionNames[int(packed.precision)], ", so it cannot be used in ", kPrecisionNames[int(p)],
          "; name the same precision for both");
    check(packed.transposed == transposed, "[packed weight] weight ", weight, " is packed ",
          packed.transposed ? "for linear_transposed and look-ups" : "for linear", " only");
    check(std::string_view(packed.kernels) == kernels::cpu().name, "[packed weight] weight ", weight,
          " was packed by the kernels for ", packed.kernels, "; those for ", kernels::cpu().name,
          " cannot read it");
    check(packed.shape == weight, "[packed weight] this weight was packed in the shape ", packed.shape,
          ", so it cannot be read as ", weight);
    return packed.numbers->data;
}

}  // namespace

const Real* PackedWeights::packed(const kernels::Gemm& g, const Tensor& weight, Precision p) {
    const Real* const b = weight.data();
    const std::tuple key(b, g.n, g.k, g.b_transposed, p, std::string_view(kernels::cpu().name));
    auto at = entries_.find(key);
    if (at == entries_.end() || !at->second.weight.is_current()) {
        const Tensor copy = Tensor::uninitialized({kernels::packed_size(g.n, g.k, p)});
        kernels::cpu().products(p).pack(g, b, copy.mutable_data());
        at = entries_.insert_or_assign(key, Entry{weight.save(), copy}).first;
    }
    return at->second.copy.data();
}

void pack(const Tensor& weight, bool transposed) {
    const Precision p = UsePrecision::active();
    check(weight.rank() == 2, "[pack] a weight must be a matrix: its shape is ", weight.shape());
    const kernels::Gemm g = whole(weight, transposed);
    const Real* const from = weight.data();
    const Ref<Storage> numbers = Storage::make(kernels::packed_size(g.n, g.k, p));
    kernels::cpu().products(p).pack(g, from, numbers->data);
    weight.replace_by({numbers, p, transposed, kernels::cpu().name, weight.shape()});
}

const Real* right_operand(kernels::Gemm& g, const Tensor& weight, Precision p) {
    kernels::cpu().products(p);  // throws if there is no such precision
    if (const PackedNumbers* const packed = weight.packed()) {
        g.b_packed = true;
        return numbers_of(*packed, weight.shape(), g.b_transposed, p);
    }
    PackedWeights* const packed = PackedWeights::active();
    g.b_packed = packed != nullptr;
    return packed != nullptr ? packed->packed(g, weight, p) : weight.data();
}

Tensor packed_rows(const Tensor& weight, const std::vector<int32_t>& ids) {
    check(weight.packed() != nullptr, "[packed_rows] this weight ", weight.shape(), " is not packed");
    const PackedNumbers& packed = *weight.packed();
    const Real* const from = numbers_of(packed, weight.shape(), true, packed.precision);
    const kernels::Gemm g = whole(weight, true);
    for (const int32_t id : ids)
        check(id < weight.size(0), "[packed_rows] there is no row ", id, " in ", weight.shape());
    const Tensor rows = Tensor::uninitialized({std::ssize(ids), g.k});
    Real* const to = rows.mutable_data();
    parallel_for(0, std::ssize(ids), 4, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r)
            if (const int32_t id = ids[static_cast<std::size_t>(r)]; id >= 0)
                kernels::cpu().products(packed.precision).unpack_column(g, from, id, to + r * g.k);
    });
    return rows;
}

}  // namespace plaingrad::autograd
