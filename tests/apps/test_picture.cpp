// Pictures on a terminal and in a file: heat maps, charts, and what standard output can show.
#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>

#include "apps/kit/picture.h"
#include "apps/kit/prompt.h"
#include "apps/kit/text.h"
#include "models/families/one_stack.h"
#include "models/text/learn_tokenizer.h"
#include "tests/apps/running.h"
#include "tests/apps/shown.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using kit::Ink;
using tests::contains;
using tests::lines_of;
using tests::shown_by;
using tests::Words;

namespace {

constexpr Ink kInks[] = {Ink::ascii, Ink::blocks, Ink::greys, Ink::colours};

std::string heat_map(const Words& rows, const Words& columns, const std::vector<double>& values, Ink ink) {
    return kit::draw({.rows = rows, .columns = columns, .values = values}, ink);
}

// stdout_ink with this environment, and a terminal (or a file) as standard output.
Ink ink_of(const std::map<std::string, std::string>& variables, bool terminal = true) {
    std::map<std::string, std::string> before;
    for (const char* name : {"TERM", "COLORTERM", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"}) {
        if (const char* value = std::getenv(name))
            before[name] = value;
        unsetenv(name);
    }
    for (const auto& [name, value] : variables)
        setenv(name.c_str(), value.c_str(), 1);
    Ink ink = Ink::ascii;
    const auto ask = [&] { ink = kit::stdout_ink(); };
    terminal ? shown_by(ask, 80, STDOUT_FILENO) : tests::printed_by(ask, STDOUT_FILENO);
    for (const auto& [name, value] : variables)
        unsetenv(name.c_str());
    for (const auto& [name, value] : before)
        setenv(name.c_str(), value.c_str(), 1);
    return ink;
}

// A log with these losses, and some validations.
std::string log_of(const std::vector<double>& losses, const std::map<int64_t, double>& validations = {}) {
    nn::TrainingLog log;
    for (int64_t step = 1; const double loss : losses) {
        nn::StepReport report = {.step = step, .loss = loss};
        if (validations.contains(step))
            report.validation = validations.at(step);
        log.add(report);
        ++step;
    }
    return log.text();
}

// So that the model looks at few places.
void multiply(const std::vector<nn::NamedParameter>& parameters, const std::string& part,
              autograd::Real factor) {
    for (const nn::NamedParameter& p : parameters) {
        autograd::Tensor weight = p.tensor;
        for (int64_t i = 0; i < p.tensor.numel() && contains(p.name, part); ++i)
            weight.mutable_data()[i] *= factor;
    }
}

}  // namespace

TEST_CASE("a heat map in characters", "[kit][picture]") {
    CHECK(heat_map({"a", "<eos>"}, {"7", "12", "été"}, {0, 0.25, 0.5, 0.75, 1, 0.1}, Ink::blocks) ==
          "         7  12 été\n"
          "    a   ··  ░░  ▒▒\n"
          "<eos>   ▓▓  ██  ··\n");
    CHECK(heat_map({"a", "<eos>"}, {"7", "12", "x"}, {0, 0.25, 0.5, 0.75, 1, 0.1}, Ink::ascii) ==
          "        7 12  x\n"
          "    a  .. :: ++\n"
          "<eos>  ** ## ..\n");
    CHECK(heat_map({"é"}, {"1"}, {0.13}, Ink::blocks) == "    1\né  ░░\n");  // a label's columns, not bytes
    // Shades change half way between their values; numbers outside [0, 1] are drawn as the nearest.
    CHECK(heat_map({"x"}, {"a", "b", "c", "d", "e", "f"}, {0.12, 0.38, 0.62, 0.88, -3, 7}, Ink::blocks) ==
          "    a  b  c  d  e  f\n"
          "x  ·· ▒▒ ▒▒ ██ ·· ██\n");
    CHECK(heat_map({}, {"a"}, {}, Ink::ascii) == "   a\n");
}

TEST_CASE("a heat map in colour", "[kit][picture]") {
    CHECK(heat_map({"a"}, {"1", "2", "3"}, {0, 1, 0.5}, Ink::greys) ==
          "    1  2  3\na \033[48;5;232;38;5;255m   \033[0m\033[48;5;255;38;5;232m   "
          "\033[0m\033[48;5;244;38;5;232m   \033[0m\n");
    CHECK(heat_map({"a"}, {"long"}, {2}, Ink::greys) == "   long\na   \033[48;5;255;38;5;232m   \033[0m\n");
    CHECK(heat_map({"a"}, {"1", "2", "3"}, {0, 1, 0.5}, Ink::colours) ==
          "    1  2  3\na \033[48;2;0;30;80;38;5;255m   \033[0m\033[48;2;255;234;55;38;5;232m   "
          "\033[0m\033[48;2;128;132;68;38;5;232m   \033[0m\n");
}

TEST_CASE("a small heat map has one column for a value, and no labels", "[kit][picture]") {
    const kit::HeatMap map = {.title = "head 1",
                              .rows = {"a", "b", "c"},
                              .columns = {"long", "longer"},
                              .values = {0, 1, 0.5, 0.25, 0.75, NAN},
                              .cells = kit::Cells::small};
    CHECK(kit::draw(map, Ink::ascii) == "head 1\n.#\n+:\n*.\n");
    CHECK(kit::draw(map, Ink::blocks) == "head 1\n·█\n▒░\n▓·\n");
    CHECK(contains(kit::draw(map, Ink::greys),
                   "\n\033[48;5;232;38;5;255m \033[0m\033[48;5;255;38;5;232m \033[0m\n"));
    CHECK(contains(kit::draw(map, Ink::colours),
                   "\n\033[48;2;0;30;80;38;5;255m \033[0m\033[48;2;255;234;55;38;5;232m \033[0m\n"));
}

TEST_CASE("where a model looked: as many columns as fit, and as much of their labels", "[kit][picture]") {
    const auto weights = autograd::Tensor::full({1, 2, 2, 6}, 0.5);
    const kit::Labels columns = {"aaaaaa", "bbbbbb", "cccccc", "dddddd", "eeeeee", "ffffff"};
    // Seven columns are for the labels of the rows and the space behind them.
    for (const auto& [width, labels] :
         {std::pair(7 + 6 * 3, " aa bb cc dd ee ff"), std::pair(7 + 5 * 3, " bb cc dd ee ff"),
          std::pair(7 + 5 * 3 - 1, " cc dd ee ff"), std::pair(7 + 6 * 5, " aaaa bbbb cccc dddd eeee ffff"),
          std::pair(9, " ff")}) {
        std::string picture;
        const auto draw = [&] { picture = kit::attention_picture(weights, {"x", "<eos>"}, columns); };
        shown_by(draw, static_cast<unsigned short>(width), STDOUT_FILENO);
        CHECK(picture.substr(0, picture.find('\n')) == std::string(6, ' ') + labels);
    }
}

TEST_CASE("where a model looked: the mean of all heads", "[kit][picture]") {
    const auto weights = autograd::Tensor::from({1, 2, 2, 2}, {1, 0, 0, 1, 0, 1, 0, 1});  // of two heads
    std::string picture;
    const auto draw = [&] { picture = kit::attention_picture(weights, {"x", "y"}, {"a", "b"}); };
    tests::printed_by(draw, STDOUT_FILENO);
    CHECK(picture ==
          "    a  b\n"
          "x  ++ ++\n"
          "y  .. ##\n");
}

TEST_CASE("where a model looked: in its last layer", "[kit][picture]") {
    const models::LanguageModel model(
        {.vocabulary = 10, .max_length = 8, .n_layers = 3, .block = {.d_model = 8, .n_heads = 2, .d_ff = 8}},
        autograd::Rng(1));
    multiply(nn::parameters(model), "self_attention.in_proj.weight", 4);
    const autograd::Tokens text(1, 6, {4, 5, 6, 7, 8, 9});
    const kit::Labels labels = {"4", "5", "6", "7", "8", "9"};
    const kit::Prompt::Command command =
        kit::attention_command(model, {}, [&](const std::string&) { return text.ids(); });
    nn::Probe seen;
    model(text, nn::Mode::eval(&seen));
    const auto looked = [&](const auto& layer) {
        return kit::attention_picture(seen.of(layer.self_attention), labels, labels);
    };
    const auto& layers = model.backbone.encoder.layers;
    CHECK(looked(layers.front()) != looked(layers.back()));
    CHECK(command.run("456789", "") == looked(layers.back()));
}

TEST_CASE("where a translator looked: in its last layer", "[kit][picture]") {
    models::Config config = tests::small("paper");
    config.n_decoder_layers = 3;
    const models::Transformer model(config, autograd::Rng(1));
    multiply(nn::parameters(model), "cross_attention", 8);
    const std::vector<int32_t> source = {4, 5, 6, 7, 8, 9};
    const autograd::Tokens src(1, 6, source);
    // As many words as the model takes: it reads all but the last one.
    const models::BeamOptions options = {.beam = 1, .max_tokens = config.max_length};
    const models::text::Tokenizer words = models::text::learn_words({"4 5 6 7 8 9"});
    REQUIRE(words.encode("4 5 6 7 8 9") == source);
    const kit::Prompt prompt = kit::prompt_of(model, words, words, options);
    REQUIRE(prompt.commands.back().name == ":attention");

    const auto stepper = model.start(src, autograd::Tokens(1, 1, {config.specials.start}));
    const models::Hypothesis best = models::beam_search(*stepper, options)[0][0];
    std::vector<int32_t> ids = best.ids;
    if (best.finished)
        ids.push_back(config.specials.end());
    std::vector<int32_t> read(ids.begin(), ids.end() - 1);
    read.insert(read.begin(), config.specials.start);
    nn::Probe seen;
    model(src, autograd::Tokens(1, std::ssize(read), read), nn::Mode::eval(&seen));
    const auto looked = [&](const auto& layer) {
        return kit::attention_picture(seen.of(layer.cross_attention), kit::names_of(ids, prompt.names),
                                      kit::names_of(source, prompt.names));
    };
    const auto& layers = model.decoder.layers;
    CHECK(looked(layers.front()) != looked(layers.back()));
    CHECK(prompt.commands.back().run("4 5 6 7 8 9", "") == looked(layers.back()));
}

TEST_CASE("standard output: ASCII in a pipe, on a terminal what its variables promise", "[kit][picture]") {
    const std::map<std::string, std::string> all = {
        {"TERM", "xterm-256color"}, {"COLORTERM", "truecolor"}, {"LANG", "en_US.UTF-8"}};
    CHECK(ink_of(all, false) == Ink::ascii);
    CHECK(ink_of(all) == Ink::colours);
    CHECK(ink_of({{"TERM", "xterm"}, {"COLORTERM", "24bit"}}) == Ink::colours);
    CHECK(ink_of({{"TERM", "xterm-256color"}}) == Ink::greys);
    CHECK(ink_of({{"TERM", "xterm-256color"}, {"COLORTERM", "yes"}}) == Ink::greys);
    CHECK(ink_of({{"TERM", "xterm-256color"}, {"NO_COLOR", "1"}}) == Ink::blocks);
    CHECK(ink_of({{"TERM", "xterm"}, {"COLORTERM", "truecolor"}, {"NO_COLOR", "x"}}) == Ink::blocks);
    CHECK(ink_of({{"TERM", "xterm-256color"}, {"NO_COLOR", ""}}) == Ink::greys);  // as no-color.org says
    CHECK(ink_of({{"TERM", "dumb"}, {"COLORTERM", "truecolor"}, {"LANG", "C.utf8"}}) == Ink::blocks);
    CHECK(ink_of({{"TERM", "dumb"}, {"COLORTERM", "truecolor"}}) == Ink::ascii);
    CHECK(ink_of({{"TERM", "linux"}, {"LC_CTYPE", "de_DE.UTF-8"}}) == Ink::blocks);
    CHECK(ink_of({{"TERM", "linux"}, {"LC_ALL", "C"}, {"LANG", "en_US.UTF-8"}}) == Ink::ascii);
    CHECK(ink_of({}) == Ink::ascii);
}

TEST_CASE("means of parts: few values are repeated, and missing ones left out", "[kit][picture]") {
    CHECK(kit::means({1, 2, 3, 4, 5, 6}, 6, 3) == std::vector<double>{1.5, 3.5, 5.5});
    CHECK(kit::means({1, 2, 3, 4, 6}, 5, 2) == std::vector<double>{1.5, 13.0 / 3});
    CHECK(kit::means({1, 2}, 2, 5) == std::vector<double>{1, 1, 1, 2, 2});
    CHECK(kit::means({4, 6, 7}, 8, 4) == std::vector<double>{5, 7});
    CHECK(kit::means({}, 8, 2).empty());
    CHECK(kit::means({}, 0, 2).empty());
}

TEST_CASE("a bar is as high as its value, in eighths of a line", "[kit][picture]") {
    const auto bar = [](double height, Ink ink, int rows) {
        std::string all;
        for (int row = rows; row-- > 0;)
            all += kit::bar(height, row, rows, ink);
        return all;
    };
    for (int i = 0; i < 8; ++i)
        CHECK(bar(i / 7.0, Ink::blocks, 1) == Words{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}[std::size_t(i)]);
    CHECK(bar(1, Ink::blocks, 3) == "███");
    CHECK(bar(0, Ink::blocks, 3) == "  ▁");
    CHECK(bar(0.5, Ink::blocks, 3) == " ▅█");
    CHECK(bar(0.5, Ink::ascii, 3) == " :#");
    CHECK(bar(9, Ink::blocks, 2) == "██");
    CHECK(bar(INFINITY, Ink::blocks, 2) == "██");
}

TEST_CASE("a chart of a run's losses", "[kit][picture]") {
    std::vector<double> losses;
    for (int i = 0; i < 40; ++i)
        losses.push_back(4.0 / (1 + i));
    CHECK(kit::loss_chart(log_of(losses, {{20, 2.5}, {40, 1.1}}), 30, Ink::ascii) ==
          R"(loss: # training, o validation
      4 |#
        |#
        |#
      3 |#
        |#         o
        |#
      2 |#.
        |##
        |##                  o
      1 |##:
        |####:..
        |#########:::::::::::.
        +---------------------
         1      step        40
)");
    for (const Ink ink : kInks)
        for (const std::size_t width : {40u, 80u, 120u})
            for (const std::size_t steps : {1u, 7u, 1000u, 100000u}) {
                const std::string chart =
                    kit::loss_chart(log_of(std::vector<double>(steps, 3.3)), width, ink);
                CHECK(std::all_of(chart.begin(), chart.end(), [](unsigned char c) { return c < 128; }) ==
                      (ink == Ink::ascii));  // other inks have bytes of 128 and more
                for (const std::string& line : lines_of(chart))
                    CHECK(kit::columns(line) <= width);
                CHECK(chart.find(" training\n") < 12);
                CHECK(contains(chart, " 3.30 |"));
                CHECK(chart.ends_with(" " + std::to_string(steps) + "\n"));
            }
    std::map<int64_t, double> validations;  // more than there are columns
    for (int64_t step = 1; step <= 500; ++step)
        validations[step] = 5;
    const std::string chart =
        kit::loss_chart(log_of(std::vector<double>(500, 2), validations), 40, Ink::ascii);
    CHECK(contains(chart, "\n      5 |ooooo"));
    CHECK_NOTHROW(kit::loss_chart("step,loss\n1,2,3", 80, Ink::blocks));  // a cut log
    CHECK_FALSE(kit::loss_chart("", 80, Ink::blocks).empty());
}
