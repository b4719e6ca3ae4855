// The whole algorithm on one page: automatic differentiation, a Transformer, Adam, training, and decoding,
// with nothing but the standard library. The rest of this repository makes it general, and fast.
//
//     g++ -std=c++20 -O2 apps/one_page.cpp -o one_page && ./one_page
//
// The model is a small encoder-decoder of "Attention Is All You Need" (Vaswani et al. 2017), cited as §. In a
// few seconds it learns to reverse sequences of digits. Left out: stacks of layers (§3.1), gain and bias of
// layer norm, dropout and label smoothing (§5.4), beam search (§6.1), and padding, because all sequences are
// equally long. The learning rate falls linearly to 0 after its warm-up; the paper's falls as 1/√step (§5.3).
//
// Shapes are (rows, columns): S source positions, T target positions (S in the encoder), V symbols.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

using real = float;
using Sequence = std::vector<int>;

// ------------------------------------------------------------------------------ 1. Automatic differentiation

// A matrix, and its gradient: the derivative of the loss with respect to each entry. Copies share both.
struct Tensor {
    int rows, cols;
    std::shared_ptr<real[]> values{new real[rows * cols]()}, grads{new real[rows * cols]()};  // zeros
    real& operator()(int i, int j) const { return values[i * cols + j]; }
    real& grad(int i, int j) const { return grads[i * cols + j]; }
};

// Each operation appends a function. It computes the gradients of its inputs from the gradient of its output,
// and adds them there: `+=`, because a matrix may feed several operations. Below, dx is the gradient of x.
std::vector<std::function<void()>> tape;

// Runs them last to first: whatever used an output was appended after it, and has already added its share.
void backward(const Tensor& loss) {
    loss.grad(0, 0) = 1;
    for (; !tape.empty(); tape.pop_back())
        tape.back()();
}

// ----------------------------------------------------------------------- 2. Operations, forward and backward

// Calls f(i, j) for each entry of a matrix.
void each(const Tensor& x, const auto& f) {
    for (int i = 0; i < x.rows; ++i)
        for (int j = 0; j < x.cols; ++j)
            f(i, j);
}

real sum(int n, const auto& f) {
    real total = 0;
    for (int k = 0; k < n; ++k)
        total += f(k);
    return total;
}

// out(i, j) = value(i, j). Backward calls pass_on(i, j, d) with the gradient d of out(i, j). For each input x
// it does  gradient of x += d * (derivative of out(i, j) by x):  the chain rule.
Tensor operation(int rows, int cols, const auto& value, const auto& pass_on) {
    const Tensor out{rows, cols};
    each(out, [&](int i, int j) { out(i, j) = value(i, j); });
    tape.push_back([=] { each(out, [&](int i, int j) { pass_on(i, j, out.grad(i, j)); }); });
    return out;
}

// out = a b        da = dout bᵀ, db = aᵀ dout
Tensor matmul(const Tensor& a, const Tensor& b) {
    const auto value = [=](int i, int j) { return sum(a.cols, [&](int k) { return a(i, k) * b(k, j); }); };
    const auto pass_on = [=](int i, int j, real d) {
        for (int k = 0; k < a.cols; ++k) {
            a.grad(i, k) += d * b(k, j);
            b.grad(k, j) += d * a(i, k);
        }
    };
    return operation(a.rows, b.cols, value, pass_on);  // (n, k) (k, m) -> (n, m)
}

// out = xᵀ
Tensor transpose(const Tensor& x) {
    const auto value = [=](int i, int j) { return x(j, i); };
    const auto pass_on = [=](int i, int j, real d) { x.grad(j, i) += d; };
    return operation(x.cols, x.rows, value, pass_on);  // (n, m) -> (m, n)
}

// out = a + b, where b may be a single row, which is then added to every row of a
Tensor operator+(const Tensor& a, const Tensor& b) {
    const auto value = [=](int i, int j) { return a(i, j) + b(i % b.rows, j); };
    const auto pass_on = [=](int i, int j, real d) { a.grad(i, j) += d, b.grad(i % b.rows, j) += d; };
    return operation(a.rows, a.cols, value, pass_on);
}

// out = factor x
Tensor operator*(double factor, const Tensor& x) {
    const auto value = [=](int i, int j) { return factor * x(i, j); };
    const auto pass_on = [=](int i, int j, real d) { x.grad(i, j) += factor * d; };
    return operation(x.rows, x.cols, value, pass_on);
}

