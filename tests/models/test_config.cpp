// Configurations: invalid fields are refused by name, sizes equal a formula, every field is visited and used.
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "models/hugging_face/config.h"
#include "tests/catch.h"
#include "tests/draw_config.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

// What is wrong, as check_config says it, and the configuration that it is wrong in.
struct Wrong {
    const char* named;
    std::function<void(Config&)> change;
};

const Real kInfinity = std::numeric_limits<Real>::infinity();

// Of every kind of model.
const std::vector<Wrong> kWrong = {
    {"vocabulary must be between 1 and 2147483647: got 0", [](auto& c) { c.vocabulary = 0; }},
    {"vocabulary must be between 1 and 2147483647: got -1", [](auto& c) { c.vocabulary = -1; }},
    {"max_length", [](auto& c) { c.max_length = 0; }},
    {"d_model", [](auto& c) { c.block.d_model = 0; }},
    {"d_ff", [](auto& c) { c.block.d_ff = 0; }},
    {"n_heads = 5", [](auto& c) { c.block.n_heads = 5; }},
    {"n_heads must be between 1 and 2147483647: got 0", [](auto& c) { c.block.n_heads = 0; }},
    {"d_model = 13", [](auto& c) { c.block.d_model = 13; }},
    {"n_kv_heads = 2", [](auto& c) { c.block.n_kv_heads = 2; }},
    {"n_kv_heads must be between 0 and 2147483647: got -1", [](auto& c) { c.block.n_kv_heads = -1; }},
    {"head_dim must be between 0 and 2147483647: got -1", [](auto& c) { c.block.head_dim = -1; }},
    {"layers", [](auto& c) { c.n_layers = -1; }},
    {"norm_eps", [](auto& c) { c.block.norm_eps = 0; }},
    {"norm_eps", [](auto& c) { c.block.norm_eps = kNan; }},
    {"norm_eps", [](auto& c) { c.block.norm_eps = kInfinity; }},
    {"dropout.embeddings", [](auto& c) { c.block.dropout.embeddings = 1; }},
    {"dropout.sublayers", [](auto& c) { c.block.dropout.sublayers = Real(-0.1); }},
    {"dropout.feed_forward", [](auto& c) { c.block.dropout.feed_forward = 2; }},
    {"dropout.attention", [](auto& c) { c.block.dropout.attention = kNan; }},
    {"start = 11", [](auto& c) { c.specials.start = 11; }},
    {"ends = 1000000", [](auto& c) { c.specials.ends.push_back(1'000'000); }},
    {"ends = -1", [](auto& c) { c.specials.ends = {-1}; }},
    {"pad = 11", [](auto& c) { c.specials.pad = 11; }},
    {"never = 11", [](auto& c) { c.specials.never = {11}; }},
};
const std::vector<Wrong> kWrongTranslator = {
    {"src_vocabulary must be between 1 and 2147483647: got 0", [](auto& c) { c.src_vocabulary = 0; }},
    {"layers", [](auto& c) { c.n_decoder_layers = -1; }},
    {"11 and 12", [](auto& c) { c.vocabulary = 12; }},
    {"makes a table of positions that is larger than", [](auto& c) { c.max_length = 1 << 22; }},
    {"token_types and embedding_norm are for", [](auto& c) { c.token_types = 2; }},
    {"token_types and embedding_norm are for", [](auto& c) { c.embedding_norm = true; }},
};
const std::vector<Wrong> kWrongRotary = {
    {"makes a table of positions that is larger than", [](auto& c) { c.max_length = 1 << 22; }},
    {"rotary] width", [](auto& c) { c.block.rotary.width = 3; }},
    {"rotary] width = 6", [](auto& c) { c.block.rotary.width = 6; }},
    {"rotary] width = -2", [](auto& c) { c.block.rotary.width = -2; }},
    {"rotary] base", [](auto& c) { c.block.rotary.base = Real(0.5); }},
    {"rotary] base", [](auto& c) { c.block.rotary.base = kNan; }},
    {"rotary] factor", [](auto& c) { c.block.rotary.factor = 0; }},
    {"rotary] low_frequency_factor", [](auto& c) { c.block.rotary.low_frequency_factor = 4; }},
    {"less than high_frequency_factor", [](auto& c) { c.block.rotary.high_frequency_factor = kNan; }},
    {"rotary] original_length", [](auto& c) { c.block.rotary.original_length = 0; }},
};

