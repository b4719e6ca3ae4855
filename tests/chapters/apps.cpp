// The numbers of apps/README.md.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <sstream>

#include "apps/kit/figure.h"
#include "models/language_model.h"
#include "tests/chapters/chapter.h"
#include "tests/chapters/diagram.h"
#include "tests/chapters/reversing.h"
#include "tests/folder.h"

namespace plaingrad::chapters {

using namespace models;

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
        const std::string command = "./apps/reverse_task --save " + folder.path + "/run >/dev/null 2>&1";
        autograd::check(std::system(command.c_str()) == 0, "[apps] '", command, "' failed; `make` builds it");
        std::istringstream in(read_text(folder.path + "/run/log.csv"));
        std::vector<Row> read;
        std::string line;
        for (std::getline(in, line); std::getline(in, line);) {
            std::vector<std::string> cells;
            std::istringstream of_line(line);
            for (std::string cell; std::getline(of_line, cell, ',');)
                cells.push_back(cell);
            read.push_back({std::stoi(cells.at(0)), std::stod(cells.at(1)), std::stod(cells.at(3)),
                            std::stod(cells.at(4))});
        }
        return read;
    }();
    return rows;
}

double mean_loss(const std::vector<Row>& rows, std::size_t first, std::size_t last) {
    double sum = 0;
    for (std::size_t i = first; i <= last; ++i)
        sum += rows.at(i - 1).loss;
    return sum / static_cast<double>(last - first + 1);
}

void log_rows(std::ostream& out) {
    const std::vector<Row>& rows = log_of_a_run();
    out << "| step | loss | mean of the ten steps up to here | learning rate | gradient norm "
           "|\n|---:|---:|---:|---:|---:|\n";
    for (const std::size_t step : {1U, 10U, 40U, 60U, 80U, 120U, 200U, 400U, 600U, 800U, 1000U, 1200U}) {
        const Row& row = rows.at(step - 1);
        out << "| " << row.step << std::fixed << " | " << std::setprecision(3) << row.loss << " | "
            << (step >= 10 ? mean_loss(rows, step - 9, step) : row.loss) << " | " << std::setprecision(5)
            << row.learning_rate << " | " << std::setprecision(2) << row.gradient_norm << " |\n";
    }
}

std::string loss_figure() {
    std::vector<double> losses;
    for (const Row& row : log_of_a_run())
        losses.push_back(row.loss);
    return kit::svg(
        "A run of ./apps/reverse_task",
        "The loss falls from 3 to 0.02 in 1,200 steps. It jumps up and down from one step to the next.",
        {kit::LineChart{
            .x = {.name = "step"}, .y = {.name = "loss", .log = true}, .series = {{"loss", losses}}}});
}

// ---------------------------------------------------------------------------------------------- experiments

// Half the variance of all logits.
double half_variance(const Tensor& logits) {
    const auto n = static_cast<double>(logits.numel());
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < logits.numel(); ++i) {
        const auto x = static_cast<double>(logits.data()[i]);
        sum += x;
        squares += x * x;
    }
    return (squares / n - sum / n * (sum / n)) / 2;
}

void first_losses(std::ostream& out) {
    out << "| vocabulary V | ln V | half the variance of the logits | loss before the first step |\n"
        << "|---:|---:|---:|---:|\n"
        << std::fixed << std::setprecision(2);
    for (const int64_t V : {20, 1000, 10000}) {
        const LanguageModel model(
            {.vocabulary = V, .n_layers = 2, .block = {.d_model = 64, .n_heads = 4, .d_ff = 128}}, Rng(1));
        std::vector<int32_t> ids;
        for (uint64_t i = 0; i < 8 * 17; ++i)
            ids.push_back(kFirstFreeId + static_cast<int32_t>(Rng(2).below(i, V - kFirstFreeId)));
        const Tokens text(8, 17, ids);
        const Tensor logits = model(text.slice(0, 16), Mode::eval());
        out << "| " << V << " | " << std::log(static_cast<double>(V)) << " | " << half_variance(logits)
            << " | " << cross_entropy(logits, text.slice(1, 17)).item() << " |\n";
    }
}

