// Trains an encoder-decoder Transformer on a handful of sentence pairs, translates them, and then every line
// of standard input. On a terminal it prompts for sentences, and for commands, which begin with a colon.
#include <algorithm>
#include <iostream>

#include "apps/kit/insight.h"
#include "apps/kit/new_model.h"
#include "apps/kit/pipe.h"
#include "apps/kit/pretrained.h"
#include "apps/kit/run.h"
#include "models/decoding.h"
#include "models/pairs.h"
#include "models/presets.h"
#include "models/text/learn_tokenizer.h"
#include "models/text/lines.h"
#include "models/text/unicode.h"
#include "nn/checkpoint/json.h"
#include "nn/schedule.h"

using namespace plaingrad;
using autograd::Rng;
using models::text::SentencePair;

namespace {

// ------------------------------------------------------------------------------------------ configuration

struct Settings {
    std::string preset = "article", corpus = "en-fr";
    std::vector<std::string> data;  // a file, or none
    int64_t epochs = 100, beam = 3, n_best = 1, seed = 1;
    double lr = 0, alpha = 0.6;
    models::RunSettings run = {.save_every = 100};
    std::vector<std::string> words;
};

// The command-line options; parsing them fills `s`.
void add_options(kit::Options& options, Settings& s) {
    options.rest("SENTENCE...",
                 "translate each after training; without any, translate standard input line by line",
                 s.words);
    options.add("--pairs", "the built-in sentences to learn", s.corpus, {"en-fr", "en-es"});
    options
        .add_files("--data", "FILE", "learn these instead: lines of source<TAB>target, in UTF-8", s.data,
                   [](const std::string& file) { return std::vector<std::string>{file}; })
        .may_change();
    kit::add_preset(options, s.preset);
    options.add("--epochs", "N", "passes over all pairs", s.epochs, {.min = 1, .max = 1'000'000'000})
        .may_change();
    options.add("--lr", "X", "learning rate; 0: 1e-3, or 1e-4 for models at least 512 wide", s.lr,
                {.max = 1});
    options.add("--beam", "N", "width of the beam; 1: greedy search", s.beam, {.min = 1, .max = 1000})
        .this_call();
    options.add("--n-best", "N", "translations to print for each sentence", s.n_best, {.min = 1, .max = 1000})
        .this_call();
    options.add("--alpha", "X", "length penalty: log p / ((5 + length) / 6)^X; 0: none", s.alpha, {.max = 10})
        .this_call();
    kit::add_run_options(options, s.run);
    options.add_common(s.seed);
}

// --------------------------------------------------------------------------------------------------- data

const std::vector<SentencePair> kEnglishFrench = {{"hello world", "bonjour le monde"},
                                                  {"how are you", "comment ça va"},
                                                  {"good morning", "bonjour"},
                                                  {"thank you", "merci"},
                                                  {"see you soon", "à bientôt"}};

const std::vector<SentencePair> kEnglishSpanish = {{"hello world", "hola mundo"},
                                                   {"i love you", "te amo"},
                                                   {"the cat is black", "el gato es negro"},
                                                   {"good morning", "buenos dias"},
                                                   {"this is a book", "este es un libro"},
                                                   {"what is your name", "como te llamas"}};

// Known words in new combinations.
const std::vector<std::string> kUnseenEnglish = {"i love cat", "this is a cat"};

constexpr int64_t kLongest = 2000;  // words in a sentence; the time of attention grows with its square

// Sentences as ids, and their vocabularies. A model with shared embeddings needs one vocabulary for both
// languages.
struct Corpus {
    std::vector<models::Pair> pairs;
    models::text::Tokenizer src, tgt;
    int64_t longest = 0;

    Corpus(const std::vector<SentencePair>& sentences, bool shared, const std::string& path)
        : src(learn(sentences, true, shared)), tgt(learn(sentences, shared, true)) {
        for (const SentencePair& s : sentences) {
            pairs.push_back({src.encode(s.source), tgt.encode(s.target)});
            const auto length =
                static_cast<int64_t>(std::max(pairs.back().src.size(), pairs.back().tgt.size()));
            autograd::check(length <= kLongest, path, ":", s.line, ": a sentence of ", length,
                            " words; at most ", kLongest, " are possible; each line is one sentence");
            longest = std::max(longest, length);
        }
    }

private:
    static models::text::Tokenizer learn(const std::vector<SentencePair>& sentences, bool sources,
                                         bool targets) {
        std::vector<std::string_view> texts;
        for (const SentencePair& s : sentences) {
            texts.insert(texts.end(), sources ? 1 : 0, s.source);
            texts.insert(texts.end(), targets ? 1 : 0, s.target);
        }
        return models::text::learn_words(texts);
    }
};

std::vector<std::string> unknown_words(const models::text::Tokenizer& tokenizer, const std::string& text) {
    std::vector<std::string> words = tokenizer.words(text);
    std::erase_if(words, [&](const std::string& word) { return tokenizer.id(word) >= models::kFirstFreeId; });
    return words;
}

models::Config configure(const std::string& preset, const Corpus& corpus) {
    models::Config config = models::preset(preset);
    config.src_vocabulary = corpus.src.size();
    config.vocabulary = corpus.tgt.size();
    config.max_length = std::max(config.max_length, corpus.longest + 1);
    return config;
}

// ----------------------------------------------------------------------------------------------- training

constexpr int64_t kBatch = 64;

kit::Labels names(const models::text::Tokenizer& words) { return kit::token_names(words, words.size()); }

// What the page of --report shows: the first pairs.
kit::Subject subject(const models::Transformer& model, const Corpus& corpus) {
    std::vector<models::Batch> texts;
    for (std::size_t i = 0; i < std::min<std::size_t>(corpus.pairs.size(), 4); ++i)
        texts.push_back(models::make_batch({corpus.pairs[i]}));
    return kit::subject_of(model, texts, names(corpus.src), names(corpus.tgt));
}

// An epoch goes through all pairs once, in random order unless they fit into one batch.
bool train(const models::Transformer& model, const Corpus& corpus, const Settings& s,
           const models::RunFolder& folder) {
    const auto n = static_cast<int64_t>(corpus.pairs.size()), per_epoch = (n + kBatch - 1) / kBatch;
    const Rng rng = Rng(static_cast<uint64_t>(s.seed)).fork("order");
    const double lr = s.lr > 0 ? s.lr : model.config.block.d_model >= 512 ? 1e-4 : 1e-3;
    const auto training_batch = [&](int64_t step) {
        const int64_t epoch = (step - 1) / per_epoch, first = (step - 1) % per_epoch * kBatch;
        const std::vector<int64_t> order = rng.fork(static_cast<uint64_t>(epoch)).permutation(n);
        std::vector<models::Pair> batch;
        for (int64_t i = first; i < std::min(first + kBatch, n); ++i)
            batch.push_back(
                corpus
                    .pairs[static_cast<std::size_t>(per_epoch > 1 ? order[static_cast<std::size_t>(i)] : i)]);
        return models::make_batch(batch);
    };
    const int64_t steps = s.epochs * per_epoch;
    std::vector<std::string> lines;
    for (const models::Pair& pair : corpus.pairs)
        lines.push_back(corpus.src.decode(pair.src) + '\t' + corpus.tgt.decode(pair.tgt));
    kit::Plan plan = kit::plan_of(model, std::min(n, kBatch) * (corpus.longest + 1), training_batch,
                                  subject(model, corpus));
    plan.continues = "a larger --epochs continues it";
    plan.plain_lines_every = std::max<int64_t>(1, steps / 10);
    kit::Run run(
        folder, models::run_model(model, {}, models::text::fingerprint(lines)),
        {.steps = steps, .learning_rate = nn::ConstantSchedule{lr}, .seed = static_cast<uint64_t>(s.seed)},
        plan);
    nn::Adam& adam = run.training.adam;
    while (run.next()) {
        const models::Batch batch = training_batch(run.step());
        adam.zero_grad();
        for (const auto& part : run.parts(batch)) {  // those of this process, if mpirun began many
            const autograd::Tensor loss = model.loss(part.src, part.read(), part.said(), run.mode(part));
            run.backward({loss, part.tokens()}, part);
        }
        const nn::StepGradient gradient = run.gradients();
        adam.step(run.rate(), gradient.scale * nn::clip_scale(gradient.norm, 1));
    }
    const bool ended = run.finish();
    if (ended && !run.losses.empty())
        std::cout << "loss " << run.losses.front() << " at first, " << run.losses.back() << " after "
                  << kit::counted(s.epochs, "epoch") << '\n';
    return ended;
}

// -------------------------------------------------------------------------------------------- translation

struct Translator {
    const models::Transformer& model;
    const Corpus& corpus;
    const Settings& settings;
    bool talks;  // on a terminal, where kit::converse tells unknown words

    std::vector<models::Hypothesis> operator()(const std::vector<int32_t>& ids) const {
        const auto stepper = model.start(autograd::Tokens::padded({ids}, models::kPad));
        return models::beam_search(*stepper, options())[0];
    }

    models::BeamOptions options() const {
        return {.beam = settings.beam,
                .n_best = settings.n_best,
                .alpha = settings.alpha,
                .max_tokens = 2 * corpus.longest + 10};
    }

    // Prints translations to standard output, one per line, each but the first after `indent`; and unknown
    // words to standard error.
    void print(const std::string& sentence, const std::string& where, const std::string& indent = "") const {
        const std::string words = known_words(sentence);
        const std::vector<int32_t> ids = corpus.src.encode(words);
        autograd::check(std::ssize(ids) <= model.config.max_length, where, ": a sentence of ", ids.size(),
                        " words is longer than this model's limit of ", model.config.max_length);
        if (ids.empty()) {
            std::cout << '\n';
            return;
        }
        if (!talks)
            report_unknown(words);
        std::string before;
        for (const models::Hypothesis& h : (*this)(ids)) {
            std::cout << before << corpus.tgt.decode(h.ids) << (h.finished ? "" : " ...");
            if (settings.n_best > 1) {
                char score[40];
                std::snprintf(score, sizeof score, "  (%.4f)", h.score);
                std::cout << score;
            }
            std::cout << '\n';
            before = indent;
        }
        kit::flush_output();
    }

    // Replaces an unknown word by its lower-case form without punctuation, if that is known:
    // "Hello World!" -> "hello world".
    std::string known_words(const std::string& sentence) const {
        std::string words;
        for (const std::string& word : models::text::split_words(sentence)) {
            std::string plain = models::text::lower_case(word);
            const char* const signs = ".,;:!?\"'()";
            plain.erase(0, std::min(plain.find_first_not_of(signs), plain.size()));
            plain.erase(plain.find_last_not_of(signs) + 1);
            const bool helps = !corpus.src.id(word) && corpus.src.id(plain);
            words.append(words.empty() ? "" : " ").append(helps ? plain : word);
        }
        return words;
    }

private:
    // Lists the unknown words, each once, and the known ones.
    void report_unknown(const std::string& words) const {
        constexpr int32_t kMost = 40;
        std::string unknown, known;
        for (const std::string& word : unknown_words(corpus.src, words))
            if (const std::string quoted = nn::checkpoint::shown(word);
                unknown.find(quoted) == std::string::npos)
                unknown.append(unknown.empty() ? "" : ", ").append(quoted);
        if (unknown.empty())
            return;
        for (int32_t id = models::kFirstFreeId; id < corpus.src.size(); ++id)
            if (id < models::kFirstFreeId + kMost)
                known.append(known.empty() ? "" : " ").append(corpus.src.piece(id));
        std::cerr << autograd::join(kit::name(),
                                    ": unknown words: ", kit::as_line(unknown + "; known words: " + known),
                                    corpus.src.size() > models::kFirstFreeId + kMost ? " ...\n" : "\n");
    }
};

// Translates the sentences of the training data. Returns how many translations are right, <eos> included.
std::size_t recite(const Translator& translate, const Corpus& corpus, std::size_t show) {
    std::size_t right = 0;
    for (std::size_t i = 0; i < corpus.pairs.size(); ++i) {
        const models::Pair& pair = corpus.pairs[i];
        const models::Hypothesis best = translate(pair.src)[0];
        const bool correct = best.finished && best.ids == pair.tgt;
        right += correct ? 1 : 0;
        if (i < show)
            std::cout << (correct ? "  ok     " : "  WRONG  ") << corpus.src.decode(pair.src) << "  ->  "
                      << corpus.tgt.decode(best.ids) << (best.finished ? "" : " ...") << '\n';
    }
    std::cout << right << "/" << corpus.pairs.size() << " sentences translated correctly\n";
    return right;
}

void translate_input(const Translator& translate) {
    kit::for_each_line(std::cin, "standard input", [&](const std::string& line, const std::string& where) {
        translate.print(line, where);
    });
}

void talk(const Translator& translate) {
    const Corpus& corpus = translate.corpus;
    kit::Prompt prompt = {.noun = "word",
                          .names = names(corpus.src),
                          .read =
                              [&](const std::string& line) {
                                  const std::string text = translate.known_words(line);
                                  return kit::Reading{text, unknown_words(corpus.src, text)};
                              },
                          .answer = [&](const std::string& text) { translate.print(text, "this line"); }};
    const auto encode = [](const models::text::Tokenizer& words) {
        return [&](const std::string& text) { return words.encode(text); };
    };
    kit::add_commands(prompt, translate.model, encode(corpus.src), encode(corpus.tgt), names(corpus.tgt),
                      translate.options());
    kit::converse(prompt);
}

std::vector<SentencePair> sentences_of(const Settings& s) {
    if (!s.data.empty())
        return models::text::read_pairs(s.data[0]);
    return s.corpus == "en-fr" ? kEnglishFrench : kEnglishSpanish;
}

// After training.
void translate_all(const Translator& translate, const Settings& s) {
    if (s.data.empty() && s.corpus == "en-es") {
        std::cout << "\nnever seen:\n";
        for (const std::string& sentence : kUnseenEnglish) {
            const std::string start = "  " + sentence + "  ->  ";
            std::cout << start;
            translate.print(sentence, "built in", std::string(start.size(), ' '));
        }
    }
    for (const std::string& sentence : s.words)
        translate.print(models::text::clean_line(sentence, "the command line"), "the command line");
    if (s.words.empty())
        translate.talks ? talk(translate) : translate_input(translate);
}

void main_program(kit::Options& options) {
    Settings s;
    add_options(options, s);
    options.parse();
    std::ios::sync_with_stdio(false);  // otherwise a read error looks like the end of the input
    kit::check_usage(s.data.empty() || !options.was_given("--pairs"),
                     "--pairs names built-in sentences, and --data others: give one of them");
    kit::check_usage(s.n_best <= s.beam, "--n-best ", s.n_best, " must not be larger than --beam ", s.beam);
    const models::RunFolder folder("toy_translate", s.run, options);
    const bool built_in = s.data.empty();
    const Corpus corpus(sentences_of(s), models::preset(s.preset).embeddings_tied, built_in ? "" : s.data[0]);
    models::Config config = configure(s.preset, corpus);
    config.block.precision = kit::precision_of(s.run.precision);
    const models::Transformer model =
        kit::new_transformer(config, Rng(static_cast<uint64_t>(s.seed)).fork("model"));
    if (!train(model, corpus, s, folder))
        return;

    const Translator translate{model, corpus, s, s.words.empty() && kit::can_prompt()};
    const std::size_t right = recite(translate, corpus, 20);
    translate_all(translate, s);
    kit::flush_output();
    kit::check_result(!built_in || right == corpus.pairs.size(),
                      "not all sentences came out right; more --epochs may help");
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program("toy_translate", argc, argv, [] {
        return kit::Commands{{"", "learns to translate a few sentences from scratch", main_program},
                             kit::info_command("toy_translate", add_options)};
    });
}
