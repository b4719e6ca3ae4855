// The batch of a step is cut into parts. The sum of their gradients is taken in the order of one fixed tree,
// whoever computes it:
//
//     part  0   1   2   3   4   5   6
//            \ /     \ /     \ /   /
//             +       +       +   /
//              \     /         \ /
//               \   /           +
//                 +            /
//                   \         /
//                        +
//
// Floating-point sums depend on their order. A tree, unlike a chain, lets each process add up its own parts
// first: if they are a subtree, it has one sum to send.
#pragma once

#include <cstdint>
#include <vector>

namespace plaingrad::nn {

// The sum of parts begin .. end - 1: a node of the tree.
struct PartSum {
    int64_t begin, end;
    bool operator==(const PartSum&) const = default;
};

// Whether these are the two children of one node, in a tree of `parts` parts. The left one has 2^k of them
// and begins at a multiple of 2^(k+1); the right one has as many, or what is left.
constexpr bool are_siblings(const PartSum& left, const PartSum& right, int64_t parts) {
    const int64_t size = left.end - left.begin, end = left.begin + 2 * size;
    const bool is_power_of_two = (size & (size - 1)) == 0;
    return is_power_of_two && left.begin % (2 * size) == 0 && left.end == right.begin &&
           right.end == (end < parts ? end : parts);
}

// Appends a sum to those that are adjacent on its left, and adds up siblings for as long as there are any:
// add() is called for each such addition, of the last sum to the last but one.
template <class Add>
void append(std::vector<PartSum>& sums, const PartSum& sum, int64_t parts, const Add& add) {
    sums.push_back(sum);
    for (std::size_t n = sums.size(); n >= 2 && are_siblings(sums[n - 2], sums[n - 1], parts); --n) {
        sums[n - 2].end = sums[n - 1].end;
        sums.pop_back();
        add();
    }
}

// The parts that process `rank` of `size` computes: consecutive ones. Any two processes have equally many,
// or one more.
constexpr PartSum parts_of(int64_t rank, int64_t size, int64_t parts) {
    return {rank * parts / size, (rank + 1) * parts / size};
}

// The sums that such a process is left with: at most 2 log2(parts).
inline std::vector<PartSum> sums_of(const PartSum& own, int64_t parts) {
    std::vector<PartSum> sums;
    for (int64_t part = own.begin; part < own.end; ++part)
        append(sums, {part, part + 1}, parts, [] {});
    return sums;
}

}  // namespace plaingrad::nn
