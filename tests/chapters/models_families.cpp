// Who sees what, what flows through a Transformer, and how its training data are shifted.
#include <iomanip>
#include <ostream>

#include "autograd/base/check.h"
#include "models/batch.h"
#include "models/presets.h"
#include "models/text/learn_tokenizer.h"
#include "tests/chapters/diagram.h"
#include "tests/chapters/mask_map.h"
#include "tests/chapters/models.h"
#include "tests/chapters/print.h"

namespace plaingrad::chapters {

using namespace models;

namespace {

std::string masks_figure() {
    const std::vector<std::string> src = labels(1, 5), tgt = labels(1, 4);
    return figures::svg(
        "The masks of the three families",
        "An encoder-only model sees everything, a decoder-only model nothing later than the position "
        "itself; an encoder-decoder also sees the whole source.",
        {mask_map("encoder-only", Mask::none(), tgt, tgt), mask_map("decoder-only", Mask::causal(), tgt, tgt),
         mask_map("encoder-decoder", Mask::causal(), tgt, tgt),
         mask_map("and its source", Mask::none(), tgt, src)},
        4);
}

std::string shape_of(const Tensor& x) { return autograd::join(x.shape()); }
std::string shape_of(const Tokens& ids) { return autograd::join(autograd::Shape{ids.batch(), ids.length()}); }

// One sentence on its way through the model of ./apps/reverse_task.
struct Flow {
    Config config = [] {
        Config blog = preset("blog");
        blog.max_length = 13;  // as in reverse_task: twelve symbols and <sos> or <eos>
        blog.block.dropout = {};
        return blog;
    }();
    Transformer model = Transformer(config, Rng(1));
    Mode mode = Mode::eval();
    Batch batch = make_batch({{{9, 7, 13}, {13, 7, 9}}});
    Tokens read = batch.tgt.slice(0, batch.tgt.length() - 1);
    Tensor x = model.src_embedding(batch.src, mode);
    Tensor memory = model.encoder(x, {.mask = Mask::none(), .mode = mode});
    Tensor y = model.tgt_embedding(read, mode);
    Tensor decoded = model.decoder(y, memory, {.mask = Mask::causal(), .mode = mode},
                                   {.mask = Mask::none(), .mode = mode});
    Tensor logits = model.output(decoded);
};

// The source on the left, the target on the right.
std::string flow_figure() {
    const Flow f;
    const double left = 0, right = 2.2;
    const std::string encoder = autograd::join("encoder\n", f.model.encoder.layers.size(), " layers"),
                      decoder = autograd::join("decoder\n", f.model.decoder.layers.size(), " layers"),
                      output = autograd::join("output layer\n", f.decoded.size(2), " to ", f.logits.size(2));
    const Diagram d = {.boxes = {{"source ids\n5 3 9", left, 6, 1.6, 1},
                                 {"embedding\n+ positions", left, 4.5, 1.6, 1, 1},
                                 {encoder, left, 3, 1.6, 1, 1},
                                 {"target ids, shifted\n<sos> 9 3 5", right, 6, 1.6, 1},
                                 {"embedding\n+ positions", right, 4.5, 1.6, 1, 2},
                                 {decoder, right, 3, 1.6, 1, 2},
                                 {output, right, 1.5, 1.6, 1, 2},
                                 {"softmax\n9 3 5 <eos>", right, 0, 1.6, 1}},
                       .arrows = {{0, 1, shape_of(f.batch.src)},
                                  {1, 2, shape_of(f.x), 1},
                                  {2, 5, "memory", 1},
                                  {3, 4, shape_of(f.read)},
                                  {4, 5, shape_of(f.y), 2},
                                  {5, 6, shape_of(f.decoded), 2},
                                  {6, 7, shape_of(f.logits)}}};
    return svg(
        "From 5 3 9 to 9 3 5",
        "The source goes up through embedding and encoder; its memory goes to the decoder, which reads the "
        "shifted target and gives logits for each of its positions.",
        d);
}

void flow(std::ostream& out) {
    const Flow f;
    Rows rows = {{"", "shape", "parameters", ""}};
    const auto tokens = [&](const char* what, const Tokens& ids) {
        rows.push_back({what, shape_of(ids), "", "`Tokens`"});
    };
    const auto row = [&](const char* what, const Tensor& result, const auto& layer, const char* code) {
        rows.push_back({what, shape_of(result), std::to_string(nn::parameter_count(layer)), code});
    };
    tokens("source ids", f.batch.src);
    row("source embedding + positions", f.x, f.model.src_embedding, "`InputEmbedding`");
    row("encoder, 2 layers: the memory", f.memory, f.model.encoder, "`Encoder`");
    row("of which one layer", f.memory, f.model.encoder.layers[0], "`EncoderLayer`");
    tokens("target ids, shifted", f.read);
    row("target embedding + positions", f.y, f.model.tgt_embedding, "`InputEmbedding`");
    row("decoder, 2 layers", f.decoded, f.model.decoder, "`Decoder`");
    row("of which one layer", f.decoded, f.model.decoder.layers[0], "`DecoderLayer`");
    row("logits", f.logits, f.model.output, "`OutputLayer`");
    rows.push_back({"the whole model", "", std::to_string(nn::parameter_count(f.model)), "`Transformer`"});
    table(out, rows, "ttnt");
}

void shift(std::ostream& out) {
    const auto words = text::learn_words({"5 3 9"});
    const Batch batch = make_batch({{words.encode("5 3 9"), words.encode("9 3 5")}});
    const int64_t T = batch.tgt.length() - 1;
    const Tokens read = batch.tgt.slice(0, T), said = batch.tgt.slice(1, T + 1);
    const auto line = [&](const char* what, const Tokens& ids) {
        out << std::left << std::setw(22) << what;
        for (int64_t t = 0; t < ids.length(); ++t)
            out << std::setw(7) << words.piece(ids.at(0, t));
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
