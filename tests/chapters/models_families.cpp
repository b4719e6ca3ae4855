// What flows through a Transformer, how its training data are shifted, what a missing mask does to a loss,
// and how large a cache is.
#include <ostream>

#include "autograd/base/check.h"
#include "models/batch.h"
#include "models/presets.h"
#include "models/text/learn_tokenizer.h"
#include "tests/chapters/print.h"
#include "tests/chapters/reversing.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace models;
using autograd::join;

namespace {

// One sentence on its way through the model of ./apps/reverse_task.
void flow(std::ostream& out) {
    Config config = preset("blog");
    config.max_length = 13;  // as in reverse_task: twelve symbols and <sos> or <eos>
    const Transformer model(config, Rng(1));
    const Mode mode = Mode::eval();
    const Batch batch = make_batch({{{9, 7, 13}, {13, 7, 9}}});
    const Tokens read = batch.read();
    const Tensor x = model.src_embedding(batch.src, mode), memory = model.encode(batch.src, mode),
                 y = model.tgt_embedding(read, mode),
                 decoded = model.decoder(y, memory, {.mask = Mask::causal(), .mode = mode}, {.mode = mode});
    Rows rows = {{"", "shape", "parameters", ""}};
    const auto row = [&](const char* what, const autograd::Shape& shape, int64_t parameters,
                         const char* code) {
        rows.push_back({what, join(shape), parameters > 0 ? std::to_string(parameters) : "", code});
    };
    const auto count = [](const auto& layer) { return nn::parameter_count(layer); };
    row("source ids", {1, batch.src.length()}, 0, "`Tokens`");
    row("source embedding + positions", x.shape(), count(model.src_embedding), "`InputEmbedding`");
    row("encoder, 2 layers: the memory", memory.shape(), count(model.encoder), "`Encoder`");
    row("of which one layer", memory.shape(), count(model.encoder.layers[0]), "`EncoderLayer`");
    row("target ids, shifted", {1, read.length()}, 0, "`Tokens`");
    row("target embedding + positions", y.shape(), count(model.tgt_embedding), "`InputEmbedding`");
    row("decoder, 2 layers", decoded.shape(), count(model.decoder), "`Decoder`");
    row("of which one layer", decoded.shape(), count(model.decoder.layers[0]), "`DecoderLayer`");
    row("logits", model.output(decoded).shape(), count(model.output), "`OutputLayer`");
    rows.push_back({"the whole model", "", std::to_string(count(model)), "`Transformer`"});
    table(out, rows, "ttnt");
}

void shift(std::ostream& out) {
    const auto words = text::learn_words({"5 3 9"});
    const Batch batch = make_batch({{words.encode("5 3 9"), words.encode("9 3 5")}});
    const auto line = [&](const char* what, const Tokens& ids) {
        out << kit::left(what, 22);
        for (int64_t t = 0; t < ids.length(); ++t)
            out << kit::left(words.piece(ids.at(0, t)), 7);
        out << '\n';
    };
    line("the encoder reads", batch.src);
    line("the decoder reads", batch.read());
    line("and has to predict", batch.said());
}

void no_mask(std::ostream& out) {
    const std::vector<Reversed> runs = {learn_to_reverse({}), learn_to_reverse({.causal = false}),
                                        learn_to_reverse({.related = false}),
                                        learn_to_reverse({.causal = false, .related = false})};
    Rows rows = {{"", "reversed, causal mask", "reversed, no mask", "noise, causal mask", "noise, no mask"}};
    for (const std::size_t step : {1U, 50U, 100U, 200U, 500U}) {
        rows.push_back({join("loss at step ", step)});
        for (const Reversed& run : runs)
            rows.back().push_back(fixed(run.losses.at(step - 1), 3));
    }
    rows.push_back({join("right, of ", kUnseen, " unseen")});
    for (const Reversed& run : runs)
        rows.back().push_back(std::to_string(run.right));
    table(out, rows);
    claim(runs[3].losses.back() < 0.1 && runs[2].losses.back() > 1.5,
          "without a mask the loss falls even where there is nothing to learn");
    claim(runs[0].right > kUnseen * 9 / 10 && runs[1].right < kUnseen / 5,
          "what was learned without a mask is of no use");
}

// What the cache of one text takes.
void cache_bytes(std::ostream& out) {
    Rows rows = {{"", "layers", "key/value heads", "D", "bytes a token", "1,024 tokens", "its longest text"}};
    const auto row = [&](const char* name, const Config& c, int64_t heads) {
        const int64_t D = head_size(c.block), token = 2 * c.n_layers * heads * D * 4;
        const auto mib = [&](int64_t tokens) { return join(token * tokens >> 20, " MiB"); };
        rows.push_back({name, std::to_string(c.n_layers), std::to_string(heads), std::to_string(D),
                        std::to_string(token), mib(1024), join(c.max_length, ": ", mib(c.max_length))});
    };
    row("GPT-2 small", gpt2(), gpt2().block.n_heads);
    row("Llama 3.2 1B", llama(), llama().block.n_kv_heads);
    row("the same with a pair for each query head", llama(), llama().block.n_heads);
    table(out, rows);
}

const Adds kHere({{"models.flow", Effort::quick, flow},
                  {"models.shift", Effort::quick, shift},
                  {"models.no_mask", Effort::training, no_mask},
                  {"models.cache_bytes", Effort::quick, cache_bytes}});

}  // namespace

}  // namespace plaingrad::chapters
