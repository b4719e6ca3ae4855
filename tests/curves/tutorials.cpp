// `make curves`: the training losses that three tutorials print, beside ours.
//
// The models are the presets of models/presets.h with PyTorch's default initialisation, as in the tutorials.
// Their random numbers cannot be reproduced, so losses agree up to the spread between seeds, which is shown.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <iostream>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "autograd/base/parallel.h"
#include "models/batch.h"
#include "models/decoding/decoding.h"
#include "models/presets.h"
#include "models/text/learn_tokenizer.h"
#include "nn/optim.h"

using namespace plaingrad;  // NOLINT
using namespace autograd;
using models::Config;
using models::Transformer;

namespace {

constexpr int kSeeds = 3;

Rng seeded(int seed) { return Rng(static_cast<uint64_t>(seed)); }

Config as_printed(const char* name) {
    Config config = models::preset(name);
    config.block.init = nn::Init::pytorch;
    return config;
}

// One line of a table: the tutorial's loss, and ours over the seeds.
void compare(const char* what, double theirs, std::vector<double> ours) {
    std::sort(ours.begin(), ours.end());
    std::printf("  %-12s %8.4f   %8.4f", what, theirs, ours[ours.size() / 2]);
    if (ours.size() > 1)
        std::printf("   (%.4f to %.4f)", ours.front(), ours.back());
    std::printf("\n");
    std::fflush(stdout);
}

void heading(const char* title) { std::printf("\n%s\n\n  %-12s %8s   %8s\n", title, "", "theirs", "ours"); }

// One step of Adam on `loss`; returns the loss.
double step(nn::Adam& adam, const Tensor& loss) {
    adam.zero_grad();
    loss.backward();
    adam.step();
    if (kit::interrupted())
        throw kit::Ended{128 + SIGINT};
    return static_cast<double>(loss.item());
}

// ------------------------------------------------------------------------------------------------ article

const std::vector<models::text::SentencePair> kPairs = {{"hello world", "bonjour le monde"},
                                                        {"how are you", "comment ça va"},
                                                        {"good morning", "bonjour"},
                                                        {"thank you", "merci"},
                                                        {"see you soon", "à bientôt"}};

struct ArticleCorpus : models::WordPairs {
    ArticleCorpus() : WordPairs(kPairs, false, "article") {}
    Transformer model(int seed) const {
        Config config = as_printed("article");
        config.src_vocabulary = src.size();
        config.vocabulary = tgt.size();
        return Transformer(config, seeded(seed).fork("model"));
    }
};

constexpr int kArticleEpochs[] = {5, 10, 15, 20};
constexpr double kArticleLosses[] = {0.2940, 0.0584, 0.0239, 0.0200};

// Padding as an ordinary word, since there are no masks.
Tokens unmasked(const std::vector<std::vector<int32_t>>& sentences) {
    const Tokens tokens = Tokens::padded(sentences, models::kPad);
    return Tokens(tokens.batch(), tokens.length(), tokens.ids());
}

// As in the tutorial: no masks, no start and end. The decoder predicts the word after each position while it
// sees all words.
std::vector<double> article_as_printed(const ArticleCorpus& corpus, int seed, int& right) {
    const Transformer model = corpus.model(seed);
    nn::Adam adam(nn::parameters(model));
    std::vector<std::vector<int32_t>> sources, targets;
    for (const models::Pair& pair : corpus.pairs) {
        sources.push_back(pair.src);
        targets.push_back(pair.tgt);
    }
    const Tokens src = unmasked(sources), tgt = unmasked(targets);
    const auto decode = [&](const Tokens& source, const Tokens& read, const nn::Mode& mode) {
        const Tensor memory = model.encode(source, Mask::none(), mode);
        return model.decode(read, memory, Mask::none(), Mask::none(), mode);
    };
    std::vector<double> losses;
    for (int epoch = 1; epoch <= kArticleEpochs[3]; ++epoch) {
        const nn::Mode mode = nn::Mode::train(seeded(seed).fork(static_cast<uint64_t>(epoch)));
        const Tensor logits = decode(src, tgt.slice(0, tgt.length() - 1), mode);
        losses.push_back(
            step(adam, cross_entropy(logits, tgt.slice(1, tgt.length()), {.ignore = models::kPad})));
    }
    // To generate, the decoder needs a start, but was never trained with one: we take <sos>.
    const NoGrad no_grad;
    right = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        std::vector<int32_t> read = {models::kSos};
        for (int64_t t = 0; t < tgt.length(); ++t) {
            const Tokens one(1, src.length(),
                             {src.ids().begin() + static_cast<int64_t>(i) * src.length(),
                              src.ids().begin() + static_cast<int64_t>(i + 1) * src.length()});
            const Tensor logits = decode(one, Tokens(1, t + 1, read), nn::Mode::eval());
            const Real* last = logits.data() + t * logits.size(-1);
            read.push_back(static_cast<int32_t>(std::max_element(last, last + logits.size(-1)) - last));
        }
        read.erase(read.begin());
        right += std::equal(targets[i].begin(), targets[i].end(), read.begin()) ? 1 : 0;
    }
    return losses;
}

// Corrected: <sos> and <eos>, hidden padding, a causal mask.
std::vector<double> article_corrected(const ArticleCorpus& corpus, int seed, int& right) {
    const Transformer model = corpus.model(seed);
    nn::Adam adam(nn::parameters(model));
    const models::Batch batch = models::make_batch(corpus.pairs);
    const int64_t length = batch.tgt.length();
    std::vector<double> losses;
    for (int epoch = 1; epoch <= kArticleEpochs[3]; ++epoch) {
        const nn::Mode mode = nn::Mode::train(seeded(seed).fork(static_cast<uint64_t>(epoch)));
        const Tensor logits = model(batch.src, batch.tgt.slice(0, length - 1), mode);
        losses.push_back(step(adam, cross_entropy(logits, batch.tgt.slice(1, length))));
    }
    right = 0;
    const auto stepper = model.start(batch.src);
    const std::vector<models::Hypothesis> answers = models::greedy(*stepper, 10);
    for (std::size_t i = 0; i < answers.size(); ++i)
        right += answers[i].finished && answers[i].ids == corpus.pairs[i].tgt ? 1 : 0;
    return losses;
}

