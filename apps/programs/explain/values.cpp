#include <cmath>
#include <limits>

#include "apps/programs/explain/explain.h"
#include "autograd/base/list.h"
#include "autograd/base/portable_math.h"
#include "autograd/plain.h"

namespace plaingrad::explain {

using namespace autograd;
using models::Batch;
using models::Transformer;
using nn::Mode;

// ------------------------------------------------------------------------------------------------- forward

// x (1, T, V) -> (11, T): a row for each symbol that can be an answer, the digits and <eos>.
static Tensor by_symbol(const Tensor& x) {
    const Tensor rows = transpose(x[0], 0, 1);  // (V, T)
    return concat({slice(rows, 0, models::kFirstFreeId, rows.size(0)), unsqueeze(rows[models::kEos], 0)}, 0);
}

// (1, T, H*D) -> (1, H, T, D), of two heads.
static Tensor split_heads(const Tensor& x) {
    return permute(reshape(x, {1, x.size(1), 2, -1}), {0, 2, 1, 3});
}

static void check_same(const std::string& what, const Tensor& ours, const Tensor& library) {
    check(ours.to_vector() == library.to_vector(), "[explain] ", what, " differs from the library's own");
}

// qkv: queries (1, T, d_model), keys and values (1, S, d_model), which the layer projects from `inputs`.
// labels: of T and S.
template <class Layer, class... Inputs>
static Tensor attend(Values& values, const std::string& name, const Layer& layer,
                     const std::vector<Tensor>& qkv, const Mask& mask, const std::string& labels,
                     const Inputs&... inputs) {
    const std::string of_x = labels.substr(0, 1) + "i", of_memory = labels.substr(1) + "i";
    const auto keep = [&](const char* part, const std::string& kinds, const Tensor& value) {
        return values.keep(name + part, kinds, value);
    };
    const Tensor q = keep(".q", of_x, split_heads(qkv[0]));                              // (1, H, T, D)
    const Tensor k = keep(".k", of_memory, split_heads(qkv[1]));                         // (1, H, S, D)
    const Tensor v = keep(".v", of_memory, split_heads(qkv[2]));                         // (1, H, S, D)
    const Tensor scores = keep(".scores", labels, matmul(q, k, true));                   // (1, H, T, S)
    const Tensor scaled = keep(".scaled", labels, scores / std::sqrt(Real(q.size(3))));  // (1, H, T, S)
    Tensor shares;  // What does the mask allow? Where all scores are 0, only hidden keys get the weight 0.
    attention(0 * qkv[0], 0 * qkv[1], qkv[2], {.mask = mask, .weights = &shares});  // (1, 1, T, S)
    const Tensor allowed = keep(".allowed", labels, shares != 0);                   // (1, 1, T, S)
    const Tensor masked =
        keep(".masked", labels, where(allowed, scaled, std::numeric_limits<Real>::lowest()));
    const Tensor weights = keep(".weights", labels + "#", softmax(masked));  // (1, H, T, S)
    const Tensor heads = keep(".heads", of_x, matmul(weights, v));           // (1, H, T, D)
    const Tensor merged =
        keep(".merged", of_x, reshape(permute(heads, {0, 2, 1, 3}), {1, -1, qkv[0].size(2)}));
    const Tensor out = keep(".out", of_x, layer.out_proj(merged));  // (1, T, d_model)

    nn::Probe seen;
    check_same(name, out, layer(inputs..., {.mask = mask, .mode = nn::Mode::eval(&seen)}));
    check_same(name + ".weights", weights, seen.of(layer));
    return out;
}

// A sub-layer's residual connection and norm: y is what the sub-layer makes of x. label: of the rows.
static Tensor residual(Values& values, const std::string& name, char label, const models::Residual& around,
                       const Tensor& x, const Tensor& y) {
    values.keep(name + ".sum", {label, 'i'}, x + y);
    return values.keep(name, {label, 'i'}, around(x, nn::Mode::eval(), [&](const Tensor&) { return y; }));
}

// src (1, S) -> memory (1, S, d_model)
static Tensor encode(Values& v, const models::Transformer& model, const Tokens& src) {
    const nn::Mode eval = nn::Mode::eval();
    const models::InputEmbedding& input = model.src_embedding;
    const models::EncoderLayer& layer = model.encoder.layers[0];
    const nn::FeedForward& ffn = layer.feed_forward;
    nn::Probe seen;
    const Tensor in = input(src, nn::Mode::eval(&seen));                           // (1, S, d_model)
    const Tensor rows = v.keep("rows", "Si", input.tokens(src));                   // (1, S, d_model)
    const Tensor scaled = v.keep("rows.scaled", "Si", rows * input.scale);         // (1, S, d_model)
    const Tensor positions = v.keep("positions", "Si", seen.of(input.positions));  // (S, d_model)
    const Tensor x = v.keep("src.x", "Si", scaled + positions);                    // (1, S, d_model)
    check_same("src.x", x, in);
    const std::vector<Tensor> qkv = split(layer.self_attention.in_proj(x), x.size(2), 2);
    const Tensor mixed = attend(v, "encoder", layer.self_attention, qkv, Mask::padding(src), "SS", x);
    const Tensor normed = residual(v, "normed", 'S', layer.residual1, x, mixed);  // (1, S, d_model)
    v.keep("hidden", "Si", ffn.hidden(normed));
    const Tensor fed = v.keep("ffn", "Si", ffn(normed, eval));                       // (1, S, d_model)
    const Tensor memory = residual(v, "memory", 'S', layer.residual2, normed, fed);  // (1, S, d_model)
    check_same("memory", memory, model.encode(src, eval));
    return memory;
}

// read (1, T) -> (1, T, d_model). src_mask: hides padding of the memory.
static Tensor decode(Values& v, const models::Transformer& model, const Tokens& read, const Tensor& memory,
                     const Mask& src_mask) {
    const nn::Mode eval = nn::Mode::eval();
    const Mask causal = Mask::padding(read).and_causal();
    const models::DecoderLayer& layer = model.decoder.layers[0];
    const Tensor x = v.keep("tgt.x", "Ti", model.tgt_embedding(read, eval));  // (1, T, d_model)
    const std::vector<Tensor> qkv = split(layer.self_attention.in_proj(x), x.size(2), 2);
    const Tensor own = attend(v, "self", layer.self_attention, qkv, causal, "TT", x);
    const Tensor attended = residual(v, "attended", 'T', layer.residual1, x, own);  // (1, T, d_model)
    const nn::CrossAttention& cross = layer.cross_attention;
    std::vector<Tensor> q_k_v = split(cross.kv_proj(memory), x.size(2), 2);
    q_k_v.insert(q_k_v.begin(), cross.q_proj(attended));
    const Tensor found = attend(v, "cross", cross, q_k_v, src_mask, "TS", attended, memory);
    const Tensor informed =
        residual(v, "informed", 'T', layer.residual2, attended, found);  // (1, T, d_model)
    return residual(v, "decoded", 'T', layer.residual3, informed, layer.feed_forward(informed, eval));
}

// For the words about cross-attention: the place at which each head looks most, and what the second row needs
// to say the second symbol. Weights alone do not show that, so the model runs twice more: once the row cannot
// look at the symbol's own memory, and once the encoder mixes the symbol into no other memory.
static void keep_where_heads_look(Values& v, const models::Transformer& model, const Tokens& src,
                                  const Tokens& read, const Tokens& said) {
    const Tokens most = argmax(v("cross.weights")[0]);  // (H, T)
    for (int64_t t = 0; t < 3; ++t)
        for (int64_t head = 0; head < 2; ++head)
            v.words[join("most", head + 1)].push_back(std::to_string(most.at(head, t) + 1));
    const auto keep = [&](const char* name, const Mask& of_encoder, const Mask& of_memory) {
        const Tensor memory = model.encode(src, of_encoder, nn::Mode::eval());          // (1, S, d_model)
        const Tensor logits = model.decode(read, memory, of_memory, nn::Mode::eval());  // (1, T, V)
        v.keep(name, "", exp(gather(log_softmax(logits), said))[0][1]);
    };
    keep("p.whole", {}, {});
    keep("p.unseen", {}, Mask::allowed(1, 4, 3, {1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1}));  // (T, S)
    keep("p.unmixed", Mask::allowed(1, 3, 3, {1, 0, 1, 1, 1, 1, 1, 0, 1}), {});          // (S, S)
}

Values forward(const models::Transformer& model, const models::Batch& example) {
    const Plain plain;
    const NoGrad no_grad;
    const Tokens read = example.tgt.slice(0, 4), said = example.tgt.slice(1, 5);  // <sos> 9 3 5, 9 3 5 <eos>
    Values v;
    v.words = {{"S", names_of(example.src.ids())},
               {"T", names_of(read.ids())},
               {"V", {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "<eos>"}},
               {"said", names_of(said.ids())}};
    const Tensor memory = encode(v, model, example.src);                                // (1, S, d_model)
    const Tensor decoded = decode(v, model, read, memory, Mask::padding(example.src));  // (1, T, d_model)
    const Tensor logits = v.keep("logits.all", "", model.output(decoded));              // (1, T, V)
    check_same("logits", logits, model(example.src, read, nn::Mode::eval()));
    v.keep("logits", "VT", by_symbol(logits));
    v.keep("softmax", "VT#", by_symbol(softmax(logits)));
    const Tensor log_p = transpose(gather(log_softmax(logits), said), 0, 1);  // (T, 1)
    v.keep("p", "Ti", exp(log_p));
    v.keep("surprise", "Ti", -log_p);
    v.keep("loss", "", cross_entropy(logits, said));  // ()
    keep_where_heads_look(v, model, example.src, read, said);
    return v;
}

// ------------------------------------------------------------------------------------------------ backward

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

// The loss with one weight a little larger and a little smaller.
static void keep_differences(const Transformer& model, const Batch& example, Real& weight, Values& v) {
    const NoGrad no_grad;
    const auto middle = static_cast<double>(weight);
    const auto loss_at = [&](double value) {
        weight = static_cast<Real>(value);
        return static_cast<double>(loss_of(model, example).item());
    };
    for (const double h : {0.1, 0.01, 0.001, 0.0001}) {
        const double above = loss_at(middle + h), below = loss_at(middle - h);
        v.keep(join("h=", h), (above - below) / (2 * h));
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
    v.keep("promised", "", sum(gradients * moved, {0}));
    v.keep("change", "", v("loss.after") - v("loss.before"));
    const double correction = 1 - portable::pow(0.98, double(trained.adam.steps()));
    v.keep("correction", correction), v.keep("lr", trained.learning_rate);
    v.keep("root", std::sqrt(double(v("square.after").item()) / correction));
}

}  // namespace plaingrad::explain
