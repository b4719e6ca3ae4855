// Which word of the source a word of a translation comes from, as the attention to the source tells.
#pragma once

#include <utility>

#include "apps/programs/translate/text.h"
#include "models/pairs.h"

namespace plaingrad::translate {

// (word of the source, word of the translation): what stands between spaces, counted from 0.
using Alignment = std::vector<std::pair<int64_t, int64_t>>;

inline std::string to_string(const Alignment& alignment) {
    std::string text;
    for (const auto& [i, j] : alignment)
        text.append(text.empty() ? "" : " ").append(join(i, "-", j));
    return text;
}

// The attention to the source, of a batch of sentences and translations of them, from one more pass over
// both.
//
// The mean over the heads of the last layer but one, where a token is predicted (Garg et al. 2019, "Jointly
// Learning to Align and Translate with Transformer Models", §4.1). Beside the words of which a statistical
// aligner is sure, on 300 sentences of Multi30k, 83 % agree; of the last layer as many; of the first one 4 %,
// but 84 % one position later, where the token has been read (Chen et al. 2020, SHIFT-ATT): where each is
// best is a matter of depth.
class CrossAttention {
public:
    // sources end in <eos>; translations have neither <sos> nor <eos>.
    CrossAttention(const models::Transformer& model, const std::vector<Sequence>& sources,
                   const std::vector<Sequence>& translations) {
        const autograd::NoGrad no_grad;
        std::vector<Sequence> read = translations;
        for (Sequence& ids : read) {  // the last token is predicted, but not read
            ids.insert(ids.begin(), models::kSos);
            ids.resize(std::max<std::size_t>(1, ids.size() - 1));
        }
        models::AttentionWeights weights;
        model(autograd::Tokens::padded(sources, models::kPad), autograd::Tokens::padded(read, models::kPad),
              nn::Mode::eval(), &weights);
        const std::size_t layers = weights.decoder_cross.size();
        weights_ = weights.decoder_cross[layers < 2 ? 0 : layers - 2];  // (B, H, T, S)
    }

    // The source position, of those below `sources`, that token t of translation b attends to most. With
    // `among` one of those for which it says true, if there is one.
    int64_t most(int64_t b, int64_t t, int64_t sources, const std::vector<bool>& among = {}) const {
        const bool some = std::find(among.begin(), among.end(), true) != among.end();
        int64_t best = 0;
        double most = -1;
        for (int64_t s = 0; s < sources; ++s) {
            const double weight = mean_over_heads(b, t, s);  // <sos> is first: row t predicts token t
            if (weight > most && (!some || among[static_cast<std::size_t>(s)]))
                best = s, most = weight;
        }
        return best;
    }

private:
    double mean_over_heads(int64_t b, int64_t t, int64_t s) const {
        const int64_t heads = weights_.size(1), rows = weights_.size(2), columns = weights_.size(3);
        double sum = 0;
        for (int64_t h = 0; h < heads; ++h)
            sum += static_cast<double>(weights_.data()[((b * heads + h) * rows + t) * columns + s]);
        return sum / static_cast<double>(heads);
    }

    autograd::Tensor weights_;
};

// Every word of the translation (its pieces' words are `target`) with the words of the source (`source`) that
// its pieces attend to most: each word of the translation has at least one. Sorted by the word of the
// translation.
inline Alignment align(const CrossAttention& attention, int64_t b, const std::vector<int64_t>& source,
                       const std::vector<int64_t>& target) {
    Alignment alignment;
    for (std::size_t t = 0; t < target.size() && !source.empty(); ++t) {
        const int64_t s = attention.most(b, static_cast<int64_t>(t), static_cast<int64_t>(source.size()));
        alignment.emplace_back(source[static_cast<std::size_t>(s)], target[t]);
    }
    std::sort(alignment.begin(), alignment.end(), [](const auto& a, const auto& c) {
        return std::pair(a.second, a.first) < std::pair(c.second, c.first);
    });
    alignment.erase(std::unique(alignment.begin(), alignment.end()), alignment.end());
    return alignment;
}

}  // namespace plaingrad::translate
