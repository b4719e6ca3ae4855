#include "tests/bench/scaling_parts.h"

#include <algorithm>
#include <cmath>

#include "autograd/random.h"
#include "models/parts.h"

namespace plaingrad::bench {

std::vector<models::text::PairLength> random_lengths(int64_t count) {
    const autograd::Rng rng(1);
    constexpr double kMean = 2.5, kDeviation = 0.35, kOfSides = 0.15;  // of the logarithm: some 12 words
    std::vector<models::text::PairLength> lengths;
    for (uint64_t i = 0; std::ssize(lengths) < count; ++i) {
        const double both = kMean + kDeviation * rng.normal(3 * i);
        const auto side = [&](uint64_t k) {
            return 1 + std::llround(std::exp(both + kOfSides * rng.normal(3 * i + k)));
        };
        lengths.push_back({side(1), side(2)});
    }
    return lengths;
}

Imbalance measure_imbalance(const std::vector<models::text::PairLength>& lengths, int64_t batch_tokens,
                            int64_t parts) {
    const auto batches = models::text::make_batches(lengths, {.batch_tokens = batch_tokens});
    Imbalance sum;
    for (const std::vector<int64_t>& batch : batches) {
        std::vector<int64_t> both;
        for (const int64_t i : batch) {
            const auto& pair = lengths[static_cast<std::size_t>(i)];
            both.push_back(pair.source + pair.target);
        }
        double most = 0, most_padded = 0, all = 0, all_padded = 0;
        for (int64_t part = 0; part < parts; ++part) {
            double tokens = 0, rows = 0, source = 0, target = 0;
            for (const int64_t row : models::rows_of_part(both, part, parts)) {
                const auto& pair = lengths[static_cast<std::size_t>(batch[static_cast<std::size_t>(row)])];
                ++rows;
                tokens += static_cast<double>(pair.source + pair.target);
                source = std::max(source, static_cast<double>(pair.source));
                target = std::max(target, static_cast<double>(pair.target));
            }
            const double padded = rows * (source + target);
            most = std::max(most, tokens);
            most_padded = std::max(most_padded, padded);
            all += tokens;
            all_padded += padded;
        }
        sum.tokens += most / all * static_cast<double>(parts) - 1;
        sum.padded += most_padded / all_padded * static_cast<double>(parts) - 1;
    }
    const auto n = static_cast<double>(batches.size());
    return {sum.tokens / n, sum.padded / n};
}

}  // namespace plaingrad::bench
