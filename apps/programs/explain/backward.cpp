#include <cmath>
#include <limits>

#include "apps/programs/explain/values.h"
#include "autograd/base/list.h"
#include "autograd/base/portable_math.h"
#include "autograd/plain.h"

namespace plaingrad::explain {

using namespace autograd;
using models::Batch;
using models::Transformer;
using nn::Mode;

static Tensor loss_of(const Transformer& model, const Batch& example) {
    return models::teacher_forcing(model, example, Mode::eval()).loss;
}

static double largest(const Tensor& x) {
    const Tensor sizes = reshape(abs(x), {-1});
    return static_cast<double>(max(sizes, 0).item());
}

// f of each parameter, all in one row.
template <class F>
static Tensor flat(const Transformer& model, const F& f) {
    const auto row = [&](const nn::NamedParameter& p) { return reshape(f(p.tensor), {-1}); };
    return concat(mapped(nn::parameters(model), row), 0);  // (614)
}

// One link of the chain rule: from dout, the gradient of f(x), to the gradient of x.
template <class F>
static Tensor back(const F& f, const Tensor& x, const Tensor& dout) {
    const Tensor leaf = x.clone().require_grad();
    f(leaf).backward(dout);
    return leaf.grad();
}

// From the loss down to W_Q of the cross-attention. Returns its gradient.
static Tensor run_links(const Transformer& model, const Batch& example, Values& v) {
    const models::DecoderLayer& layer = model.decoder.layers[0];
    const nn::CrossAttention& cross = layer.cross_attention;
    const auto loss = [&](const Tensor& x) { return cross_entropy(x, example.tgt.slice(1, 5)); };
    const auto ffn = [&](const Tensor& x) { return layer.feed_forward(x, Mode::eval()); };
    const auto last_block = [&](const Tensor& x) { return layer.residual3(x, Mode::eval(), ffn); };
    const auto heads = [&](const Tensor& weights) { return matmul(weights, v("cross.v")); };
    const auto weights = [](const Tensor& x) { return softmax(x); };
    const Real root = std::sqrt(Real(v("cross.q").size(3)));
    const auto scaled = [&](const Tensor& q) { return matmul(split_heads(q), v("cross.k"), true) / root; };
    const auto queries = [&](const Tensor& w) { return linear(v("attended"), w, cross.q_proj.bias); };
    const Tensor dlogits = back(loss, v("logits.all"), 1);  // (1, T, V)
    v.keep("dlogits", "VT", by_symbol(dlogits));
    v.keep("dlogits.right", "iT", gather(dlogits, example.tgt.slice(1, 5)));
    const Tensor ddecoded = v.keep("ddecoded", "Ti", back(model.output, v("decoded"), dlogits));
    const Tensor dinformed = v.keep("dinformed", "Ti", back(last_block, v("informed"), ddecoded));
    const Tensor dout = v.keep("dout", "Ti", back(layer.residual2.norm, v("informed.sum"), dinformed));
    const Tensor dmerged = v.keep("dmerged", "Ti", back(cross.out_proj, v("cross.merged"), dout));
    const Tensor dweights = v.keep("dweights", "TS", back(heads, v("cross.weights"), split_heads(dmerged)));
    const Tensor dscaled = v.keep("dscaled", "TS", back(weights, v("cross.scaled"), dweights));
    const Tensor dq = v.keep("dq", "Ti", back(scaled, 0 * dout, dscaled));  // linear in q: any q will do
    return back(queries, cross.q_proj.weight, dq);
}

void compare_with_fused(const Transformer& model, const Batch& example, Values& v) {
    const auto logits = [&] { return model(example.src, example.tgt.slice(0, 4), Mode::eval()).detach(); };
    const auto gradients = [&] {
        nn::zero_grad(model);
        loss_of(model, example).backward();
        return flat(model, [](const Tensor& w) { return w.grad(); });
    };
    const auto difference = [](const Tensor& a, const Tensor& b) { return largest(a - b) / largest(a); };
    const Tensor fused_logits = logits(), fused_gradients = gradients();
    const Plain plain;
    const double of_logits = difference(logits(), fused_logits);
    const double of_gradients = difference(gradients(), fused_gradients);
    check(of_logits <= 1e-5 && of_gradients <= 1e-3, "[explain] fused, the logits differ by ", of_logits,
          " of the largest, the gradients by ", of_gradients);
    v.keep("fused.logits", of_logits), v.keep("fused.gradients", of_gradients);
}

// The loss with one weight a little larger and a little smaller.
static void keep_differences(const Transformer& model, const Batch& example, Real& weight, Values& v) {
    const NoGrad no_grad;
    const auto middle = static_cast<double>(weight), g = static_cast<double>(v("g").item());
    const auto loss_at = [&](double value) {
        weight = static_cast<Real>(value);
        return static_cast<double>(loss_of(model, example).item());
    };
    double least = std::numeric_limits<double>::infinity();
    for (const double h : {0.1, 0.01, 0.001, 0.0001}) {
        const double above = loss_at(middle + h), below = loss_at(middle - h),
                     slope = (above - below) / (2 * h);
        v.keep(join("h=", h), slope);
        if (std::abs(slope - g) < least)
            least = std::abs(slope - g), v.words["h.nearest"] = {join(h)};
    }
    weight = static_cast<Real>(middle);
}

void backward(Trained& trained, const Batch& example, Values& v) {
    const Plain plain;
    const Transformer& model = trained.model;
    const nn::Parameter& matrix = model.decoder.layers[0].cross_attention.q_proj.weight;
    const int64_t d = matrix->size(0);
    const Tensor by_links = run_links(model, example, v);  // (d_model, d_model)
    trained.adam.zero_grad();
    loss_of(model, example).backward();
    const Tensor whole = matrix->grad();  // (d_model, d_model)
    check(largest(whole - by_links) <= 1e-4 * largest(whole),
          "[explain] link by link, W_Q's gradient is another");

    const int64_t place = argmax(reshape(abs(whole), {1, -1})).at(0, 0), row = place / d, column = place % d,
                  head = 1 + column / 2;
    v.keep("row", double(row)), v.keep("column", double(column)), v.keep("head", double(head));
    v.keep("x.column", "Ti", slice(v("attended")[0], 1, row, row + 1));   // (T, 1)
    v.keep("dq.column", "Ti", slice(v("dq")[0], 1, column, column + 1));  // (T, 1)
    v.keep("products", "Ti", v("x.column") * v("dq.column"));             // (T, 1)
    v.keep("g", double(whole.data()[place]));
    keep_differences(model, example, matrix->mutable_data()[place], v);
    const auto keep_state = [&](const std::string& when) {
        v.keep("w" + when, double(matrix->data()[place]));
        v.keep("loss" + when, "", loss_of(model, example).detach());
        for (const nn::NamedParameter& p : trained.adam.state())
            if (p.name.ends_with("decoder.layers.0.cross_attention.q_proj.weight"))
                v.keep(p.name.substr(0, p.name.find('.')) + when, double(p.tensor.data()[place]));
    };
    keep_state(".before");
    const auto values = [](const Tensor& w) { return w.detach(); };
    const Tensor weights = flat(model, values);
    const Tensor gradients = flat(model, [](const Tensor& w) { return w.grad(); });
    trained.adam.step(trained.learning_rate);
    keep_state(".after");
    const Tensor moved = flat(model, values) - weights;
    const Real promised = sum(gradients * moved, {0}).item(),
               change = (v("loss.after") - v("loss.before")).item();
    v.keep("promised", double(promised)), v.keep("change", double(change));
    v.keep("not.risen", change <= 0), v.keep("too.long", change > 0 && promised < 0);
    v.keep("uphill", change > 0 && promised >= 0);
    const double correction = 1 - portable::pow(0.98, double(trained.adam.steps()));
    v.keep("correction", correction), v.keep("lr", trained.learning_rate);
    v.keep("root", std::sqrt(double(v("square.after").item()) / correction));
}

}  // namespace plaingrad::explain