// out = max(0, x)
Tensor relu(const Tensor& x) {
    const auto value = [=](int i, int j) { return std::max(real(0), x(i, j)); };
    const auto pass_on = [=](int i, int j, real d) { x.grad(i, j) += x(i, j) > 0 ? d : 0; };
    return operation(x.rows, x.cols, value, pass_on);
}

// Matrices of equal shape, side by side
Tensor concat(const std::vector<Tensor>& parts) {
    const int width = parts[0].cols;
    const auto value = [=](int i, int j) { return parts[j / width](i, j % width); };
    const auto pass_on = [=](int i, int j, real d) { parts[j / width].grad(i, j % width) += d; };
    return operation(parts[0].rows, width * parts.size(), value, pass_on);  // n times (T, m) -> (T, n m)
}

// Row t is row ids[t] of the table.
Tensor embedding(const Tensor& table, const Sequence& ids) {
    const auto value = [=](int t, int j) { return table(ids[t], j); };
    const auto pass_on = [=](int t, int j, real d) { table.grad(ids[t], j) += d; };
    return operation(ids.size(), table.cols, value, pass_on);  // (V, d_model) -> (T, d_model)
}

// out = mean over t of -log p(t, ids[t])        dp(t, ids[t]) = -dout / (T p(t, ids[t]))
Tensor cross_entropy(const Tensor& p, const Sequence& ids) {
    const Tensor out{1, 1};  // (T, V) -> (1, 1)
    out(0, 0) = -sum(p.rows, [&](int t) { return std::log(p(t, ids[t])); }) / p.rows;
    tape.push_back([=] {
        for (int t = 0; t < p.rows; ++t)
            p.grad(t, ids[t]) -= out.grad(0, 0) / (p.rows * p(t, ids[t]));
    });
    return out;
}

// Each row: out_j = exp(x_j) / Σ_k exp(x_k)        dx_j = out_j (dout_j - Σ_k out_k dout_k)
// The largest x_k is subtracted first: it cancels, and no exp overflows. causal is the mask of §3.2.3: row i
// sees only columns 0, ..., i. The others keep the probability 0, as they would with scores of -∞.
Tensor softmax(const Tensor& x, bool causal) {
    const Tensor out{x.rows, x.cols};
    for (int i = 0; i < x.rows; ++i) {
        const int n = causal ? i + 1 : x.cols;
        const real largest = *std::max_element(&x(i, 0), &x(i, 0) + n);
        const real total = sum(n, [&](int j) { return std::exp(x(i, j) - largest); });
        for (int j = 0; j < n; ++j)
            out(i, j) = std::exp(x(i, j) - largest) / total;
    }
    tape.push_back([=] {
        each(out, [&](int i, int j) {
            const real dot = sum(x.cols, [&](int k) { return out(i, k) * out.grad(i, k); });
            x.grad(i, j) += out(i, j) * (out.grad(i, j) - dot);
        });
    });
    return out;
}

// Each row: out = (x - mean(x)) / √(variance(x) + ε)        layer norm (Ba, Kiros & Hinton 2016)
// dx = (dout - mean(dout) - out · mean(dout · out)) / √(variance(x) + ε)        ε = 1e-5 is ours
Tensor layer_norm(const Tensor& x) {
    const Tensor out{x.rows, x.cols}, deviation{x.rows, 1};
    for (int i = 0; i < x.rows; ++i) {
        const real mean = sum(x.cols, [&](int j) { return x(i, j); }) / x.cols;
        const real variance = sum(x.cols, [&](int j) { return std::pow(x(i, j) - mean, 2); }) / x.cols;
        deviation(i, 0) = std::sqrt(variance + real(1e-5));
        for (int j = 0; j < x.cols; ++j)
            out(i, j) = (x(i, j) - mean) / deviation(i, 0);
    }
    tape.push_back([=] {
        for (int i = 0; i < x.rows; ++i) {
            const real mean = sum(x.cols, [&](int j) { return out.grad(i, j); }) / x.cols;
            const real mean_out = sum(x.cols, [&](int j) { return out.grad(i, j) * out(i, j); }) / x.cols;
            for (int j = 0; j < x.cols; ++j)
                x.grad(i, j) += (out.grad(i, j) - mean - out(i, j) * mean_out) / deviation(i, 0);
        }
    });
    return out;
}

