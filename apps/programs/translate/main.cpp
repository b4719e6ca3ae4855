// A translator that learns from your own sentences, can be stopped and resumed at any moment, and translates
// in a pipe.
//
//     ./apps/translate train train.en train.de --validation val.en,val.de --save run
//     echo "A man is riding a bicycle." | ./apps/translate run run
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "apps/kit/model.h"
#include "apps/kit/prompt.h"
#include "apps/programs/translate/translate.h"
#include "models/text/tokenizer/learn_merges.h"

using namespace plaingrad;
using namespace translate;

namespace {

// ---------------------------------------------------------------------------------------------------- run

struct PipeOptions {
    models::TranslationOptions translation = {};
    bool list = false;    // `line ||| translation ||| score`; lines are numbered from 0, as in Moses
    bool scores = false;  // the score and a tab before each translation
};

// Translates lines, and prints the translations.
struct Pipe {
    void operator()(const std::vector<std::string>& lines) {
        for (const models::Translation& translation : translator.translate(lines, options.translation)) {
            print(translation);
            ++read;
            pieces += translation.pieces;
            if (unknown == 0 && !translation.unknown.empty())
                first_unknown = join("'", kit::as_line(translation.unknown[0]), "' in line ", read);
            unknown += std::ssize(translation.unknown);
            if (translation.cut)
                std::cerr << join(name, ":", read, ": longer than ",
                                  kit::counted(translator.model.config.max_length - 1, "piece"),
                                  ": the rest is left out\n");
        }
        kit::flush_output();
    }

    // Some unknown characters are normal. If all are unknown, the input is in another language.
    void check_known() const {
        check(unknown == 0 || unknown < pieces, name,
              ": the model has never seen any of these characters; is this the language that it learned "
              "from?");
    }
    void report_unknown() const {
        if (unknown > 0)
            std::cerr << join(name, ": the model has never seen ", unknown, " of ", pieces,
                              " words or pieces of words, first ", first_unknown, "\n");
    }

    void print(const models::Translation& translation) const {
        for (const models::Translation::Candidate& c : translation.best) {
            if (options.list)
                std::cout << read << " ||| " << c.text << " ||| " << c.score;
            else if (options.scores)
                std::cout << c.score << '\t' << c.text;
            else
                std::cout << c.text;
            if (options.translation.align)
                std::cout << " ||| " << models::to_string(c.alignment);
            std::cout << '\n';
        }
    }

