// A random program of ops: a list of nodes that is a function of its seed alone.
//
//     const Program program = draw(4711);
//     list(program, program.nodes.size(), std::cerr);
//     const Run run = run_program(program, program.nodes.size());   // run.h
//
// The nodes say what is called with which earlier results, not with which numbers: the same program can run
// fused and plain, in float and in double, a little disturbed, and shortened to its first nodes.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "autograd/base/random.h"
#include "tests/ops.h"

namespace plaingrad::trust {

using autograd::Real;
using autograd::Shape;
using autograd::Tensor;

// On which side of each kink a program's numbers were: relu has a slope of 1 or 0, and a maximum belongs to
// one operand. Two runs can only be expected to be close to each other if they agree on this.
class Branches {
public:
    // Of each element, whether it is below, at or above 0. Does nothing unless the run asked for it.
    void sign(const Tensor& x);
    bool wanted = false;
    autograd::Hash hash = {};
};

using tests::Inputs;
using Call = std::function<Tensor(const Inputs& x, Branches& branches)>;

struct Node {
    enum class Kind {
        leaf,      // numbers, whose gradient is wanted or not
        op,        // a call, whose result others can use
        fails,     // a call that throws Error
        release,   // input 0 is dropped
        backward,  // from all results not yet released, which afterwards are values without a graph
    };
    Kind kind = Kind::op;
    std::string op = {};         // a name of ops.h
    std::string arguments = {};  // what else it is called with, for a listing
    std::vector<int> inputs = {};
    Call call = {};
    tests::Rounding rounding = {};
    Shape shape = {};          // of the result
    bool wanted = false;       // a leaf's gradient
    bool no_grad = false;      // called while a NoGrad exists
    std::string refused = {};  // the error of a call that is right
};

struct Program {
    uint64_t seed = 0;
    std::vector<Node> nodes = {};
    bool bf16 = false;  // some of its products are
};

inline constexpr int kMaxNodes = 40;

Program draw(uint64_t seed);

double largest(const Tensor& x);  // of |x|; infinity for a NaN

// The first `count` nodes, one a line: "x7 (2, 3, 16) = attention(x3, x3, x5; 2 heads, causal)".
void list(const Program& program, std::size_t count, std::ostream& out);

}  // namespace plaingrad::trust
