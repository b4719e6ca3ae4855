#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include "apps/kit/model.h"
#include "apps/programs/translate/translate.h"
#include "models/saved.h"
#include "nn/checkpoint/safetensors.h"
#include "nn/schedule.h"

namespace plaingrad::translate {
namespace {

using models::Transformer;

// ------------------------------------------------------------------------------------- before the first step

// Those to learn from and, if there are any, those of --validation.
std::vector<ParallelText> read_texts(const Settings& s) {
    std::vector<ParallelText> texts;
    const auto read = [&](const std::vector<std::string>& files) {
        texts.push_back(models::text::read_parallel(files, rule_for(s.text.bytes)));
        kit::say(kit::as_line(check_data(texts.back(), texts.size() > 1 ? &texts[0] : nullptr)));
    };
    read(s.files);
    if (!s.validation.empty())
        read(two_files(s.validation));
    return texts;
}

Tokenizer learn_text(const Settings& s, const ParallelText& text) {
    models::text::PieceOptions options = s.text;
    options.dropout = s.bpe_dropout > 0;
    options.codes = s.codes.empty() ? "" : models::text::read_file(s.codes);
    options.codes_file = s.codes;
    std::vector<std::string_view> sentences;
    for (const SentencePair& pair : text.pairs)
        sentences.insert(sentences.end(), {pair.source, pair.target});
    Tokenizer tokenizer = models::text::learn_pieces(sentences, options);
    std::cerr << "vocabulary: " + kit::grouped(tokenizer.size()) + '\n';
    check(tokenizer.size() > models::kFirstFreeId, text.files, ": no piece of a word occurs --min-count ",
          options.min_count, " times, so the vocabulary is empty; a smaller --min-count keeps more");
    return tokenizer;
}

models::Config model_config(const Settings& s, const models::text::Tokenizer& tokenizer) {
    models::Config config;
    config.src_vocabulary = config.vocabulary = tokenizer.size();
    config.max_length = s.context;
    config.n_layers = config.n_decoder_layers = s.layers;
    config.embeddings_tied = config.tied = true;
    if (tokenizer.is_byte_level())  // no text has these
        config.specials.never.insert(config.specials.never.end(),
                                     {models::kUnk, static_cast<int32_t>(tokenizer.size()) - 1});
    const auto rate = static_cast<autograd::Real>(s.dropout);
    config.block = {.d_model = s.d_model,
                    .n_heads = s.heads,
                    .d_ff = s.d_ff,
                    .output_bias = false,
                    .dropout = {.embeddings = rate, .sublayers = rate},
                    .precision = kit::precision_of(s.run.precision)};
    return config;
}

// -------------------------------------------------------------------------------------------------- the run

constexpr int64_t kBeam = 5;  // of the translations that are measured at the end

// Loads the mean of models in files, in order, computed in double.
void load_average(const std::vector<std::string>& files, const Transformer& into) {
    const std::vector<nn::NamedParameter> parameters = nn::parameters(into);
    std::vector<std::vector<double>> sums;
    for (const nn::NamedParameter& p : parameters)
        sums.emplace_back(p.tensor.numel());
    for (const std::string& file : files) {
        models::load_weights(file, models::state_dict(into));
        for (std::size_t i = 0; i < sums.size(); ++i)
            for (std::size_t j = 0; j < sums[i].size(); ++j)
                sums[i][j] += static_cast<double>(parameters[i].tensor.data()[j]);
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
        std::transform(sums[i].begin(), sums[i].end(), parameters[i].tensor.mutable_data(), [&](double sum) {
            return static_cast<autograd::Real>(sum / static_cast<double>(files.size()));
        });
}

struct Learner {
    void operator()() {
        if (folder.resumes())
            for (const std::string& file : files_of_epochs(run.epoch.ended + 1, run.epoch.ended))
                nn::checkpoint::read(file);  // is missing or damaged: said now, and not at the end
        if (run.step() < s.steps)
            print_epoch();
        while (run.next()) {
            const Batches::Step step = batches(run.step());
            run.learn(step.batches, [&](const models::Batch& batch, const nn::Mode& mode) {
                return models::teacher_forcing(model, batch, mode,
                                               static_cast<autograd::Real>(s.label_smoothing));
            });
            if (step.ends_epoch)
                run.end_epoch();
            if (!run.validates())  // an epoch that the run's end cuts short counts as one
                continue;
            if (validation) {
                const double score = bleu({.beam = 1, .alpha = 0}).score;
                run.scores = {{"BLEU", score}};
                const double loss = validation_loss().nats;
                run.validated(loss, join("epoch ", epoch(), "  step ", run.step(), "  loss ",
                                         kit::number(run.epoch.loss(), 4), "  validation ",
                                         kit::number(loss, 4), "  BLEU ", kit::number(score, 2)));
            }
            keep_epoch();
        }
        if (run.ends())
            finish();
    }

    Corpus corpus_of(const ParallelText& text) const {
        return {text, tokenizer, model.config.specials, s.context};
    }
    std::string data() const {
        std::vector<SentencePair> all = corpus.sentences();
        all.push_back({tokenizer.json(), ""});  // which also marks the end of the training data
        if (validation)
            all.insert(all.end(), validation->sentences().begin(), validation->sentences().end());
        return models::text::fingerprint(all);
    }

    // What the page of --report shows: the attention of some sentences, their translations, and BLEU.
    kit::ReportModel report_model() {
        const Corpus& shown = validation ? *validation : corpus;
        std::vector<int64_t> first;
        std::vector<std::string> lines;
        for (int64_t i = 0; i < std::min<int64_t>(shown.size(), 3); ++i) {
            first.push_back(i);
            lines.push_back(shown.sentences()[static_cast<std::size_t>(i)].source);
        }
        kit::ReportModel report_model = kit::report_model_of(
            model, kit::examples_of(shown.batch(first)).inputs, kit::token_names(tokenizer));
        report_model.answers = [this, lines] {
            kit::Labels all;
            for (const models::Translation& t : models::translate(model, tokenizer, lines, {.beam = 1}))
                all.push_back(lines[all.size()] + "  ->  " + t.best[0].text);
            return kit::Answers{all};
        };
        return report_model;
    }

    models::RunOptions options() const {
        const int64_t d_model = model.config.block.d_model;
        const double factor = s.lr * std::sqrt(static_cast<double>(d_model) * static_cast<double>(s.warmup));
        return {.steps = s.steps,
                .learning_rate = nn::WarmupInverseSqrt{d_model, s.warmup, factor},
                .adam = {.beta2 = 0.98, .eps = 1e-8},
                .clip = s.clip,
                .accumulate = s.accumulate,
                .seed = static_cast<uint64_t>(s.seed),
                .patience = s.patience,
                .epochs = true};
    }

    kit::RunPlan plan() {
        const auto batch = [this](int64_t step) { return kit::examples_of(batches(step).batches[0]); };
        return {.activations = kit::activation_bytes(
                    model.config, std::min(s.batch_tokens, corpus.size() * corpus.longest())),
                .continues = "a larger --steps or, if --patience ended it, a larger --patience continues it",
                .report_model = report_model(),
                .objective = kit::objective_of(model, batch, true, s.label_smoothing)};
    }

    void print_epoch() const {
        const int64_t steps = batches.steps();
        kit::say(join("an epoch: ", kit::counted(corpus.size(), "pair"), ", ", kit::counted(steps, "step"),
                      "; all ", kit::counted(s.steps, "step"), " are ",
                      kit::counted((s.steps + steps - 1) / steps, "epoch")));
    }

    // All processes call these.
    kit::Measured validation_loss() const {
        return measure(folder.team(), model, *validation, s.batch_tokens);
    }
    Bleu bleu(const models::TranslationOptions& options) const {
        return measure_bleu(folder.team(), model, tokenizer, validation->sentences(), options);
    }

    int64_t epoch() const { return run.epoch.number(); }

    std::string epoch_file(int64_t number) const {
        return folder.file(join("epoch-", number, ".safetensors"));
    }

    // Those up to `last` that the average after epoch `of` is made of.
    std::vector<std::string> files_of_epochs(int64_t of, int64_t last) const {
        std::vector<std::string> all;
        for (int64_t number = last; number > std::max<int64_t>(0, of - s.average); --number)
            all.push_back(epoch_file(number));
        return all;
    }

    // Saves an epoch's model. Removes the models of epochs that are too old for the average.
    void keep_epoch() const {
        if (!folder.writes())
            return;
        models::save_checkpoint(epoch_file(epoch()), run.model.state);
        std::error_code none;
        for (int64_t old = epoch() - s.average; std::filesystem::remove(epoch_file(old), none);)
            --old;
    }

    // Saves the average of the last epochs (Vaswani et al. 2017, §6.1), or the model of the best validation
    // where that is better, as in a short run, whose first epochs pull the average down. Files are process
    // 0's; what is computed, all share.
    void finish() {
        const bool leads = folder.team().leads();
        const std::vector<std::string> epochs = files_of_epochs(epoch(), epoch());
        if (leads)
            load_average(epochs, model);
        run.share_weights();
        kit::Measured loss = validation ? validation_loss() : kit::Measured();
        const double best = run.training.best_validation;
        const std::string of_step = join("step ", run.training.best_step);
        std::string kept = "the average of the last " + kit::counted(std::ssize(epochs), "epoch");
        if (loss.nats >= best) {
            if (leads)
                models::load_weights(folder.best(), models::state_dict(model));
            run.share_weights();
            kept = join("the weights of ", of_step, ", of the best validation: loss ", best, "; ", kept,
                        " has ", loss.nats);
            loss.nats = best;
        } else if (run.training.best_step > 0) {
            kept += join(": validation loss ", loss.nats, "; the best epoch, at ", of_step, ", has ", best);
        }
        if (folder.writes())
            models::save_checkpoint(folder.model(), run.model.state);
        std::cerr << join("saved ", kit::as_line(folder.model()), ": ", kept, "\n");
        if (validation)
            std::cout << "validation: " << kit::in_words(loss) << "\nbeam " << kBeam << ": "
                      << bleu({.beam = kBeam}).text << '\n';
    }

    const Settings& s;
    const models::RunFolder& folder;
    const std::vector<ParallelText> files = read_texts(s);
    const Tokenizer tokenizer =
        folder.resumes() ? models::SavedModel(folder.last()).tokenizer() : learn_text(s, files[0]);
    const Transformer model = kit::new_model<Transformer>(
        model_config(s, tokenizer), autograd::Rng(static_cast<uint64_t>(s.seed)).fork("model"));
    const Corpus corpus = corpus_of(files[0]);
    const std::optional<Corpus> validation = files.size() > 1 ? std::optional(corpus_of(files[1]))
                                                              : std::nullopt;
    kit::Run run = {folder, models::run_model(model, data(), {{"tokenizer.json", tokenizer.json()}}),
                    options(), plan()};
    Batches batches = {corpus,       tokenizer,     s.batch_tokens,
                       s.accumulate, s.bpe_dropout, static_cast<uint64_t>(s.seed),
                       run.epoch};  // from that epoch on
};

}  // namespace

void train_command(kit::Options& options) {
    Settings s;
    add_train_options(options, s);
    options.parse();
    if (options.was_given("--patience") && s.run.resume.empty() && s.patience > 0 && s.validation.empty())
        throw kit::UsageError("--patience needs --validation, to see when the model stops improving");
    const models::RunFolder folder("translate", s.run, options);
    kit::check_saves(s.run);
    kit::check_usage(s.context <= s.batch_tokens, "--context ", s.context, " is more than --batch-tokens ",
                     s.batch_tokens);
    kit::check_heads(s.d_model, s.heads);
    kit::check_usage(!s.text.bytes || (s.bpe_dropout == 0 && s.codes.empty() && s.text.min_count == 1 &&
                                       !s.text.tokenized),
                     "--bpe-dropout, --codes, --min-count and --tokenized are for text, not for --bytes");
    Learner{s, folder}();
}

}  // namespace plaingrad::translate
