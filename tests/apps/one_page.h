// apps/one_page.cpp within a test or a benchmark: its names in the namespace one_page, and the same model in
// the library, whose losses and gradients are compared with the page's.
#pragma once

// What the page includes, before its namespace begins.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "models/families/transformer.h"
#include "nn/optim.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#pragma GCC diagnostic ignored "-Wreturn-type"  // only a real main may end without a return
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wshadow"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wkeyword-macro"
#endif
// (Its `using real = float;` is the library's type here: the double build compares in double.)
namespace one_page {
#define float ::plaingrad::autograd::Real
#define main one_page_main
#include "apps/one_page.cpp"
#undef main
#undef float
}  // namespace one_page
#pragma GCC diagnostic pop

namespace plaingrad::tests {

// The library's configuration of the page's model.
inline models::Config config_of_one_page() {
    models::Config c = {
        .src_vocabulary = one_page::n_symbols,
        .vocabulary = one_page::n_symbols,
        .max_length = one_page::length,
        .specials = {.start = one_page::start, .ends = {}, .pad = autograd::Tokens::kNoPadding, .never = {}},
        .n_layers = 1,
        .n_decoder_layers = 1,
        .embeddings_tied = true,
        .tied = true};
    c.block.d_model = one_page::d_model;
    c.block.n_heads = one_page::n_heads;
    c.block.d_ff = one_page::d_ff;
    c.block.attention_bias = c.block.output_bias = c.block.norm_bias = false;
    c.block.dropout = {0, 0, 0, 0};
    return c;
}

inline std::vector<nn::NamedParameter> trained_parameters(const models::Transformer& model) {
    std::vector<nn::NamedParameter> all = nn::parameters(model);
    std::erase_if(all, [](const nn::NamedParameter& p) { return !p.tensor.needs_grad(); });
    return all;
}

// Calls f(matrix, row, column, parameter, index) for each trained number: where it is on the page, and where
// in the library. A matrix of the page is part of the library's parameter of this name, from this column on;
// vectors are matrices of one row. Throws Error unless both models have as many.
template <class F>
void each_number_of_one_page(const one_page::Transformer& page, const models::Transformer& model,
                             const F& f) {
    const std::vector<nn::NamedParameter> all = trained_parameters(model);
    int64_t count = 0;
    const auto part = [&](const std::string& name, int column, const one_page::Tensor& matrix) {
        const auto p =
            std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
        autograd::check(p != all.end(), "[one_page] the library has no ", name);
        const int64_t width = p->tensor.size(p->tensor.rank() - 1);
        autograd::check(column + matrix.cols <= width && matrix.rows * width <= p->tensor.numel(),
                        "[one_page] ", name, " ", p->tensor.shape(), " has no room for its part");
        for (int i = 0; i < matrix.rows; ++i)
            for (int j = 0; j < matrix.cols; ++j, ++count)
                f(matrix, i, j, p->tensor, i * width + column + j);
    };
    const auto heads = [&](const std::string& name, const one_page::MultiHead& attention, bool cross) {
        const std::string q = name + (cross ? ".q_proj.weight" : ".in_proj.weight");
        const std::string kv = name + (cross ? ".kv_proj.weight" : ".in_proj.weight");
        const int keys = cross ? 0 : one_page::d_model;
        int column = 0;  // queries of all heads, then keys, then values
        for (const auto& head : attention.heads) {
            part(q, column, head.W_Q);
            part(kv, keys + column, head.W_K);
            part(kv, keys + one_page::d_model + column, head.W_V);
            column += one_page::d_k;
        }
        part(name + ".out_proj.weight", 0, attention.W_O);
    };
    const auto feed_forward = [&](const std::string& name, const one_page::FeedForward& network) {
        part(name + ".linear1.weight", 0, network.W_1);
        part(name + ".linear1.bias", 0, network.b_1);
        part(name + ".linear2.weight", 0, network.W_2);
        part(name + ".linear2.bias", 0, network.b_2);
    };
    part("src_embedding.tokens.table", 0, page.table);
    const std::string encoder = "encoder.layers.0.", decoder = "decoder.layers.0.";
    heads(encoder + "self_attention", page.encoder.self_attention, false);
    feed_forward(encoder + "feed_forward", page.encoder.feed_forward);
    heads(decoder + "self_attention", page.decoder.self_attention, false);
    heads(decoder + "cross_attention", page.decoder.cross_attention, true);
    feed_forward(decoder + "feed_forward", page.decoder.feed_forward);
    autograd::check(count == nn::parameter_count(all), "[one_page] ", count, " numbers, and in the library ",
                    nn::parameter_count(all));
}

// The largest difference, as a share of the largest of `theirs`.
inline double largest_difference(const std::vector<double>& ours, const std::vector<double>& theirs) {
    autograd::check(ours.size() == theirs.size(), "[one_page] ", ours.size(), " gradients, not ",
                    theirs.size());
    double largest = 0, apart = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
        largest = std::max(largest, std::abs(theirs[i]));
        apart = std::max(apart, std::abs(theirs[i] - ours[i]));
    }
    return apart / largest;
}
inline double gradients_apart(const one_page::Transformer& page, const models::Transformer& model) {
    std::vector<double> ours, theirs;
    each_number_of_one_page(page, model,
                            [&](const auto& part, int i, int j, const auto& weights, int64_t at) {
                                theirs.push_back(part.grad(i, j));
                                ours.push_back(weights.grad().data()[at]);
                            });
    return largest_difference(ours, theirs);
}

