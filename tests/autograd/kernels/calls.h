// Calls of every kernel, on memory that a test arranges: at an offset, or between guard pages. What they
// compute is compared with what the same call computes elsewhere. (With formulas: test_kernel_reference.cpp.)
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>

#include "tests/autograd/values.h"
#include "tests/guarded.h"

namespace plaingrad::tests {

using autograd::kernels::Out;

// How the pieces of memory lie. Loose ones begin at `offset` from a 16-byte aligned address; relative to each
// other the offsets are what counts. Others touch the page behind them, or the one before them.
struct Place {
    enum { loose, at_end, at_begin } where = loose;
    int64_t offset = 0;
};

// One call of a kernel, for this many rows of n numbers: its memory.
class Run {
public:
    Run(int64_t rows_, int64_t n_, Place place = {}, bool accumulate = false)
        : rows(rows_), n(n_), place_(place), accumulate_(accumulate) {}
    const int64_t rows, n;

    // Between guard pages, it cannot be written.
    const Real* in(int64_t count, uint64_t seed, double low = -3, double high = 3) {
        return sealed(lay(numbers_, numbers(count, seed, low, high), kNan));
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
        results_.push_back(&lay(numbers_, x, kAround));
        return results_.back()->data;
    }
    Out sink(int64_t count) {
        sinks_.push_back(results_.size());
        return {out(count), accumulate_};
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

    // All results; nothing if what is around one was overwritten.
    std::optional<std::vector<Real>> results() const {
        std::vector<Real> all;
        const auto intact = [](Real x) { return x == kAround; };
        for (const Piece<Real>* y : results_) {
            Real* const end = y->data + y->count;
            if (!std::all_of(y->from, y->data, intact) || !std::all_of(end, y->until, intact))
                return std::nullopt;
            all.insert(all.end(), y->data, end);
        }
        return all;
    }

    // Of each result, whether it was added to; and what was there before, if so.
    std::vector<bool> added() const {
        std::vector<bool> all;
        for (std::size_t i = 0; i < results_.size(); ++i)
            all.insert(all.end(), static_cast<std::size_t>(results_[i]->count),
                       accumulate_ && std::count(sinks_.begin(), sinks_.end(), i) > 0);
        return all;
    }
    std::vector<Real> before() const {
        std::vector<Real> all;
        for (const Piece<Real>* y : results_) {
            const std::vector<Real> x = numbers(y->count, kSeed);
            all.insert(all.end(), x.begin(), x.end());
        }
        return all;
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
    std::vector<const Piece<Real>*> results_;
    std::vector<std::size_t> sinks_;
};

struct Call {
    const char* name;
    bool accumulates;
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

// Attention of 3 sentences and 2 heads of d over rows/3 queries, with masks to choose from.
struct AttentionCase {
    autograd::kernels::Attention a = {};
    const int32_t* counts;
    const uint8_t* allowed;
    explicit AttentionCase(Run& r, int64_t d = 5, int64_t most_queries = 140);
    int64_t q() const { return a.batch * a.queries * a.heads * a.d; }
    int64_t k() const { return a.batch * a.keys * a.kv_row; }
};
void attention_both_ways(Run& r, AttentionCase& c);

}  // namespace plaingrad::tests
