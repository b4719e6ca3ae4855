// Who sees what, what flows through a Transformer, and how its training data are shifted.
#include <iomanip>
#include <iostream>
#include <sstream>

#include "apps/kit/figure.h"
#include "models/pairs.h"
#include "models/presets.h"
#include "models/text/vocabulary.h"
#include "tests/chapters/diagram.h"
#include "tests/chapters/models.h"

namespace plaingrad::chapters {

using namespace models;

namespace {

// 1 where a query sees a key, as measured: scores that are all equal give weight to every key that is seen.
std::vector<double> seen(const Mask& mask, int64_t queries, int64_t keys) {
    Tensor weights;
    autograd::AttentionOptions options;
    options.mask = mask;
    options.weights = &weights;
    attention(Tensor::zeros({1, queries, 1}), Tensor::zeros({1, keys, 1}), Tensor::zeros({1, keys, 1}),
              options);
    std::vector<double> all;
    for (int64_t i = 0; i < weights.numel(); ++i)
        all.push_back(weights.data()[i] > 0 ? 1 : 0);
    return all;
}

const std::vector<std::string> kSource = {"1", "2", "3", "4", "5"}, kTarget = {"1", "2", "3", "4"};

std::string masks_figure() {
    const auto panel = [](const std::string& title, const std::vector<std::string>& keys, const Mask& mask) {
        return kit::HeatMap{.title = title,
                            .rows = kTarget,
                            .columns = keys,
                            .values = seen(mask, std::ssize(kTarget), std::ssize(keys)),
                            .row_axis = "query",
                            .column_axis = "key"};
    };
    return kit::svg(
        "The masks of the three families",
        "An encoder-only model sees everything, a decoder-only model nothing later than the position "
        "itself; an encoder-decoder also sees the whole source.",
        {panel("encoder-only", kTarget, Mask::none()), panel("decoder-only", kTarget, Mask::causal()),
         panel("encoder-decoder", kTarget, Mask::causal()), panel("and its source", kSource, Mask::none())},
        4);
}

std::string shape_of(const Tensor& x) { return autograd::join(x.shape()); }

// The source on the left, the target on the right, with the shapes of the table below.
std::string flow_figure() {
    const double left = 0, right = 2.2;
    Diagram d = {.boxes = {{"source ids\n5 3 9", left, 6, 1.6, 1},
                           {"embedding\n+ positions", left, 4.5, 1.6, 1, 1},
                           {"encoder\n2 layers", left, 3, 1.6, 1, 1},
                           {"target ids, shifted\n<sos> 9 3 5", right, 6, 1.6, 1},
                           {"embedding\n+ positions", right, 4.5, 1.6, 1, 2},
                           {"decoder\n2 layers", right, 3, 1.6, 1, 2},
                           {"output layer\n64 to 20", right, 1.5, 1.6, 1, 2},
                           {"softmax\n9 3 5 <eos>", right, 0, 1.6, 1}},
                 .arrows = {{0, 1, "(1, 3)"},
                            {1, 2, "(1, 3, 64)", 1},
                            {2, 5, "memory", 1},
                            {3, 4, "(1, 4)"},
                            {4, 5, "(1, 4, 64)", 2},
                            {5, 6, "(1, 4, 64)", 2},
                            {6, 7, "(1, 4, 20)"}}};
    return svg(
        "From 5 3 9 to 9 3 5",
        "The source goes up through embedding and encoder; its memory goes to the decoder, which reads the "
        "shifted target and gives logits for each of its positions.",
        d);
}

// A table of what one sentence becomes on its way through the model of ./apps/reverse_task.
void flow(std::ostream& out) {
    TransformerConfig config = preset("blog");
    config.block.dropout = {};
    const Transformer model(config, Rng(1));
    const Mode mode = Mode::eval();
    const Batch batch = make_batch({{{9, 7, 13}, {13, 7, 9}}});
    const Tokens read = batch.tgt.slice(0, batch.tgt.length() - 1);
    const Tensor x = model.src_embedding(batch.src, mode),
                 memory = model.encoder(x, {.mask = Mask::none(), .mode = mode});
    const Tensor y = model.tgt_embedding(read, mode);
    const Tensor decoded = model.decoder(y, memory, {.mask = Mask::causal(), .mode = mode},
                                         {.mask = Mask::none(), .mode = mode});
    const auto row = [&](const char* what, const std::string& shape, int64_t parameters, const char* code) {
        out << "| " << what << " | " << shape << " | " << (parameters ? std::to_string(parameters) : "")
            << " | " << code << " |\n";
    };
    out << "| | shape | parameters | |\n|---|---|---:|---|\n";
    row("source ids", "(1, " + std::to_string(batch.src.length()) + ")", 0, "`Tokens`");
    row("source embedding + positions", shape_of(x), nn::parameter_count(model.src_embedding),
        "`InputEmbedding`");
    row("encoder, 2 layers: the memory", shape_of(memory), nn::parameter_count(model.encoder), "`Encoder`");
    row("of which one layer", shape_of(memory), nn::parameter_count(model.encoder.layers[0]),
        "`EncoderLayer`");
    row("target ids, shifted", "(1, " + std::to_string(read.length()) + ")", 0, "`Tokens`");
    row("target embedding + positions", shape_of(y), nn::parameter_count(model.tgt_embedding),
        "`InputEmbedding`");
    row("decoder, 2 layers", shape_of(decoded), nn::parameter_count(model.decoder), "`Decoder`");
    row("of which one layer", shape_of(decoded), nn::parameter_count(model.decoder.layers[0]),
        "`DecoderLayer`");
    row("logits", shape_of(model.output(decoded)), nn::parameter_count(model.output), "`OutputLayer`");
    row("the whole model", "", nn::parameter_count(model), "`Transformer`");
}

void shift(std::ostream& out) {
    text::Vocabulary words;
    const Batch batch = make_batch({{words.add_all("5 3 9"), words.add_all("9 3 5")}});
    const int64_t T = batch.tgt.length() - 1;
    const Tokens read = batch.tgt.slice(0, T), said = batch.tgt.slice(1, T + 1);
    const auto line = [&](const char* what, const Tokens& ids) {
        out << std::left << std::setw(22) << what;
        for (int64_t t = 0; t < ids.length(); ++t)
            out << std::setw(7) << words.word(ids.at(0, t));
        out << '\n';
    };
    line("the encoder reads", batch.src);
    line("the decoder reads", read);
    line("and has to predict", said);
}

}  // namespace

Computed families_part() {
    return {.sections = {{"models.flow", Effort::quick, flow}, {"models.shift", Effort::quick, shift}},
            .figures = {{"models/figures/flow.svg", Effort::quick, flow_figure},
                        {"models/figures/masks.svg", Effort::quick, masks_figure}}};
}

}  // namespace plaingrad::chapters
