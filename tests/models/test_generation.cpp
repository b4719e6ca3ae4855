// Text from a language model equals that of a plain loop over whole passes, one sentence at a time.
#include "models/decoding/decoding.h"
#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

using autograd::Tokens;

namespace {

LanguageModel stirred(const std::string& kind, int64_t max_length = 40) {
    Config c = small_stack(kind);
    c.max_length = max_length;
    LanguageModel model(c, Rng(1));
    stir(model);
    return model;
}

Tokens prompts(const Sentences& s) {
    Ids ids;
    for (const Ids& one : s)
        ids.insert(ids.end(), one.begin(), one.end());
    return Tokens(static_cast<int64_t>(s.size()), static_cast<int64_t>(s[0].size()), ids);
}

// The options, and those of the model's specials that a test sets.
struct Options : GenerationOptions {
    Ids stop = {kEos};
};

Sentences generate(const LanguageModel& model, const Tokens& prompts, const Rng& rng, const Options& o,
                   const std::function<bool(int64_t, int32_t)>& on_token = {}) {
    const auto stepper = model.start(prompts);
    stepper->specials.ends = o.stop;
    return models::generate(*stepper, rng, o, on_token);
}

// Without a cache, one sentence alone: sentence b of a batch. What the model reads starts at `start`.
Ids plainly(const LanguageModel& model, const Ids& prompt, uint64_t b, const Rng& rng, const Options& o) {
    const autograd::NoGrad no_grad;
    const auto most = static_cast<std::size_t>(model.config.max_length);
    Ids text = prompt;
    std::size_t start = text.size() > most ? text.size() - most : 0;
    while (text.size() - prompt.size() < static_cast<std::size_t>(o.max_tokens)) {
        if (text.size() - start > most) {
            if (!o.slide)
                break;
            start = text.size() - std::max<std::size_t>(1, most / 2);
        }
        const Ids context(text.begin() + static_cast<std::ptrdiff_t>(start), text.end());
        const std::vector<Real> logits =
            row(model(prompts({context}), Mode::eval()), 0, static_cast<int64_t>(context.size()) - 1);
        const double uniform = rng.fork(b).uniform(text.size() - prompt.size());
        SamplingOptions sampling = o.sampling;
        sampling.never = {kPad, kSos, kUnk};
        text.push_back(sample(logits.data(), length(logits), uniform, sampling, text));
        if (std::find(o.stop.begin(), o.stop.end(), text.back()) != o.stop.end()) {
            text.pop_back();
            break;
        }
    }
    return {text.begin() + static_cast<std::ptrdiff_t>(prompt.size()), text.end()};
}

Sentences plainly(const LanguageModel& model, const Sentences& s, const Rng& rng, const Options& o) {
    Sentences all;
    for (std::size_t b = 0; b < s.size(); ++b)
        all.push_back(plainly(model, s[b], b, rng, o));
    return all;
}

// A model's stepper that counts the tokens that it reads.
class Counting final : public Stepper {
public:
    explicit Counting(std::unique_ptr<Stepper> stepper)
        : Stepper(stepper->prompts, stepper->specials, stepper->max_length), stepper_(std::move(stepper)) {}
    Tensor step(const Tokens& tokens, Logits which) override {
        read += tokens.length();
        return stepper_->step(tokens, which);
    }
    void select(const Ids& rows) override { stepper_->select(rows); }
    void rewind(int64_t length) override { stepper_->rewind(length); }

    int64_t read = 0;

private:
    std::unique_ptr<Stepper> stepper_;
};

const Options kLong = {{.sampling = {.temperature = 1.3}, .max_tokens = 20}, {}};

}  // namespace

