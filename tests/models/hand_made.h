// A "model" with probabilities written by hand, for the tests of decoding.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include "models/decoding/decoding.h"
#include "tests/autograd/values.h"

namespace plaingrad::tests {

using Ids = std::vector<int32_t>;

// The index of the source sentence, and the tokens read so far without <sos> -> the probabilities of the next
// token.
using Probabilities = std::function<std::vector<double>(int32_t sentence, const Ids& read)>;

class HandMade final : public models::Stepper {
public:
    HandMade(int32_t batch, Probabilities p, int64_t longest = 1000, models::Specials specials_ = {})
        : Stepper(autograd::Tokens(batch, 1, Ids(static_cast<std::size_t>(batch), specials_.start)),
                  specials_, longest),
          p_(std::move(p)) {
        for (int32_t b = 0; b < batch; ++b)
            rows_.push_back({b, {}});
    }

    Tensor step(const autograd::Tokens& tokens, models::Logits) override {
        autograd::check(tokens.batch() == std::ssize(rows_) && tokens.length() == 1, "a token for each row");
        batches.push_back(static_cast<int>(tokens.batch()));
        std::vector<Real> logits;
        for (std::size_t b = 0; b < rows_.size(); ++b) {
            const int32_t token = tokens.at(static_cast<int64_t>(b), 0);
            if (batches.size() == 1) {
                began_at_start = began_at_start && token == specials.start;
            } else {
                extended_an_ended_one = extended_an_ended_one || specials.is_end(token) ||
                                        models::contains(specials.never, token);
                rows_[b].read.push_back(token);
            }
            for (const double x : p_(rows_[b].sentence, rows_[b].read))
                logits.push_back(static_cast<Real>(std::log(x) + 3));  // logits: any constant may be added
        }
        const auto n = tokens.batch();
        return Tensor::from({n, 1, static_cast<int64_t>(logits.size()) / n}, logits);
    }

    void select(const std::vector<int32_t>& rows) override {
        std::vector<Row> chosen;
        for (const int32_t r : rows)
            chosen.push_back(rows_.at(static_cast<std::size_t>(r)));
        rows_ = chosen;
    }

    void rewind(int64_t length) override {
        for (Row& row : rows_) {
            autograd::check(length <= std::ssize(row.read), "fewer than ", length, " tokens were read");
            row.read.resize(static_cast<std::size_t>(length));
        }
    }

    std::vector<int> batches;  // of each step
    bool extended_an_ended_one = false, began_at_start = true;

private:
    struct Row {
        int32_t sentence;
        Ids read;
    };
    Probabilities p_;
    std::vector<Row> rows_;
};

}  // namespace plaingrad::tests
