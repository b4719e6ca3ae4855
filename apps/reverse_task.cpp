// Trains an encoder-decoder Transformer from scratch to reverse sequences, and tests it on sequences that it
// has never seen. On this page: configuration, data, the loop, the test. What a run does between two steps
// (checkpoints, a log, a progress line, many processes) is in models/runs/run.h and apps/kit/run.h.
#include <iostream>
#include <set>

#include "apps/kit/model.h"
#include "apps/kit/prompt.h"
#include "autograd/base/list.h"
#include "models/decoding/decoding.h"
#include "nn/schedule.h"

using namespace plaingrad;
using autograd::Rng;
using autograd::Tensor;
using Sequence = std::vector<int32_t>;

namespace {

// ------------------------------------------------------------------------------------------ configuration
constexpr int kSymbols = 16;  // the numbers 0 to 15; symbol s has the id s + 4
constexpr int kMinLength = 1, kMaxLength = 12;
constexpr int kHeldOut = 2000, kHeldOutMinLength = 4;  // there are too few shorter ones to hold any out

struct Settings {
    kit::PresetModel model = {.preset = "blog"};  // models/presets.h names the source
    int64_t steps = 1200, batch = 32, seed = 1;
    double lr = 3e-3;
    models::RunSettings run = {.save_every = 200};
    std::vector<std::string> words;
};

void add_options(kit::Options& options, Settings& s) {
    options.rest("SYMBOL...", "a sequence of 1 to 12 numbers from 0 to 15, to be reversed after training",
                 s.words, {.max = kMaxLength});
    options.add("--steps", "N", "training steps", s.steps, {.min = 1})
        .can_not_change("the learning rate falls over all of them");
    options.add("--batch", "N", "sequences per step", s.batch, {.min = 1, .max = 1 << 20});
    options.add("--lr", "X", "highest learning rate", s.lr, {.max = 1});
    kit::add_model_options(options, s.model);
    kit::add_run_options(options, s.run);
    options.add_common(s.seed);
}

models::Config configure(const Settings& s) {
    models::Config config = s.model.chosen();
    config.src_vocabulary = config.vocabulary = models::kFirstFreeId + kSymbols;
    config.max_length = kMaxLength + 1;  // <sos> or <eos> takes one
    config.block.precision = kit::precision_of(s.run.precision);
    // N(0, 1) embeddings keep symbols and positions distinct. In an output layer, such numbers are too large.
    if (!config.tied)
        config.block.init = nn::Init::pytorch;
    return config;
}
// --------------------------------------------------------------------------------------------------- data
int32_t id_of(int64_t symbol) { return models::kFirstFreeId + static_cast<int32_t>(symbol); }
std::string symbol(int32_t id) { return id < id_of(0) ? "?" : std::to_string(id - id_of(0)); }
std::string text(const Sequence& ids) { return models::listed(autograd::mapped(ids, symbol), " "); }
kit::Labels names() { return kit::token_names(models::kFirstFreeId + kSymbols, symbol); }
models::Pair reversal(const Sequence& ids) { return {ids, Sequence(ids.rbegin(), ids.rend())}; }

Sequence random_sequence(const Rng& rng, int min_length) {
    Sequence ids(static_cast<std::size_t>(min_length + rng.below(0, kMaxLength - min_length + 1)));
    for (std::size_t i = 0; i < ids.size(); ++i)
        ids[i] = id_of(rng.below(i + 1, kSymbols));
    return ids;
}

std::set<Sequence> held_out_sequences(const Rng& rng) {
    std::set<Sequence> chosen;
    for (uint64_t i = 0; chosen.size() < kHeldOut; ++i)
        chosen.insert(random_sequence(rng.fork(i), kHeldOutMinLength));
    return chosen;
}

models::Batch training_batch(const Settings& s, const std::set<Sequence>& held_out, int64_t step) {
    const Rng rng = Rng(static_cast<uint64_t>(s.seed)).fork("training").fork(static_cast<uint64_t>(step));
    std::vector<models::Pair> pairs;
    for (uint64_t i = 0; std::ssize(pairs) < s.batch; ++i)
        if (const Sequence ids = random_sequence(rng.fork(i), kMinLength); !held_out.contains(ids))
            pairs.push_back(reversal(ids));
    return models::make_batch(pairs);
}

std::vector<Sequence> short_sequences() {  // all of 1 to 3 symbols
    std::vector<Sequence> all;
    for (int length = 1, count = kSymbols; length < kHeldOutMinLength; ++length, count *= kSymbols)
        for (int n = 0; n < count; ++n) {
            all.emplace_back();
            for (int i = 0, rest = n; i < length; ++i, rest /= kSymbols)
                all.back().push_back(id_of(rest % kSymbols));
        }
    return all;
}
// ----------------------------------------------------------------------------------------------- training
bool train(const models::Transformer& model, const Settings& s, const std::set<Sequence>& held_out,
           const models::RunFolder& folder) {
    const auto pair = [&](int64_t i) { return reversal(*std::next(held_out.begin(), i)); };  // for the page
    const models::Batch shown = models::make_batch({pair(400), pair(403), pair(404), pair(406)});
    const auto examples = [&](int64_t step) { return kit::examples_of(training_batch(s, held_out, step)); };
    kit::Run run(folder, models::run_model(model),
                 {.steps = s.steps,
                  .learning_rate = nn::CosineSchedule{s.lr, s.steps, s.steps / 10},
                  .seed = static_cast<uint64_t>(s.seed)},
                 {.activations = kit::activation_bytes(model.config, s.batch * (kMaxLength + 1)),
                  .report_model = kit::report_model_of(model, kit::examples_of(shown).inputs, names()),
                  .objective = kit::objective_of(model, examples)});
    nn::Adam& adam = run.training.adam;  // β2 = 0.98, ε = 1e-9 as in the paper, §5.3
    while (run.next()) {
        const models::Batch batch = training_batch(s, held_out, run.step());
        adam.zero_grad();
        for (const auto& part : run.parts(batch)) {  // those of this process, if mpirun began many
            const Tensor loss = model.loss(part.src, part.read(), part.said(), run.mode(part));
            run.backward({loss, part.tokens()}, part);
        }
        const nn::StepGradient gradient = run.gradients();  // of all processes, summed in order
        adam.step(run.rate(), gradient.scale * nn::clip_scale(gradient.norm, 1));
    }
    return run.finish();
}
// --------------------------------------------------------------------------------------------------- test
// The model's own answers, generated token by token; under mpirun, by every process.
std::vector<models::Hypothesis> reverse(const models::Transformer& model, const std::vector<Sequence>& all) {
    return models::greedy(*model.start(autograd::Tokens::padded(all, models::kPad)), kMaxLength + 1);
}

int64_t count_correct(const models::Transformer& model, const std::vector<Sequence>& all) {
    const std::vector<models::Hypothesis> answers = reverse(model, all);
    int64_t correct = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
        correct += answers[i].finished && answers[i].ids == reversal(all[i]).tgt;
    return correct;
}

void main_program(kit::Options& options) {
    Settings s;
    add_options(options, s);
    options.parse();
    const Sequence asked = autograd::mapped(s.words, [](const std::string& word) {
        return id_of(kit::parse_integer("a symbol", word, {.max = kSymbols - 1}));
    });
    const models::RunFolder folder("reverse_task", s.run, options);
    const Rng rng(static_cast<uint64_t>(s.seed)), choice = rng.fork("examples");
    const models::Transformer model = kit::new_model<models::Transformer>(configure(s), rng.fork("model"));
    const std::set<Sequence> held_out = held_out_sequences(rng.fork("held out"));
    if (!train(model, s, held_out, folder))
        return;
    const std::vector<Sequence> unseen(held_out.begin(), held_out.end()), short_ones = short_sequences();
    const auto pick = [&](uint64_t i) { return unseen[static_cast<std::size_t>(choice.below(i, kHeldOut))]; };
    const int64_t reversed = count_correct(model, unseen);
    std::cout << "\nheld-out sequences of 4 to 12 symbols, reversed without an error: " << reversed << "/"
              << kHeldOut << "\nall sequences of 1 to 3 symbols, too few to hold any out: "
              << count_correct(model, short_ones) << "/" << short_ones.size() << "\n\n";
    for (uint64_t i = 0; i < 4; ++i)
        std::cout << "  " << text(pick(i)) << "  ->  " << text(reverse(model, {pick(i)})[0].ids) << '\n';
    // To reverse, a head must look along the anti-diagonal.
    const models::Batch shown = models::make_batch({reversal(asked.empty() ? pick(0) : asked)});
    std::vector<int64_t> right;
    for (int64_t place = shown.src.length(); place-- > 0;)
        right.push_back(place);
    kit::show_heads(model, shown, names(), right, "the anti-diagonal");
    if (!asked.empty()) {
        const models::Hypothesis answer = reverse(model, {asked})[0];
        std::cout << "\n" + text(asked) << "  ->  " << text(answer.ids) << (answer.finished ? "" : " (cut)")
                  << '\n';
    }
    kit::flush_output();
    kit::check_result(reversed == kHeldOut, kHeldOut - reversed, " of ", kHeldOut,
                      " held-out sequences came out wrong; more --steps may help");
}
}  // namespace

int main(int argc, char** argv) {
    return kit::run_program(
        "reverse_task", argc, argv,
        {{"", "trains a Transformer to reverse sequences, and tests it on unseen ones", main_program},
         kit::info_command("reverse_task", add_options)});
}
