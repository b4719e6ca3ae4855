// Trains an encoder-decoder Transformer on a handful of sentence pairs, translates them, and then every line
// of standard input. On a terminal it prompts for sentences, and for commands, which begin with a colon.
#include <iostream>

#include "apps/kit/model.h"
#include "apps/kit/prompt.h"
#include "models/presets.h"
#include "nn/schedule.h"

using namespace plaingrad;
using models::WordPairs;

namespace {

// --------------------------------------------------------------------------------------------------- data
const std::map<std::string, std::string> kBuiltIn = {  // lines of source<TAB>target
    {"en-fr",
     "hello world\tbonjour le monde\nhow are you\tcomment ça va\ngood morning\tbonjour\n"
     "thank you\tmerci\nsee you soon\tà bientôt\n"},
    {"en-es",
     "hello world\thola mundo\ni love you\tte amo\nthe cat is black\tel gato es negro\n"
     "good morning\tbuenos dias\nthis is a book\teste es un libro\nwhat is your name\tcomo te llamas\n"}};
constexpr int64_t kBatch = 64;  // pairs in a step
// ------------------------------------------------------------------------------------------ configuration
struct Settings {
    std::string preset = "article", pairs = "en-fr";  // pairs: built in, or a file
    std::vector<std::string> words;
    int64_t epochs = 100, seed = 1;
    double lr = 0;
    models::BeamOptions search = {.beam = 3};
    models::RunSettings run = {.save_every = 100};
};

void add_options(kit::Options& options, Settings& s) {
    options.rest("SENTENCE...",
                 "translate each after training; without any, translate standard input line by line",
                 s.words);
    options
        .add("--pairs", "en-fr|en-es|FILE", "what to learn; a file has lines of source<TAB>target", s.pairs)
        .may_change()
        .reads(
            [](const std::string& text) { return kBuiltIn.contains(text) ? text : kit::whole_name(text); });
    kit::add_preset(options, s.preset);
    options.add("--epochs", "N", "passes over all pairs", s.epochs, {1, 1'000'000'000}).may_change();
    options.add("--lr", "X", "learning rate; 0: 1e-3, or 1e-4 for models at least 512 wide", s.lr, {0, 1});
    options.add("--beam", "N", "width of the beam; 1: greedy search", s.search.beam, {1, 1000}).this_call();
    options.add("--n", "N", "translations to print for each sentence", s.search.n_best, {1, 1000})
        .this_call();
    options
        .add("--alpha", "X", "length penalty: log p / ((5 + length) / 6)^X; 0: none", s.search.alpha, {0, 10})
        .this_call();
    kit::add_run_options(options, s.run);
    options.add_common(s.seed);
}

models::Config configure(const Settings& s, const WordPairs& corpus) {
    models::Config config = models::preset(s.preset);
    config.src_vocabulary = corpus.src.size(), config.vocabulary = corpus.tgt.size();
    config.max_length = std::max(config.max_length, corpus.longest + 1);
    config.block.precision = kit::precision_of(s.run.precision);
    return config;
}
// ----------------------------------------------------------------------------------------------- training
// An epoch goes through all pairs once, in random order unless they fit into one batch.
bool train(const models::Transformer& model, const WordPairs& corpus, const std::string& data,
           const Settings& s, const models::RunFolder& folder) {
    const int64_t n = std::ssize(corpus.pairs), per_epoch = (n + kBatch - 1) / kBatch;
    const auto seed = static_cast<uint64_t>(s.seed);
    const auto training_batch = [&](int64_t step) {
        const int64_t epoch = (step - 1) / per_epoch, first = (step - 1) % per_epoch * kBatch;
        const auto order =
            autograd::Rng(seed).fork("order").fork(static_cast<uint64_t>(epoch)).permutation(n);
        std::vector<models::Pair> batch;
        for (int64_t i = first; i < std::min(first + kBatch, n); ++i)
            batch.push_back(corpus.pairs.begin()[per_epoch > 1 ? order.begin()[i] : i]);
        return models::make_batch(batch);
    };
    std::vector<models::Pair> on_page(corpus.pairs.begin(), corpus.pairs.begin() + std::min<int64_t>(n, 4));
    const auto examples = [&](int64_t step) { return kit::examples_of(training_batch(step)); };
    const double lr = s.lr > 0 ? s.lr : model.config.block.d_model >= 512 ? 1e-4 : 1e-3;
    kit::Run run(
        folder, models::run_model(model, data),
        {.steps = s.epochs * per_epoch, .learning_rate = nn::ConstantSchedule{lr}, .seed = seed},
        {.activations = kit::activation_bytes(model.config, std::min(n, kBatch) * (corpus.longest + 1)),
         .continues = "a larger --epochs continues it",
         .report_model = kit::report_model_of(model, kit::examples_of(models::make_batch(on_page)).inputs,
                                              kit::token_names(corpus.src), kit::token_names(corpus.tgt)),
         .objective = kit::objective_of(model, examples)});
    nn::Adam& adam = run.training.adam;
    while (run.next()) {
        const models::Batch batch = training_batch(run.step());
        adam.zero_grad();
        for (const auto& part : run.parts(batch)) {  // those of this process, if mpirun began many
            const autograd::Tensor loss = model.loss(part.src, part.read(), part.said(), run.mode(part));
            run.backward({loss, part.tokens()}, part);
        }
        const nn::StepGradient gradient = run.gradients();  // of all processes, summed in order
        adam.step(run.rate(), gradient.scale * nn::clip_scale(gradient.norm, 1));
    }
    if (run.finish() && !run.losses.empty())
        std::cout << "loss " << run.losses.front()
                  << (folder.resumes() ? " at the resumed start, " : " at first, ") << run.losses.back()
                  << " after " << kit::counted(s.epochs, "epoch") << '\n';
    return run.has_ended();
}
// --------------------------------------------------------------------------------------------------- test
struct Translator {
    const models::Transformer& model;
    const WordPairs& corpus;
    const models::BeamOptions& search;

    std::vector<models::Hypothesis> operator()(const std::vector<int32_t>& ids) const {
        if (ids.empty())
            return {};
        return models::beam_search(*model.start(autograd::Tokens::padded({ids}, models::kPad)), search)[0];
    }
    // Prints the translations, a line each, behind `start` and below each other.
    void print(const std::string& sentence, const std::string& where, std::string start = "") const {
        const std::vector<int32_t> ids = corpus.src.encode(sentence);
        autograd::check(std::ssize(ids) <= model.config.max_length, where, ": a sentence of ", ids.size(),
                        " words is longer than this model's limit of ", model.config.max_length);
        std::cout << (ids.empty() ? "\n" : "");
        for (const models::Hypothesis& h : (*this)(ids)) {
            std::cout << start << corpus.tgt.decode(h.ids) << (h.finished ? "" : " ...")
                      << (search.n_best > 1 ? "  (-" + kit::number(-h.score, 4) + ")\n" : "\n");
            start.assign(start.size(), ' ');
        }
        kit::flush_output();
    }
};

void main_program(kit::Options& options) {
    Settings s;
    add_options(options, s);
    options.parse();
    std::ios::sync_with_stdio(false);  // otherwise a read error looks like the end of the input
    kit::check_usage(s.search.n_best <= s.search.beam, "--n ", s.search.n_best,
                     " must not be larger than --beam ", s.search.beam);
    const models::RunFolder folder("toy_translate", s.run, options);  // with --resume, restores s
    const bool built_in = kBuiltIn.contains(s.pairs);
    const auto pairs = built_in ? models::text::pairs_of(kBuiltIn.at(s.pairs), "built in")
                                : models::text::pairs_of(models::text::read_file(s.pairs), s.pairs);
    const WordPairs corpus(pairs, models::preset(s.preset).embeddings_tied, built_in ? "" : s.pairs);
    const models::Transformer model = kit::new_model<models::Transformer>(
        configure(s, corpus), autograd::Rng(static_cast<uint64_t>(s.seed)).fork("model"));
    if (!train(model, corpus, models::text::fingerprint(pairs), s, folder))
        return;
    s.search.max_tokens = 2 * corpus.longest + 10;
    const Translator translate{model, corpus, s.search};
    int64_t right = 0, shown = 0;
    for (const models::Pair& pair : corpus.pairs) {
        const models::Hypothesis best = translate(pair.src)[0];
        const bool correct = best.finished && best.ids == pair.tgt;
        right += correct;
        if (++shown <= 20)
            std::cout << (correct ? "  ok     " : "  WRONG  ") << corpus.src.decode(pair.src) << "  ->  "
                      << corpus.tgt.decode(best.ids) << (best.finished ? "" : " ...") << '\n';
    }
    std::cout << right << "/" << corpus.pairs.size() << " sentences translated correctly\n";
    if (s.pairs == "en-es") {
        std::cout << "\nnever seen:\n";
        for (const std::string sentence : {"i love cat", "this is a cat"})  // known words, newly combined
            translate.print(sentence, "built in", "  " + sentence + "  ->  ");
    }
    kit::Prompt prompt = kit::prompt_of(model, corpus.src, corpus.tgt, translate.search);
    prompt.noun = "word";
    prompt.read = [&](const std::string& line) { return kit::read_words(corpus.src, line); };
    prompt.answer = [&](const std::string& text, const std::string& where) { translate.print(text, where); };
    kit::answer_all(prompt, s.words);
    kit::check_result(!built_in || right == std::ssize(corpus.pairs),
                      "not all sentences came out right; more --epochs may help");
}
}  // namespace

int main(int argc, char** argv) {
    return kit::run_program("toy_translate", argc, argv,
                            {{"", "learns to translate a few sentences from scratch", main_program},
                             kit::info_command("toy_translate", add_options)});
}
