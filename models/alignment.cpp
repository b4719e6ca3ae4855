#include "models/alignment.h"

#include <algorithm>

namespace plaingrad::models {

std::string to_string(const Alignment& alignment) {
    std::string text;
    for (const auto& [i, j] : alignment)
        text.append(text.empty() ? "" : " ").append(autograd::join(i, "-", j));
    return text;
}

CrossAttention::CrossAttention(const Transformer& model, const std::vector<std::vector<int32_t>>& sources,
                               const std::vector<std::vector<int32_t>>& translations) {
    const autograd::NoGrad no_grad;
    const Specials& specials = model.config.specials;
    std::vector<std::vector<int32_t>> read = translations;
    for (std::vector<int32_t>& ids : read) {  // the last token is predicted, but not read
        ids.insert(ids.begin(), specials.start);
        ids.resize(std::max<std::size_t>(1, ids.size() - 1));
    }
    AttentionWeights weights;
    model(Tokens::padded(sources, specials.pad), Tokens::padded(read, specials.pad), Mode::eval(), &weights);
    const std::size_t layers = weights.decoder_cross.size();
    weights_ = weights.decoder_cross[layers < 2 ? 0 : layers - 2];  // (B, H, T, S)
}

int64_t CrossAttention::most(int64_t b, int64_t t, int64_t length, const std::vector<bool>& among) const {
    const int64_t heads = weights_.size(1), rows = weights_.size(2), columns = weights_.size(3);
    const auto sum_of_heads = [&](int64_t s) {
        double sum = 0;
        for (int64_t h = 0; h < heads; ++h)
            sum += static_cast<double>(weights_.data()[((b * heads + h) * rows + t) * columns + s]);
        return sum;
    };
    const bool some = std::find(among.begin(), among.end(), true) != among.end();
    int64_t best = 0;
    double most = -1;
    for (int64_t s = 0; s < length; ++s)
        if (const double sum = sum_of_heads(s); sum > most && (!some || among[static_cast<std::size_t>(s)]))
            best = s, most = sum;
    return best;
}

Alignment align(const CrossAttention& attention, int64_t b, const std::vector<int64_t>& source,
                const std::vector<int64_t>& target) {
    Alignment alignment;
    for (std::size_t t = 0; t < target.size() && !source.empty(); ++t) {
        const int64_t s = attention.most(b, static_cast<int64_t>(t), std::ssize(source));
        alignment.emplace_back(source[static_cast<std::size_t>(s)], target[t]);
    }
    std::sort(alignment.begin(), alignment.end(), [](const auto& a, const auto& c) {
        return std::pair(a.second, a.first) < std::pair(c.second, c.first);
    });
    alignment.erase(std::unique(alignment.begin(), alignment.end()), alignment.end());
    return alignment;
}

}  // namespace plaingrad::models
