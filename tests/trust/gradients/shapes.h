// Shapes drawn at random: sizes 0 and 1, sizes beside those of vectors, and what broadcasts to them.
#pragma once

#include "tests/trust/gradients/case.h"

namespace plaingrad::trust {

inline int64_t size(Dice& draw) { return draw.one_of<int64_t>({1, 1, 2, 3, 4, 5, 7, 17}); }
inline int64_t size_or_0(Dice& draw) { return draw.one_in(25) ? 0 : size(draw); }

// Of rank least ... most, and not more than some hundred numbers.
inline Shape shape(Dice& draw, int64_t least, int64_t most, bool with_0 = true) {
    std::vector<int64_t> sizes;
    for (int64_t rank = least + draw.below(most - least + 1), numel = 1; rank > 0; --rank) {
        sizes.push_back(numel > 100 ? 1 + draw.below(2) : with_0 ? size_or_0(draw) : size(draw));
        numel *= sizes.back();
    }
    return shape_of(sizes);
}

// What broadcasts to this shape: some sizes are 1, and leading dims may be left out.
inline Shape narrowed(Dice& draw, const Shape& s) {
    std::vector<int64_t> sizes;
    for (int dim = static_cast<int>(draw.one_in(3) ? draw.below(s.rank() + 1) : 0); dim < s.rank(); ++dim)
        sizes.push_back(draw.one_in(3) ? 1 : s[dim]);
    return shape_of(sizes);
}

inline int any_dim(Dice& draw, const Shape& s) {
    return static_cast<int>(draw.below(s.rank())) - (draw.one_in(2) ? static_cast<int>(s.rank()) : 0);
}

// The kinds of draw_fused.cpp.
Case fused_linear(Dice& draw);
Case norm(Dice& draw);
Case softmax_or_loss(Dice& draw);
Case look_up(Dice& draw);
Case attend(Dice& draw);

}  // namespace plaingrad::trust
