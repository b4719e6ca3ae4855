// Whole models, with their losses and gradients, agree with PyTorch; ten steps of training, too.
#include "models/families/one_stack.h"
#include "models/saved.h"
#include "nn/optim.h"
#include "nn/schedule.h"
#include "tests/golden/golden.h"
#include "tests/golden/models.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

Case translator(const Config& config) {
    return [=](const Golden& golden, Results& results) {
        const Transformer model(config, Rng(1));
        golden.load(model);
        const Tokens tgt = golden.ids("tgt");
        const Tensor logits = model(golden.ids("src"), tgt, Mode::eval());
        results.put("output/logits", rows_of(logits, tgt.lengths()));
        results.loss(autograd::cross_entropy(logits, golden.ids("targets"), {.label_smoothing = Real(0.1)}));
        results.gradients(state_dict(model));
    };
}

Tensor token_loss(const Tensor& logits, const Tokens& targets) {
    return autograd::cross_entropy(logits, targets);
}

// ids -> logits, of the models with one stack
template <class Model>
void run(const Model& model, const StateDict& state, const Golden& golden, Results& results) {
    const Tokens ids = golden.ids("ids");
    const Tensor logits = model(ids, Mode::eval());
    results.put("output/logits", rows_of(logits, ids.lengths()));
    results.loss(token_loss(logits, golden.ids("targets")));
    results.gradients(state);
}

void bert(const Golden& golden, Results& results) {
    const MaskedLanguageModel model(small_bert(), Rng(1));
    const Folder folder;
    load_bert(golden.write(folder, "weight/"), model);
    run(model, bert_state_dict(model), golden, results);
}

void gpt2(const Golden& golden, Results& results) {
    const LanguageModel model(small_gpt2(), Rng(1));
    const Folder folder;
    load_gpt2(golden.write(folder, "weight/"), model);
    run(model, gpt2_state_dict(model), golden, results);
}

void language_model(const Golden& golden, Results& results) {
    const LanguageModel model(small_language_model(), Rng(1));
    golden.load(model);
    run(model, state_dict(model), golden, results);
}

Case classifier(Pooling pooling) {
    return [=](const Golden& golden, Results& results) {
        const Classifier model(small_classifier(pooling), Rng(1));
        golden.load(model);
        const Tensor logits = model(golden.ids("ids"), Mode::eval());
        results.put("output/logits", logits);
        results.loss(autograd::cross_entropy(logits, golden.ids("targets")));
        results.gradients(state_dict(model));
    };
}

const Cases kModels = {
    {"translator_tied", translator(small_tied())},
    {"translator", translator(small_prenorm())},
    {"language_model", language_model},
    {"gpt2", gpt2},
    {"bert", bert},
    {"classifier_mean", classifier(Pooling::mean)},
    {"classifier_first", classifier(Pooling::first)},
};

Case training(const nn::AdamOptions& options) {
    return [=](const Golden& golden, Results& results) {
        Config config = small_language_model();
        config.n_layers = 1;
        config.block.d_model = 8;
        config.block.n_heads = 2;
        config.block.d_ff = 12;
        config.tied = true;
        const LanguageModel model(config, Rng(1));
        golden.load(model);
        nn::Adam adam(nn::parameters(model), options);
        std::vector<Real> losses;
        for (int step = 0; step < 10; ++step) {
            adam.zero_grad();
            const Tensor loss = token_loss(model(golden.ids("ids"), Mode::eval()), golden.ids("targets"));
            losses.push_back(loss.item());
            loss.backward();
            adam.step();
        }
        results.put("loss/losses", Tensor::from({10}, losses));
        for (const nn::checkpoint::StateEntry& entry : state_dict(model)) {
            Tensor values = nn::checkpoint::in_file_order(entry).clone();
            if (contains(entry.name, "in_proj_bias"))  // the keys' part has no gradient but rounding
                std::fill_n(values.mutable_data() + 8, 8, Real(0));
            results.put("final/" + entry.name, values);
        }
    };
}

template <class Schedule>
Case rates(const Schedule& schedule) {
    return [=](const Golden&, Results& results) {
        std::vector<Real> values;
        for (int64_t step = 1; step <= 40; ++step)
            values.push_back(static_cast<Real>(schedule(step)));
        results.put("loss/rates", Tensor::from({40}, values));
    };
}

const Cases kTraining = {
    {"adam", training({.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-9})},
    {"adam_decay", training({.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .weight_decay = 0.01})},
    {"adamw",
     training(
         {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .decoupled = true})},
    {"inverse_sqrt", rates(nn::WarmupInverseSqrt{.d_model = 64, .warmup = 10, .factor = 2})},
    {"cosine", rates(nn::CosineSchedule{.lr = 3e-4, .total = 30, .warmup = 5, .lr_end = 3e-5})},
};

}  // namespace

TEST_CASE("PyTorch agrees: models, losses and gradients", "[golden]") { check_agreement("models", kModels); }
TEST_CASE("PyTorch agrees: ten steps of Adam, schedules", "[golden]") {
    check_agreement("training", kTraining);
}
TEST_CASE("planted faults in golden files are noticed: models", "[golden]") {
    check_faults_are_noticed("models", kModels);
    check_faults_are_noticed("training", kTraining);
}
