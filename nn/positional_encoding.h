// The position of a vector in its sentence. "Attention Is All You Need", §3.5.
//
// Attention treats its keys as a set: without positions, it could not tell the order of the words. Sinusoids
// of many wavelengths encode each position, and moving k positions is the same rotation everywhere, which a
// matrix can learn. A learned table assumes nothing, but learns nothing about positions that are beyond the
// end of every training text.
#pragma once

#include "nn/init.h"

namespace plaingrad::nn {

enum class Positions {
    sinusoidal,  // PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(the same); not trained
    learned,     // a table
    rotary,      // nothing is added: attention turns queries and keys (nn/rotary.h)
    none,        // nothing at all: a causal mask is what tells the order
    count
};
inline constexpr const char* kPositionsNames[] = {"sinusoidal", "learned", "rotary", "none"};
static_assert(std::size(kPositionsNames) == static_cast<std::size_t>(Positions::count));

struct PositionalEncoding {
    PositionalEncoding(Positions kind, int64_t max_length, int64_t d, const Rng& rng,
                       Init init = Init::xavier);
    // The encodings of positions first .. first + length - 1 -> (length, d), to be added to the vectors
    // there; empty for a kind that adds nothing. Throws Error for positions beyond max_length.
    Tensor at(int64_t length, int64_t first = 0) const;
    // x (B, T, d) + the encodings of positions first .. first + T - 1 -> (B, T, d). Throws Error for another
    // d.
    Tensor operator()(const Tensor& x, int64_t first = 0) const {
        const Tensor places = at(x.size(1), first);
        if (!places.defined())
            return x;
        check(x.rank() == 3 && x.size(2) == places.size(1), "[PositionalEncoding] x must be (B, T, ",
              places.size(1), "): got ", x.shape());
        return x + places;
    }
    void visit(Visitor& v) const { v("table", table); }

    // (max_length, d), or empty
    const Tensor& encodings() const { return table->defined() ? table.tensor() : sinusoids; }

    int64_t max_length;
    Tensor sinusoids;  // (max_length, d), or empty
    Parameter table;   // (max_length, d), or absent
};

}  // namespace plaingrad::nn
