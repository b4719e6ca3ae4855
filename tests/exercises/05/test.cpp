#include EXERCISE  // the learner's page, or ours
#include <cmath>

#include "tests/catch.h"
#include "tests/exercises/marking.h"
#include "tests/reference.h"

using namespace plaingrad::exercises;  // NOLINT
namespace reference = plaingrad::reference;

static const Marking exercise(5);
static constexpr std::size_t T = 6, d = 8, H = 4, D = d / H;

// How the reference below is spoilt.
enum class Fault {
    none,
    split,
    merged,
    split_and_merged,
    root_of_d_model,
    interleaved,
    no_output,
    order_kqv
};

// Where element c of head h at position t stands in a row-major (T, d) block, if this fault is made there
// or none.
static std::size_t element(Fault fault, std::size_t h, std::size_t t, std::size_t c) {
    if (fault == Fault::split_and_merged)
        return (h * T + t) * D + c;
    return t * d + (fault == Fault::interleaved ? c * H + h : h * D + c);
}

// Multi-head attention of one sentence, head by head, in double. x (T, d) -> (T, d)
static Row multi_head_of(const Row& x, const Row& w_qkv, const Row& w_out, Fault fault = Fault::none) {
    const Row qkv = reference::matmul(x, w_qkv, T, d, 3 * d);
    const auto block = [&](std::size_t i) {  // q, k or v: (T, d)
        Row out;
        for (std::size_t t = 0; t < T; ++t)
            for (std::size_t c = 0; c < d; ++c)
                out.push_back(qkv[t * 3 * d + i * d + c]);
        return out;
    };
    const Fault splitting = fault == Fault::split ? Fault::split_and_merged : fault;
    const Fault merging = fault == Fault::merged ? Fault::split_and_merged : fault;
    const bool swapped = fault == Fault::order_kqv;
    const Row blocks[] = {block(swapped ? 1 : 0), block(swapped ? 0 : 1), block(2)};
    Row heads(T * d);
    for (std::size_t h = 0; h < H; ++h) {
        Row part[3];
        for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t t = 0; t < T; ++t)
                for (std::size_t c = 0; c < D; ++c)
                    part[i].push_back(blocks[i][element(splitting, h, t, c)]);
        if (fault == Fault::root_of_d_model)
            for (double& value : part[0])
                value *= std::sqrt(1.0 / H);
        const Row out = reference::attention(part[0], part[1], part[2], T, T, D,
                                             [](std::size_t, std::size_t) { return true; });
        for (std::size_t t = 0; t < T; ++t)
            for (std::size_t c = 0; c < D; ++c)
                heads[element(merging, h, t, c)] = out[t * D + c];
    }
    return fault == Fault::no_output ? heads : reference::matmul(heads, w_out, T, d, d);
}

static const Tensor w_qkv = random_tensor({d, 3 * d}, 1), w_out = random_tensor({d, d}, 2);

TEST_CASE("one head is plain attention between two projections") {
    const Tensor x = random_tensor({1, T, d}, 3);
    const Tensor qkv = matmul(x, w_qkv);
    const Tensor expected = matmul(plaingrad::autograd::self_attention(qkv), w_out);
    exercise.expect_values("output with one head", multi_head(x, w_qkv, w_out, 1), {1, T, d},
                           row_of(expected));
}

TEST_CASE("four heads") {
    const Tensor x = random_tensor({1, T, d}, 4);
    const Row values = row_of(x), in = row_of(w_qkv), out = row_of(w_out);
    const auto wrong = [&](Fault fault) { return multi_head_of(values, in, out, fault); };
    exercise.expect_values(
        "output with 4 heads", multi_head(x, w_qkv, w_out, H), {1, T, d}, multi_head_of(values, in, out),
        {{"heads are split by reshape alone, which mixes positions with heads: reshape to (B, T, H, D), then "
          "permute",
          wrong(Fault::split)},
         {"heads are split by reshape alone, which mixes positions with heads: reshape to (B, T, H, D), then "
          "permute",
          wrong(Fault::split_and_merged)},
         {"heads are merged by reshape alone: permute (B, H, T, D) back to (B, T, H, D) first",
          wrong(Fault::merged)},
         {"scores are divided by √d_model: each head has D = d_model / H columns, so divide by √D",
          wrong(Fault::root_of_d_model)},
         {"head h has every H-th column: it must have D columns side by side, h D ... h D + D",
          wrong(Fault::interleaved)},
         {"the output projection w_out is missing", wrong(Fault::no_output)},
         {"queries and keys are swapped: w_qkv is W_Q | W_K | W_V", wrong(Fault::order_kqv)}});
}

TEST_CASE("a batch of sentences, each by itself") {
    const Tensor x = random_tensor({3, T, d}, 5);
    const Tensor out = multi_head(x, w_qkv, w_out, H);
    exercise.expect(out.shape() == x.shape(), "the output has the wrong shape: ", out.shape(), "; expected ",
                    x.shape());
    for (int64_t b = 0; b < 3; ++b)
        exercise.expect_values("sentence " + std::to_string(b), out[b], {T, d},
                               multi_head_of(row_of(x[b]), row_of(w_qkv), row_of(w_out)));
}

TEST_CASE("gradients flow back through the heads") {
    Tensor x = random_tensor({2, T, d}, 6);
    x.require_grad();
    const Tensor upstream = random_tensor({2, T, d}, 7);
    const Tensor out = multi_head(x, w_qkv, w_out, H);
    exercise.expect(out.needs_grad(),
                    "the output has no place in the graph: build it from the operations of ops.h");
    out.backward(upstream);
    const Row given = row_of(x.grad());
    x.zero_grad();
    matmul(plaingrad::autograd::self_attention(matmul(x, w_qkv), {.n_heads = H}), w_out).backward(upstream);
    exercise.expect_values("gradient of x", tensor_of(x.shape(), given), x.shape(), row_of(x.grad()));
}
