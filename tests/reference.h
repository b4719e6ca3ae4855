// The formulas of the library as on paper: for one row or one head, in double, without regard to speed. The
// kernels are compared with these.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

namespace plaingrad::reference {

using Row = std::vector<double>;

inline double total(const Row& x) {
    double sum = 0;
    for (const double value : x)
        sum += value;
    return sum;
}

// eˣ / Σ eˣ; the largest x is subtracted first, which avoids overflow and changes nothing else.
inline Row softmax(Row x) {
    double largest = -HUGE_VAL, sum = 0;
    for (const double value : x)
        largest = std::fmax(largest, value);
    for (double& value : x)
        sum += value = std::exp(value - largest);
    for (double& value : x)
        value /= sum;
    return x;
}

// x - ln Σ eˣ
inline Row log_softmax(Row x) {
    double largest = -HUGE_VAL, sum = 0;
    for (const double value : x)
        largest = std::fmax(largest, value);
    for (const double value : x)
        sum += std::exp(value - largest);
    for (double& value : x)
        value = (value - largest) - std::log(sum);
    return x;
}

// The mean over the rows whose target is not `ignore` of -Σ_i target_i log softmax_i, where the target gets
// 1 - s, and s is spread over all.
inline double cross_entropy(const std::vector<Row>& logits, const std::vector<int32_t>& targets,
                            int32_t ignore = -1, double s = 0) {
    double sum = 0;
    int counted = 0;
    for (std::size_t r = 0; r < logits.size(); ++r) {
        if (targets[r] == ignore)
            continue;
        const Row log_p = log_softmax(logits[r]);
        sum -= (1 - s) * log_p[static_cast<std::size_t>(targets[r])];
        sum -= s == 0 ? 0 : s * total(log_p) / static_cast<double>(log_p.size());
        ++counted;
    }
    return sum / counted;
}

// (x - mean) / sqrt(variance + eps) * gain + bias, the variance divided by n
inline Row layer_norm(Row x, const Row& gain, const Row& bias, double eps = 1e-5) {
    const auto n = static_cast<double>(x.size());
    const double mean = total(x) / n;
    double variance = 0;
    for (const double value : x)
        variance += (value - mean) * (value - mean) / n;
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = (x[i] - mean) / std::sqrt(variance + eps) * gain[i] + bias[i];
    return x;
}

// x / sqrt(mean square + eps) * gain
inline Row rms_norm(Row x, const Row& gain, double eps = 1e-5) {
    double square = 0;
    for (const double value : x)
        square += value * value / static_cast<double>(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = x[i] / std::sqrt(square + eps) * gain[i];
    return x;
}

// a (m, k) @ b (k, n)
inline Row matmul(const Row& a, const Row& b, std::size_t m, std::size_t k, std::size_t n) {
    Row c(m * n);
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t l = 0; l < k; ++l)
                c[i * n + j] += a[i * k + l] * b[l * n + j];
    return c;
}

inline Row transpose(const Row& x, std::size_t rows, std::size_t columns) {
    Row y;
    for (std::size_t j = 0; j < columns; ++j)
        for (std::size_t i = 0; i < rows; ++i)
            y.push_back(x[i * columns + j]);
    return y;
}

using Allowed = std::function<bool(std::size_t t, std::size_t s)>;

// The weights of one head, (T, S): q (T, D), k (S, D). A query that may see no key gives zeros.
inline Row attention_weights(const Row& q, const Row& k, std::size_t T, std::size_t S, std::size_t D,
                             const Allowed& allowed) {
    Row weights = matmul(q, transpose(k, S, D), T, D, S);
    for (std::size_t t = 0; t < T; ++t) {
        Row row;
        for (std::size_t s = 0; s < S; ++s)
            if (allowed(t, s))
                row.push_back(weights[t * S + s] / std::sqrt(static_cast<double>(D)));
        row = softmax(row);
        for (std::size_t s = 0, next = 0; s < S; ++s)
            weights[t * S + s] = allowed(t, s) ? row[next++] : 0;
    }
    return weights;
}

// One head: q (T, D), k and v (S, D).
inline Row attention(const Row& q, const Row& k, const Row& v, std::size_t T, std::size_t S, std::size_t D,
                     const Allowed& allowed) {
    return matmul(attention_weights(q, k, T, S, D, allowed), v, T, S, D);
}

}  // namespace plaingrad::reference
