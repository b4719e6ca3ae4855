// What the rows of the table of ops share: shapes, options, and calls that have inputs of their own.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <regex>
#include <set>

#include "tests/ops/family.h"

namespace plaingrad::tests {

using autograd::join;
using autograd::Rng;
using autograd::Tokens;

const std::vector<OpRow>& op_rows() {
    static const std::vector<OpRow> rows = [] {
        std::vector<OpRow> all;
        int subject = 0;
        for (const OpFamily* family : kOpFamilies) {
            for (OpRow row : family->rows) {
                row.subject = subject;
                all.push_back(std::move(row));
            }
            ++subject;
        }
        return all;
    }();
    return rows;
}

std::vector<std::string> declared_ops() {
    std::ifstream header("autograd/ops.h");
    const std::regex declaration(
        R"(^(inline )?(Tensor&?|Tokens|std::vector<Tensor>) (operator[^ (]+|[a-z_0-9]+)\(.*)");
    std::set<std::string> names;
    std::smatch match;
    for (std::string line; std::getline(header, line);)
        if (std::regex_match(line, match, declaration))
            names.insert(match[3]);
    autograd::check(names.contains("attention"),
                    "autograd/ops.h declares no attention; start this in the repository's root");
    return {names.begin(), names.end()};
}

// ---- shapes

static Shape shape_of(const std::vector<int64_t>& sizes) {
    return Shape(sizes.data(), static_cast<int>(sizes.size()));
}

Shape OpCall::shape(int least_rank, int most_rank) {
    std::vector<int64_t> sizes;
    for (int64_t rank = least_rank + below(most_rank - least_rank + 1), numel = 1; rank > 0; --rank) {
        sizes.insert(sizes.begin(), columns(numel, 1));
        numel *= std::max<int64_t>(1, sizes.front());
    }
    return shape_of(sizes);
}

Shape OpCall::narrowed(const Shape& s) {
    std::vector<int64_t> sizes;
    for (int dim = static_cast<int>(one_in(3) ? below(s.rank() + 1) : 0); dim < s.rank(); ++dim)
        sizes.push_back(one_in(3) ? 1 : s[dim]);
    return shape_of(sizes);
}

Shape OpCall::beside(const Shape& s) {
    const Shape part = narrowed(s);
    std::vector<int64_t> sizes(part.begin(), part.end());
    const int dropped = s.rank() - part.rank();
    for (std::size_t i = 0; i < sizes.size(); ++i)
        if (s[static_cast<int>(i) + dropped] == 1 && one_in(2))
            sizes[i] = columns(std::max<int64_t>(1, s.numel()), 1);
    if (s.rank() < Shape::kMaxRank && dropped == 0 && one_in(6))
        sizes.insert(sizes.begin(), std::min<int64_t>(3, columns(std::max<int64_t>(1, s.numel()), 1)));
    return shape_of(sizes);
}

// ---- options

Tensor OpCall::constant(const std::string& name, Tensor x) {
    constants.emplace_back(name, x);
    return x;
}

Tokens OpCall::ids(const std::string& name, int64_t batch, int64_t length, int64_t vocabulary) {
    const int64_t n = std::max<int64_t>(vocabulary, 1);  // there may be none, which is an error
    const bool padded = one_in(2);
    const auto pad = static_cast<int32_t>(below(n));
    std::vector<int32_t> all;
    for (int64_t i = 0; i < batch * length; ++i)
        all.push_back(padded && i > 0 && one_in(4) ? pad : static_cast<int32_t>(below(n)));
    constant(name, Tensor::from({batch, length}, std::vector<Real>(all.begin(), all.end())));
    option(name + "_pad", int64_t{padded ? pad : Tokens::kNoPadding});
    return Tokens(batch, length, std::move(all), padded ? pad : Tokens::kNoPadding);
}

Real OpCall::option(const std::string& name, Real value) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.17g", static_cast<double>(value));
    option(name, std::string(digits));
    return value;
}

std::vector<int> OpCall::option(const std::string& name, const std::vector<int>& values) {
    std::string list;
    for (const int value : values)
        list += join(list.empty() ? "" : ",", value);
    option(name, list);
    return values;
}

int OpCall::dim(const Shape& s) {
    const auto at = static_cast<int>(below(s.rank()));
    return option("dim", one_in(2) ? at - s.rank() : at);
}

autograd::Activation OpCall::activation() {
    const int64_t f = below(static_cast<int64_t>(autograd::Activation::count));
    option("activation", autograd::kActivationNames[f]);
    return static_cast<autograd::Activation>(f);
}

void OpCall::precision() { bf16 = option("bf16", wants_bf16()); }

Real OpCall::rate(const Shape& s, const Rng& rng) {
    const Real p = option("p", one_of<Real>({0, Real(0.125), Real(0.5)}));
    constant("kept", autograd::dropout(Tensor::ones(s), p, rng) != 0);
    return p;
}

// ---- calls with inputs of their own

AloneCall::AloneCall(const OpRow& its_row, const Rng& rng, Scale scale)
    : OpCall(rng), row(its_row), scale_(scale) {
    row.draw(*this);
}

int64_t AloneCall::size(int64_t at_most) {
    const int64_t n = scale_ == Scale::small
                          ? one_of<int64_t>({1, 1, 2, 3, 4, 5, 7, 17})
                          : one_of<int64_t>({1, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 65});
    return n <= at_most ? n : 1 + below(std::min<int64_t>(std::max<int64_t>(at_most, 1), 3));
}

