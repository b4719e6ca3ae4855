// Matrix products drawn at random, on every instruction set of this machine, against the defined order of
// summation: by the kernels, with b as it is and packed, between guard pages; and by the public op, in batches.
//
// Products are computed in processes of their own, so that one that touches a guard page ends only its process.
// The next process goes on with the next product.
#include <sys/wait.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "autograd/base/parallel.h"
#include "autograd/base/system.h"
#include "autograd/ops.h"
#include "tests/trust/defined_order.h"
#include "tests/trust/guarded.h"
#include "tests/trust/instrument.h"

using namespace plaingrad;  // NOLINT
using namespace trust;      // NOLINT
using autograd::Tensor;
using autograd::kernels::Gemm;
using autograd::kernels::Products;

namespace {

// ---- what is found, in memory that the processes share

struct Finding {
    int64_t count;
    char first[300];

    void note(int64_t seen, const std::string& what) {
        if (seen > 0 && count == 0)
            std::snprintf(first, sizeof first, "%s", what.c_str());
        count += seen;
    }
};

struct Found {
    int64_t next, cases, products;
    double share;  // the largest error over the bound
    Finding differences, writes, touches, beyond;

    void note_share(double seen, const std::string& what) {
        beyond.note(!(seen <= 1), what);
        if (!(seen <= share))  // a NaN shows
            share = seen;
    }
    void add(const Found& other) {
        cases += other.cases, products += other.products;
        note_share(other.share, other.beyond.first);
        differences.note(other.differences.count, other.differences.first);
        writes.note(other.writes.count, other.writes.first);
        touches.note(other.touches.count, other.touches.first);
    }
};

// ---- one product

constexpr int64_t kMargin = 64;  // numbers around c that must stay as they are

// A number that no result has: its place is part of it.
Real untouched(int64_t i) { return Real(-7777) - static_cast<Real>(i % 1024); }

bool same(Real x, Real y) { return std::memcmp(&x, &y, sizeof x) == 0 || (std::isnan(x) && std::isnan(y)); }
bool same(const Real* x, const Real* y, int64_t n) {
    return n == 0 || std::memcmp(x, y, static_cast<std::size_t>(n) * sizeof(Real)) == 0;
}

// A dense matrix as the kernel wants it: perhaps transposed, its rows ld apart. In the gaps is NaN.
std::vector<Real> laid_out(const std::vector<Real>& x, int64_t rows, int64_t columns, bool transposed,
                           int64_t ld) {
    std::vector<Real> to(static_cast<std::size_t>(transposed ? Product::extent(columns, rows, ld)
                                                             : Product::extent(rows, columns, ld)),
                         std::numeric_limits<Real>::quiet_NaN());
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
            to[static_cast<std::size_t>(transposed ? j * ld + i : i * ld + j)] =
                x[static_cast<std::size_t>(i * columns + j)];
    return to;
}

// An operand that is read, between guard pages.
class Input {
public:
    void set(const std::vector<Real>& values, bool at_end) {
        values_ = values;
        at_ = memory_.place(std::ssize(values), at_end);
        std::copy(values.begin(), values.end(), at_);
    }
    const Real* data() const { return at_; }
    bool is_unchanged() const { return same(at_, values_.data(), std::ssize(values_)); }

private:
    Guarded memory_{kMostNumbers};
    std::vector<Real> values_;
    Real* at_ = nullptr;
};

// A result between guard pages: rows that are ld apart, whose gaps, and what is around, must stay as they are.
class Output {
public:
    // before: what the rows hold at first.
    void set(const Product& p, const std::vector<Real>& before) {
        p_ = &p;
        at_ = memory_.place(p.extent_c(), p.at_end);
        for (Real* to = from(); to < until(); ++to)
            *to = untouched(to - at_);
        for_elements([&](int64_t i, int64_t element) { at_[i] = before[static_cast<std::size_t>(element)]; });
    }
    Real* data() const { return at_; }
    // How many elements are not as expected, and how many numbers outside of the rows have changed.
    void compare(const std::vector<Real>& expected, int64_t& differences, int64_t& writes) const {
        differences = writes = 0;
        for_elements([&](int64_t i, int64_t element) {
            differences += !same(at_[i], expected[static_cast<std::size_t>(element)]);
            at_[i] = untouched(i);
        });
        for (const Real* to = from(); to < until(); ++to)
            writes += !same(*to, untouched(to - at_));
    }

private:
    Real* from() const { return std::max(memory_.begin(), at_ - kMargin); }
    Real* until() const { return std::min(memory_.end(), at_ + p_->extent_c() + kMargin); }
    template <class F>
    void for_elements(const F& f) const {
        for (int64_t i = 0, element = 0; i < p_->g.m; ++i)
            for (int64_t j = 0; j < p_->g.n; ++j, ++element)
                f(i * p_->g.ldc + j, element);
    }
    Guarded memory_{kMostNumbers};
    const Product* p_ = nullptr;
    Real* at_ = nullptr;
};

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
        measure_bound(p, x, sum, rng, name);
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

