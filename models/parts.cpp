#include "models/parts.h"

#include <algorithm>
#include <numeric>

namespace plaingrad::models {

using autograd::Tokens;

namespace {

std::vector<int64_t> lengths_of(const Tokens& texts) {
    const std::vector<int32_t> lengths = texts.lengths();
    return {lengths.begin(), lengths.end()};
}

// These rows, and of them the first `length` columns.
Tokens chosen(const Tokens& from, const std::vector<int64_t>& rows, int64_t length) {
    std::vector<int32_t> ids;
    for (const int64_t row : rows) {
        const auto begin = from.ids().begin() + row * from.length();
        ids.insert(ids.end(), begin, begin + length);
    }
    return Tokens(std::ssize(rows), length, std::move(ids), from.pad());
}

int64_t longest(const std::vector<int64_t>& lengths, const std::vector<int64_t>& rows) {
    int64_t most = 0;
    for (const int64_t row : rows)
        most = std::max(most, lengths[static_cast<std::size_t>(row)]);
    return most;
}

}  // namespace

// In order of length, all tokens stand on a line, which is cut into equal parts; a row belongs to the part in
// which its middle is.
std::vector<int64_t> rows_of_part(const std::vector<int64_t>& lengths, int64_t part, int64_t parts) {
    std::vector<int64_t> order(lengths.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    const auto length = [&](int64_t row) { return lengths[static_cast<std::size_t>(row)]; };
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return length(a) < length(b); });
    const int64_t all = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    std::vector<int64_t> rows;
    for (int64_t twice = 0; const int64_t row : order) {  // twice the place, as a middle is a half
        if ((twice + length(row)) * parts / std::max<int64_t>(1, 2 * all) == part)
            rows.push_back(row);
        twice += 2 * length(row);
    }
    std::sort(rows.begin(), rows.end());
    return rows;
}

Tokens part_of(const Tokens& tokens, const std::vector<int64_t>& lengths, const nn::StepPart& at) {
    const std::vector<int64_t> rows = rows_of_part(lengths, at.part, at.parts);
    return chosen(tokens, rows, std::min(tokens.length(), longest(lengths, rows)));
}

Tokens part_of(const Tokens& texts, const nn::StepPart& at) { return part_of(texts, lengths_of(texts), at); }

Batch part_of(const Batch& batch, const nn::StepPart& at) {
    const std::vector<int64_t> src = lengths_of(batch.src), tgt = lengths_of(batch.tgt);
    std::vector<int64_t> both(src.size());
    std::transform(src.begin(), src.end(), tgt.begin(), both.begin(), std::plus<>());
    const std::vector<int64_t> rows = rows_of_part(both, at.part, at.parts);
    return {chosen(batch.src, rows, longest(src, rows)), chosen(batch.tgt, rows, longest(tgt, rows))};
}

text::MaskedTokens part_of(const text::MaskedTokens& batch, const nn::StepPart& at) {
    const std::vector<int64_t> lengths = lengths_of(batch.ids);
    return {part_of(batch.ids, lengths, at), part_of(batch.targets, lengths, at)};
}

}  // namespace plaingrad::models