// f(config) builds a model; it throws what check_config does.
template <class F>
void check_refused(const std::vector<Wrong>& rows, const Config& good, const F& f) {
    CHECK(error_of([&] { check_config(good); }) == "");
    for (const Wrong& r : rows) {
        Config c = good;
        r.change(c);
        const std::string error = error_of([&] { check_config(c); });
        INFO(error);
        CHECK(contains(error, r.named));
        CHECK(error_of([&] { f(c); }) == error);
    }
}

}  // namespace

TEST_CASE("config: an invalid configuration is refused, naming the field", "[models][config]") {
    const auto translator = [](const Config& c) { Transformer(c, Rng(1)); };
    check_refused(kWrong, small("prenorm"), translator);
    check_refused(kWrongTranslator, small("paper"), translator);
    Config rotary = small_stack("gpt2");
    rotary.block.positions = nn::Positions::rotary;
    rotary.block.rotary.scaling = nn::RotaryScaling::llama3;
    for (const Config& stack : {small_stack("gpt2"), rotary}) {
        const std::vector<Wrong>& rows =
            stack.block.positions == nn::Positions::rotary ? kWrongRotary : kWrong;
        check_refused(rows, stack.as(Kind::causal), [](const Config& c) { LanguageModel(c, Rng(1)); });
        check_refused(rows, stack.as(Kind::masked), [](const Config& c) { MaskedLanguageModel(c, Rng(1)); });
        check_refused(rows, with_classes(stack, 2), [](const Config& c) { Classifier(c, Rng(1)); });
    }
}

TEST_CASE("config: a classifier's own fields", "[models][config]") {
    Config c = small_stack("bert").as(Kind::classifier);
    CHECK((c.classes == 0 && c.pooled_dropout == -1));  // the number of classes must be given
    for (const int64_t classes : {-1, 0, 1}) {
        c.classes = classes;
        CHECK(contains(error_of([&] { Classifier(c, Rng(1)); }),
                       "two classes: got " + std::to_string(classes)));
    }
    c.classes = 2;
    for (const Real rate : {Real(-1), Real(0), Real(0.9)}) {
        c.pooled_dropout = rate;
        CHECK(error_of([&] { check_config(c); }) == "");
    }
    for (const Real rate : {Real(1), Real(-0.5), Real(-2), kNan}) {
        c.pooled_dropout = rate;
        CHECK(contains(error_of([&] { check_config(c); }), "pooled_dropout must be in [0, 1), or -1: got "));
    }
}

TEST_CASE("config: the smallest sizes are allowed", "[models][config]") {
    Config c = {.kind = Kind::causal, .vocabulary = 4, .max_length = 1, .n_layers = 0};
    c.block.d_model = c.block.d_ff = c.block.n_heads = 1;
    CHECK(error_of([&] { check_config(c); }) == "");
    CHECK(LanguageModel(c, Rng(1))(padded({{3}}), Mode::eval()).shape() == Shape({1, 1, 4}));
}

