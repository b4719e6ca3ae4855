// Text from a language model equals that of a plain loop over whole passes, one sentence at a time.
#include "tests/catch.h"
#include "tests/models/steppers.h"

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

// The options, and those of the model's specials that a test sets.
struct Options : GenerationOptions {
    Ids stop = {kEos};
};

Sentences generate(const LanguageModel& model, const Sentences& prompts, const Rng& rng, const Options& o,
                   const std::function<bool(int64_t, int32_t)>& on_token = {}) {
    const auto stepper = model.start(of_one_length(prompts));
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
            row(model(of_one_length({context}), Mode::eval()), 0, static_cast<int64_t>(context.size()) - 1);
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

TEST_CASE("generate: the plain loop's text, greedy and drawn", "[models][generate]") {
    struct Row {
        std::string kind;
        int64_t max_length;
        Sentences prompts;
        Options options;
    };
    const auto with = [](double temperature, int64_t max_tokens, Ids stop = {kEos}, double penalty = 1) {
        return Options{{.sampling = {.temperature = temperature, .repetition_penalty = penalty},
                        .max_tokens = max_tokens},
                       std::move(stop)};
    };
    const auto equal = [](int count, int length, uint64_t seed) {
        return sentences(std::vector<int>(static_cast<std::size_t>(count), length), seed);
    };
    std::vector<Row> rows;
    for (const std::string& kind : kStacks)
        for (const double temperature : {0.0, 0.7, 2.0})
            rows.push_back({kind, 40, equal(3, 4, 2), with(temperature, 20)});
    for (const char* kind : {"gpt2", "paper"})  // a full context slides
        for (const int64_t most : {1, 2, 3, 8, 9})
            for (const int length : {1, 2, 8, 12})
                rows.push_back({kind, most, equal(2, length, 11), with(1.3, 25)});
    rows.push_back({"gpt2", 40, equal(6, 4, 5), with(1.3, 30, {kEos, 7})});  // sentences leave the batch
    rows.push_back({"gpt2", 7, equal(10, 3, 13), with(3, 40, {5})});         // before and after it slides
    for (const Ids& stop : {Ids{5}, Ids{kEos}, Ids{4, 9, 10}, Ids{4, 5, 6, 7, 8, 9, 10, kEos}})
        rows.push_back({"bert", 40, equal(8, 3, 7), with(1.3, 20, stop)});
    rows.push_back({"bert", 40, {{4, 5, 6}}, with(1.3, 20, {6})});  // one in the prompt ends nothing
    for (const double temperature : {0.0, 1.3})  // a penalty remembers the whole text, after it has slid too
        rows.push_back({"gpt2", 9, equal(3, 4, 17), with(temperature, 20, {5}, 1.7)});
    int early = 0, late = 0;
    for (const Row& r : rows) {
        INFO(r.kind << ", maximum " << r.max_length << ", temperature " << r.options.sampling.temperature
                    << ", " << r.prompts.size() << " prompts of " << r.prompts[0].size());
        const LanguageModel model = stirred(r.kind, r.max_length);
        const Sentences texts = generate(model, r.prompts, Rng(15), r.options);
        CHECK(texts == plainly(model, r.prompts, Rng(15), r.options));
        for (const Ids& text : texts)
            ++(std::ssize(text) < r.options.max_tokens ? early : late);
        if (r.max_length < 40)
            continue;
        // A sentence depends only on its prompt and its number; the rest on the numbers drawn.
        Sentences changed = r.prompts;
        changed[0] = Ids(changed[0].size(), 4);
        const Sentences others = generate(model, changed, Rng(15), r.options);
        CHECK(std::equal(others.begin() + 1, others.end(), texts.begin() + 1));
        if (r.options.stop == Ids{kEos})
            CHECK((generate(model, r.prompts, Rng(4), r.options) == texts) ==
                  (r.options.sampling.temperature == 0));
    }
    CHECK((early > 20 && late > 20));
    // Equal prompts are continued differently: each has a stream of its own. So do penalties.
    const Sentences twins = generate(stirred("gpt2"), {{4, 5}, {4, 5}}, Rng(6), kLong);
    CHECK(twins[0] != twins[1]);
    CHECK(generate(stirred("gpt2"), {{4, 5}}, Rng(6), with(1.3, 20, {kEos}, 1.7))[0] != twins[0]);
}

TEST_CASE("generate: several texts of one prompt, which is read once", "[models][generate]") {
    for (const std::string& kind : kStacks)
        for (const std::size_t length : {1u, 6u, 12u, 14u}) {
            const LanguageModel model = stirred(kind, 12);
            const Sentences s = {sentences({static_cast<int>(length)}, 3)[0]};
            Counting stepper(model.start(of_one_length(s)));
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
    const auto stepper = model.start(of_one_length(sentences({4, 4}, 5)));
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
    const auto stepper = model.start(of_one_length(s));
    stepper->specials.ends = {};
    const Ids expected = plainly(model, s[0], 0, Rng(1), kLong);
    CHECK(models::generate(*stepper, Rng(1), kLong)[0] == expected);
    for (const int64_t length : {3, 0, 5}) {
        stepper->rewind(length);
        CHECK(models::generate(*stepper, Rng(1), kLong)[0] == expected);
    }
}

TEST_CASE("generate: on_token is called with each token of the result, in order, and can stop a text",
          "[models][generate]") {
    const LanguageModel model = stirred("mixed");
    Options o = kLong;
    const Sentences s = sentences({2, 2, 2, 2}, 9);
    for (const Ids& stop : {Ids{5}, Ids{}}) {
        o.stop = stop;
        const Sentences whole = generate(model, s, Rng(10), o);
        for (const std::size_t most : {100u, 2u}) {  // 2: sentence b is stopped after b + 2 tokens
            Sentences heard(4);
            std::vector<std::size_t> steps;  // never decreasing
            const Sentences texts = generate(model, s, Rng(10), o, [&](int64_t b, int32_t token) {
                Ids& text = heard[static_cast<std::size_t>(b)];
                text.push_back(token);
                steps.push_back(text.size());
                return text.size() < most + static_cast<std::size_t>(b);
            });
            CHECK(heard == texts);
            CHECK(std::is_sorted(steps.begin(), steps.end()));
            for (std::size_t b = 0; b < 4; ++b) {
                const std::size_t count = std::min(whole[b].size(), most + b);
                CHECK(texts[b] ==
                      Ids(whole[b].begin(), whole[b].begin() + static_cast<std::ptrdiff_t>(count)));
            }
        }
    }
}

TEST_CASE("generate: a full context ends the text, if it does not slide", "[models][generate]") {
    Options sliding = kLong, ending = kLong;
    sliding.stop = ending.stop = {};
    ending.slide = false;
    for (const int64_t most : {1, 2, 3, 8, 9}) {
        const LanguageModel model = stirred("gpt2", most);
        for (const int prompt : {1, 2, 8, 12}) {
            INFO("maximum " << most << ", prompt of " << prompt);
            const Sentences s = sentences({prompt, prompt}, 11);
            if (prompt > most) {
                const std::string error = error_of([&] { generate(model, s, Rng(12), ending); });
                CHECK(contains(error, "a prompt of " + std::to_string(prompt)));
                CHECK(contains(error, "max_length " + std::to_string(most)));
                continue;
            }
            const Sentences texts = generate(model, s, Rng(12), sliding),
                            ended = generate(model, s, Rng(12), ending);
            for (std::size_t b = 0; b < 2; ++b) {  // the last token needs no place of its own
                CHECK(texts[b].size() == 20);
                CHECK(ended[b].size() == static_cast<std::size_t>(most - prompt + 1));
                CHECK(std::equal(ended[b].begin(), ended[b].end(), texts[b].begin()));
            }
        }
    }
}

TEST_CASE("generate: nothing to do, and errors", "[models][generate]") {
    const LanguageModel model = stirred("gpt2");
    const Sentences two = {{4, 5}, {6, 7}};
    Options o = kLong;
    o.max_tokens = 0;
    CHECK(generate(model, two, Rng(1), o) == Sentences(2));
    o.max_tokens = 1;
    CHECK(generate(model, two, Rng(1), o)[1].size() == 1);
    const auto refused = [&](const Tokens& prompts, const Options& options, const char* part) {
        CHECK(contains(error_of([&] { models::generate(*model.start(prompts), Rng(1), options); }), part));
    };
    CHECK(models::generate(*model.start(Tokens(0, 3, {})), Rng(1), o).empty());
    const Tokens prompts = of_one_length(two);
    refused(Tokens(2, 0, {}), o, "at least one token");
    refused(Tokens(1, 1, {11}), o, "id 11");
    o.sampling.top_p = 0;
    refused(prompts, o, "top_p");
    o = kLong;
    o.max_tokens = -1;
    refused(prompts, o, "max_tokens");
    refused(padded({{4, 5}, {6}}), kLong, "padding");  // prompts of different lengths cannot be one batch
    model.output.table->mutable_data()[5 * 12] = kNan;
    refused(prompts, kLong, "not a number");
}
