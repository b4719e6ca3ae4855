// A translator that learns from your own sentences, can be stopped and resumed at any moment, and translates
// in a pipe.
//
//     ./apps/translate train train.en train.de --validation val.en,val.de --save run
//     echo "A man is riding a bicycle." | ./apps/translate run run
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>

#include "apps/kit/prompt.h"
#include "apps/kit/run.h"
#include "apps/programs/translate/pipe.h"
#include "apps/programs/translate/score.h"
#include "apps/programs/translate/train.h"
#include "models/saved.h"
#include "models/text/tokenizer/learn_merges.h"

using namespace plaingrad;
using namespace translate;
using models::Transformer;

namespace {

// ------------------------------------------------------------------------------------------------- train

Tokenizer learn_text(const Settings& s, const ParallelText& text) {
    models::text::PieceOptions options = s.text;
    options.dropout = s.bpe_dropout > 0;
    options.codes = s.codes.empty() ? "" : models::text::read_file(s.codes);
    options.codes_file = s.codes;
    std::vector<std::string_view> sentences;
    for (const SentencePair& pair : text.pairs)
        sentences.insert(sentences.end(), {pair.source, pair.target});
    int64_t merges = 0;
    Tokenizer tokenizer = models::text::learn_pieces(sentences, options, &merges);
    std::string line = join("vocabulary: ", kit::grouped(tokenizer.size()));
    if (s.codes.empty() && merges < options.merges)
        line += join("; merges: only ", kit::grouped(merges), " of ", kit::grouped(options.merges),
                     "; no other pair occurs twice");
    std::cerr << line + '\n';
    check(tokenizer.size() > models::kFirstFreeId, text.files(), ": no piece of a word occurs --min-count ",
          options.min_count, " times, so the vocabulary is empty; a smaller --min-count keeps more");
    return tokenizer;
}

struct Texts {
    ParallelText training;
    std::optional<ParallelText> validation;
};
Texts read_texts(const Settings& s) {
    Texts texts = {read(s.files, s.text.bytes), {}};
    if (!s.validation.empty())
        texts.validation = read(s.validation, s.text.bytes);
    kit::say(kit::as_line(check_data(texts.training)));
    if (texts.validation)
        kit::say(kit::as_line(check_data(*texts.validation, &texts.training)));
    return texts;
}

void check_data_command(kit::Options& options) {
    Settings s;
    add_data_options(options, s);
    options.parse();
    check_files(s);
    read_texts(s);
}

void train_command(kit::Options& options) {
    Settings s;
    add_train_options(options, s);
    options.parse();
    if (s.run.resume.empty())
        check_settings(s);
    if (options.was_given("--patience") && s.run.resume.empty() && s.patience > 0 && s.validation.empty())
        throw kit::UsageError("--patience needs --validation, to see when the model stops improving");
    const models::RunFolder folder("translate", s.run, options);
    for (const char* const also : {"epochs.csv", "epoch-1.safetensors"})
        folder.claim(also);
    check_settings(s);
    const Texts texts = read_texts(s);
    const Tokenizer tokenizer =
        folder.resumes() ? models::SavedModel(folder.last()).tokenizer() : learn_text(s, texts.training);
    const autograd::Rng rng = autograd::Rng(static_cast<uint64_t>(s.seed)).fork("model");
    const models::Config config = model_config(s, tokenizer);
    kit::check_memory(models::least_parameters(config));
    const Transformer model = folder.resumes()
                                  ? models::load_model<models::Transformer>(folder.last(), {.rng = rng})
                                  : Transformer(config, rng);
    kit::announce(kit::name(), nn::parameter_count(model), model.config.block.precision);
    const Corpus corpus(texts.training, tokenizer, model.config.specials, s.context, TooLong::drop);
    std::optional<Corpus> validation;
    if (texts.validation)
        validation.emplace(*texts.validation, tokenizer, model.config.specials, s.context, TooLong::drop);
    train({model, tokenizer, corpus, validation ? &*validation : nullptr, s, folder});
}

// ---------------------------------------------------------------------------------- run, score, and info

void add_decoding(kit::Options& options, models::TranslationOptions& o, std::string& unknown,
                  std::string& precision) {
    options.add("--beam", "N", "width of the beam; 1: greedy search", o.beam, {.min = 1, .max = 1000});
    options.add("--alpha", "X",
                "length penalty: score = log p / length^X; 0: none; larger values favour longer sentences",
                o.alpha, {.max = 10});
    options.add("--batch", "N", "sentences to translate at a time", o.batch, {.min = 1, .max = 1 << 16});
    options.add_precision(precision);
    options.add("--unknown", "what to write for a word that the model has never seen", unknown,
                {"copy", "mark"});
}

void add_run_options(kit::Options& options, std::vector<std::string>& words, PipeOptions& pipe,
                     std::string& unknown, std::string& precision) {
    options.rest("MODEL [FILE]", "a run's folder or a saved model; the text to translate", words, {1, 2});
    add_decoding(options, pipe.translation, unknown, precision);
    options.add("--n", "N",
                "N translations of each line, as `line ||| translation ||| score`; lines are numbered from 0",
                pipe.translation.n_best, {.min = 1, .max = 1000});
    options.add("--scores", "print the score and a tab before each translation", pipe.scores);
    options.add("--align",
                "append word alignments to each translation: `||| source-target ...`, e.g. ||| 0-0 2-1",
                pipe.translation.align);
    options.add_threads();
}

void run_command(kit::Options& options) {
    std::vector<std::string> words;
    PipeOptions pipe;
    std::string unknown = "copy", precision;
    add_run_options(options, words, pipe, unknown, precision);
    options.parse();
    kit::check_usage(pipe.translation.n_best <= pipe.translation.beam, "--n ", pipe.translation.n_best,
                     " must not be larger than --beam ", pipe.translation.beam);
    pipe.list = options.was_given("--n");
    kit::check_usage(!pipe.list || !pipe.scores,
                     "--n prints the scores already; --scores is for single translations");
    pipe.translation.copy_unknown = unknown == "copy";
    const auto translator =
        models::Translator::load(words[0], {.precision = kit::given_precision(precision)});
    std::ios::sync_with_stdio(false);  // otherwise in_avail() does not know how much input is there
    if (words.size() == 2) {
        std::ifstream text(words[1], std::ios::binary);
        check(text.is_open(), words[1], ": cannot be opened: ", std::strerror(errno));
        translate_lines(translator, pipe, text, words[1]);
    } else if (kit::can_prompt()) {
        talk(translator, pipe);
    } else {
        translate_lines(translator, pipe, std::cin, "standard input");
    }
}

void score_command(kit::Options& options) {
    std::vector<std::string> words;
    models::TranslationOptions decoding;
    std::string unknown = "copy", precision;
    options.rest("MODEL SOURCE TARGET | MODEL TSV", "a run's folder or a saved model; the sentences", words,
                 {2, 3});
    add_decoding(options, decoding, unknown, precision);
    options.add_threads();
    options.parse();
    decoding.copy_unknown = unknown == "copy";
    const auto [model, tokenizer] =
        models::Translator::load(words[0], {.precision = kit::given_precision(precision)});
    const ParallelText text = read({words.begin() + 1, words.end()}, tokenizer.is_byte_level());
    const int64_t longest = model.config.max_length;
    const Corpus corpus(text, tokenizer, model.config.specials, longest, TooLong::cut);
    const double loss = mean_loss(nn::alone(), model, corpus, std::max<int64_t>(longest, 4096));
    std::cout << "loss " << loss << " nats, perplexity " << std::exp(loss) << '\n'
              << measure_bleu(nn::alone(), model, tokenizer, corpus.sentences(), decoding).text << '\n';
}

void info_command(kit::Options& options) {
    std::vector<std::string> words;
    options.rest("MODEL", "a run's folder or a file", words, {1, 1});
    options.add_threads();
    options.parse();
    const std::string path = models::model_file(words[0]);
    const auto [model, tokenizer] = models::Translator::load(path);
    const models::Config& c = model.config;
    std::cout << path << ": " << kit::grouped(nn::parameter_count(model)) << " parameters\n"
              << "layers: " << c.n_layers << " + " << c.n_decoder_layers << ", " << c.block.d_model
              << " wide, feed-forward " << c.block.d_ff << ", " << c.block.n_heads << " heads; at most "
              << c.max_length << " tokens\n"
              << "products: " << autograd::kPrecisionNames[static_cast<int>(c.block.precision)] << '\n'
              << "text: " << (tokenizer.is_tokenized() ? "in tokens" : "raw")
              << (tokenizer.is_lower_case() ? ", lower case" : "") << ", "
              << (tokenizer.is_byte_level() ? "bytes" : "pieces of words") << ", vocabulary "
              << kit::grouped(tokenizer.size()) << '\n';
    Settings s;
    kit::Options train({"translate"});
    add_train_options(train, s);
    kit::print_run("translate", words[0], train);
}

// ---------------------------------------------------------------------------------------------- learn-bpe

void learn_bpe_command(kit::Options& options) {
    std::vector<std::string> files;
    int64_t merges = 10'000;
    options.rest("FILE...", "text in tokens, separated by spaces, in all languages that will share pieces",
                 files, {.least = 1});
    options.add("--merges", "N", "merges to learn", merges, {.max = 10'000'000});
    options.add_threads();
    options.parse();
    using namespace models::text::tokenizer;  // NOLINT
    WordCounts counts;
    for (const std::string& file : files) {
        int64_t replaced = 0;
        for (const std::string& line : models::text::lines_of(models::text::read_file(file), file, &replaced))
            counts.add_line(line);
        if (replaced > 0)
            kit::say(join(kit::as_line(file), ": ", replaced_bytes(replaced)));
    }
    std::cout << codes_of(learn_word_merges(counts, merges).rules);
}

void help(kit::Options& options) {
    options.parse();
    throw kit::UsageError(
        "a command is needed: train, run, score, info, check-data, or learn-bpe; --help shows more");
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program("translate", argc, argv, [] {
        return kit::Commands{
            {"", "learns to translate from your own sentences, and translates", help},
            {"train", "learns to translate from pairs of sentences", train_command},
            {"run", "translates standard input, or a file, line by line", run_command},
            {"score", "measures a model on your sentences: loss and BLEU", score_command},
            {"info", "shows what a saved model contains", info_command},
            {"check-data", "reports what is odd about sentences to learn from", check_data_command},
            {"learn-bpe", "learns byte-pair encoding, and writes its merges to standard output",
             learn_bpe_command}};
    });
}
