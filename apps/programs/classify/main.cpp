// Learns to classify texts: an encoder-only Transformer that reads a line and predicts its label.
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "apps/kit/model.h"
#include "apps/kit/prompt.h"
#include "apps/programs/classify/classify.h"
#include "autograd/base/list.h"
#include "models/text/lines.h"

using namespace plaingrad;
using namespace plaingrad::classify;
using autograd::check;
using autograd::join;

namespace {

void demo_command(kit::Options& options) {
    Settings s;
    s.epochs = 30, s.batch = 32, s.d_model = 64, s.lr = 3e-3, s.dropout = 0.1;
    kit::add_report_options(options, s.run);
    options.add_precision(s.run.precision);
    options.add_common(s.seed);
    options.parse();
    const Corpus corpus = built_in_corpus();
    const models::RunFolder folder("classify", s.run, options);
    const Labeller l = new_labeller(corpus, collect_labels(corpus.training, "built in"), s);
    train(l, corpus, s, folder);
    std::cout << "On sentences worded differently from those learned:\n";
    const Confusion c = evaluate(l, corpus.held_out, folder.team());
    print(c);
    std::cout << '\n';
    for (std::size_t i = 0; i < corpus.held_out.size(); i += 5) {
        const std::string& text = corpus.held_out[i].text;
        std::cout << "  " << text << "  ->  " << l(text)[0].name << '\n';
    }
    kit::flush_output();
    kit::check_result(c.accuracy() >= 0.9, "less than 90 % of the held-out sentences came out right");
}

// --validation as a number of lines, or as a file.
Corpus make_corpus(const std::vector<Example>& examples, const Settings& s) {
    if (!is_number(s.validation))
        return {examples, read_examples(s.validation)};
    const auto n = static_cast<int64_t>(examples.size());
    const int64_t count = s.validation.empty() ? std::min<int64_t>(500, n / 10)
                                               : kit::parse_integer("--validation", s.validation, {.max = n});
    Corpus corpus = hold_out(examples, count, autograd::Rng(static_cast<uint64_t>(s.seed)).fork("held out"));
    if (const int64_t held_out = std::ssize(corpus.held_out); held_out < count && !s.validation.empty())
        kit::say(join("only ", held_out, " of ", kit::counted(count, "line"),
                      " can be held out: each label needs a text to learn from"));
    return corpus;
}

void train_on(const std::string& path, const Settings& s, const models::RunFolder& folder) {
    const std::vector<Example> examples = read_examples(path);
    const std::vector<std::string> labels = collect_labels(examples, path);
    const Corpus corpus = make_corpus(examples, s);
    for (const std::string& label : labels)
        check(std::any_of(corpus.training.begin(), corpus.training.end(),
                          [&](const Example& e) { return e.label == label; }),
              path, ": all texts of the label '", label,
              "' are held out, under this label or another; hold out fewer");
    for (const Example& e : corpus.held_out)
        index_of(e, labels);  // throws for another label
    kit::check_usage(s.patience == 0 || !corpus.held_out.empty(),
                     "--patience needs lines that are held out: --validation must not be 0");
    const Labeller l = new_labeller(corpus, labels, s);
    if (!train(l, corpus, s, folder))
        return;
    if (corpus.held_out.empty())
        kit::say(kit::name() + ": no lines are held out, so nothing is measured; --validation N holds out N");
    else
        print(evaluate(l, corpus.held_out, folder.team()));
}

void train_command(kit::Options& options) {
    Settings s;
    add_train_options(options, s);
    options.parse();
    for (const char* name : {"--layers", "--heads", "--d-model", "--dropout", "--context", "--keep-case"})
        kit::check_usage(s.from.empty() || !options.was_given(name), name,
                         " is decided by the folder given to --from");
    const models::RunFolder folder("classify", s.run, options);
    train_on(s.files.at(0), s, folder);
}

void predict_command(kit::Options& options) {
    std::vector<std::string> words;
    options.rest("MODEL [TEXT...]",
                 "a saved model or a folder from Hugging Face; texts, otherwise the lines of standard input",
                 words, {.min = 1});
    // Otherwise a read error looks like the end of the input. Before any output, which would get lost.
    std::ios::sync_with_stdio(false);
    const auto l = kit::open_given<Labeller>(options, words);
    const auto answer = [&](const std::vector<std::string>& texts) { predict(l, texts); };
    if (words.size() > 1)
        answer(kit::given_texts(words));
    else
        kit::can_prompt() ? talk(l) : kit::for_lines_together(std::cin, "standard input", 256, answer);
}

void eval_command(kit::Options& options) {
    std::vector<std::string> words;
    options.rest("MODEL FILE",
                 "a saved model or a folder from Hugging Face; lines of label<TAB>text, or label and text",
                 words, {2, 2});
    const auto l = kit::open_given<Labeller>(options, words);
    const std::vector<Example> examples = read_examples(words[1]);
    report_cuts(l, texts_of(examples));
    print(evaluate(l, examples));
}

void print_model(const std::string& path) {
    const auto l = kit::open_model<Labeller>(path);
    kit::print_sizes(path, nn::parameter_count(l.model));
    kit::say("labels: " + models::listed(autograd::mapped(l.labels, kit::as_line)), STDOUT_FILENO);
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program(
        "classify", argc, argv,
        {{"", "learns to label lines of text", demo_command},
         {"train", "learns from a file with a label and a text on each line", train_command},
         {"predict", "predicts the labels of texts with a saved model", predict_command},
         {"eval", "measures a model on a labelled file", eval_command},
         kit::info_command("classify", add_train_options, print_model)});
}
