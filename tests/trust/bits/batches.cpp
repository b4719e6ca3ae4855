#include "tests/trust/bits/batches.h"

#include <cinttypes>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/models/small.h"

namespace plaingrad::trust {
namespace {

using namespace models;  // NOLINT
using namespace tests;   // NOLINT

constexpr int64_t kVocabulary = 23;
constexpr uint64_t kSentences = 30;

// The logits of a batch, (B, T, V) or (B, classes): of these sentences, padded to a length.
using LogitsOf = std::function<Tensor(const Sentences& s, int64_t length)>;
struct Model {
    std::string name;
    LogitsOf logits;
    std::vector<std::vector<Real>> alone = {};  // of each sentence of the pool, in a batch of its own
};

// The first `rows` rows of sentence b.
std::vector<Real> rows_of(const Tensor& logits, int64_t b, int64_t rows) {
    const int64_t n = logits.rank() == 3 ? rows * logits.size(2) : logits.size(1);
    const Real* const first = logits.data() + b * (logits.numel() / logits.size(0));
    return {first, first + n};
}

template <class M>
std::shared_ptr<M> stirred(M model) {
    stir(model);
    return std::make_shared<M>(std::move(model));
}

std::vector<Model> all_models() {
    const Mode eval = Mode::eval();
    std::vector<Model> all;
    for (const std::string kind : {"blog", "paper"}) {
        const auto model = stirred(Transformer(small(kind, kVocabulary), Rng(3)));
        // A target that depends on the source alone: the source itself.
        all.push_back({kind, [=](const Sentences& s, int64_t length) {
                           return (*model)(padded(s, length), padded(s, length), eval);
                       }});
    }
    for (const std::string kind : {"gpt2", "llama"}) {
        const auto model = stirred(LanguageModel(small_stack(kind, kVocabulary), Rng(3)));
        all.push_back({"writer-" + kind, [=](const Sentences& s, int64_t length) {
                           return (*model)(padded(s, length), eval);
                       }});
    }
    const auto filler = stirred(MaskedLanguageModel(small_stack("bert", kVocabulary), Rng(3)));
    all.push_back(
        {"filler", [=](const Sentences& s, int64_t length) { return (*filler)(padded(s, length), eval); }});
    const Config labels = with_classes(small_stack("bert", kVocabulary), 3);
    const auto classifier = stirred(Classifier(labels, Rng(3)));
    all.push_back({"classifier", [=](const Sentences& s, int64_t length) {
                       return (*classifier)(padded(s, length), eval);
                   }});
    return all;
}

Sentences pool(uint64_t seed) {
    const autograd::Rng rng = autograd::Rng(seed).fork("lengths");
    std::vector<int> lengths;
    for (uint64_t i = 0; i < kSentences; ++i)
        lengths.push_back(1 + static_cast<int>(rng.below(i, 20)));
    return sentences(lengths, seed, kVocabulary);
}

// Batch number i: which sentences, in which order, and to which length they are padded.
bool is_same(const Model& model, const Sentences& all, const autograd::Rng& rng) {
    const int64_t count = 1 + rng.below(0, 12);
    std::vector<std::size_t> chosen;
    Sentences batch;
    std::size_t longest = 0;
    for (int64_t i = 0; i < count; ++i) {
        chosen.push_back(static_cast<std::size_t>(rng.below(static_cast<uint64_t>(i) + 1, kSentences)));
        batch.push_back(all[chosen.back()]);
        longest = std::max(longest, batch.back().size());
    }
    const Tensor logits = model.logits(batch, static_cast<int64_t>(longest) + rng.below(1000, 15));
    for (int64_t b = 0; b < count; ++b) {
        const std::size_t i = chosen[static_cast<std::size_t>(b)];
        if (!same_bits(rows_of(logits, b, std::ssize(all[i])), model.alone[i]))
            return false;
    }
    return true;
}

}  // namespace

void print_batches(int64_t n, uint64_t seed) {
    const autograd::NoGrad no_grad;
    const Sentences all = pool(seed);
    std::vector<Model> models = all_models();
    for (Model& model : models)
        for (const Ids& one : all)
            model.alone.push_back(rows_of(model.logits({one}, 0), 0, std::ssize(one)));
    int64_t different = 0;
    const autograd::Rng rng = autograd::Rng(seed).fork("batches");
    for (int64_t i = 0; i < n; ++i) {
        const Model& model = models[static_cast<std::size_t>(i) % models.size()];
        if (!is_same(model, all, rng.fork(static_cast<uint64_t>(i))) && ++different <= 10)
            std::printf("batch %" PRId64 " of seed %" PRIu64 ", %s: other bits\n", i, seed,
                        model.name.c_str());
    }
    std::printf("batches %" PRId64 " different %" PRId64 "\n", n, different);
}

}  // namespace plaingrad::trust
