#include "autograd/weight.h"

#include <algorithm>
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

std::shared_ptr<Storage> packed_as(const PackedForm& form, const Tensor& weight) {
    const kernels::Gemm g = whole(form.shape, form.transposed);
    const std::shared_ptr<Storage> numbers = Storage::make(kernels::packed_size(g.n, g.k, form.precision));
    kernels::cpu().products(form.precision).pack(g, weight.data(), numbers->data);
    return numbers;
}

void check_form(const PackedForm& packed, const PackedForm& wanted) {
    check(packed.precision == wanted.precision, "[packed weight] weight ", wanted.shape,
          " is packed for products in ", kPrecisionNames[int(packed.precision)], ", so it cannot be used in ",
          kPrecisionNames[int(wanted.precision)], "; name the same precision for both");
    check(packed == wanted, "[packed weight] weight ", wanted.shape, " is packed as ", packed.shape, ", for ",
          packed.transposed ? "linear_transposed and look-ups" : "linear", " only");
}

// What a product reads instead of the plain numbers; nullptr: it reads these.
std::shared_ptr<Storage> packed_for(const PackedForm& form, const Tensor& weight) {
    Storage& storage = *weight.memory();
    if (is_packed(weight)) {
        check_form(storage.form, form);
        return storage.packed;
    }
    if (!KeepPacked::active())
        return nullptr;
    std::unique_lock lock(changing);
    if (storage.packed != nullptr && storage.form == form)
        return storage.packed;
    lock.unlock();  // while it packs: that waits for other threads, which may wait for this lock
    const std::shared_ptr<Storage> packed = packed_as(form, weight);
    lock.lock();
    storage.form = form;
    return storage.packed = packed;
}

}  // namespace

bool is_packed(const Tensor& weight) { return weight.defined() && weight.memory()->data == nullptr; }

void pack(const Tensor& weight, bool transposed) {
    check(weight.rank() == 2, "[pack] a weight must be a matrix: its shape is ", weight.shape());
    const PackedForm form = {weight.shape(), transposed, UsePrecision::active()};
    Storage& storage = *weight.memory();
    if (is_packed(weight))
        return check_form(storage.form, form);
    const std::shared_ptr<Storage> packed = packed_as(form, weight);
    Tensor(weight).require_grad(false);  // throws if it came from an op
    storage.form = form;
    storage.packed = packed;
    storage.drop_data();
}

void multiply(kernels::Gemm g, Precision p, const Real* a, const Tensor& weight, Real* c) {
    const auto packed = packed_for({weight.shape(), g.b_transposed, p}, weight);
    g.b_packed = packed != nullptr;
    kernels::cpu().products(p).gemm(g, a, g.b_packed ? packed->data : weight.data(), c);
}

void look_up(const Tensor& table, const Tokens& ids, Real* to) {
    const int64_t count = std::ssize(ids.ids()), n = table.size(1);
    if (!is_packed(table))
        return kernels::cpu().gather({count, n, ids.pad()}, ids.ids().data(), table.data(), to);
    const Storage& storage = *table.memory();
    check_form(storage.form, {table.shape(), true, storage.form.precision});
    const kernels::Gemm g = whole(table.shape(), true);
    parallel_for(0, count, 4, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            if (const int32_t id = ids.ids()[static_cast<std::size_t>(i)]; id != ids.pad())
                kernels::cpu()
                    .products(storage.form.precision)
                    .unpack_column(g, storage.packed->data, id, to + i * n);
            else
                std::fill_n(to + i * n, n, Real(0));
    });
}

}  // namespace plaingrad::autograd