int64_t AloneCall::columns(int64_t rows, int64_t k) {
    return size((scale_ == Scale::small ? 120 : 3000) / std::max<int64_t>(1, std::max(rows, k)));
}

// Some are beyond the 64 queries that backward takes at a time.
int64_t AloneCall::length(int64_t width, int64_t) {
    return width <= (scale_ == Scale::small ? 4 : 200) && one_in(5) ? 60 + below(80) : size(400 / width);
}

// A float's numbers in either build.
Tensor AloneCall::numbers(const Shape& s, const Numbers& range) {
    const bool small = scale_ == Scale::small, coarse = !small && one_in(5);
    // Where numbers are tiny, or large, differences are inexact.
    const auto limited = [small](double x) {
        return small ? std::copysign(std::clamp(std::abs(x), 0.5, 2.0), x) : x;
    };
    const double low = range.low == 0 ? 0 : limited(range.low), high = limited(range.high);
    std::vector<Real> x(static_cast<std::size_t>(s.numel()));
    for (Real& each : x) {
        const double number = uniform(low, high);
        each = static_cast<Real>(static_cast<float>(coarse ? std::ceil(number * 2) / 2 : number));
        if (range.domain == Domain::nonzero && one_in(3))
            each = -each;
    }
    return Tensor::from(s, x);
}

Shape AloneCall::any(const std::string& name, int least_rank, int most_rank, Numbers range) {
    Shape s = shape(least_rank, most_rank);
    if (s.rank() > 0 && one_in(25))
        s = s.with(static_cast<int>(below(s.rank())), 0);
    input(name, s, range);
    return s;
}

// Sometimes one that is there, where its numbers are as good.
void AloneCall::input(const std::string& name, const Shape& s, Numbers range) {
    for (std::size_t i = 0; range.domain == Domain::any && i < leaves.size(); ++i)
        if (leaves[i].shape() == s && one_in(6)) {
            option("same." + name, names[i]);
            return leaf_of_.push_back(i);
        }
    leaf_of_.push_back(leaves.size());
    names.push_back(name);
    leaves.push_back(numbers(s, range));
}

Inputs AloneCall::inputs(const Inputs& of) const {
    Inputs x;
    for (const std::size_t leaf : leaf_of_)
        x.push_back(of[leaf]);
    return x;
}

std::string AloneCall::text() const {
    std::string all = row.op + " " + words;
    for (std::size_t i = 0; i < leaves.size(); ++i)
        all += join(", ", names[i], " ", leaves[i].shape());
    return all;
}

Inputs with_gradients(const AloneCall& c) {
    Inputs all;
    for (const Tensor& x : c.leaves)
        all.push_back(x.clone().require_grad(c.row.has_graph));
    return all;
}

std::vector<bool> in_graph(const AloneCall& c) {
    std::vector<bool> all;
    for (const Tensor& y : c.with(with_gradients(c)))
        all.push_back(y.needs_grad());
    return all;
}

Tensor only(const std::vector<bool>& wanted, const std::vector<Tensor>& outputs) {
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (wanted[i])
            parts.push_back(reshape(outputs[i], {-1}));
    return parts.size() == 1 ? parts[0] : concat(parts, 0);
}

// Once, as backward consumes the graph.
void backward(const std::vector<Tensor>& outputs) {
    Tensor total;
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (outputs[i].needs_grad()) {
            // In bfloat16 linear_cross_entropy has rounded gradients already: a power of two changes no
            // rounding.
            const Tensor start = outputs[i].rank() == 0
                                     ? Tensor(Real(0.5))
                                     : Tensor::rand(outputs[i].shape(), Rng(99).fork(i)) - Real(0.5);
            if (outputs.size() == 1)
                return outputs[i].backward(start);
            const Tensor term = autograd::sum(outputs[i] * start);
            total = total.defined() ? total + term : term;
        }
    if (total.defined())
        total.backward();
}

// How near the next kink is. (0 is at it for sure, as the largest of a row is the largest.)
static double margin(const AloneCall& c) {
    double least = HUGE_VAL;
    if (c.kinks)
        for (const Real x : c.kinks(c.inputs(c.leaves)).to_vector())
            if (x != 0)
                least = std::fmin(least, std::abs(static_cast<double>(x)));
    return least;
}

// Whether it is away from kinks, if asked for, and no input of no elements is refused: other tests see to
// errors.
static bool is_good(const AloneCall& c, Scale scale) {
    try {
        c.with(c.leaves);
        return scale == Scale::large || margin(c) > 0.01;
    } catch (const autograd::Error&) {
        for (const Tensor& x : c.leaves)
            if (x.numel() == 0)
                return false;
        throw;
    }
}

std::unique_ptr<AloneCall> draw_call(const OpRow& row, uint64_t number, Scale scale) {
    const Rng rng = Rng(number).fork(row.op);
    for (uint64_t attempt = 0;; ++attempt) {
        auto c = std::make_unique<AloneCall>(row, rng.fork(attempt), scale);
        if (is_good(*c, scale))
            return c;
    }
}

}  // namespace plaingrad::tests

plaingrad::trust::words::Calls plaingrad::trust::words::calls_of_ops() {
    Calls all;
    for (const tests::OpFamily* family : tests::kOpFamilies)
        for (const Call& call : family->wrong_calls)
            all.push_back(call);
    return all;
}
