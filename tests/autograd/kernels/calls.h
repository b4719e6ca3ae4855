// Calls of every kernel, on memory that a test arranges: at an offset, or between guard pages; and formulas
// in double of what the results must be. Tests compare what a call computes with these, or with what the same
// call computes elsewhere.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>

#include "tests/autograd/values.h"
#include "tests/guarded.h"
#include "tests/reference.h"

namespace plaingrad::tests {

using autograd::kernels::Out;
using reference::Row;

inline std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }
inline Row wide(int64_t n, const Real* x) { return {x, x + n}; }
// f(i) for each of n.
template <class F>
Row each(int64_t n, const F& f) {
    Row all;
    for (int64_t i = 0; i < n; ++i)
        all.push_back(static_cast<double>(f(i)));
    return all;
}
inline double dot(const Row& x, const Row& y) {
    return reference::total(each(std::ssize(x), [&](int64_t i) { return x[at(i)] * y[at(i)]; }));
}

// How the pieces of memory lie. Loose ones begin at `offset` from a 16-byte aligned address; relative to each
// other the offsets are what counts. Others touch the page behind them, or the one before them.
struct Place {
    enum { loose, at_end, at_begin } where = loose;
    int64_t offset = 0;
};

// One call of a kernel, for this many rows of n numbers: its memory.
class Run {
public:
    Run(int64_t rows_, int64_t n_, Place place = {}, bool accumulate = false, bool asks_ = false)
        : rows(rows_), n(n_), all(rows * n), asks(asks_), place_(place), accumulate_(accumulate) {}
    static constexpr double kError = autograd::kRealIsDouble ? 1e-12 : 1e-5;
    const int64_t rows, n, all;
    const bool asks;  // for the formulas, too

    // Between guard pages, it cannot be written.
    const Real* in(const std::vector<Real>& x) { return sealed(lay(numbers_, x, kNan)); }
    const Real* in(int64_t count, uint64_t seed, double low = -2, double high = 2) {
        return in(numbers(count, seed, low, high));
    }
    // Ids below `limit`, every fifth one `special`.
    const int32_t* ids(int64_t count, int64_t limit, int32_t special) {
        std::vector<int32_t> x;
        for (int64_t i = 0; i < count; ++i)
            x.push_back(i % 5 == 3
                            ? special
                            : static_cast<int32_t>(autograd::Rng(8).below(static_cast<uint64_t>(i), limit)));
        return sealed(lay(ids_, x, -7));
    }
    // Memory for a result: NaN, or numbers to add to; in place: the input.
    Real* out(int64_t count, const std::vector<Real>& start = {}) {
        std::vector<Real> x(static_cast<std::size_t>(count), kNan);
        if (accumulate_)
            x = numbers(count, kSeed);
        std::copy(start.begin(), start.end(), x.begin());
        results_.push_back({&lay(numbers_, x, kAround)});
        return results_.back().memory->data;
    }
    Real* out(int64_t count, const Real* start) { return out(count, {start, start + count}); }
    Out sink(int64_t count) {
        Real* const y = out(count);
        results_.back().is_added_to = accumulate_;
        return {y, accumulate_};
    }
    // What the result y must be, but for what it is added to: a Row, formula(), or formula(i) for element i.
    // Its errors may be `allowed`, or relative ones where it is larger than 1.
    template <class F>
    void expect(const Real* y, const F& formula, double allowed = kError) {
        for (Result& result : results_)
            if (asks && result.memory->data == y) {
                if constexpr (std::is_same_v<F, Row>)
                    result.expected = formula;
                else if constexpr (std::is_invocable_v<F, int64_t>)
                    result.expected = each(result.memory->count, formula);
                else
                    result.expected = formula();
                result.allowed = allowed;
            }
    }
    // Working memory, from which nobody reads what was not written.
    Real* room(int64_t count) {
        return lay(numbers_, std::vector<Real>(static_cast<std::size_t>(count), kNan), kNan).data;
    }
    // Memory for results that are no numbers, which the call compares itself, or passes on.
    int32_t* places(int64_t count) {
        return lay(ids_, std::vector<int32_t>(static_cast<std::size_t>(count), -1), -7).data;
    }
    const uint8_t* bytes(const std::vector<uint8_t>& x) { return sealed(lay(bytes_, x, uint8_t(1))); }
    const int32_t* integers(const std::vector<int32_t>& x) { return sealed(lay(ids_, x, -7)); }

    // What dropout multiplies numbers by. (Which ones by 0: test_pointwise.cpp.)
    Row dropout_factors(int64_t count, double p, autograd::kernels::RandomKey key) const {
        std::vector<Real> ones(at(asks ? count : 0), 1);
        autograd::kernels::cpu().dropout(length(ones), static_cast<Real>(p), key, ones.data(), {ones.data()});
        return each(length(ones), [&](int64_t i) { return ones[at(i)] > 0 ? 1 / (1 - p) : 0; });
    }