template <class Run>
void show_article(const char* title, const Run& run) {
    const ArticleCorpus corpus;
    std::vector<double> at_epoch[4];
    int right_total = 0;
    for (int seed = 1; seed <= kSeeds; ++seed) {
        int right = 0;
        const std::vector<double> losses = run(corpus, seed, right);
        right_total += right;
        for (int i = 0; i < 4; ++i)
            at_epoch[i].push_back(losses[static_cast<std::size_t>(kArticleEpochs[i]) - 1]);
    }
    heading(title);
    for (int i = 0; i < 4; ++i)
        compare(("epoch " + std::to_string(kArticleEpochs[i])).c_str(), kArticleLosses[i], at_epoch[i]);
    std::printf("  sentences right, generated word by word: theirs 0 of 5, ours %d of %d\n", right_total,
                5 * kSeeds);
}

void article() {
    show_article("article, as printed: no masks, no <sos> and <eos>", article_as_printed);
    std::printf(
        "\n  A loss of 0.02 meant nothing: without a causal mask the decoder reads the very word that it is "
        "asked for,\n"
        "  and of the five targets two have a single word, after which only padding is left to predict: no "
        "loss at all.\n"
        "  It learned to copy, which is of no use when there is nothing to copy from.\n");
    show_article("article, corrected: masks, <sos> and <eos>; what they printed is repeated for comparison",
                 article_corrected);
}

// ----------------------------------------------------------------------------------------------- notebook

Tokens random_tokens(const Rng& rng, int64_t batch, int64_t length, int64_t vocabulary) {
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < batch * length; ++i)
        ids.push_back(static_cast<int32_t>(1 + rng.below(static_cast<uint64_t>(i), vocabulary - 1)));
    return Tokens(batch, length, std::move(ids));
}

void notebook() {
    constexpr double theirs[] = {7.17, 6.97, 7.20};
    std::vector<double> ours[3];
    for (int seed = 1; seed <= kSeeds; ++seed) {
        const Config config = as_printed("notebook");
        const Transformer model(config, seeded(seed).fork("model"));
        nn::Adam adam(nn::parameters(model), {.lr = 1e-4});
        for (uint64_t i = 0; i < 3;
             ++i) {  // fresh random batches: there is nothing to learn but the word counts
            const Rng data = seeded(seed).fork("data").fork(i);
            const Tokens src = random_tokens(data.fork("src"), 2, 5, config.src_vocabulary);
            const Tokens tgt = random_tokens(data.fork("tgt"), 2, 5, config.vocabulary);
            const Tensor logits = model(src, tgt, nn::Mode::train(data));
            ours[i].push_back(step(adam, cross_entropy(logits, tgt)));
        }
    }
    heading("notebook: fresh random batches of 2 x 5, targets not shifted; ln 1000 = 6.91");
    for (int i = 0; i < 3; ++i)
        compare(("batch " + std::to_string(i + 1)).c_str(), theirs[i], ours[i]);
}

// ------------------------------------------------------------------------------------------------ summary

void summary(int64_t steps) {
    const std::pair<int64_t, double> theirs[] = {{1, 8.686}, {2, 8.556}, {3, 8.484},
                                                 {4, 8.433}, {5, 8.377}, {30, 6.483}};
    const Config config = as_printed("summary");
    const Transformer model(config, seeded(1).fork("model"));
    nn::Adam adam(nn::parameters(model), {.lr = 1e-4, .beta2 = 0.98, .eps = 1e-9});
    const Tokens src = random_tokens(seeded(1).fork("src"), 64, 100, config.src_vocabulary);
    const Tokens tgt = random_tokens(seeded(1).fork("tgt"), 64, 100, config.vocabulary);
    heading(
        "summary: one random batch of 64 x 100, learned again and again (steps count from 1; they count from "
        "0)");
    for (int64_t i = 1; i <= steps; ++i) {
        const nn::Mode mode = nn::Mode::train(seeded(1).fork(static_cast<uint64_t>(i)));
        const Tensor logits = model(src, tgt.slice(0, 99), mode);
        const double loss = step(adam, cross_entropy(logits, tgt.slice(1, 100)));
        for (const auto& [at, value] : theirs)
            if (at == i)
                compare(("step " + std::to_string(i)).c_str(), value, {loss});
    }
}

int main_program(int argc, char** argv) {
    std::string only = "all";
    int64_t steps = 30;
    kit::Options options({"tutorials", "our training losses beside those that the tutorials printed"});
    options.add("--only", "train only one tutorial's models", only,
                {"all", "article", "notebook", "summary"});
    options.add("--summary-steps", "N", "the last tutorial's model is large: each step takes seconds", steps,
                {.min = 1});
    int64_t threads = 0;
    options.add("--threads", "N", "number of threads; 0: all processors", threads, {.min = 0, .max = 1024});
    options.parse(argc, argv);
    if (threads > 0)
        set_thread_count(static_cast<int>(threads));
    kit::listen_for_interrupt();
    if (only == "all" || only == "article")
        article();
    if (only == "all" || only == "notebook")
        notebook();
    if (only == "all" || only == "summary")
        summary(steps);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return kit::run("curves", argv[0], [&] { return main_program(argc, argv); });
}
