// A folder from Hugging Face with a BERT, opened with its text: a Labeller, and a Filler.
#include "models/labeller.h"

#include <cmath>

#include "models/filler.h"
#include "models/text/learn_tokenizer.h"
#include "tests/catch.h"
#include "tests/models/folder_of_others.h"

using namespace plaingrad;  // NOLINT
using namespace tests;
using models::Filler;
using models::Labeller;
using models::Tokens;

namespace {

// Softmax in double.
std::vector<double> shares(const std::vector<models::Real>& logits) {
    std::vector<double> all;
    double sum = 0;
    for (const models::Real x : logits)
        sum += all.emplace_back(std::exp(static_cast<double>(x)));
    for (double& p : all)
        p /= sum;
    return all;
}

// Whether all parameters of two modules are equal.
template <class A, class B>
bool same(const A& a, const B& b) {
    return values(nn::parameters(a)) == values(nn::parameters(b));
}

void close(const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        CHECK(a[i] == Approx(b[i]).margin(1e-6));
}

}  // namespace

TEST_CASE("a Labeller of a folder from Hugging Face computes what its model does", "[models][labeller]") {
    const Folder folder;
    const models::Classifier model = write_bert<models::Classifier>(folder);
    const Labeller l = Labeller::load(folder.path);
    CHECK(l.labels == std::vector<std::string>{"sad", "glad", "in between"});
    const auto by_hand = [&](const Ids& ids, const Ids& types = {}) {
        const auto n = std::ssize(ids);
        const autograd::Tensor logits =
            model(Tokens(1, n, ids), nn::Mode::eval(), types.empty() ? Tokens() : Tokens(1, n, types));
        return shares(logits.to_vector());
    };
    const std::string text = "The lovely day.";
    const Ids ids = {2, 5, 9, 7, 12, 3};
    CHECK(l.encode(text).ids == ids);
    close(l.probabilities({text})[0], by_hand(ids));
    const auto all = l(text);
    REQUIRE(all.size() == 3);
    CHECK(all[0].probability >= all[1].probability);
    CHECK(all[1].probability >= all[2].probability);
    const auto p = l.probabilities({text})[0];
    CHECK(all[0].name ==
          l.labels[static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin())]);

    CHECK(l.reads_pairs());
    close(l.probabilities({"a day\tthe night"})[0], by_hand({2, 6, 7, 3, 5, 8, 3}, {0, 0, 0, 0, 1, 1, 1}));
}

TEST_CASE("a Labeller's answers do not depend on the texts around them, nor on their number",
          "[models][labeller]") {
    const Folder folder;
    write_bert<models::Classifier>(folder);
    const Labeller l = Labeller::load(folder.path);
    const auto check_alone = [&](const std::vector<std::string>& texts) {
        const auto together = l.probabilities(texts);
        for (std::size_t i = 0; i<texts.size(); i += texts.size()> 100 ? 999 : 1) {
            CAPTURE(texts[i]);
            CHECK(together[i] == l.probabilities({texts[i]})[0]);
        }
        return together;
    };
    // Of all lengths; the last is too long for the model, and one names the token that pads.
    std::vector<std::string> texts = {"a [PAD] day"};
    for (int n = 1; n < 25; ++n) {
        texts.emplace_back();
        for (int i = 0; i < n; ++i)
            texts.back() += i % 3 == 0 ? "lovely " : i % 3 == 1 ? "day " : "a ";
    }
    const auto together = check_alone(texts);
    CHECK(together[1] != together[2]);
    CHECK(l.encode(texts.back()).cut);
    CHECK(l.encode(texts.back()).ids.size() == 12);
    CHECK_FALSE(l.encode(texts[0]).cut);
    CHECK(together[23] == together[24]);  // they begin alike
    // Pairs of several lengths, and their first texts too: each token is of the first or of the second text.
    check_alone({"a day\tthe night", "a\tlovely", "the lovely day .\ta", "a\tthe awful night .",
                 "the day\ta lovely night"});
    // Thousands of tokens are read at once.
    check_alone(std::vector<std::string>(1000, "the awful night"));
}

