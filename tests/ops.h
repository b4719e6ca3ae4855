// One row or more for every function of autograd/ops.h: how to draw a call of it. Every instrument goes
// through this table, so whoever adds an op adds one row: gradients against differences, plain forms,
// instruction sets and threads, float against double, random programs, PyTorch. Its known values and wrong
// calls are beside it (ops/family.h).
//
//     {"softmax", "x.softmax(dim)", [](OpCall& c) {
//          const Shape s = c.any("x", 1, 4);
//          const int dim = c.dim(s);
//          c.returns([=](const Inputs& x) { return softmax(x[0], dim); });
//      }}
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/base/check.h"
#include "autograd/ops.h"
#include "tests/dice.h"

namespace plaingrad::tests {

using autograd::Real;
using autograd::Shape;
using autograd::Tensor;
using Inputs = std::vector<Tensor>;

// Which numbers an input has. A random program, whose inputs are the results of other ops, maps those there.
enum class Domain {
    any,
    nonzero,   // away from 0 on both sides
    positive,  // away from 0
    bounded,   // of a function that grows fast
    fraction   // from 0 to 1
};
struct Numbers {
    Domain domain = Domain::any;
    double low = -2, high = 2;
};
inline constexpr Numbers kNonzero = {Domain::nonzero, 0.3, 2}, kPositive = {Domain::positive, 0.3, 2},
                         kSmall = {Domain::any, -1, 1}, kGain = {Domain::any, 0.5, 2},
                         kFraction = {Domain::fraction, 0, 1};

// What a call rounds, and how much that can matter.
struct Rounding {
    bool bf16 = false;      // to bfloat16: its gradient is not the slope
    bool exact = false;     // nothing: what it moves or selects is as exact as its inputs
    bool sums = false;      // exact forward, but backward adds up the gradients of repeated elements
    bool log_of_1 = false;  // it takes logarithms of sums near 1, whose rounding is no smaller than 1's
    // Where a gradient is a difference of nearly equal terms, as that of a softmax, rounding these leaves an
    // error that may be larger than the gradient. This says how large the terms can be, for an upstream
    // gradient of 1.
    std::function<double(const Inputs& x)> terms = {};
};

// A call of an op, drawn at random: shapes, options, which inputs. A row asks for what it needs and then says
// what the call returns. Where sizes and inputs come from is up to the instrument.
class OpCall : public Dice, public Rounding {
public:
    explicit OpCall(const autograd::Rng& rng) : Dice(rng) {}
    virtual ~OpCall() = default;

    // ---- sizes, mostly beside an edge of a vector, a tile or a block
    // Of one dimension. 0 only where empty ones are wanted.
    virtual int64_t size(int64_t most = kNoLimit) = 0;
    // Of a text: each of its positions has `width` numbers, and each pair of positions so many scores.
    virtual int64_t length(int64_t width, int64_t scores = 0) = 0;
    virtual int64_t columns(int64_t rows, int64_t k) = 0;  // of a matrix with k rows that multiplies so many
    Shape shape(int least_rank, int most_rank);
    Shape beside(const Shape& s);    // broadcasts with s
    Shape narrowed(const Shape& s);  // broadcasts to s: some sizes are 1, and leading dims may be left out

    // ---- inputs, in the order in which the call finds them
    virtual Shape any(const std::string& name, int least_rank, int most_rank, Numbers numbers = {}) = 0;
    virtual void input(const std::string& name, const Shape& shape, Numbers numbers = {}) = 0;
    virtual double largest(std::size_t i) const = 0;  // about how large the numbers of input i are
    // One that is no tensor of a graph: ids, masks. The call keeps it.
    Tensor constant(const std::string& name, Tensor x);
    autograd::Tokens ids(const std::string& name, int64_t batch, int64_t length, int64_t vocabulary);