// ------------------------------------------------------------------------------------------------- 3. Layers

constexpr int d_model = 32, n_heads = 4, d_k = d_model / n_heads, d_ff = 64;
constexpr int length = 6, n_digits = 10, start = n_digits, n_symbols = n_digits + 1;  // start begins targets
constexpr int n_steps = 800, warmup_steps = 50, batch_size = 16;

struct Parameter {
    Tensor w, m, v;  // what training changes, and Adam's two running means for it
};
std::vector<Parameter> parameters;
std::mt19937 random_bits(1);

// Biases begin at 0. Matrices are random, scaled so that products keep their size (Glorot & Bengio 2010).
Tensor learned(int rows, int cols) {
    const Tensor w{rows, cols}, m{rows, cols}, v{rows, cols};
    const double limit = rows > 1 ? std::sqrt(6.0 / (rows + cols)) : 0;
    each(w, [&](int i, int j) { w(i, j) = limit * (2.0 * random_bits() / random_bits.max() - 1); });
    parameters.push_back({w, m, v});
    return w;
}

// §3.2.1, equation 1: Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, bool causal) {
    const Tensor scores = 1.0 / std::sqrt(d_k) * matmul(q, transpose(k));  // (T, d_k) (d_k, S) -> (T, S)
    return matmul(softmax(scores, causal), v);                             // (T, S) (S, d_k) -> (T, d_k)
}

// §3.2.2: MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W_O, head_i = Attention(Q W_Qi, K W_Ki, V W_Vi)
struct MultiHead {
    struct Head {
        Tensor W_Q = learned(d_model, d_k), W_K = learned(d_model, d_k), W_V = learned(d_model, d_k);
    };
    Head heads[n_heads];
    Tensor W_O = learned(d_model, d_model);
    // Queries come from x (T, d_model), keys and values from memory (S, d_model).
    Tensor operator()(const Tensor& x, const Tensor& memory, bool causal) const {
        std::vector<Tensor> results;
        for (const Head& head : heads) {
            const Tensor q = matmul(x, head.W_Q);       // (T, d_k)
            const Tensor k = matmul(memory, head.W_K);  // (S, d_k)
            const Tensor v = matmul(memory, head.W_V);  // (S, d_k)
            results.push_back(attention(q, k, v, causal));
        }
        return matmul(concat(results), W_O);  // (T, h d_k) (h d_k, d_model) -> (T, d_model)
    }
};

// §3.3, equation 2: FFN(x) = max(0, x W_1 + b_1) W_2 + b_2        (T, d_model) -> (T, d_ff) -> (T, d_model)
struct FeedForward {
    Tensor W_1 = learned(d_model, d_ff), b_1 = learned(1, d_ff);
    Tensor W_2 = learned(d_ff, d_model), b_2 = learned(1, d_model);
    Tensor operator()(const Tensor& x) const { return matmul(relu(matmul(x, W_1) + b_1), W_2) + b_2; }
};

// §3.1, Figure 1: around each sub-layer LayerNorm(x + Sublayer(x))
struct EncoderLayer {
    MultiHead self_attention;
    FeedForward feed_forward;
    Tensor operator()(const Tensor& x) const {
        const Tensor y = layer_norm(x + self_attention(x, x, false));  // (S, d_model)
        return layer_norm(y + feed_forward(y));                        // (S, d_model)
    }
};

// The same, and attention to memory, the encoder's output. In self-attention no position sees a later one.
struct DecoderLayer {
    MultiHead self_attention, cross_attention;
    FeedForward feed_forward;
    Tensor operator()(const Tensor& x, const Tensor& memory) const {
        const Tensor y = layer_norm(x + self_attention(x, x, true));         // (T, d_model)
        const Tensor z = layer_norm(y + cross_attention(y, memory, false));  // (T, d_model)
        return layer_norm(z + feed_forward(z));                              // (T, d_model)
    }
};

// §3.5: PE(t, 2i) = sin(t / 10000^(2i / d_model)), and PE(t, 2i + 1) is the cosine of that angle.
Tensor positions(int n) {
    const Tensor out{n, d_model};  // constant, so it is not on the tape
    each(out, [&](int t, int j) {
        const double angle = t / std::pow(10000, (j - j % 2) / double(d_model));
        out(t, j) = j % 2 == 0 ? std::sin(angle) : std::cos(angle);
    });
    return out;
}

