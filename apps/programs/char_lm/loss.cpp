#include "apps/programs/char_lm/loss.h"

#include <cmath>
#include <iostream>
#include <numbers>
#include <unordered_map>

#include "apps/kit/program.h"

namespace plaingrad::char_lm {

void print(const std::string& what, const Measured& loss, const Tokenizer& tokenizer) {
    std::cout << kit::left(what, 17) << ' ' << kit::number(loss.nats, 4)
              << " nats = " << kit::number(loss.nats / std::numbers::ln2, 4) << " bits per "
              << (tokenizer.is_byte_level() ? "byte" : "character") << ", over "
              << kit::grouped(loss.predictions) << '\n';
}

Measured pair_table_loss(const Corpus& corpus) {
    const int64_t V = corpus.tokenizer.size();
    std::unordered_map<int64_t, int64_t> pairs, firsts;
    for (const Sequence& item : corpus.training)
        for (std::size_t i = 1; i < item.size(); ++i) {
            ++pairs[item[i - 1] * V + item[i]];
            ++firsts[item[i - 1]];
        }
    const int64_t outcomes = V - models::kFirstFreeId + (corpus.lines ? 1 : 0);
    Measured all;
    for (const Sequence& item : corpus.held_out)
        for (std::size_t i = 1; i < item.size(); ++i, ++all.predictions)
            all.nats -= std::log(static_cast<double>(pairs[item[i - 1] * V + item[i]] + 1) /
                                 static_cast<double>(firsts[item[i - 1]] + outcomes));
    all.nats /= static_cast<double>(all.predictions);
    return all;
}

}  // namespace plaingrad::char_lm