    // ---- options, of which `words` is a list, "dim=-1 keep=1"
    template <class Value>
    Value option(const std::string& name, Value value) {
        words += autograd::join(words.empty() ? "" : " ", name, '=', value);
        return value;
    }
    Real option(const std::string& name, Real value);  // with all digits
    std::vector<int> option(const std::string& name, const std::vector<int>& values);
    int dim(const Shape& s);  // from either end
    autograd::Activation activation();
    void precision();  // of a product: sometimes bfloat16
    virtual bool wants_bf16() { return one_in(4); }
    // Whether attention is to return its weights, too, if some are dropped.
    virtual bool tells_dropped() const { return false; }
    // A rate of dropout, and what it leaves of a tensor of this shape.
    Real rate(const Shape& shape, const autograd::Rng& rng);

    // ---- what the call returns: a tensor, or several
    template <class F>
    void returns(const F& f) {
        call = [f, bf16 = bf16](const Inputs& x) -> std::vector<Tensor> {
            using autograd::Precision;
            const autograd::UsePrecision use(bf16 ? Precision::bf16 : Precision::float32);
            if constexpr (std::is_convertible_v<decltype(f(x)), Tensor>)
                return {f(x)};
            else
                return f(x);
        };
    }
    std::function<std::vector<Tensor>(const Inputs& x)> call;
    std::string words;
    std::vector<std::pair<std::string, Tensor>> constants;

    // ---- what instruments have to know
    double most = 0;  // about how large its result is; 0: as its inputs
    // Numbers whose sign decides which formula holds: relu has a slope of 1 or 0.
    std::function<Tensor(const Inputs& x)> kinks;

    static constexpr int64_t kNoLimit = int64_t{1} << 40;
};

struct OpRow {
    std::string op;  // its name in ops.h; an operator's is "operator+"
    // What PyTorch computes, of inputs and options by their names. (Other functions:
    // trust/peers/torch_ops.py.)
    std::string torch;
    std::function<void(OpCall& c)> draw;
    bool has_graph = true;  // a comparison has none
    int subject = 0;        // which family it is of
};
const std::vector<OpRow>& op_rows();

// ---- calls with inputs of their own

// small: some dozen numbers, away from kinks, so that differences can be taken. large, for PyTorch: some
// hundreds, of which many may be equal, or where a function has a kink.
enum class Scale { small, large };

struct AloneCall : OpCall {
    AloneCall(const OpRow& row, const autograd::Rng& rng, Scale scale);

    int64_t size(int64_t most = kNoLimit) override;
    int64_t length(int64_t width, int64_t scores = 0) override;
    int64_t columns(int64_t rows, int64_t k) override;
    Shape any(const std::string& name, int least_rank, int most_rank, Numbers numbers = {}) override;
    void input(const std::string& name, const Shape& shape, Numbers numbers = {}) override;
    double largest(std::size_t) const override { return 2; }
    bool tells_dropped() const override { return scale_ == Scale::large; }
    std::string text() const;  // the op, its options, its inputs' shapes

    // Two inputs may be the same leaf. So leaves become inputs here.
    Inputs inputs(const Inputs& of_leaves) const;
    std::vector<Tensor> with(const Inputs& leaves_) const { return call(inputs(leaves_)); }

    const OpRow& row;
    std::vector<std::string> names;  // of the leaves
    Inputs leaves;                   // without gradients

private:
    Tensor numbers(const Shape& shape, const Numbers& range);
    const Scale scale_;
    std::vector<std::size_t> leaf_of_;  // of each input
};

// Call `number` of a row: a function of both, whatever other rows there are.
std::unique_ptr<AloneCall> draw_call(const OpRow& row, uint64_t number, Scale scale = Scale::small);

// Draws so many calls of each row.
template <class F>
void for_each_call(int count, const F& f) {
    for (const OpRow& row : op_rows())
        for (int number = 0; number < count; ++number)
            f(*draw_call(row, static_cast<uint64_t>(number)));
}

// Copies of the leaves, which need gradients if the op has a graph.
Inputs with_gradients(const AloneCall& c);
// Of each output, whether it has a gradient; and the numbers of those that have one, in one tensor.
std::vector<bool> in_graph(const AloneCall& c);
Tensor only(const std::vector<bool>& wanted, const std::vector<Tensor>& outputs);
// Begins backward at the outputs that have a graph, each with a gradient of random numbers.
void backward(const std::vector<Tensor>& outputs);

// The functions of ops.h by name, each once. Reads that header, in the repository's root.
std::vector<std::string> declared_ops();

}  // namespace plaingrad::tests
