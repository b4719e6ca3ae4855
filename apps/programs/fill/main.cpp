// Fills gaps with the words that a masked language model expects there: a BertForMaskedLM from Hugging Face.
//
//     ./apps/fill bert 'The [MASK] sat on the mat.'
#include <iostream>

#include "apps/kit/model.h"
#include "apps/kit/options.h"
#include "apps/kit/prompt.h"
#include "apps/kit/run.h"
#include "apps/programs/fill/train.h"
#include "autograd/base/list.h"
#include "models/text/lines.h"

using namespace plaingrad;
using namespace plaingrad::fill;
using models::Filler;
using models::Filling;

namespace {

// A text with what each of its masks may be.
struct Filled {
    std::string text;  // with the most probable words
    std::vector<std::vector<Filling>> masks;
};

Filled answer(const Filler& f, const std::string& text, const std::string& where, int64_t n) {
    if (f.encode(text, where).cut)
        kit::say(autograd::join(kit::name(), ": ", kit::as_line(where), ": more than ",
                                kit::counted(f.model.config.max_length, "token"), ", read only that far"));
    std::vector<std::vector<Filling>> masks = f(text, n);
    const std::vector<std::string> best =
        autograd::mapped(masks, [](const std::vector<Filling>& all) { return all[0].word; });
    return {f.filled(text, best), std::move(masks)};
}

// The text, and below it a list for each mask.
void print_list(const Filled& filled) {
    std::cout << kit::as_line(filled.text) << '\n';
    for (std::size_t i = 0; i < filled.masks.size(); ++i) {
        if (filled.masks.size() > 1)
            std::cout << "mask " << i + 1 << ":\n";
        std::cout << kit::listed(autograd::mapped(
            filled.masks[i], [](const Filling& one) { return std::pair(one.word, one.probability); }));
    }
    kit::flush_output();
}

// In one line: "The cat sat on the mat.<TAB>cat=0.3121<TAB>dog=0.2011"; several masks one after the other.
void print_line(Filled filled) {
    std::replace(filled.text.begin(), filled.text.end(), '\t', ' ');
    std::cout << kit::as_line(std::move(filled.text));
    for (const std::vector<Filling>& mask : filled.masks)
        for (const Filling& one : mask)
            std::cout << '\t' << kit::as_line(one.word) << '=' << kit::number(one.probability, 4);
    std::cout << '\n';
    kit::flush_output();
}

// A line for each; an empty one where there is nothing to fill.
void fill_lines(const Filler& f, int64_t n) {
    int status = 0;
    kit::for_each_line(std::cin, "standard input", [&](const std::string& line, const std::string& where) {
        try {
            if (models::text::has_text(line))
                return print_line(answer(f, line, where, n));
        } catch (const autograd::Error& error) {
            std::cerr << autograd::join(kit::name(), ": ", kit::as_line(error.what()), "\n");
            status = 1;
        }
        std::cout << '\n';
        kit::flush_output();
    });
    if (status != 0)
        throw kit::Ended{status};
}

void talk(const Filler& f, int64_t n) {
    const kit::Labels names = kit::token_names(f.tokenizer, f.model.config.vocabulary);
    kit::Prompt prompt;
    prompt.answer = [&](const std::string& text, const std::string& where) {
        print_list(answer(f, text, where, n));
    };
    prompt.commands = {kit::attention_command(f.model, names, [&](const std::string& text) {
        const std::vector<int32_t> ids = f.encode(text).ids;
        return autograd::Tokens(1, std::ssize(ids), ids);
    })};
    kit::say("type a text with " + f.mask + " in it");
    kit::converse(prompt);
}

void fill_command(kit::Options& options) {
    std::vector<std::string> words;
    std::string precision;
    int64_t n = 5;
    options.rest("MODEL [TEXT...]",
                 "a folder from Hugging Face; texts, otherwise the lines of standard input", words,
                 {.least = 1});
    options.add("--n", "N", "words for each mask", n, {.min = 1, .max = 1000});
    options.add_precision(precision);
    options.add_threads();
    options.parse();
    // Otherwise a read error looks like the end of the input. Before any output, which would get lost.
    std::ios::sync_with_stdio(false);
    for (std::size_t i = 1; i < words.size(); ++i)
        kit::check_usage(models::text::has_text(words[i]), "text ", i, " is empty");
    const Filler f = open_model(words[0], precision);
    for (std::size_t i = 1; i < words.size(); ++i) {
        int64_t replaced = 0;
        const std::string text = models::text::replace_invalid_utf8(words[i], replaced);
        kit::report_replaced("the command line", replaced);
        print_list(answer(f, text, autograd::join("text ", i), n));
    }
    if (words.size() == 1)
        kit::can_prompt() ? talk(f, n) : fill_lines(f, n);
}

void train_command(kit::Options& options) {
    TrainSettings s;
    add_train_options(options, s);
    options.parse();
    kit::check_fine_tuning(options, s.words, s.run);
    const models::RunFolder folder("fill", s.run, options);
    train(s, folder);
}

void print_folder(const std::string& path) {
    const models::Config c = open_model(path, "").model.config;
    kit::print_sizes(path, "bert", c);
    std::cout << "text: tokens, vocabulary " << kit::grouped(c.vocabulary) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program("fill", argc, argv, [] {
        return kit::Commands{{"", "fills gaps in texts with a masked language model", fill_command},
                             {"train", "trains a model further on texts", train_command},
                             kit::new_command({"bert"}),
                             kit::info_command<TrainSettings>("fill", add_train_options, print_folder)};
    });
}
