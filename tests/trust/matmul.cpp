// Matrix products drawn at random, on every instruction set of this machine, against the defined order of
// summation: by the kernels, with b as it is and packed, between guard pages; and by the public op, in
// batches.
//
// Products are computed in processes of their own: one that touches a guard page ends its process, and the
// next process goes on with the next product.
#include <memory>

#include "autograd/base/parallel.h"
#include "autograd/ops.h"
#include "tests/trust/defined_order.h"
#include "tests/trust/instrument.h"
#include "tests/trust/operands.h"
#include "tests/trust/processes.h"

using namespace plaingrad;  // NOLINT
using namespace trust;      // NOLINT
using autograd::Tensor;
using autograd::kernels::Gemm;
using autograd::kernels::Products;

namespace {

// ---- what is found

struct Found {
    int64_t cases, products;
    Finding differences, writes, ended;

    void add(const Found& other) {
        cases += other.cases, products += other.products;
        differences.add(other.differences), writes.add(other.writes), ended.add(other.ended);
    }
};

// ---- one product

class Bench {
public:
    explicit Bench(Found& found) : found_(found) {}

    void measure(const Product& p, const autograd::Rng& rng, const std::string& name) {
        autograd::set_thread_count(p.threads);
        const Operands x(p, rng);
        const std::vector<Real> sum = in_defined_order(p, x);
        a_.set(laid_out(x.a, p.g.m, p.g.k, p.g.a_transposed, p.g.lda), p.at_end);
        b_.set(laid_out(x.b, p.g.k, p.g.n, p.g.b_transposed, p.g.ldb), p.at_end);
        bias_.set(x.bias, p.at_end);
        std::vector<void (*)(const Gemm&, const Real*, const Real*, Real*)> known;
        for (const char* const* set = autograd::kernels::available(); *set != nullptr; ++set) {
            autograd::kernels::use(*set);
            const Products& products = autograd::kernels::cpu().products(p.precision);
            if (std::find(known.begin(), known.end(), products.gemm) != known.end())
                continue;  // the same kernel as in another set
            known.push_back(products.gemm);
            run(p, x, sum, products, false, name + ", " + *set);
            run(p, x, sum, products, true, name + ", " + *set + ", packed");
        }
        if (!p.g.accumulate && !p.with_bias)
            measure_op(p, rng, name + ", matmul");
        ++found_.cases;
    }

private:
    // The kernel's product, of b as it is, or of what `pack` wrote.
    void run(const Product& p, const Operands& x, const std::vector<Real>& sum, const Products& products,
             bool packed, const std::string& name) {
        Gemm g = p.g;
        g.bias = p.with_bias ? bias_.data() : nullptr;
        g.activation = p.has_activation() ? &p.activation : nullptr;
        const std::vector<Real> nothing(sum.size(), std::numeric_limits<Real>::quiet_NaN());
        c_.set(p, p.g.accumulate ? x.c : nothing);
        if (p.keeps_sum) {
            before_.set(p, nothing);
            g.before_activation = before_.data();
        }
        const Real* b = b_.data();
        if (packed) {
            const int64_t room = autograd::kernels::packed_size(g.n, g.k, p.precision);
            Real* const to = packed_.place(room, p.at_end);
            std::fill(to, to + room, std::numeric_limits<Real>::quiet_NaN());
            products.pack(g, b, to);
            b = to;
            g.b_packed = true;
        }
        products.gemm(g, a_.data(), b, c_.data());
        std::vector<Real> expected = sum;
        if (p.has_activation())
            autograd::kernels::cpu().unary(p.activation, std::ssize(sum), sum.data(), expected.data());
        compare(c_, expected, name);
        if (p.keeps_sum)
            compare(before_, sum, name + ", before its activation");
        found_.writes.note(!a_.is_unchanged() + !b_.is_unchanged() + !bias_.is_unchanged(),
                           name + ": an input");
        ++found_.products;
    }

    void compare(const Output& is, const std::vector<Real>& expected, const std::string& name) {
        int64_t differences = 0, writes = 0;
        is.compare(expected, differences, writes);
        found_.differences.note(differences, name);
        found_.writes.note(writes, name);
    }

    // matmul(a (A, 1, m, k), b (B, k, n)) -> (A, B, m, n)
    void measure_op(const Product& p, const autograd::Rng& rng, const std::string& name) {
        const autograd::kernels::Gemm& g = p.g;
        std::vector<Operands>
            xs;  // of every pair; those of a row have the same a, those of a column the same b
        Tensor a = Tensor::zeros({p.batch_a, 1, g.m, g.k});
        Tensor b = Tensor::zeros(g.b_transposed ? autograd::Shape{p.batch_b, g.n, g.k}
                                                : autograd::Shape{p.batch_b, g.k, g.n});
        for (int64_t i = 0; i < p.batch_a * p.batch_b; ++i) {
            const int64_t of_a = i / p.batch_b, of_b = i % p.batch_b;
            Operands& x = xs.emplace_back(p, rng.fork("a").fork(static_cast<uint64_t>(of_a)));
            x.b = Operands(p, rng.fork("b").fork(static_cast<uint64_t>(of_b))).b;
            const std::vector<Real> rows =
                laid_out(x.b, g.k, g.n, g.b_transposed, g.b_transposed ? g.k : g.n);
            std::copy(x.a.begin(), x.a.end(), a.mutable_data() + of_a * g.m * g.k);
            std::copy(rows.begin(), rows.end(), b.mutable_data() + of_b * g.k * g.n);
        }
        autograd::kernels::use(autograd::kernels::available()[0]);
        const autograd::UsePrecision precision(p.precision);
        const Tensor c = matmul(a, b, g.b_transposed);
        for (std::size_t i = 0; i < xs.size(); ++i) {
            const std::vector<Real> expected = in_defined_order(p, xs[i]);
            for (std::size_t e = 0; e < expected.size(); ++e)
                found_.differences.note(!same(c.data()[i * expected.size() + e], expected[e]), name);
            ++found_.products;
        }
    }

    Found& found_;
    Input a_, b_, bias_;
    Output c_, before_;
    tests::Guarded<Real> packed_{kMostNumbers};
};

void measure_all(const Instrument& trust) {
    const uint64_t first = trust.only > 0 ? trust.only : 1;
    const auto rng_of = [&](int64_t i) { return trust.rng().fork(first + static_cast<uint64_t>(i)); };
    const auto name_of = [&](int64_t i) {
        return autograd::join("number ", first + static_cast<uint64_t>(i), ": ",
                              draw_product(rng_of(i)).name());
    };
    const auto prepare = [&](int64_t, Found& found) {
        return [=, bench = std::make_shared<Bench>(found)](int64_t i) {
            bench->measure(draw_product(rng_of(i)), rng_of(i).fork("numbers"), name_of(i));
        };
    };
    const int64_t count = trust.only > 0 ? 1 : trust.count(5'000, 15'000, 300'000);
    const Found all = Processes<Found>(count, prepare, name_of).run();
    trust.figure("matmul.cases", static_cast<double>(all.cases));
    trust.figure("matmul.products", static_cast<double>(all.products));
    trust.figure("matmul.differences", static_cast<double>(all.differences.count), all.differences.first);
    trust.figure("matmul.writes", static_cast<double>(all.writes.count), all.writes.first);
    trust.figure("matmul.touches", static_cast<double>(all.ended.count), all.ended.first);
}

}  // namespace

int main(int argc, char** argv) {
    return run("matmul", "matrix products against the defined order of summation", argc, argv, measure_all,
               {}, true);
}
