// A "model" for the tests of decoding whose probabilities are written by hand.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include "models/decoding.h"
#include "tests/autograd/values.h"

namespace plaingrad::tests {

// Which source sentence, and what has been read, <sos> left out -> probabilities of the next token.
using Probabilities = std::function<std::vector<double>(int32_t sentence, const std::vector<int32_t>& read)>;

class HandMade final : public models::Stepper {
public:
    HandMade(int32_t batch, Probabilities p, int64_t longest = 1000) : p_(std::move(p)), longest_(longest) {
        for (int32_t b = 0; b < batch; ++b)
            rows_.push_back({b, {}});
    }

    Tensor step(const std::vector<int32_t>& tokens) override {
        autograd::check(tokens.size() == rows_.size(), "a token for each row");
        batches.push_back(static_cast<int>(tokens.size()));
        std::vector<Real> logits;
        for (std::size_t b = 0; b < tokens.size(); ++b) {
            if (tokens[b] == models::kEos || tokens[b] == models::kPad)
                extended_an_ended_one = true;
            if (batches.size() == 1)
                started_with_sos = started_with_sos && tokens[b] == models::kSos;
            else
                rows_[b].read.push_back(tokens[b]);
            for (const double x : p_(rows_[b].sentence, rows_[b].read))
                logits.push_back(static_cast<Real>(std::log(x) + 3));  // logits: any constant may be added
        }
        const auto n = static_cast<int64_t>(tokens.size());
        return Tensor::from({n, static_cast<int64_t>(logits.size()) / n}, logits);
    }

    void select(const std::vector<int32_t>& rows) override {
        std::vector<Row> chosen;
        for (const int32_t r : rows)
            chosen.push_back(rows_.at(static_cast<std::size_t>(r)));
        rows_ = chosen;
    }

    int64_t max_length() const override { return longest_; }

    std::vector<int> batches;  // of each step
    bool extended_an_ended_one = false, started_with_sos = true;

private:
    struct Row {
        int32_t sentence;
        std::vector<int32_t> read;
    };
    Probabilities p_;
    int64_t longest_;
    std::vector<Row> rows_;
};

}  // namespace plaingrad::tests
