#include "apps/programs/char_lm/loss.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numbers>
#include <unordered_map>

#include "apps/kit/program.h"

namespace plaingrad::char_lm {

using models::LanguageModel;

autograd::Tensor mean_loss(const LanguageModel& model, const Tokens& rows, const nn::Mode& mode) {
    return model.loss(rows.slice(0, rows.length() - 1), rows.slice(1, rows.length()), mode);
}

int64_t predictions(const Tokens& rows) {
    int64_t count = 0;
    for (const int32_t length : rows.lengths())
        count += length - 1;
    return count;
}

Measured measure(const LanguageModel& model, const std::vector<Sequence>& pieces) {
    const autograd::NoGrad no_grad;
    constexpr int64_t kAtOnce = 2048;  // characters, whose activations fit into the cache
    const std::size_t rows =
        static_cast<std::size_t>(std::max<int64_t>(1, kAtOnce / model.config.max_length));
    Measured all;
    for (std::size_t i = 0; i < pieces.size(); i += rows) {
        const std::size_t end = std::min(i + rows, pieces.size());
        const Tokens batch = Tokens::padded({pieces.begin() + static_cast<std::ptrdiff_t>(i),
                                             pieces.begin() + static_cast<std::ptrdiff_t>(end)},
                                            models::kPad);
        const int64_t count = predictions(batch);
        const double loss = static_cast<double>(mean_loss(model, batch, nn::Mode::eval()).item());
        all.nats += loss * static_cast<double>(count);
        all.predictions += count;
    }
    all.nats /= static_cast<double>(all.predictions);
    return all;
}

void print(const std::string& what, const Measured& loss, const Characters& characters) {
    std::cout << kit::left(what, 17) << ' ' << kit::number(loss.nats, 4)
              << " nats = " << kit::number(loss.nats / std::numbers::ln2, 4) << " bits per "
              << (characters.are_bytes() ? "byte" : "character") << ", over "
              << kit::grouped(loss.predictions) << '\n';
}

Measured pair_table_loss(const Corpus& corpus) {
    const int64_t V = corpus.characters.size();
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