TEST_CASE("generate: the plain loop's text, greedy and drawn, for every kind of model",
          "[models][generate]") {
    for (const std::string& kind : kStacks) {
        INFO(kind);
        const LanguageModel model = stirred(kind);
        const Sentences s = sentences({4, 4, 4}, 2);
        for (const double temperature : {0.0, 0.7, 2.0}) {
            Options o = kLong;
            o.sampling.temperature = temperature;
            const Sentences texts = generate(model, prompts(s), Rng(3), o);
            CHECK(texts == plainly(model, s, Rng(3), o));
            for (const Ids& text : texts)
                CHECK(text.size() == 20);
            CHECK((generate(model, prompts(s), Rng(4), o) == texts) == (temperature == 0));
            CHECK(generate(model, prompts(s), Rng(3), o) == texts);
        }
    }
}

TEST_CASE("generate: greedy is the argmax of the whole pass", "[models][generate]") {
    const LanguageModel model = stirred("paper");
    Ids text = {5, 6, 7};
    const Ids written = models::generate(*model.start(prompts({text})), Rng(1),
                                         {.sampling = {.temperature = 0}, .max_tokens = 30})[0];
    REQUIRE_FALSE(written.empty());
    for (const int32_t id : written) {
        const Tensor logits = model(prompts({text}), Mode::eval());
        std::vector<Real> last = row(logits, 0, static_cast<int64_t>(text.size()) - 1);
        for (const int32_t never : {kPad, kSos, kUnk})
            last[static_cast<std::size_t>(never)] = -1e9;
        CHECK(id == std::max_element(last.begin(), last.end()) - last.begin());
        text.push_back(id);
    }
}

TEST_CASE("generate: several texts of one prompt, which is read once", "[models][generate]") {
    for (const std::string& kind : kStacks)
        for (const std::size_t length : {1u, 6u, 12u, 14u}) {
            const LanguageModel model = stirred(kind, 12);
            const Sentences s = {sentences({static_cast<int>(length)}, 3)[0]};
            Counting stepper(model.start(prompts(s)));
            stepper.specials.ends = {};
            for (const int64_t tokens : {4, 1, 3, 12, 2, 4}) {
                INFO(kind << ", a prompt of " << length << ", " << tokens << " tokens");
                Options o = kLong;
                o.max_tokens = tokens;
                const bool slides = std::ssize(s[0]) + tokens - 1 > 12;
                const int64_t unread = std::ssize(s[0]) - stepper.known;
                stepper.read = 0;
                const auto seed = static_cast<uint64_t>(tokens);
                CHECK(models::generate(stepper, Rng(seed), o)[0] == plainly(model, s[0], 0, Rng(seed), o));
                CHECK((slides || stepper.read == unread + tokens - 1));
                CHECK(stepper.known == (slides ? 0 : std::ssize(s[0]) - 1));
            }
        }
    // After one sentence of two has ended, its part of the cache is gone.
    const LanguageModel model = stirred("gpt2");
    const auto stepper = model.start(prompts(sentences({4, 4}, 5)));
    const auto once = [&] {
        models::generate(*stepper, Rng(6), {.max_tokens = 3}, [](int64_t b, int32_t) { return b != 0; });
    };
    once();
    CHECK(contains(error_of(once), "[Stepper] tokens for 2 sentences, the batch has 1"));
    CHECK(
        contains(error_of([&] { stepper->rewind(1); }), "[Stepper] cannot rewind to 1 tokens: 0 were read"));
}

TEST_CASE("generate: after the caller has rewound, the rest of the prompt is read again",
          "[models][generate]") {
    const LanguageModel model = stirred("gpt2");
    const Sentences s = sentences({6}, 3);
    const auto stepper = model.start(prompts(s));
    stepper->specials.ends = {};
    const Ids expected = plainly(model, s[0], 0, Rng(1), kLong);
    CHECK(models::generate(*stepper, Rng(1), kLong)[0] == expected);
    for (const int64_t length : {3, 0, 5}) {
        stepper->rewind(length);
        CHECK(models::generate(*stepper, Rng(1), kLong)[0] == expected);
    }
}