struct Transformer {
    Tensor table = learned(n_symbols, d_model);
    EncoderLayer encoder;
    DecoderLayer decoder;
    // §3.4: one table, tied three ways: it embeds sources and targets, and transposed it scores the symbols.
    Tensor embed(const Sequence& ids) const {
        return std::sqrt(d_model) * embedding(table, ids) + positions(ids.size());  // (T, d_model)
    }
    Tensor encode(const Sequence& src) const { return encoder(embed(src)); }  // (S, d_model)
    // Row t: the probability of each symbol to come next after tgt[0], ..., tgt[t]
    Tensor decode(const Sequence& tgt, const Tensor& memory) const {
        const Tensor x = decoder(embed(tgt), memory);        // (T, d_model)
        return softmax(matmul(x, transpose(table)), false);  // (T, V)
    }
    // Teacher forcing: the decoder always reads the true symbols so far, never its own guesses.
    Tensor loss(const Sequence& src, const Sequence& tgt) const {
        const Sequence shifted(tgt.begin(), tgt.end() - 1), expected(tgt.begin() + 1, tgt.end());
        return cross_entropy(decode(shifted, encode(src)), expected);
    }
};

// ----------------------------------------------------------------------------------------------- 4. Training

void zero_grad() {
    for (const Parameter& p : parameters)
        each(p.w, [&](int i, int j) { p.w.grad(i, j) = 0; });
}

// Adam (§5.3): m and v are running means of g and of g². Both begin at 0; c1 and c2 correct for that.
void adam(int step) {
    constexpr double beta1 = 0.9, beta2 = 0.98, epsilon = 1e-9;
    const double c1 = 1 - std::pow(beta1, step), c2 = 1 - std::pow(beta2, step);
    const double rate = 0.01 * std::min(double(step) / warmup_steps, (n_steps - step + 1.0) / n_steps);
    for (const Parameter& p : parameters)
        each(p.w, [&](int i, int j) {
            const double g = p.w.grad(i, j);
            p.m(i, j) = beta1 * p.m(i, j) + (1 - beta1) * g;
            p.v(i, j) = beta2 * p.v(i, j) + (1 - beta2) * g * g;
            p.w(i, j) -= rate * (p.m(i, j) / c1) / (std::sqrt(p.v(i, j) / c2) + epsilon);
        });
}

// A source and its target. Sources that start and end with the same digit are held out for the test.
std::pair<Sequence, Sequence> random_example(bool held_out) {
    Sequence src(length), tgt = {start};
    do
        std::generate(src.begin(), src.end(), [] { return random_bits() % n_digits; });
    while ((src.front() == src.back()) != held_out);
    tgt.insert(tgt.end(), src.rbegin(), src.rend());
    return {src, tgt};
}

// Decoding: the most probable next symbol, again and again.
Sequence greedy(const Transformer& model, const Sequence& src) {
    const Tensor memory = model.encode(src);  // (S, d_model)
    Sequence tgt = {start};
    for (int t = 0; t < length; ++t) {
        const Tensor p = model.decode(tgt, memory);  // (t + 1, V)
        tgt.push_back(std::max_element(&p(t, 0), &p(t, 0) + n_symbols) - &p(t, 0));
    }
    tape.clear();  // no backward here
    return tgt;
}

int main() {
    const Transformer model;
    for (int step = 1; step <= n_steps; ++step) {
        zero_grad();
        Tensor loss{1, 1};
        for (int b = 0; b < batch_size; ++b) {
            const auto [src, tgt] = random_example(false);
            loss = loss + 1.0 / batch_size * model.loss(src, tgt);
        }
        backward(loss);
        adam(step);
        if (step % 100 == 0)
            std::printf("step %d: loss %.4f\n", step, loss(0, 0));
    }
    for (int n = 0; n < 10; ++n) {
        const auto [src, tgt] = random_example(true);
        const Sequence answer = greedy(model, src);
        for (const Sequence& ids : {src, answer})
            for (const int id : ids)
                std::printf(id == start ? "-> " : "%d ", id);
        std::puts(answer == tgt ? " right" : " wrong");
    }
}
