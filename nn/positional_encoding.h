// The position of a vector in its sentence. "Attention Is All You Need", §3.5.
//
// Attention treats its keys as a set: without positions, it could not tell the order of the words. Sinusoids
// of many wavelengths encode each position, and moving k positions is the same rotation everywhere, which a
// matrix can learn. A learned table assumes nothing, but learns nothing about positions that are beyond the
// end of every training text.
#pragma once

#include "nn/init.h"
#include "nn/module.h"

namespace plaingrad::nn {

enum class Positions {
    sinusoidal,  // PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(the same); not trained
    learned,     // a table
    rotary,      // nothing is added: attention turns queries and keys (Rotary, below)
    none,        // nothing at all: a causal mask is what tells the order
    count
};
inline constexpr const char* kPositionsNames[] = {"sinusoidal", "learned", "rotary", "none"};

struct PositionalEncoding {
    PositionalEncoding(Positions kind, int64_t max_length, int64_t d, const Rng& rng,
                       Init init = Init::xavier);
    // x (B, T, d) + the encodings of positions first .. first + T - 1 -> (B, T, d). Throws Error for another
    // d, and for positions beyond max_length. A probe sees the encodings, (T, d).
    Tensor operator()(const Tensor& x, const Mode& mode, int64_t first = 0) const;
    void visit(Visitor& v) const { v("table", table); }

    // (max_length, d), or empty
    const Tensor& encodings() const { return table->defined() ? table.tensor() : sinusoids; }

    int64_t max_length;
    Tensor sinusoids;  // (max_length, d), or empty
    Parameter table;   // (max_length, d), or absent
};

// Rotary positions. RoFormer, Su et al. 2021, §3.4.
//
// Nothing is added to the vectors. Instead, each pair of numbers of a query and of a key is turned by an
// angle that grows with its position. The product of a query and a key then depends on the difference of
// their angles, and so on how far apart they are, not on where they are. The pairs turn at different
// speeds, the first ones fastest: they tell near positions apart, the slow ones far positions.

// Pair i of a head are its numbers i and i + width/2. At position t it is turned by t times its frequency, in
// radians. This is what a model that was trained on short texts does to the frequencies to read longer ones.
enum class RotaryScaling {
    none,
    linear,  // divides all by the factor: positions are pressed together (Chen et al. 2023)
    llama3,  // divides those that turn less than low_frequency_factor times within the original length: in
             // longer texts they would reach angles that training has not seen; leaves those that turn more
             // than high_frequency_factor times, which tell neighbours apart; mixes the others (Llama 3.1)
    count
};
inline constexpr const char* kRotaryScalingNames[] = {"none", "linear", "llama3"};

struct RotaryOptions {
    Real base = 10000;  // the frequency of pair i is base^(-2i/width), in radians a position
    int64_t width = 0;  // how many numbers of a head are turned, the first ones; even; 0: all
    RotaryScaling scaling = RotaryScaling::none;
    Real factor = 1;
    Real low_frequency_factor = 1, high_frequency_factor = 4;  // of llama3, as is original_length
    int64_t original_length = 8192;  // of the texts that the model was first trained on, in tokens at most
};

// Throws Error, naming the field, for options that do not fit heads of this size.
void check_options(const RotaryOptions& options, int64_t head_dim);

// The table of all turns.
struct Rotary {
    // Throws Error for options that check_options refuses.
    Rotary(int64_t max_length, int64_t head_dim, const RotaryOptions& options);
    // x (B, T, N), whose first n_heads * head_dim columns are heads of queries or keys, at the positions from
    // `first` on -> the same shape. Throws Error for positions beyond max_length.
    Tensor operator()(Tensor x, int64_t n_heads, int64_t first) const;

    int64_t head_dim;
    Tensor turns;  // (max_length, width): the cosines, then the sines
};

}  // namespace plaingrad::nn