// The library's Adam as on the page, and its learning rate, which ends with the page's training.
inline constexpr nn::AdamOptions kAdamOfOnePage = {.beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9};
inline double rate_of_one_page(int step) {
    constexpr double kSteps = one_page::n_steps;
    return 0.01 * std::min(static_cast<double>(step) / one_page::warmup_steps, (kSteps - step + 1) / kSteps);
}

// Random sequences and the same backwards.
struct BatchOfOnePage {
    explicit BatchOfOnePage(int64_t count, uint64_t seed = 1) {
        const autograd::Rng random(seed);
        uint64_t next = 0;
        for (int64_t i = 0; i < count; ++i) {
            src.emplace_back();
            for (int t = 0; t < one_page::length; ++t)
                src.back().push_back(static_cast<int>(random.below(next++, one_page::n_digits)));
            tgt.push_back({one_page::start});
            tgt.back().insert(tgt.back().end(), src.back().rbegin(), src.back().rend());
        }
        const auto rows = [](const std::vector<one_page::Sequence>& all) {
            return autograd::Tokens::padded(all, autograd::Tokens::kNoPadding);
        };
        source = rows(src);
        target = rows(tgt).slice(0, one_page::length);
        wanted = rows(tgt).slice(1, one_page::length + 1);
    }

    std::vector<one_page::Sequence> src, tgt;  // for the page
    autograd::Tokens source, target, wanted;   // for the library: what the decoder reads, and predicts
};

// The page's training step. Its parameters are global: there can be one model.
inline double step_of_one_page(const one_page::Transformer& model, const BatchOfOnePage& batch, int step) {
    one_page::zero_grad();
    one_page::Tensor loss{1, 1};
    for (std::size_t i = 0; i < batch.src.size(); ++i)
        loss = loss + 1.0 / static_cast<double>(batch.src.size()) * model.loss(batch.src[i], batch.tgt[i]);
    one_page::backward(loss);
    one_page::adam(step);
    return static_cast<double>(loss(0, 0));
}

// The same model in the library: it begins with the page's weights.
struct LibraryOfOnePage {
    explicit LibraryOfOnePage(const one_page::Transformer& page)
        : model(config_of_one_page(), autograd::Rng(1)), adam(nn::parameters(model), kAdamOfOnePage) {
        for (const nn::NamedParameter& p : nn::parameters(model))
            if (p.name.ends_with(".gain"))  // the page's norms have nothing to train: the gains stay 1
                nn::freeze({p});
        each_number_of_one_page(page, model,
                                [](const auto& part, int i, int j, autograd::Tensor weights, int64_t at) {
                                    weights.mutable_data()[at] = static_cast<autograd::Real>(part(i, j));
                                });
    }
    double step(const BatchOfOnePage& batch, int step) {
        adam.zero_grad();
        const autograd::Tensor loss =
            model.loss(batch.source, batch.target, batch.wanted, nn::Mode::train(autograd::Rng(1)));  // ()
        loss.backward();
        adam.step(rate_of_one_page(step));
        return static_cast<double>(loss.item());
    }

    const models::Transformer model;
    nn::Adam adam;
};

}  // namespace plaingrad::tests