TEST_CASE("a Labeller for training has the layers of its folder, and a classifier for its labels",
          "[models][labeller]") {
    const models::Rng rng(3);
    const std::vector<std::string> labels = {"no", "yes"};
    const Folder masked, bare, classifier;
    const auto of_masked = write_bert<models::MaskedLanguageModel>(masked);
    const auto of_bare = write_bert<models::TextEncoder>(bare);
    const auto of_classifier = write_bert<models::Classifier>(classifier);

    const Labeller a = Labeller::based_on(masked.path, labels, {.rng = rng});
    CHECK(same(a.model.backbone, of_masked.backbone));
    CHECK(a.labels == labels);
    CHECK(a.probabilities({"a day"})[0].size() == 2);
    CHECK(hash(a.model) == hash(Labeller::based_on(masked.path, labels, {.rng = rng}).model));
    CHECK(hash(a.model) != hash(Labeller::based_on(masked.path, labels, {.rng = models::Rng(4)}).model));

    const Labeller b = Labeller::based_on(bare.path, labels, {.rng = rng});
    CHECK(same(b.model.backbone, of_bare.backbone));
    CHECK(same(*b.model.pooler, of_bare.pooler));

    const Labeller c = Labeller::based_on(classifier.path, labels, {.rng = rng});
    CHECK(same(c.model.backbone, of_classifier.backbone));
    CHECK(same(*c.model.pooler, *of_classifier.pooler));
    CHECK(c.labels == labels);
    CHECK(same(c.model.output, a.model.output));
    // If it has all of these labels, it keeps its own, in the order of its classifier's rows.
    for (const std::vector<std::string>& wanted :
         {std::vector<std::string>{"glad", "sad"}, {"glad", "in between", "sad"}}) {
        const Labeller own = Labeller::based_on(classifier.path, wanted, {.rng = rng});
        CHECK(same(own.model, of_classifier));
        CHECK(own.labels == std::vector<std::string>{"sad", "glad", "in between"});
    }

    // Dropout before the new classifier is what the folder says of classifiers, not of its layers.
    std::string config = content(masked / "config.json");
    const std::string none = "\"classifier_dropout\": null";
    REQUIRE(contains(config, none));
    masked.write("config.json",
                 config.replace(config.find(none), none.size(), "\"classifier_dropout\": 0.25"));
    CHECK(Labeller::based_on(masked.path, labels, {.rng = rng}).model.dropout.rate == models::Real(0.25));
    const std::size_t at = config.find("\"pad_token_id\": 0");
    REQUIRE(at != config.npos);
    masked.write("config.json", config.replace(at, 17, "\"pad_token_id\": null"));
    const Labeller unpadded = Labeller::based_on(masked.path, labels, {.rng = rng});
    CHECK(unpadded.inputs({unpadded.encode("a"), unpadded.encode("a day")})[0].lengths() == Ids{3, 4});
}

TEST_CASE("a Labeller reads a text of invisible characters as one unknown word", "[models][labeller]") {
    auto tokenizer = models::text::learn_features({"a good day", "a bad day"}, {.min_count = 1});
    models::Config config = models::with_classes(small_stack("bert"), 2);
    config.vocabulary = tokenizer.size();
    config.token_types = 0;
    const Labeller l = {models::Classifier(config, models::Rng(1)), std::move(tokenizer), {"bad", "good"}};
    const std::string invisible = "\xe2\x80\x8b";  // U+200B
    CHECK(l.encode(invisible).ids == Ids{models::kUnk});
    CHECK(l.probabilities({"a good day", invisible})[0] == l.probabilities({"a good day"})[0]);
}