TEST_CASE("config: the parameter count of random models is the formula's", "[models][config]") {
    Dice dice(Rng(3));
    const auto check = [&]<class Model>(const Model*) {
        const Config c = draw_config(dice, Model::kKind);
        CHECK(nn::parameter_count(Model(c, Rng(1))) == expected_parameter_count(c));
        if (Model::kKind == Kind::encoder_decoder)
            return;
        // Known before a model is built: the matrices alone, and no output layer but a classifier's.
        Config matrices = c.as(Kind::causal);
        BlockConfig& b = matrices.block;
        b.attention_bias = b.feed_forward_bias = b.norm_bias = b.output_bias = false;
        matrices.embedding_norm = matrices.final_norm = false, matrices.tied = true;
        const int64_t more = (c.classes - 2 * c.n_layers) * b.d_model;  // without the norms' gains
        CHECK(least_parameters(c) == static_cast<double>(expected_parameter_count(matrices) + more));
    };
    for (int i = 0; i < 150; ++i) {
        check(static_cast<Transformer*>(nullptr));
        check(static_cast<LanguageModel*>(nullptr));
        check(static_cast<MaskedLanguageModel*>(nullptr));
        check(static_cast<Classifier*>(nullptr));
    }
    // As many as the published files have.
    CHECK(expected_parameter_count(gpt2()) == 124439808);
    CHECK(expected_parameter_count(llama()) == 1235814400);
    // As a file may claim: a sum beyond what an integer holds.
    constexpr double most = 9223372036854775807.0;
    const Config vast = {
        .kind = Kind::masked, .vocabulary = 7, .token_types = INT64_MAX, .block = {.d_model = 4}};
    CHECK(least_parameters(vast) >= 4 * most);
}

// ---- The visit of the fields.

namespace {

// How many members an aggregate has: with how many values of a type that converts to anything it can be
// initialised.
struct Anything {
    template <class T>
    operator T() const;
};
template <class T, class... Members>
constexpr std::size_t members() {
    if constexpr (requires { T{Members()..., Anything()}; })
        return members<T, Members..., Anything>();
    else
        return sizeof...(Members);
}

// Configurations that differ from `block` in one field: another number, the other of yes and no, each other
// value of an enumeration.
struct Variants {
    BlockConfig& block;
    std::vector<std::pair<std::string, BlockConfig>> all = {};
    template <class T>
    void add(const std::string& what, T& field, T other) {
        const T before = std::exchange(field, other);
        all.emplace_back(what, block);
        field = before;
    }
    void operator()(const std::string& name, bool& x) { add(name, x, !x); }
    void operator()(const std::string& name, int64_t& x) { add(name, x, 2 * x); }
    void operator()(const std::string& name, Real& x) { add(name, x, x + Real(0.5)); }
    template <class Enum>
    void operator()(const std::string& name, Enum& x, std::span<const char* const> words) {
        for (std::size_t i = 0; i < words.size(); ++i)
            if (i != static_cast<std::size_t>(x))
                add(name + " = " + words[i], x, static_cast<Enum>(i));
    }
};

}  // namespace

TEST_CASE("config: the visit reaches every member", "[models][config]") {
    std::set<std::string> names;  // "dropout", of dropout.attention
    std::size_t rates = 0;
    for (const auto& [name, value] : hugging_face::fields_of(Config())) {
        names.insert(name.substr(0, name.find('.')));
        rates += name.starts_with("dropout.");
    }
    // The fields of the block and of the specials count for these two members.
    CHECK(names.size() == members<Config>() + members<BlockConfig>() + members<Specials>() - 2);
    CHECK(rates == members<DropoutRates>());
}

// A field that a file has but no layer uses would be silently ignored.
TEST_CASE("config: each field of a block changes the model", "[models][config]") {
    const autograd::Tokens text = framed(sentences({5, 2, 7}, 1));
    Config config = small_stack("mixed");  // it has every norm, and no norm has a bias, whatever its kind
    BlockConfig& b = config.block;
    b.n_heads = 4, b.n_kv_heads = 1, b.head_dim = 8;
    b.attention_bias = true;
    b.positions = nn::Positions::rotary;
    b.rotary = {
        .base = 4, .width = 4, .scaling = nn::RotaryScaling::llama3, .factor = 2, .original_length = 16};
    Variants variants{config.block};
    BlockConfig::fields(config.block, variants);
    variants.all.emplace_back("the same", config.block);
    std::set<std::pair<uint64_t, std::vector<Real>>> seen;  // weights; logits in training
    for (const auto& [what, block] : variants.all) {
        INFO(what);
        if (block.init == nn::Init::none)  // its weights are whatever was in memory
            continue;
        config.block = block;
        const LanguageModel model(config, Rng(1));
        const Tensor logits = model(text, nn::Mode::train(Rng(2)));
        CHECK(seen.emplace(hash(model), logits.to_vector()).second);
    }
    CHECK(seen.size() > members<BlockConfig>());
}
