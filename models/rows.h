// What every search does with a stepper: in each step some rows of the batch are kept, each with one more
// token, and the others are dropped.
#pragma once

#include "models/stepper.h"

namespace plaingrad::models {

//     Rows rows(stepper);
//     while (!rows.empty()) {
//         const Tensor logits = rows.step();  // (rows, V)
//         for (int32_t r = 0; r < logits.size(0); ++r)
//             if (the sentence in row r has not ended)
//                 rows.keep(r, its next token);
//     }
class Rows {
public:
    // All sentences, with their prompts. Throws Error for empty prompts.
    explicit Rows(Stepper& stepper);

    bool empty() const { return kept_.empty(); }
    // Reads the tokens of the rows that were kept -> logits (rows, V) of what follows. Then no row is kept.
    // The first step reads the prompts; what the stepper had read beyond them is forgotten.
    // Throws Error for ends outside of the vocabulary.
    Tensor step();
    // The same, but each row reads the last `count` tokens of its sentence's text, as if nothing had been
    // read before. Throws Error unless there is a text for each sentence, of `count` tokens or more.
    Tensor step_anew(const std::vector<std::vector<int32_t>>& texts, int64_t count);
    // Keeps row `row` of the last logits, continued with this token. Returns the row that it will be. A row
    // may be kept several times with different tokens, or not at all. Throws Error for another row.
    int32_t keep(int32_t row, int32_t token);
    // Which sentence of the batch a row of the last logits belongs to. Throws Error for another row.
    std::size_t sentence(int32_t row) const;

private:
    void select();
    Tensor read(const Tokens& tokens);

    Stepper& stepper_;
    bool prompts_are_next_ = true;        // nothing has been read
    std::vector<std::size_t> sentences_;  // of the rows
    std::vector<int32_t> kept_, tokens_;  // the rows that were kept, and their tokens
};

// The `count` >= 1 ids of the largest of a row's V scores (logits, or log probabilities), or all if there are
// fewer: best first, ties going to the smaller id. Those of `never` and those of -inf are left out. Throws
// Error for a score that is not a number.
std::vector<int32_t> best_ids(const Real* scores, int64_t vocabulary, int64_t count,
                              const std::vector<int32_t>& never);

// How many tokens a search can write: the last one need not be read, so it takes no position.
int64_t room_for(const Stepper& stepper, int64_t max_tokens);

}  // namespace plaingrad::models