TEST_CASE("a Filler gives each mask the tokens that the model expects", "[models][filler]") {
    const Folder folder;
    const models::MaskedLanguageModel model = write_bert<models::MaskedLanguageModel>(folder);
    const Filler f = Filler::load(folder.path);
    CHECK(f.mask == "[MASK]");
    const std::vector<std::string> words = {"[PAD]", "[UNK]", "[CLS]",  "[SEP]", "[MASK]", "the", "a",
                                            "day",   "night", "lovely", "awful", "##ly",   "."};
    const Ids ids = {2, 5, 4, 4, 12, 3};
    const autograd::Tensor logits = model(Tokens(1, 6, ids), nn::Mode::eval());
    // The rows of the masks alone, bit for bit.
    const autograd::Tensor two_rows = model.logits_at(Tokens(1, 6, ids), {2, 3}, nn::Mode::eval()),
                           some = two_rows.with_shape({1, 2, two_rows.size(-1)});
    CHECK(row(some, 0, 0) == row(logits, 0, 2));
    CHECK(row(some, 0, 1) == row(logits, 0, 3));
    const auto masks = f("The [MASK] [MASK].", 100);
    REQUIRE(masks.size() == 2);
    for (std::size_t m = 0; m < 2; ++m) {
        const std::vector<double> p = shares(row(logits, 0, static_cast<int64_t>(m) + 2));
        REQUIRE(masks[m].size() == words.size());  // ids without a token are left out
        double before = 1;
        for (const models::Filling& one : masks[m]) {
            const auto id = std::find(words.begin(), words.end(), one.word) - words.begin();
            REQUIRE(id < std::ssize(words));
            CHECK(one.probability == Approx(p[static_cast<std::size_t>(id)]).margin(1e-6));
            CHECK(one.probability <= before);
            before = one.probability;
        }
    }
    const auto two = f("The [MASK] [MASK].", 2);
    REQUIRE(two[0].size() == 2);
    CHECK(two[0][1].word == masks[0][1].word);
    CHECK(contains(error_of([&] { f("a [MASK]", 0); }), "top must be at least 1: got 0"));
    CHECK(contains(error_of([&] { f("The day."); }), "there is no [MASK] in this text"));
    CHECK(contains(error_of([&] { f("a a a a a a a a a a [MASK]"); }),
                   "there is no [MASK] in the first 12 tokens; the model reads no more"));
}

TEST_CASE("a Filler puts words into the text as it was typed", "[models][filler]") {
    const Folder folder;
    write_bert<models::MaskedLanguageModel>(folder);
    const Filler f = Filler::load(folder.path);
    CHECK(f.filled("The  [MASK], Ä[MASK]!", {"day", "night"}) == "The  day, Änight!");
    CHECK(f.filled("love [MASK] [MASK]", {"##ly"}) == "lovely [MASK]");
    CHECK(f.filled("a [MASK]", {"##"}) == "a ##");
    CHECK_THROWS_AS(f.filled("a [MASK]", {"b", "c"}), autograd::Error);
}

TEST_CASE("folders with another model or tokenizer are refused", "[models][labeller][filler]") {
    const Folder classifier, masked, bare;
    write_bert<models::Classifier>(classifier);
    write_bert<models::MaskedLanguageModel>(masked);
    write_bert<models::TextEncoder>(bare);
    const auto label = [](const Folder& f) { return error_of([&] { Labeller::load(f.path); }); };
    const auto fill = [](const Folder& f) { return error_of([&] { Filler::load(f.path); }); };
    CHECK(contains(label(masked), "config.json: a classifier is needed: got BertForMaskedLM"));
    CHECK(contains(label(bare), "config.json: a classifier is needed: got BertModel"));
    CHECK(contains(fill(classifier), "config.json: a masked language model is needed: got Bert"));
    for (const Folder* folder : {&classifier, &masked})
        folder->write("vocab.txt", kBertWords + "one\ntwo\nthree\n");
    for (const std::string& error : {label(classifier), fill(masked)})
        CHECK(contains(error, ": the tokenizer has 16 ids, the model 15"));
    std::filesystem::remove(masked / "vocab.txt");
    CHECK(contains(fill(masked), " has no tokenizer.json, "));
}
