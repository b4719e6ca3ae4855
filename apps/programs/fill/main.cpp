// Fills gaps with the words that a masked language model expects there: a BertForMaskedLM from Hugging Face.
//
//     ./apps/fill bert 'The [MASK] sat on the mat.'
#include <iostream>

#include "apps/kit/model.h"
#include "apps/kit/options.h"
#include "apps/kit/prompt.h"
#include "apps/kit/run.h"
#include "apps/programs/fill/fill.h"
#include "autograd/base/list.h"
#include "models/filler.h"
#include "models/text/lines.h"

using namespace plaingrad;
using namespace plaingrad::fill;
using models::Filler;
using models::Filling;

namespace {

// Prints the text with the most probable words, and what each of its masks may be, one after the other:
// "The cat sat on the mat.<TAB>cat=0.3121<TAB>dog=0.2011".
void print_answer(const Filler& f, const std::string& text, const std::string& where, int64_t n) {
    if (f.encode(text, where).cut)
        kit::say(autograd::join(kit::name(), ": ", kit::as_line(where), ": more than ",
                                kit::counted(f.model.config.max_length, "token"), ", read only that far"));
    const std::vector<std::vector<Filling>> masks = f(text, n);
    std::string filled =
        f.filled(text, autograd::mapped(masks, [](const auto& mask) { return mask[0].word; }));
    std::replace(filled.begin(), filled.end(), '\t', ' ');
    std::cout << kit::as_line(filled);
    for (const std::vector<Filling>& mask : masks)
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
                return print_answer(f, line, where, n);
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
    kit::Prompt prompt = {.answer = [&](const std::string& text, const std::string& where) {
        print_answer(f, text, where, n);
    }};
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
    const std::vector<std::string> texts = kit::given_texts(words);
    const Filler f = kit::open_model<Filler>(words[0], precision);
    for (std::size_t i = 0; i < texts.size(); ++i)
        print_answer(f, texts[i], autograd::join("text ", i + 1), n);
    if (texts.empty())
        kit::can_prompt() ? talk(f, n) : fill_lines(f, n);
}

void print_model(const std::string& path) {
    kit::print_sizes(path, nn::parameter_count(kit::open_model<Filler>(path).model));
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program("fill", argc, argv, [] {
        return kit::Commands{{"", "fills gaps in texts with a masked language model", fill_command},
                             {"train", "trains a model further on texts", train_command},
                             kit::new_command({"bert"}),
                             kit::info_command("fill", add_train_options, print_model)};
    });
}