    const models::Translator& translator;
    const PipeOptions& options;
    const std::string name;                     // what messages call where the lines come from
    int64_t read = 0, pieces = 0, unknown = 0;  // how many lines; and what they had
    std::string first_unknown = {};
};

// Translates what is typed.
void talk(const models::Translator& translator, const PipeOptions& options) {
    const models::text::Tokenizer& tokenizer = translator.tokenizer;
    const models::TranslationOptions& o = options.translation;
    kit::Prompt prompt = kit::prompt_of(translator.model, tokenizer, tokenizer,
                                        {.beam = o.beam, .alpha = o.alpha, .k = 0}, true);
    prompt.answer = [&](const std::string& text, const std::string& where) {
        Pipe line = {translator, options, where};
        line({text});
        line.report_unknown();
    };
    kit::converse(prompt);
}

void add_decoding(kit::Options& options, models::TranslationOptions& o, std::string& unknown) {
    options.add("--beam", "N", "width of the beam; 1: greedy search", o.beam, {.min = 1, .max = 1000});
    options.add("--alpha", "X",
                "length penalty: score = log p / length^X; 0: none; larger values favour longer sentences",
                o.alpha, {.max = 10});
    options.add("--batch", "N", "sentences to translate at a time", o.batch, {.min = 1, .max = 1 << 16});
    options.add("--unknown", "what to write for a word that the model has never seen", unknown,
                {"copy", "mark"});
}

void run_command(kit::Options& options) {
    std::vector<std::string> words;
    PipeOptions pipe;
    std::string unknown = "copy", precision;
    options.rest("MODEL [FILE]", "a run's folder or a saved model; the text to translate", words, {1, 2});
    add_decoding(options, pipe.translation, unknown);
    options.add("--n", "N",
                "N translations of each line, as `line ||| translation ||| score`; lines are numbered from 0",
                pipe.translation.n_best, {.min = 1, .max = 1000});
    options.add("--scores", "print the score and a tab before each translation", pipe.scores);
    options.add("--align",
                "append word alignments to each translation: `||| source-target ...`, e.g. ||| 0-0 2-1",
                pipe.translation.align);
    options.add_precision(precision);
    options.add_threads();
    options.parse();
    kit::check_usage(pipe.translation.n_best <= pipe.translation.beam, "--n ", pipe.translation.n_best,
                     " must not be larger than --beam ", pipe.translation.beam);
    pipe.list = options.was_given("--n");
    kit::check_usage(!pipe.list || !pipe.scores,
                     "--n prints the scores already; --scores is for single translations");
    pipe.translation.copy_unknown = unknown == "copy";
    const auto translator = kit::open_model<models::Translator>(words[0], precision);
    std::ios::sync_with_stdio(false);  // otherwise in_avail() does not know how much input is there
    const bool is_file = words.size() == 2;
    if (!is_file && kit::can_prompt())
        return talk(translator, pipe);
    std::ifstream file;
    if (is_file) {
        file.open(words[1], std::ios::binary);
        check(file.is_open(), words[1], ": cannot be opened: ", std::strerror(errno));
    }
    const std::string name = kit::as_line(is_file ? words[1] : "standard input");
    Pipe lines = {translator, pipe, name};
    kit::for_lines_together(is_file ? file : std::cin, name, 8 * pipe.translation.batch, std::ref(lines),
                            rule_for(translator.tokenizer.is_byte_level()));
    lines.check_known();
    lines.report_unknown();
}

// ---------------------------------------------------------------------------------------- score, and info

void score_command(kit::Options& options) {
    std::vector<std::string> words;
    models::TranslationOptions decoding;
    std::string unknown = "copy";
    options.rest("MODEL SOURCE TARGET | MODEL TSV", "a run's folder or a saved model; the sentences", words,
                 {2, 3});
    add_decoding(options, decoding, unknown);
    const auto [model, tokenizer, notes] = kit::open_given<models::Translator>(options, words);
    decoding.copy_unknown = unknown == "copy";
    const ParallelText text =
        models::text::read_parallel({words.begin() + 1, words.end()}, rule_for(tokenizer.is_byte_level()));
    const int64_t longest = model.config.max_length;
    const Corpus corpus(text, tokenizer, model.config.specials, longest, true);
    std::cout << kit::in_words(measure(nn::alone(), model, corpus, std::max<int64_t>(longest, 4096))) << '\n'
              << measure_bleu(nn::alone(), model, tokenizer, corpus.sentences(), decoding).text << '\n';
}

void print_model(const std::string& path) {
    const auto [model, tokenizer, notes] = kit::open_model<models::Translator>(path);
    kit::print_sizes(path, nn::parameter_count(model),
                     join(tokenizer.is_tokenized() ? "in tokens" : "raw",
                          tokenizer.is_lower_case() ? ", lower case, " : ", ",
                          tokenizer.is_byte_level() ? "bytes" : "pieces of words"));
}

// ---------------------------------------------------------------------------------------------- learn-bpe

void learn_bpe_command(kit::Options& options) {
    std::vector<std::string> files;
    int64_t merges = 10'000;
    options.rest("FILE...", "text in tokens, separated by spaces, in all languages that will share pieces",
                 files, {.min = 1});
    options.add("--merges", "N", "merges to learn", merges, {.max = 10'000'000});
    options.add_threads();
    options.parse();
    using namespace models::text::tokenizer;  // NOLINT
    WordCounts counts;
    for (const std::string& file : files) {
        int64_t replaced = 0;
        for (const std::string& line : models::text::lines_of(models::text::read_file(file), file, &replaced))
            counts.add_line(line);
        kit::report_replaced(file, replaced);
    }
    std::cout << codes_of(learn_word_merges(counts, merges).rules);
}

void help(kit::Options& options) {
    options.parse();
    throw kit::UsageError("a command is needed: train, run, score, info, or learn-bpe; --help shows more");
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run_program(
        "translate", argc, argv,
        {{"", "learns to translate from your own sentences, and translates", help},
         {"train", "learns to translate from pairs of sentences", train_command},
         {"run", "translates standard input, or a file, line by line", run_command},
         {"score", "measures a model on your sentences: loss and BLEU", score_command},
         kit::info_command("translate", add_train_options, print_model),
         {"learn-bpe", "learns byte-pair encoding, and writes its merges to standard output",
          learn_bpe_command}});
}