TEST_CASE("generate: a sentence depends only on its prompt and its number", "[models][generate]") {
    const LanguageModel model = stirred("gpt2");
    Options o = kLong;
    o.max_tokens = 30;
    o.stop = {kEos, 7};  // so that sentences leave the batch
    const Sentences s = sentences({4, 4, 4, 4, 4, 4}, 5);
    const Sentences together = generate(model, prompts(s), Rng(6), o);
    CHECK(together == plainly(model, s, Rng(6), o));
    CHECK(generate(model, prompts({s[0]}), Rng(6), o)[0] == together[0]);
    Sentences changed = s;
    changed[0] = {4, 4, 4, 4};
    const Sentences others = generate(model, prompts(changed), Rng(6), o);
    for (std::size_t b = 1; b < 6; ++b)
        CHECK(others[b] == together[b]);
    // Equal prompts are continued differently: each has a stream of its own.
    const Sentences twins = generate(model, prompts({s[0], s[0]}), Rng(6), kLong);
    CHECK(twins[0] != twins[1]);
}

TEST_CASE("generate: stop tokens end a sentence and are not returned", "[models][generate]") {
    const LanguageModel model = stirred("bert");
    const Sentences s = sentences({3, 3, 3, 3, 3, 3, 3, 3}, 7);
    Options o = kLong;
    const Sentences unstopped = generate(model, prompts(s), Rng(8), o);
    for (const Ids& stop : {Ids{5}, Ids{kEos}, Ids{4, 9, 10}, Ids{4, 5, 6, 7, 8, 9, 10, kEos}}) {
        o.stop = stop;
        const Sentences texts = generate(model, prompts(s), Rng(8), o);
        std::size_t lengths = 0;
        for (std::size_t b = 0; b < s.size(); ++b) {
            const auto end =
                std::find_first_of(unstopped[b].begin(), unstopped[b].end(), stop.begin(), stop.end());
            CHECK(texts[b] == Ids(unstopped[b].begin(), end));
            lengths += texts[b].size();
        }
        CHECK(lengths < 8 * 20);
    }
    // A stop token in the prompt ends nothing.
    o.stop = {s[0][2]};
    CHECK(generate(model, prompts({s[0]}), Rng(8), o)[0] == plainly(model, s[0], 0, Rng(8), o));
}

TEST_CASE("generate: on_token is called with each token of the result, in order", "[models][generate]") {
    const LanguageModel model = stirred("mixed");
    Options o = kLong;
    o.stop = {5};
    const Sentences s = sentences({2, 2, 2, 2}, 9);
    Sentences heard(4);
    std::vector<std::size_t> steps;  // never decreasing
    const Sentences texts = generate(model, prompts(s), Rng(10), o, [&](int64_t b, int32_t token) {
        heard[static_cast<std::size_t>(b)].push_back(token);
        steps.push_back(heard[static_cast<std::size_t>(b)].size());
        return true;
    });
    CHECK(heard == texts);
    CHECK(std::is_sorted(steps.begin(), steps.end()));
    CHECK(texts == generate(model, prompts(s), Rng(10), o));
    std::size_t lengths = 0;
    for (const Ids& text : texts)
        lengths += text.size();
    CHECK((lengths > 4 && lengths < 80));
}

TEST_CASE("generate: a penalty for what the text already has, its prompt included", "[models][generate]") {
    const LanguageModel model = stirred("gpt2", 9);  // it slides, and still remembers the whole text
    Options o = kLong;
    o.stop = {5};
    const Sentences s = sentences({4, 4, 4}, 17);
    const Sentences free = generate(model, prompts(s), Rng(18), o);
    o.sampling.repetition_penalty = 1.7;
    const Sentences texts = generate(model, prompts(s), Rng(18), o);
    CHECK(texts == plainly(model, s, Rng(18), o));
    CHECK(texts != free);
    o.sampling.temperature = 0;
    CHECK(generate(model, prompts(s), Rng(18), o) == plainly(model, s, Rng(18), o));
}

