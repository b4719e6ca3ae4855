// Where in the sentence a vector stands. "Attention Is All You Need", §3.5.
//
// Attention takes its keys as a set: without this, a sentence and any other order of its words would be the
// same to it. Sinusoids of many wavelengths name each position, and k positions further is the same rotation
// everywhere, which a matrix can learn; a learned table assumes nothing, but knows nothing of positions that
// no training text had.
#pragma once

#include "nn/init.h"

namespace plaingrad::nn {

enum class Positions {
    sinusoidal,  // PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(the same); not trained
    learned,     // a table
    count
};
inline constexpr const char* kPositionsNames[] = {"sinusoidal", "learned"};
static_assert(std::size(kPositionsNames) == static_cast<std::size_t>(Positions::count));

struct PositionalEncoding {
    PositionalEncoding(Positions kind, int64_t max_length, int64_t d, const Rng& rng,
                       Init init = Init::xavier);
    // The encodings of positions first .. first + length - 1 -> (length, d), to be added to what stands
    // there. Throws Error if that goes beyond max_length.
    Tensor at(int64_t length, int64_t first = 0) const;
    // x (B, T, d) + the encodings of positions first .. first + T - 1 -> (B, T, d)
    Tensor operator()(const Tensor& x, int64_t first = 0) const { return x + at(x.size(1), first); }
    void visit(Visitor& v) const { v("table", table); }

    int64_t max_length() const { return encodings().size(0); }
    // (max_length, d)
    const Tensor& encodings() const { return table->defined() ? table.tensor() : sinusoids; }

    Tensor sinusoids;  // (max_length, d), or empty
    Parameter table;   // (max_length, d), or absent
};

}  // namespace plaingrad::nn
