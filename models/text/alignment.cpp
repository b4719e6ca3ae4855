#include "models/text/alignment.h"

#include <algorithm>

#include "autograd/base/check.h"

namespace plaingrad::models::text {

std::string to_string(const Alignment& alignment) {
    std::string text;
    for (const auto& [i, j] : alignment)
        text.append(text.empty() ? "" : " ").append(autograd::join(i, "-", j));
    return text;
}

int64_t most_attended(const autograd::Tensor& weights, int64_t b, int64_t t, int64_t length,
                      const std::vector<bool>& among) {
    autograd::check(weights.rank() == 4 && b >= 0 && b < weights.size(0) && t >= 0 && t < weights.size(2) &&
                        length <= weights.size(3) && (among.empty() || std::ssize(among) >= length),
                    "[alignment] weights ", weights.shape(), " must be (B, H, T, S), with a token ", t,
                    " of sentence ", b, " and ", length,
                    " positions of its source; `among` is empty, or has a value for each");
    const int64_t heads = weights.size(1), rows = weights.size(2), columns = weights.size(3);
    const auto sum_of_heads = [&](int64_t s) {
        double sum = 0;
        for (int64_t h = 0; h < heads; ++h)
            sum += static_cast<double>(weights.data()[((b * heads + h) * rows + t) * columns + s]);
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

Alignment align(const autograd::Tensor& weights, int64_t b, const std::vector<int64_t>& source,
                const std::vector<int64_t>& target) {
    Alignment alignment;
    for (std::size_t t = 0; t < target.size() && !source.empty(); ++t) {
        const int64_t s = most_attended(weights, b, static_cast<int64_t>(t), std::ssize(source));
        alignment.emplace_back(source[static_cast<std::size_t>(s)], target[t]);
    }
    std::sort(alignment.begin(), alignment.end(), [](const auto& a, const auto& c) {
        return std::pair(a.second, a.first) < std::pair(c.second, c.first);
    });
    alignment.erase(std::unique(alignment.begin(), alignment.end()), alignment.end());
    return alignment;
}

}  // namespace plaingrad::models::text