TEST_CASE("generate: a text can be stopped after each token", "[models][generate]") {
    const LanguageModel model = stirred("mixed");
    Options o = kLong;
    o.stop = {};
    const Sentences s = sentences({2, 2, 2}, 9);
    const Sentences whole = generate(model, prompts(s), Rng(10), o);
    Sentences heard(3);
    const Sentences texts = generate(model, prompts(s), Rng(10), o, [&](int64_t b, int32_t token) {
        Ids& text = heard[static_cast<std::size_t>(b)];
        text.push_back(token);
        return std::ssize(text) < 2 + b;
    });
    CHECK(heard == texts);
    for (std::size_t b = 0; b < 3; ++b) {
        REQUIRE(whole[b].size() > 2 + b);
        CHECK(texts[b] == Ids(whole[b].begin(), whole[b].begin() + 2 + static_cast<std::ptrdiff_t>(b)));
    }
}

TEST_CASE("generate: a full context slides, or ends the text", "[models][generate]") {
    for (const char* kind : {"gpt2", "paper"})
        for (const int64_t most : {1, 2, 3, 8, 9}) {
            const LanguageModel model = stirred(kind, most);
            for (const int prompt : {1, 2, 8, 12}) {
                INFO(kind << ", maximum " << most << ", prompt of " << prompt);
                const Sentences s = sentences({prompt, prompt}, 11);
                Options o = kLong;
                o.max_tokens = 25;
                const Sentences texts = generate(model, prompts(s), Rng(12), o);
                CHECK(texts == plainly(model, s, Rng(12), o));
                CHECK((texts[0].size() == 25 && texts[1].size() == 25));

                o.slide = false;
                if (prompt > most) {
                    const std::string error = error_of([&] { generate(model, prompts(s), Rng(12), o); });
                    CHECK(contains(error, "a prompt of " + std::to_string(prompt)));
                    CHECK(contains(error, "max_length " + std::to_string(most)));
                    continue;
                }
                const Sentences ended = generate(model, prompts(s), Rng(12), o);
                for (std::size_t b = 0; b < 2; ++b) {  // the last token needs no place of its own
                    CHECK(ended[b].size() == static_cast<std::size_t>(most - prompt + 1));
                    CHECK(std::equal(ended[b].begin(), ended[b].end(), texts[b].begin()));
                }
            }
        }
}

TEST_CASE("generate: sentences leave the batch before and after it slides", "[models][generate]") {
    const LanguageModel model = stirred("gpt2", 7);
    Options o = kLong;
    o.max_tokens = 40;
    o.stop = {5};
    o.sampling.temperature = 3;
    const Sentences s = sentences({3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, 13);
    const Sentences texts = generate(model, prompts(s), Rng(15), o);
    CHECK(texts == plainly(model, s, Rng(15), o));
    int early = 0, late = 0;
    for (const Ids& text : texts)
        ++(text.size() < 4 ? early : late);
    CHECK((early > 0 && late > 1));
}

TEST_CASE("generate: nothing to do, and errors", "[models][generate]") {
    const LanguageModel model = stirred("gpt2");
    const Tokens two = prompts({{4, 5}, {6, 7}});
    Options o = kLong;
    o.max_tokens = 0;
    CHECK(generate(model, two, Rng(1), o) == Sentences(2));
    o.max_tokens = 1;
    CHECK(generate(model, two, Rng(1), o)[1].size() == 1);
    CHECK(generate(model, Tokens(0, 3, {}), Rng(1), o).empty());
    CHECK(contains(error_of([&] { generate(model, Tokens(2, 0, {}), Rng(1), o); }), "at least one token"));
    CHECK(contains(error_of([&] { generate(model, Tokens(1, 1, {11}), Rng(1), o); }), "id 11"));
    o.sampling.top_p = 0;
    CHECK(contains(error_of([&] { generate(model, two, Rng(1), o); }), "top_p"));
    o = kLong;
    o.max_tokens = -1;
    CHECK(contains(error_of([&] { generate(model, two, Rng(1), o); }), "max_tokens"));
    // Prompts of different lengths cannot be one batch.
    CHECK(contains(error_of([&] { generate(model, padded({{4, 5}, {6}}), Rng(1), kLong); }), "padding"));
    model.output.table->mutable_data()[5 * 12] = kNan;
    CHECK(contains(error_of([&] { generate(model, two, Rng(1), kLong); }), "not a number"));
}