    // Of the corners and some other elements.
    void measure_bound(const Product& p, const Operands& x, const std::vector<Real>& sum,
                       const autograd::Rng& rng, const std::string& name) {
        if (sum.empty())
            return;
        Draw draw(rng.fork("elements"));
        for (int element = 0; element < 16; ++element) {
            const int64_t i = element < 4 ? element % 2 * (p.g.m - 1) : draw.below(p.g.m);
            const int64_t j = element < 4 ? element / 2 * (p.g.n - 1) : draw.below(p.g.n);
            found_.note_share(share_of_bound(p, x, sum, i, j), name);
        }
    }

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
        const Tensor c = matmul(a, b, p.g.b_transposed, p.precision);
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
    Input a_, b_, bias_;
    Output c_, before_;
    Guarded packed_{kMostNumbers};
};

// ---- the processes

autograd::Rng rng_of(const Instrument& trust, int64_t number) {
    return trust.rng().fork("matmul").fork(static_cast<uint64_t>(number));
}

std::string name_of(const Instrument& trust, int64_t number) {
    return autograd::join("number ", number, ": ", draw_product(rng_of(trust, number)).name());
}

// Computes every `step`-th product from found.next on, in a process of its own; returns that process.
pid_t start(const Instrument& trust, int64_t count, int64_t step, Found& found) {
    const pid_t process = fork();
    autograd::check(process >= 0, "no process can be started");
    if (process != 0)
        return process;
    Bench bench(found);
    for (; found.next < count; found.next += step) {
        bench.measure(draw_product(rng_of(trust, found.next)), rng_of(trust, found.next),
                      name_of(trust, found.next));
        if (found.next % 50'000 == 0 && found.next > 0) {
            std::printf("%" PRId64 " of %" PRId64 " products\n", found.next, count);
            std::fflush(stdout);
        }
    }
    _exit(0);
}

// ... and again with the next product when one has ended its process.
void finish(const Instrument& trust, int64_t count, int64_t step, pid_t process, Found& found) {
    constexpr int64_t kMostTouches = 50;
    for (int status = 0;;) {
        autograd::check(waitpid(process, &status, 0) == process, "a process is lost");
        if (status == 0 || found.touches.count >= kMostTouches)
            return;
        found.touches.note(1, name_of(trust, found.next));
        found.next += step;
        process = start(trust, count, step, found);
    }
}

void measure_all(const Instrument& trust) {
    const int64_t count = trust.count(5'000, 100'000, 1'000'000);
    // Before the library has started threads, which no fork takes along.
    const int64_t workers = std::min(autograd::processors(), 64);
    void* const shared = mmap(nullptr, static_cast<std::size_t>(workers) * sizeof(Found),
                              PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    autograd::check(shared != MAP_FAILED, "no memory to share");
    Found* const found = static_cast<Found*>(shared);
    std::vector<pid_t> processes;
    for (int64_t i = 0; i < workers; ++i) {
        found[i].next = i;
        processes.push_back(start(trust, count, workers, found[i]));
    }
    Found all = {};
    for (int64_t i = 0; i < workers; ++i) {
        finish(trust, count, workers, processes[static_cast<std::size_t>(i)], found[i]);
        all.add(found[i]);
    }
    trust.figure("matmul.cases", static_cast<double>(all.cases));
    trust.figure("matmul.products", static_cast<double>(all.products));
    trust.figure("matmul.differences", static_cast<double>(all.differences.count), all.differences.first);
    trust.figure("matmul.bound", all.share, all.beyond.first);
    trust.figure("matmul.writes", static_cast<double>(all.writes.count), all.writes.first);
    trust.figure("matmul.touches", static_cast<double>(all.touches.count), all.touches.first);
}

}  // namespace

int main(int argc, char** argv) {
    return run("matmul", "matrix products against the defined order of summation", argc, argv, measure_all);
}
