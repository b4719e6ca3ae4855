// What every search does with a stepper: some rows of the batch go on, each with one more token; the others
// leave it.
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
    // Reads the tokens that were kept, and forgets who was kept -> logits (rows, V) of what follows. Throws
    // Error for ends outside of the vocabulary.
    Tensor step();
    // The same, but each row reads the last `count` tokens of its sentence's text, as if nothing had been
    // read before.
    Tensor step_anew(const std::vector<std::vector<int32_t>>& texts, int64_t count);
    // Row `row` of the last logits goes on with this token, which gives it a new row: the result. A row may
    // go on in several ways, or in none.
    int32_t keep(int32_t row, int32_t token);
    // Which sentence of the batch a row of the last logits belongs to.
    std::size_t sentence(int32_t row) const { return sentences_[static_cast<std::size_t>(row)]; }

private:
    void select();
    Tensor read(const Tokens& tokens);

    Stepper& stepper_;
    bool prompts_are_next_ = true;        // nothing has been read
    std::vector<std::size_t> sentences_;  // of the rows
    std::vector<int32_t> kept_, tokens_;  // who goes on, and with what
};

// How many tokens a search can write: the last one need not be read, so it takes no position.
int64_t room_for(const Stepper& stepper, int64_t max_tokens);

}  // namespace plaingrad::models
