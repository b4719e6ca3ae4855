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
        workbench_.set(p, x, sum);
        std::vector<void (*)(const Gemm&, const Real*, const Real*, Real*)> known;
        for (const char* const* set = autograd::kernels::available(); *set != nullptr; ++set) {
            autograd::kernels::use(*set);
            const auto gemm = autograd::kernels::cpu().products(p.precision).gemm;
            if (std::find(known.begin(), known.end(), gemm) != known.end())
                continue;  // the same kernel as in another set
            known.push_back(gemm);
            for (const bool packed : {false, true}) {
                const Workbench::Found seen = workbench_.run(packed);
                const std::string what = name + ", " + *set + (packed ? ", packed" : "");
                found_.differences.note(seen.differences, what);
                found_.writes.note(seen.writes, what);
                ++found_.products;
            }
        }
        if (!p.g.accumulate && !p.with_bias)
            measure_op(p, rng, name + ", matmul");
        ++found_.cases;
    }

private:
    // matmul(a (A, 1, m, k), b (B, k, n)) -> (A, B, m, n)
    void measure_op(const Product& p, const autograd::Rng& rng, const std::string& name) {
        std::vector<Operands> of_a, of_b;
        Tensor a = Tensor::zeros({p.batch_a, 1, p.g.m, p.g.k});
        Tensor b = Tensor::zeros(p.g.b_transposed ? autograd::Shape{p.batch_b, p.g.n, p.g.k}
                                                  : autograd::Shape{p.batch_b, p.g.k, p.g.n});
        for (int64_t i = 0; i < p.batch_a; ++i) {
            of_a.emplace_back(p, rng.fork("a").fork(static_cast<uint64_t>(i)));
            std::copy(of_a.back().a.begin(), of_a.back().a.end(), a.mutable_data() + i * p.g.m * p.g.k);
        }
        for (int64_t i = 0; i < p.batch_b; ++i) {
            of_b.emplace_back(p, rng.fork("b").fork(static_cast<uint64_t>(i)));
            const std::vector<Real> rows =
                laid_out(of_b.back().b, p.g.k, p.g.n, p.g.b_transposed, p.g.b_transposed ? p.g.k : p.g.n);
            std::copy(rows.begin(), rows.end(), b.mutable_data() + i * p.g.k * p.g.n);
        }
        autograd::kernels::use(autograd::kernels::available()[0]);
        const autograd::UsePrecision precision(p.precision);
        const Tensor c = matmul(a, b, p.g.b_transposed);
        for (int64_t i = 0; i < p.batch_a * p.batch_b; ++i) {
            Operands x = of_a[static_cast<std::size_t>(i / p.batch_b)];
            x.b = of_b[static_cast<std::size_t>(i % p.batch_b)].b;
            const std::vector<Real> expected = in_defined_order(p, x);
            int64_t differences = 0;
            for (std::size_t e = 0; e < expected.size(); ++e)
                differences += !same(c.data()[i * p.g.m * p.g.n + static_cast<int64_t>(e)], expected[e]);
            found_.differences.note(differences, name);
            ++found_.products;
        }
    }

    Found& found_;
    Workbench workbench_;
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