    // All results; nothing if what is around one was overwritten.
    std::optional<std::vector<Real>> results() const {
        std::vector<Real> values;
        const auto intact = [](Real x) { return x == kAround; };
        for (const Result& y : results_) {
            const Piece<Real>& m = *y.memory;
            Real* const end = m.data + m.count;
            if (!std::all_of(m.from, m.data, intact) || !std::all_of(end, m.until, intact))
                return std::nullopt;
            values.insert(values.end(), m.data, end);
        }
        return values;
    }
    // The largest error of a result, in units of what its formula allows; infinity if it has no formula.
    double error() const {
        double largest = 0;
        for (const Result& y : results_) {
            Row expected = y.expected;
            const std::vector<Real> start = y.before();
            for (std::size_t i = 0; i < std::min(expected.size(), start.size()); ++i)
                expected[i] += static_cast<double>(start[i]);
            const std::vector<Real> is(y.memory->data, y.memory->data + y.memory->count);
            largest = std::max(largest, worst_error(is, expected) / y.allowed);
        }
        return largest;
    }

    // What each result was added to; 0 where it was not.
    std::vector<Real> before() const {
        std::vector<Real> values;
        for (const Result& y : results_) {
            const std::vector<Real> x = y.before();
            values.insert(values.end(), x.begin(), x.end());
        }
        return values;
    }

private:
    static constexpr uint64_t kSeed = 77;
    static constexpr Real kAround = Real(-12345.5);
    template <class T>
    struct Piece {
        std::vector<T> loose;
        std::optional<Guarded<T>> guarded;
        T *from, *data, *until;  // all of it begins, the operand begins, all ends
        int64_t count;
    };
    struct Result {
        const Piece<Real>* memory;
        bool is_added_to = false;
        Row expected = {};
        double allowed = 1;
        std::vector<Real> before() const {
            return is_added_to ? numbers(memory->count, kSeed) : std::vector<Real>(at(memory->count));
        }
    };

    template <class T>
    Piece<T>& lay(std::deque<Piece<T>>& pieces, const std::vector<T>& values, T around) const {
        constexpr int64_t kBehind = 20;
        Piece<T>& p = pieces.emplace_back();
        p.count = std::ssize(values);
        if (place_.where == Place::loose) {
            p.loose.resize(static_cast<std::size_t>(place_.offset + p.count + kBehind));
            p.from = p.loose.data(), p.until = p.from + p.loose.size(), p.data = p.from + place_.offset;
        } else {
            p.guarded.emplace(p.count);
            p.from = p.guarded->begin(), p.until = p.guarded->end();
            p.data = p.guarded->place(p.count, place_.where == Place::at_end);
        }
        std::fill(p.from, p.until, around);
        std::copy(values.begin(), values.end(), p.data);
        return p;
    }
    template <class T>
    static const T* sealed(const Piece<T>& p) {
        if (p.guarded)
            p.guarded->seal();
        return p.data;
    }

    Place place_;
    bool accumulate_;
    std::deque<Piece<Real>> numbers_;
    std::deque<Piece<int32_t>> ids_;
    std::deque<Piece<uint8_t>> bytes_;
    std::vector<Result> results_;
};

struct Call {
    const char* name;
    std::function<void(Run&)> call;
};

// By family. Sizes may be 0.
std::vector<Call> elementwise_calls();
std::vector<Call> row_calls();
std::vector<Call> moving_calls();
std::vector<Call> attention_calls();
std::vector<Call> gemm_calls();

inline std::vector<Call> all_calls() {
    std::vector<Call> all;
    for (const auto family : {elementwise_calls, row_calls, moving_calls, attention_calls, gemm_calls})
        for (const Call& call : family())
            all.push_back(call);
    return all;
}

inline std::optional<std::vector<Real>> run(const Call& c, int64_t rows, int64_t n, Place place = {},
                                            bool accumulate = false) {
    Run r(rows, n, place, accumulate);
    c.call(r);
    return r.results();
}

// The definition of `binary`.
template <class T>
T operate(autograd::kernels::Binary f, T a, T b) {
    const T max = std::isnan(a) || std::isnan(b) ? T(kNan) : a > b ? a : b;
    const T results[] = {a + b,    a - b,     a * b,          a / b,         max,
                         T(a < b), T(a == b), b != 0 ? a : 0, b != 0 ? 0 : a};
    static_assert(std::size(results) == static_cast<std::size_t>(autograd::kernels::Binary::count));
    return results[static_cast<std::size_t>(f)];
}

// Attention of 3 sentences and 2 heads of d over rows/3 queries, with masks to choose from.
struct AttentionCase {
    autograd::kernels::Attention a = {};
    const int32_t* counts;
    const uint8_t* allowed;
    Real growth = 0;  // from each 512 keys to the next, keys grow by it
    // Allowed. Factors with 8 bits have errors of up to 2^-9; in a sum of many they partly cancel.
    double error[2] = {Run::kError, 0.1};
    explicit AttentionCase(Run& r, int64_t d = 5, int64_t most_queries = 140);
    int64_t q() const { return a.batch * a.queries * a.heads * a.d; }
    int64_t k() const { return a.batch * a.keys * a.kv_row; }
};
void attention_both_ways(Run& r, AttentionCase& c);

}  // namespace plaingrad::tests
