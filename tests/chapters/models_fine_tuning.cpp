// What pre-training is worth: a classifier that begins with random weights, and one that begins with the
// layers of a model that has read texts without labels.
#include <ostream>

#include "models/families/one_stack.h"
#include "models/text/training_data.h"
#include "nn/optim.h"
#include "tests/chapters/experiment.h"
#include "tests/chapters/print.h"
#include "tests/chapters/sections.h"

namespace plaingrad::chapters {

using namespace models;

namespace {

// A language without grammar: a text has one of four topics, each with forty words of its own, and half of
// every text are twenty words that belong to no topic.
constexpr int kTopics = 4, kOwn = 40, kCommon = 20, kWords = 12, kTested = 500;
constexpr int32_t kVocabulary = kFirstFreeId + kCommon + kTopics * kOwn;

struct Texts {
    Tokens ids;     // (B, T)
    Tokens topics;  // (B, 1)
};

// `count` texts of each topic.
Texts texts(int count, const Rng& rng) {
    std::vector<int32_t> ids, topics;
    for (int i = 0; i < count * kTopics; ++i) {
        const int topic = i % kTopics;
        topics.push_back(topic);
        for (int k = 0; k < kWords; ++k) {
            const Rng word = rng.fork(static_cast<uint64_t>(i * kWords + k));
            const bool own = word.below(0, 2) == 0;
            ids.push_back(kFirstFreeId +
                          static_cast<int32_t>(own ? kCommon + topic * kOwn + word.below(1, kOwn)
                                                   : word.below(1, kCommon)));
        }
    }
    return {Tokens(count * kTopics, kWords, ids, kPad), Tokens(count * kTopics, 1, topics)};
}

Config small_stack() {
    return {.vocabulary = kVocabulary,
            .max_length = kWords,
            .n_layers = 2,
            .block = {.d_model = 32, .n_heads = 4, .d_ff = 64, .dropout = {0, 0, 0, 0}}};
}

// Learns to fill gaps, in texts without labels.
MaskedLanguageModel pre_trained(const Rng& rng) {
    MaskedLanguageModel model(small_stack(), rng);
    nn::Adam adam(nn::parameters(model), {.lr = 3e-3});
    for (uint64_t step = 1; step <= 1500; ++step) {
        const Rng random = rng.fork("texts").fork(step);
        const auto [ids, targets] =
            text::mask_tokens(texts(8, random).ids, {.end_id = kVocabulary}, random.fork("gaps"));
        const Tensor loss = model.loss(ids, targets, Mode::train(random));  // ()
        adam.zero_grad();
        loss.backward();
        adam.step();
    }
    return model;
}

enum class Begin { random, trained, frozen };

// A classifier that begins with the embeddings and layers of this model. Its output layer is new.
Classifier with_layers_of(const MaskedLanguageModel& trained, int64_t classes) {
    Classifier classifier(with_classes(trained.config, classes), trained.rng);
    classifier.backbone = nn::clone(trained).backbone;
    return classifier;
}

// Learns from so many labelled texts of each topic. Returns how many of kTested others it then gets right, in
// percent.
double share_right(int labelled, Begin begin, const MaskedLanguageModel& trained) {
    const Rng& rng = trained.rng;
    const Classifier classifier = begin == Begin::random
                                      ? Classifier(with_classes(trained.config, kTopics), rng)
                                      : with_layers_of(trained, kTopics);
    nn::freeze(classifier.backbone, begin == Begin::frozen);
    nn::Adam adam(nn::parameters(classifier), {.lr = begin == Begin::frozen ? 1e-2 : 1e-3});
    const Texts learned = texts(labelled, rng.fork("labelled")),
                unseen = texts(kTested / kTopics, rng.fork("unseen"));
    for (uint64_t step = 1; step <= 100; ++step) {
        const Tensor logits = classifier(learned.ids, Mode::train(rng.fork(step)));  // (B, topics)
        const Tensor loss = autograd::cross_entropy(logits, learned.topics);         // ()
        adam.zero_grad();
        loss.backward();
        adam.step();
    }
    const autograd::NoGrad no_grad;
    return 100 * accuracy(classifier(unseen.ids, Mode::eval()), unseen.topics);
}

void fine_tuning(std::ostream& out) {
    Rows rows = {
        {"labelled texts of each topic", "random weights", "pre-trained", "pre-trained, layers frozen"}};
    std::vector<MaskedLanguageModel> models;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed)
        models.push_back(pre_trained(Rng(seed)));
    std::vector<double> means;
    for (const int count : {1, 4, 16, 64}) {
        rows.push_back({std::to_string(count)});
        for (const Begin begin : {Begin::random, Begin::trained, Begin::frozen}) {
            std::vector<double> right;
            for (const MaskedLanguageModel& model : models)
                right.push_back(share_right(count, begin, model));
            means.push_back(mean_of(right));
            rows.back().push_back(of_seeds(right));
        }
    }
    table(out, rows, "nnnn");
    claim(means[0] < 40 && means[1] > 85 && means[2] > 95, "few labels are enough after pre-training");
    claim(means[9] > 95, "with many labels random weights are good, too");
}

const Adds kHere({{"models.fine_tuning", Effort::training, fine_tuning}});

}  // namespace

}  // namespace plaingrad::chapters
