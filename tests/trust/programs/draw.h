// How a random program is drawn.
//
// Shapes decide what can be called with what, never values: float and double must draw the same program. So
// each node is called once while drawing, with zeros, and its result gives the shape.
#pragma once

#include <string>
#include <vector>

#include "tests/ops.h"
#include "tests/trust/programs/program.h"

namespace plaingrad::trust {

using tests::Dice;

class Draw : public Dice {
public:
    explicit Draw(uint64_t seed);

    // ---- sizes. They are mostly small, and mostly beside an edge: of a vector, a tile, a block of a kernel.
    int64_t size(int64_t most);  // of one dimension, at least 1 unless empty ones are drawn
    Shape shape(int min_rank, int max_rank);
    int64_t most() const { return most_; }  // numbers in a tensor
    // The largest size with which m * n numbers of work remain small.
    int64_t room(int64_t work) const { return std::max<int64_t>(1, most_work_ / std::max<int64_t>(1, work)); }

    // ---- tensors
    const Shape& shape_of(int x) const { return program_.nodes[static_cast<std::size_t>(x)].shape; }
    double size_of(int x) const { return sizes_[static_cast<std::size_t>(x)]; }
    int any(int min_rank = 0, int max_rank = Shape::kMaxRank);  // of rank min_rank to max_rank
    // Of this shape: one that is there, or another one seen in this shape, or a new leaf.
    int like(const Shape& shape);
    int leaf(const Shape& shape);
    int view(int x, const Shape& shape);  // reshape(x)

    // ---- nodes. size: roughly the largest number of the result; 0: the largest of the inputs. Results that
    // grow are scaled down, for a program of infinities would show nothing. Returns the number of the result,
    // or -1 if the call throws.
    int op(Node node, double size = 0);
    void release(int x);
    void backward();

    Program finished() &&;
    bool is_full() const { return std::ssize(program_.nodes) >= nodes_; }
    bool bf16() const { return program_.bf16; }
    int64_t no_grad_left = 0;  // the next so many nodes are called without a graph
    bool may_fail = false;     // the next nodes are mistakes

private:
    int add(Node node, Tensor zeros, double size);
    std::vector<int> alive(int min_rank, int max_rank) const;

    Program program_;
    std::vector<Tensor> zeros_;  // of each node; empty: it has been released
    std::vector<double> sizes_;
    int64_t nodes_, most_, most_work_, scale_;
    bool empty_dims_;
};

}  // namespace plaingrad::trust
