// The numbers of apps/README.md.
#include <ostream>

#include "apps/kit/program.h"
#include "autograd/base/portable_math.h"
#include "models/families/one_stack.h"
#include "tests/chapters/chapter.h"
#include "tests/chapters/command.h"
#include "tests/chapters/experiment.h"
#include "tests/chapters/print.h"
#include "tests/chapters/reversing.h"
#include "tests/chapters/sections.h"
#include "tests/figures/figure.h"
#include "tests/folder.h"

namespace plaingrad::chapters {

using namespace models;
namespace portable = autograd::portable;

namespace {

// ------------------------------------------------------------------------------ a run of ./apps/reverse_task

struct Row {
    int step;
    double loss, learning_rate, gradient_norm;
};

// Its log.csv, without the times.
const std::vector<Row>& log_of_a_run() {
    static const std::vector<Row> rows = [] {
        const tests::Folder folder;
        output_of("./apps/reverse_task --save " + quoted(folder / "run"));
        std::vector<Row> read;
        for (const auto& values :
             rows_of(read_text(folder / "run/log.csv"),
                     "step,loss,validation loss,learning rate,gradient norm,seconds,tokens/s"))
            read.push_back(
                {std::stoi(values[0]), std::stod(values[1]), std::stod(values[3]), std::stod(values[4])});
        return read;
    }();
    return rows;
}

// Of the ten steps up to this one, or of the first step alone.
double mean_loss(const std::vector<Row>& rows, std::size_t step) {
    double sum = 0;
    const std::size_t n = step < 10 ? 1 : 10;
    for (std::size_t i = step - n; i < step; ++i)
        sum += rows.at(i).loss;
    return sum / static_cast<double>(n);
}

void log_rows(std::ostream& out) {
    const std::vector<Row>& log = log_of_a_run();
    Rows rows = {{"step", "loss", "mean of the ten steps up to here", "learning rate", "gradient norm"}};
    for (const std::size_t step : {1U, 40U, 120U, 200U, 400U, 600U, 800U, 1200U}) {
        const Row& row = log.at(step - 1);
        rows.push_back({std::to_string(row.step), fixed(row.loss, 3), fixed(mean_loss(log, step), 3),
                        fixed(row.learning_rate, 5), fixed(row.gradient_norm)});
    }
    table(out, rows, "nnnnn");
}

std::string loss_figure() {
    std::vector<double> losses;
    for (const Row& row : log_of_a_run())
        losses.push_back(row.loss);
    const std::string from = digits(mean_loss(log_of_a_run(), 10), 1),
                      to = digits(mean_loss(log_of_a_run(), losses.size()), 1);
    return figures::svg(
        "A run of ./apps/reverse_task",
        autograd::join("The loss falls from ", from, " to ", to, " in ", kit::grouped(std::ssize(losses)),
                       " steps. It jumps up and down from one step to the next."),
        {figures::LineChart{
            .x = {.name = "step"}, .y = {.name = "loss", .log = true}, .series = {{"loss", losses}}}});
}

// ---------------------------------------------------------------------------------------------- experiments

void first_losses(std::ostream& out) {
    Rows rows = {{"vocabulary V", "ln V", "half the variance of the logits", "loss before the first step"}};
    for (const int64_t V : {20, 1000, 10000}) {
        const LanguageModel model(
            {.vocabulary = V, .n_layers = 2, .block = {.d_model = 64, .n_heads = 4, .d_ff = 128}}, Rng(1));
        const Tokens text = random_tokens(8, 17, V - kFirstFreeId, Rng(2), kFirstFreeId);
        const Tensor logits = model(text.slice(0, 16), Mode::eval());  // (8, 16, V)
        const double deviation = rms(logits - mean(logits));
        rows.push_back({std::to_string(V), fixed(portable::log(static_cast<double>(V))),
                        fixed(deviation * deviation / 2),
                        fixed(value(cross_entropy(logits, text.slice(1, 17))))});
    }
    table(out, rows, "nnnn");
}

void one_batch(std::ostream& out) {
    const Reversed run = learn_to_reverse({.one_batch = true});
    Rows rows = {{"step", autograd::join("loss on this one batch of ", kBatch)}};
    for (const std::size_t step : {1U, 50U, 100U, 200U, 500U})
        rows.push_back({std::to_string(step), fixed(run.losses.at(step - 1), 4)});
    rows.push_back({autograd::join("right, of ", kUnseen, " unseen"), std::to_string(run.right)});
    table(out, rows, "nn");
    claim(run.losses.back() < 0.01 && run.right < kUnseen / 2, "a model can learn one batch by heart");
}

// Of the seven tokens of an answer the last is <eos>, which is easily known; the others are ten digits.
const double kGuessing = 6.0 / 7 * portable::log(10.0);

const std::vector<std::pair<const char*, double>> kRates = {
    {"0.00003", 3e-5}, {"0.0003", 3e-4}, {"0.003", 3e-3}, {"0.03", 3e-2}};

const std::vector<Reversed>& runs_of_rates() {
    static const std::vector<Reversed> runs = [] {
        std::vector<Reversed> all;
        for (const auto& [name, lr] : kRates)
            all.push_back(learn_to_reverse({.lr = lr}));
        return all;
    }();
    return runs;
}

void rates(std::ostream& out) {
    Rows rows = {{"learning rate", "loss at step 50", "step 200", "step 500",
                  autograd::join("right, of ", kUnseen, " unseen")}};
    for (std::size_t i = 0; i < kRates.size(); ++i) {
        const Reversed& run = runs_of_rates()[i];
        rows.push_back({kRates[i].first, fixed(run.losses.at(49), 3), fixed(run.losses.at(199), 3),
                        fixed(run.losses.at(499), 3), std::to_string(run.right)});
    }
    const std::string guessing = fixed(kGuessing, 3);
    rows.push_back({"guessing: 6/7 · ln 10", guessing, guessing, guessing, ""});
    table(out, rows, "nnnnn");
}

std::string rates_figure() {
    std::vector<figures::LineChart> panels;
    for (std::size_t i = 0; i < kRates.size(); ++i)
        panels.push_back({.title = std::string("learning rate ") + kRates[i].first,
                          .x = {.name = "step"},
                          .y = {.name = "loss", .log = true},
                          .series = {{"loss", runs_of_rates()[i].losses}, {"guessing", {kGuessing}}}});
    return figures::svg("One model, four learning rates",
                        "Too small, it has hardly begun; just right; too large, it never settles.", panels,
                        2);
}

const Adds kHere({{"apps.log", Effort::training, log_rows},
                  {"apps.first_losses", Effort::quick, first_losses},
                  {"apps.one_batch", Effort::training, one_batch},
                  {"apps.rates", Effort::training, rates}},
                 {{"apps/figures/loss.svg", Effort::training, loss_figure},
                  {"apps/figures/rates.svg", Effort::training, rates_figure}});

}  // namespace

}  // namespace plaingrad::chapters
