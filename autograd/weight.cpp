#include "autograd/weight.h"

#include <mutex>

#include "autograd/base/check.h"
#include "autograd/base/parallel.h"

namespace plaingrad::autograd {
namespace {

std::mutex changing;  // a weight's packed copy: threads may decode with one model

// A product with all of a weight, of no rows yet.
kernels::Gemm whole(const Shape& weight, bool transposed) {
    const int64_t rows = weight[0], columns = weight[1];
    return {.m = 0,
            .n = transposed ? rows : columns,
            .k = transposed ? columns : rows,
            .lda = transposed ? columns : rows,
            .ldb = columns,
            .ldc = transposed ? rows : columns,
            .b_transposed = transposed};
}

PackedForm form_of(const Tensor& weight, bool transposed, Precision p) {
    return {weight.shape(), transposed, p, kernels::cpu().name};
}

std::shared_ptr<const PackedNumbers> packed_as(const PackedForm& form, const Tensor& weight) {
    const kernels::Gemm g = whole(form.shape, form.transposed);
    const Ref<Storage> numbers = Storage::make(kernels::packed_size(g.n, g.k, form.precision));
    kernels::cpu().products(form.precision).pack(g, weight.data(), numbers->data);
    return std::make_shared<const PackedNumbers>(PackedNumbers{numbers, form});
}

void check_form(const PackedForm& packed, const PackedForm& wanted) {
    check(packed.precision == wanted.precision, "[packed weight] weight ", wanted.shape,
          " is packed for products in ", kPrecisionNames[int(packed.precision)], ", so it cannot be used in ",
          kPrecisionNames[int(wanted.precision)], "; name the same precision for both");
    check(packed.transposed == wanted.transposed, "[packed weight] weight ", wanted.shape, " is packed ",
          packed.transposed ? "for linear_transposed and look-ups" : "for linear", " only");
    check(packed.kernels == wanted.kernels, "[packed weight] weight ", wanted.shape,
          " was packed by the kernels for ", packed.kernels, "; those for ", wanted.kernels,
          " cannot read it");
    check(packed.shape == wanted.shape, "[packed weight] this weight was packed in the shape ", packed.shape,
          ", so it cannot be read as ", wanted.shape);
}

// What a product reads instead of the plain numbers; nullptr: it reads these.
std::shared_ptr<const PackedNumbers> packed_for(const PackedForm& form, const Tensor& weight) {
    Storage& storage = *weight.memory();
    if (is_packed(weight)) {
        check_form(storage.packed->form, form);
        return storage.packed;
    }
    if (!KeepPacked::active())
        return nullptr;
    std::unique_lock lock(changing);
    std::shared_ptr<const PackedNumbers> packed = storage.packed;
    lock.unlock();  // while it packs: that waits for other threads, which may wait for this lock
    if (packed == nullptr || packed->form != form) {
        packed = packed_as(form, weight);
        lock.lock();
        storage.packed = packed;
    }
    return packed;
}

}  // namespace

bool is_packed(const Tensor& weight) { return weight.defined() && weight.memory()->data == nullptr; }

void pack(const Tensor& weight, bool transposed) {
    check(weight.rank() == 2, "[pack] a weight must be a matrix: its shape is ", weight.shape());
    const PackedForm form = form_of(weight, transposed, UsePrecision::active());
    if (is_packed(weight))
        return check_form(weight.memory()->packed->form, form);
    std::shared_ptr<const PackedNumbers> packed = packed_as(form, weight);
    Tensor(weight).require_grad(false);  // throws if it came from an op
    weight.memory()->replace_by(std::move(packed));
}

void multiply(kernels::Gemm g, Precision p, const Real* a, const Tensor& weight, Real* c) {
    const kernels::Products& products = kernels::cpu().products(p);
    const auto packed = packed_for(form_of(weight, g.b_transposed, p), weight);
    g.b_packed = packed != nullptr;
    products.gemm(g, a, g.b_packed ? packed->numbers->data : weight.data(), c);
}

TableRows rows_of(const Tensor& table, const Tokens& ids) {
    TableRows rows = {table, ids.ids(), ids.pad()};
    if (!is_packed(table))
        return rows;
    const PackedNumbers& packed = *table.memory()->packed;
    check_form(packed.form, form_of(table, true, packed.form.precision));
    const kernels::Gemm g = whole(table.shape(), true);
    rows.table = Tensor::uninitialized({std::ssize(rows.ids), g.k});
    rows.pad = Tokens::kNoPadding;
    Real* const to = rows.table.mutable_data();
    parallel_for(0, std::ssize(rows.ids), 4, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
            int32_t& id = rows.ids[static_cast<std::size_t>(r)];
            if (id != ids.pad())
                kernels::cpu()
                    .products(packed.form.precision)
                    .unpack_column(g, packed.numbers->data, id, to + r * g.k);
            id = id == ids.pad() ? rows.pad : static_cast<int32_t>(r);
        }
    });
    return rows;
}

}  // namespace plaingrad::autograd