void one_batch(std::ostream& out) {
    const Reversed run = learn_to_reverse({.one_batch = true});
    out << "| step | loss on this one batch of " << kBatch << " |\n|---:|---:|\n"
        << std::fixed << std::setprecision(4);
    for (const std::size_t step : {1U, 50U, 100U, 200U, 500U})
        out << "| " << step << " | " << run.losses[step - 1] << " |\n";
    out << "| right, of " << kUnseen << " unseen | " << run.right << " |\n";
    autograd::check(run.losses.back() < 0.01 && run.right < kUnseen / 2,
                    "[apps.one_batch] it is not learned by heart any more");
}

// Of the seven tokens of an answer the last is <eos>, which is easily known; the others are ten digits.
const double kGuessing = 6.0 / 7 * std::log(10.0);

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
    out << "| learning rate | loss at step 50 | step 200 | step 500 | right, of " << kUnseen
        << " unseen |\n|---:|---:|---:|---:|---:|\n"
        << std::fixed << std::setprecision(3);
    for (std::size_t i = 0; i < kRates.size(); ++i) {
        const Reversed& run = runs_of_rates()[i];
        out << "| " << kRates[i].first << " | " << run.losses[49] << " | " << run.losses[199] << " | "
            << run.losses[499] << " | " << run.right << " |\n";
    }
    out << "| guessing: 6/7 · ln 10 | " << kGuessing << " | " << kGuessing << " | " << kGuessing << " | |\n";
}

std::string rates_figure() {
    std::vector<kit::LineChart> panels;
    for (std::size_t i = 0; i < kRates.size(); ++i)
        panels.push_back({.title = std::string("learning rate ") + kRates[i].first,
                          .x = {.name = "step"},
                          .y = {.name = "loss", .log = true},
                          .series = {{"loss", runs_of_rates()[i].losses}, {"guessing", {kGuessing}}}});
    return kit::svg("One model, four learning rates",
                    "Too small, it has hardly begun; just right; too large, it never settles.", panels, 2);
}

// What a training step does: forward from left to right, backward from right to left.
std::string step_figure() {
    const Diagram d = {.boxes = {{"source\n5 3 9", 0, 0, 1.1, 1},
                                 {"encoder\nreads the source", 1.7, 0, 1.7, 1, 1},
                                 {"decoder\nattends to both", 4, 0, 1.7, 1, 1},
                                 {"logits\n9 3 5 <eos> ?", 6.3, 0, 1.5, 1, 1},
                                 {"loss\n−ln p", 8.4, 0, 0.9, 1, 1},
                                 {"target, shifted\n<sos> 9 3 5", 4, 1.6, 1.7, 1},
                                 {"Adam\nmoves the weights", 1.7, 1.6, 1.7, 1, 2},
                                 {"target\n9 3 5 <eos>", 8.05, 1.6, 1.6, 1}},
                       .arrows = {{0, 1},
                                  {1, 2, "", 1},
                                  {2, 3, "", 1},
                                  {3, 4, "", 1},
                                  {5, 2},
                                  {7, 4},
                                  {4, 3, "", 2},
                                  {3, 2, "", 2},
                                  {2, 1, "", 2},
                                  {1, 6, "gradients", 2}},
                       .cell_width = 80};
    return svg(
        "A training step: forward in blue, backward in orange",
        "The encoder reads the source, the decoder reads the shifted target and attends to both; the loss "
        "compares its logits with the target. Gradients flow back the same way, and Adam moves every weight.",
        d);
}

}  // namespace

Computed apps_chapter() {
    return {.sections = {{"apps.log", Effort::training, log_rows},
                         {"apps.first_losses", Effort::quick, first_losses},
                         {"apps.one_batch", Effort::training, one_batch},
                         {"apps.rates", Effort::training, rates}},
            .figures = {{"apps/figures/step.svg", Effort::quick, step_figure},
                        {"apps/figures/loss.svg", Effort::training, loss_figure},
                        {"apps/figures/rates.svg", Effort::training, rates_figure}}};
}

}  // namespace plaingrad::chapters
