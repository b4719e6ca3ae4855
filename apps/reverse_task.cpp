// Trains an encoder-decoder Transformer from scratch to reverse sequences, and tests it on sequences that it
// has never seen. On this page: its configuration, its data, its loss and its test. What every program's run
// has (zeroing gradients, backward, Adam, checkpoints, progress) is in nn/parallel/data_parallel.h,
// models/run.h and apps/kit/run.h. apps/examples/first_transformer.cpp shows the bare loop.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <numeric>
#include <set>

#include "apps/kit/picture.h"
#include "apps/kit/run.h"
#include "autograd/base/mapped.h"
#include "models/decoding.h"
#include "models/parts.h"
#include "models/presets.h"
#include "nn/schedule.h"

using namespace plaingrad;
using autograd::Rng;
using autograd::Tensor;
using autograd::Tokens;
using Sequence = std::vector<int32_t>;

namespace {

// ------------------------------------------------------------------------------------------ configuration

constexpr int kSymbols = 16;  // the numbers 0 to 15; symbol s has the id s + 4
constexpr int kMinLength = 1, kMaxLength = 12;
constexpr int kHeldOut = 2000, kHeldOutMinLength = 4;  // there are too few shorter ones to hold any out

struct Settings {
    std::string preset = "blog", positions;
    int64_t d_model = 0, n_heads = 0, d_ff = 0, n_layers = 0;  // 0: the preset's
    int64_t steps = 1200, batch = 32, seed = 1;
    double lr = 3e-3;
    models::RunSettings run = {.save_every = 200};
    std::vector<std::string> words;
};

// The command-line options; parsing them fills `s`.
void add_options(kit::Options& options, Settings& s) {
    options.rest("SYMBOL...", "a sequence of 1 to 12 numbers from 0 to 15, to be reversed after training",
                 s.words);
    options.add("--steps", "N", "training steps", s.steps, {.min = 1})
        .can_not_change("the learning rate falls over all of them");
    options.add("--batch", "N", "sequences per step", s.batch, {.min = 1, .max = 1 << 20});
    options.add("--lr", "X", "highest learning rate", s.lr, {.max = 1});
    options.add("--preset", "whose model: models/presets.h names the sources", s.preset,
                models::preset_names());
    options.add("--positions", "positional encoding, instead of the preset's", s.positions,
                {"sinusoidal", "learned"});
    options.add("--d-model", "N", "width of the model; 0: the preset's", s.d_model, {.max = 4096});
    options.add("--heads", "N", "attention heads; 0: the preset's", s.n_heads, {.max = 4096});
    options.add("--d-ff", "N", "width of the feed-forward layers; 0: the preset's", s.d_ff, {.max = 1 << 16});
    options.add("--layers", "N", "layers of each stack; 0: the preset's", s.n_layers, {.max = 100});
    kit::add_run_options(options, s.run);
    options.add_common(s.seed);
}

models::Config configure(const Settings& s) {
    models::Config config = models::preset(s.preset);
    config.src_vocabulary = config.vocabulary = models::kFirstFreeId + kSymbols;
    config.max_length = kMaxLength + 1;  // <sos> or <eos> takes one
    config.block.precision = kit::precision_of(s.run.precision);
    // N(0, 1) embeddings keep symbols and positions distinct. In an output layer, such numbers are too large.
    if (!config.tied)
        config.block.init = nn::Init::pytorch;
    if (!s.positions.empty())
        config.block.positions =
            s.positions == "learned" ? nn::Positions::learned : nn::Positions::sinusoidal;
    if (s.d_model > 0)
        config.block.d_model = s.d_model;
    if (s.n_heads > 0)
        config.block.n_heads = s.n_heads;
    if (s.d_ff > 0)
        config.block.d_ff = s.d_ff;
    if (s.n_layers > 0)
        config.n_layers = config.n_decoder_layers = s.n_layers;
    kit::check_heads(config.block.d_model, config.block.n_heads);
    return config;
}

Sequence parse_sequence(const std::vector<std::string>& words) {
    kit::check_usage(words.size() <= kMaxLength, "a sequence has 1 to ", kMaxLength, " symbols: got ",
                     words.size());
    Sequence ids;
    for (const std::string& word : words)
        ids.push_back(models::kFirstFreeId +
                      static_cast<int32_t>(kit::parse_integer("a symbol", word, {.max = kSymbols - 1})));
    return ids;
}

// --------------------------------------------------------------------------------------------------- data

Sequence random_sequence(const Rng& rng, int min_length) {
    const int64_t length = min_length + rng.below(0, kMaxLength - min_length + 1);
    Sequence ids;
    for (int64_t i = 1; i <= length; ++i)
        ids.push_back(models::kFirstFreeId +
                      static_cast<int32_t>(rng.below(static_cast<uint64_t>(i), kSymbols)));
    return ids;
}

std::set<Sequence> held_out_sequences(const Rng& rng) {
    std::set<Sequence> chosen;
    for (uint64_t i = 0; chosen.size() < kHeldOut; ++i)
        chosen.insert(random_sequence(rng.fork(i), kHeldOutMinLength));
    return chosen;
}

models::Pair reversal(const Sequence& ids) { return {ids, Sequence(ids.rbegin(), ids.rend())}; }

models::Batch training_batch(const Rng& rng, int64_t size, const std::set<Sequence>& held_out) {
    std::vector<models::Pair> pairs;
    for (uint64_t i = 0; std::ssize(pairs) < size; ++i) {
        const Sequence ids = random_sequence(rng.fork(i), kMinLength);
        if (!held_out.contains(ids))
            pairs.push_back(reversal(ids));
    }
    return models::make_batch(pairs);
}

// All sequences of lengths 1 to 3.
std::vector<Sequence> short_sequences() {
    std::vector<Sequence> all = {{}};
    for (std::size_t i = 0; all[i].size() + 1 < kHeldOutMinLength; ++i)  // each with one symbol more
        for (int32_t s = 0; s < kSymbols; ++s) {
            Sequence longer = all[i];
            longer.push_back(models::kFirstFreeId + s);
            all.push_back(std::move(longer));
        }
    all.erase(all.begin());  // the empty one
    return all;
}

// ----------------------------------------------------------------------------------------------- training

// Teacher forcing: the decoder reads the true answer shifted right by one, and predicts its next symbol at
// each position. N symbols and <eos> give T = N + 1 predictions in one pass.
nn::StepLoss loss_of(const models::Transformer& model, const models::Batch& batch, const nn::Mode& mode) {
    const Tokens read = batch.tgt.slice(0, batch.tgt.length() - 1);  // <sos> 9 3 5        (B, T)
    const Tokens said = batch.tgt.slice(1, batch.tgt.length());      //       9 3 5 <eos>  (B, T)
    const std::vector<int32_t> lengths = said.lengths();
    return {model.loss(batch.src, read, said, mode),
            std::accumulate(lengths.begin(), lengths.end(), int64_t{0})};
}

// A step has two calls. learning.backward zeroes the gradients, runs forward and backward, and measures the
// gradient's norm. adam.step clips the gradient to norm 1 and updates the weights. Then run.after_step logs
// the step, and saves a checkpoint when one is due.
bool train(const models::Transformer& model, const Settings& s, const std::set<Sequence>& held_out,
           const models::RunFolder& folder, const kit::Subject& shown) {
    const Rng rng(static_cast<uint64_t>(s.seed)), data = rng.fork("training"), dropout = rng.fork("dropout");
    const nn::CosineSchedule learning_rate{s.lr, s.steps, s.steps / 10};
    const auto batch_of = [&](int64_t step) {
        return training_batch(data.fork(static_cast<uint64_t>(step)), s.batch, held_out);
    };
    const nn::LossOf loss = models::loss_of_parts(
        batch_of,
        [&](const models::Batch& batch, const nn::Mode& mode) { return loss_of(model, batch, mode); });

    models::Run run(folder, models::run_model(model));
    nn::Adam& adam = run.training.adam;                        // β2 = 0.98, ε = 1e-9 as in the paper, §5.3
    const nn::DataParallel& learning = run.training.parallel;  // mpirun shares out the work
    const kit::Plan plan = {
        .activations = kit::activation_bytes(model.config, s.batch * (kMaxLength + 1)),
        .subject = shown,
        .trial = kit::trial_of(model, [&](int64_t i) { return kit::examples_of(batch_of(i)); }),
        .learning_rate = s.lr,
        .batch = loss};
    for (int64_t step = kit::begin(run, s.steps, plan); step <= run.last(); ++step) {
        const nn::StepGradient gradient =
            learning.backward(step, dropout.fork(static_cast<uint64_t>(step)), loss);
        adam.step(learning_rate(step), gradient.scale * nn::clip_scale(gradient.norm, 1));
        const bool go_on = run.after_step({.step = step,
                                           .loss = gradient.loss,
                                           .tokens = gradient.tokens,
                                           .learning_rate = learning_rate(step),
                                           .grad_norm = gradient.norm});
        if (!go_on)  // Ctrl-C
            break;
    }
    return kit::end(run);
}

// --------------------------------------------------------------------------------------------------- test

// The model's own answers, generated token by token.
std::vector<models::Hypothesis> reverse(const models::Transformer& model,
                                        const std::vector<Sequence>& sequences) {
    const auto stepper = model.start(Tokens::padded(sequences, models::kPad));
    return models::greedy(*stepper, kMaxLength + 1);
}

// Each of the processes that mpirun has started tests some of them.
int64_t count_correct(const models::Transformer& model, const std::vector<Sequence>& sequences,
                      nn::Team& team) {
    const auto correct = nn::shared_ranges(team, std::ssize(sequences), [&](int64_t begin, int64_t end) {
        const std::vector<Sequence> some(sequences.begin() + begin, sequences.begin() + end);
        const std::vector<models::Hypothesis> answers = reverse(model, some);
        std::vector<double> is_correct;
        for (std::size_t i = 0; i < some.size(); ++i)
            is_correct.push_back(answers[i].finished && answers[i].ids == reversal(some[i]).tgt ? 1 : 0);
        return is_correct;
    });
    return std::count(correct.begin(), correct.end(), 1);
}

std::vector<std::string> symbols(const Sequence& ids) {
    return autograd::mapped(ids, [](int32_t id) {
        return id < models::kFirstFreeId ? "?" : std::to_string(id - models::kFirstFreeId);
    });
}

std::string text(const Sequence& ids) { return models::listed(symbols(ids), " "); }

// Prints how many sequences come out right, and some of the answers. Returns the first of these counts.
int64_t test(const models::Transformer& model, const std::vector<Sequence>& unseen, const Rng& choice,
             nn::Team& team) {
    const std::vector<Sequence> short_ones = short_sequences();
    const int64_t reversed = count_correct(model, unseen, team);
    std::cout << "\nheld-out sequences of 4 to 12 symbols, reversed without an error: " << reversed << "/"
              << kHeldOut << "\nall sequences of 1 to 3 symbols, too few to hold any out: "
              << count_correct(model, short_ones, team) << "/" << short_ones.size() << "\n\n";
    for (uint64_t i = 0; i < 4; ++i) {
        const Sequence& ids = unseen[static_cast<std::size_t>(choice.below(i, kHeldOut))];
        std::cout << "  " << text(ids) << "  ->  " << text(reverse(model, {ids})[0].ids) << '\n';
    }
    return reversed;
}

// ------------------------------------------------------------------------------------------------ picture

// A head's cross-attention. To reverse, a head must attend along the anti-diagonal.
struct HeadView {
    std::size_t layer;
    int64_t head;
    double mass;                  // mean weight on the anti-diagonal
    std::vector<double> weights;  // (T, S)
};

std::vector<HeadView> cross_attention(const models::Transformer& model, const Sequence& ids) {
    const autograd::NoGrad no_grad;
    const models::Batch batch = models::make_batch({reversal(ids)});
    nn::Probe seen;
    model(batch.src, batch.tgt.slice(0, batch.tgt.length() - 1), models::Mode::eval(&seen));
    std::vector<HeadView> heads;
    const int64_t S = batch.src.length(),
                  T = batch.tgt.length() - 1;  // T = S + 1: the last row predicts <eos>
    for (std::size_t layer = 0; layer < model.decoder.layers.size(); ++layer) {
        const Tensor& weights = seen.of(model.decoder.layers[layer].cross_attention);  // (1, H, T, S)
        for (int64_t head = 0; head < weights.size(1); ++head) {
            const autograd::Real* w = weights.data() + head * T * S;
            double mass = 0;
            for (int64_t t = 0; t < S; ++t)
                mass += static_cast<double>(w[t * S + (S - 1 - t)]) / static_cast<double>(S);
            heads.push_back({layer, head, mass, std::vector<double>(w, w + T * S)});
        }
    }
    return heads;
}

// All heads small, layer by layer, and the best one large.
void show_attention(const models::Transformer& model, const Sequence& ids) {
    const std::vector<HeadView> heads = cross_attention(model, ids);
    const HeadView& best = *std::max_element(
        heads.begin(), heads.end(), [](const HeadView& a, const HeadView& b) { return a.mass < b.mass; });
    const std::vector<std::string> columns = symbols(ids);
    std::vector<std::string> rows(columns.rbegin(), columns.rend());
    rows.push_back("<eos>");
    const auto width = static_cast<std::size_t>(kit::terminal_width(STDOUT_FILENO));
    const auto picture = [&](const HeadView& view, const std::string& title, kit::Cells cells) {
        return kit::draw(
            {.title = title, .rows = rows, .columns = columns, .values = view.weights, .cells = cells},
            kit::stdout_ink());
    };
    kit::say("\nCross-attention for " + text(ids) + " (rows: what it writes, columns: the input)\n" +
                 "for every head; the number is the share of its weight on the anti-diagonal\n\n",
             STDOUT_FILENO);
    std::vector<std::string> layer;
    const std::size_t shown = std::min<std::size_t>(heads.size(), 32);
    for (std::size_t i = 0; i < shown; ++i) {
        const HeadView& view = heads[i];
        const std::string title = autograd::join("head ", view.head + 1, ": ", kit::number(view.mass, 2));
        layer.push_back(picture(view, title, kit::Cells::small) + '\n');
        if (i + 1 == shown || heads[i + 1].layer > view.layer)
            std::cout << "layer " << view.layer + 1 << '\n' << kit::beside(std::exchange(layer, {}), width);
    }
    if (shown < heads.size())
        std::cout << "and " << kit::counted(std::ssize(heads) - 32, "head") << " more\n\n";
    kit::say(autograd::join("the best head: layer ", best.layer + 1, ", head ", best.head + 1, ", with ",
                            kit::number(best.mass, 2), " of its weight on the anti-diagonal\n\n"),
             STDOUT_FILENO);
    const std::string large = picture(best, "", kit::Cells::shades);
    std::cout << (kit::widest(kit::wrapped(large, large.size())) > width
                      ? picture(best, "", kit::Cells::small)
                      : large);
}

// What the page of --report shows: some held-out sequences.
kit::Subject subject(const models::Transformer& model, const std::set<Sequence>& held_out) {
    std::vector<models::Batch> texts;
    for (const int64_t i : {400, 403, 404, 406})
        texts.push_back(models::make_batch({reversal(*std::next(held_out.begin(), i))}));
    const kit::Labels names = kit::token_names(
        model.config.src_vocabulary, [](int32_t id) { return std::to_string(id - models::kFirstFreeId); });
    return kit::subject_of(model, texts, names, names);
}

void main_program(kit::Options& options) {
    Settings settings;
    add_options(options, settings);
    options.parse();
    const Sequence asked = parse_sequence(settings.words);
    const models::RunFolder folder("reverse_task", settings.run, options);
    const Rng rng(static_cast<uint64_t>(settings.seed));
    const models::Config config = configure(settings);
    kit::check_memory(models::least_parameters(config));
    const models::Transformer model(config, rng.fork("model"));
    kit::announce(kit::name(), nn::parameter_count(model), model.config.block.precision);
    const std::set<Sequence> held_out = held_out_sequences(rng.fork("held out"));
    if (!train(model, settings, held_out, folder, subject(model, held_out)))
        return;

    const std::vector<Sequence> unseen(held_out.begin(), held_out.end());
    const Rng choice = rng.fork("examples");
    const int64_t reversed = test(model, unseen, choice, folder.team());
    show_attention(model,
                   asked.empty() ? unseen[static_cast<std::size_t>(choice.below(0, kHeldOut))] : asked);
    if (!asked.empty()) {
        const models::Hypothesis answer = reverse(model, {asked})[0];
        std::cout << '\n'
                  << text(asked) << "  ->  " << text(answer.ids) << (answer.finished ? "" : " (cut)") << '\n';
    }
    kit::flush_output();
    kit::check_result(reversed == kHeldOut, kHeldOut - reversed, " of ", kHeldOut,
                      " held-out sequences came out wrong; more --steps may help");
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program("reverse_task", argc, argv, [] {
        return kit::Commands{
            {"", "trains a Transformer to reverse sequences, and tests it on unseen ones", main_program},
            kit::info_command("reverse_task", add_options)};
    });
}
