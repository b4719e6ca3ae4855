// Models in files: configurations are restored, and invalid ones are refused by the name of the field.
#include "models/saved.h"

#include <map>
#include <set>
#include <span>

#include "models/labeller.h"
#include "models/pytorch.h"
#include "models/text/learn_tokenizer.h"
#include "nn/checkpoint/safetensors.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

// Counts the fields of a visit.
struct Count {
    std::size_t fields = 0;
    template <class... Rest>
    void operator()(const std::string&, const Rest&...) {
        ++fields;
    }
};

}  // namespace

TEST_CASE("saved: configurations are restored, with the same text", "[kit][saved]") {
    for (const std::string& kind : kStacks) {
        INFO(kind);
        Config config = with_classes(small_stack(kind), 5, Pooling::first);
        config.block.dropout = {.embeddings = Real(0.3),
                                .sublayers = Real(1) / 3,
                                .feed_forward = Real(1e-7),
                                .attention = Real(0.7)};
        const nn::checkpoint::Metadata words = models::to_metadata(config);
        Count count;
        Config::fields(config, count);
        CHECK(words.size() == count.fields);  // no two have one name
        Config back;
        models::from_metadata(words, back, "file");
        CHECK(models::to_metadata(back) == words);
        CHECK(back.block.dropout.sublayers == Approx(config.block.dropout.sublayers).epsilon(1e-8));
    }
}

namespace {

// Gives each enumeration that a configuration has each of its values in turn, saves and reads that, and
// collects their names: "activation" -> "relu gelu_erf ".
struct EnumNames {
    Config& config;
    std::map<std::string, std::string> names = {};
    template <class T>
    void operator()(const std::string&, T&) {}
    template <class Enum>
    void operator()(const std::string& field, Enum& value, std::span<const char* const> words) {
        const Enum before = value;
        std::set<std::string> different;
        for (std::size_t i = 0; i < words.size(); ++i) {
            value = static_cast<Enum>(i);
            const nn::checkpoint::Metadata saved = models::to_metadata(config);
            const std::string& word = saved.at("config." + field);
            INFO(field << ": " << word);
            CHECK((!word.empty() && different.insert(word).second));
            names[field] += word + ' ';
            value = before;
            models::from_metadata(saved, config, "file");
            CHECK(value == static_cast<Enum>(i));
        }
        value = before;
    }
};

std::map<std::string, std::string> enum_names(Config config) {
    EnumNames visit{config};
    Config::fields(config, visit);
    return visit.names;
}

}  // namespace

TEST_CASE("saved: each value of an enumeration has a name of its own, which stays", "[kit][saved]") {
    Config config = small("paper");  // which any kind of model could have
    config.classes = 2;
    auto names = enum_names(config);
    // These are in users' files. Other values may follow.
    const std::map<std::string, std::string> known = {
        {"activation", "relu gelu_erf gelu_tanh silu "},
        {"init", "xavier normal pytorch bert gpt2 "},
        {"norm", "post pre "},
        {"pooling", "mean first "},
        {"positions", "sinusoidal learned "},
        {"kind", "translation model language model masked language model classifier "}};
    for (const auto& [field, values] : known) {
        INFO(field << ": " << names[field]);
        CHECK(names[field].starts_with(values));
    }
}

TEST_CASE("saved: a field of a newer version is refused", "[kit][saved]") {
    const Folder folder;
    const LanguageModel model(small_stack("gpt2"), Rng(1));
    nn::checkpoint::Metadata newer = models::to_metadata(model.config);
    newer["config.eyes"] = "blue";
    newer["plaingrad.version"] = "2";
    nn::checkpoint::save(folder / "newer", state_dict(model), newer);
    CHECK(error_of([&] { load_model<LanguageModel>(folder / "newer"); }) ==
          folder / "newer" + ": config.eyes is unknown here: the file was saved by a newer version");
    newer.erase("config.eyes");
    newer["config.eyes\nears"] = "blue";  // whatever a file calls it, a complaint is one line
    nn::checkpoint::save(folder / "newer", state_dict(model), newer);
    CHECK(error_of([&] { load_model<LanguageModel>(folder / "newer"); }) ==
          folder / "newer" +
              ": \"config.eyes\\nears\" is unknown here: the file was saved by a newer version");
    newer.erase("config.eyes\nears");
    newer["config.kind"] = "two\nlines";
    nn::checkpoint::save(folder / "kind", state_dict(model), newer);
    const std::string error = error_of([&] { load_model<LanguageModel>(folder / "kind"); });
    CHECK(error.starts_with(folder / "kind" + ": config.kind "));
    CHECK(contains(error, "two\\nlines"));
    newer["config.kind"] = name_of(Kind::causal);
    newer["plaingrad.version"] = "1";
    nn::checkpoint::save(folder / "older", state_dict(model), newer);
    CHECK(error_of([&] { load_model<LanguageModel>(folder / "older"); }) ==
          folder / "older" +
              ": it was saved by an older version (1; this one reads 2); its model must be trained again");
    newer["plaingrad.version"] = "2";
    nn::checkpoint::save(folder / "newer", state_dict(model), newer);
    CHECK(load_model<LanguageModel>(folder / "newer").config.n_layers == model.config.n_layers);
}

TEST_CASE("saved: an invalid configuration is refused, naming the field", "[kit][saved]") {
    const nn::checkpoint::Metadata good = models::to_metadata(small_stack("gpt2"));
    for (const auto& [key, value] :
         std::vector<std::pair<std::string, std::string>>{{"d_model", "x"},
                                                          {"d_model", "12.5"},
                                                          {"d_model", ""},
                                                          {"d_model", "99999999999999999999"},
                                                          {"n_heads", "5"},
                                                          {"n_layers", "-1"},
                                                          {"norm", "middle"},
                                                          {"tied", "1"},
                                                          {"norm_eps", "0"},
                                                          {"norm_eps", "nan"},
                                                          {"norm_eps", "inf"},
                                                          {"norm_eps", "-inf"},
                                                          {"norm_eps", "1e60"},
                                                          {"start", "11"},
                                                          {"ends", "1000000"},
                                                          {"pad", "-7"},
                                                          {"dropout.attention", "2"}}) {
        nn::checkpoint::Metadata bad = good;
        bad.at("config." + key) = value;
        Config config;
        const std::string error = error_of([&] { models::from_metadata(bad, config, "file"); });
        INFO(key << " = " << value << ": " << error);
        CHECK(contains(error, key));
    }
}

TEST_CASE("saved: a field that is missing from a file takes its default", "[kit][saved]") {
    const nn::checkpoint::Metadata good = models::to_metadata(small_stack("gpt2")),
                                   defaults = models::to_metadata(Config());
    int64_t differing = 0;
    for (const auto& [key, value] : good) {
        // The default of these fits no model, or not this one.
        if (key == "config.kind" || key == "config.vocabulary" || key == "config.n_heads" ||
            key == "config.d_model")
            continue;
        INFO(key);
        nn::checkpoint::Metadata less = good;
        less.erase(key);
        Config config;
        models::from_metadata(less, config, "file");
        less[key] = defaults.at(key);
        CHECK(models::to_metadata(config) == less);
        differing += value == defaults.at(key) ? 0 : 1;
    }
    CHECK(differing >= 5);
}

TEST_CASE("saved: a model is restored bit for bit, and only as its own kind", "[kit][saved]") {
    const Folder folder;
    for (const std::string& kind : kStacks) {
        INFO(kind);
        const LanguageModel model(small_stack(kind), Rng(1));
        stir(model);
        models::save(folder / "lm", model, {{"words", "à b"}});
        nn::checkpoint::Metadata extra;
        const LanguageModel back = load_model<LanguageModel>(folder / "lm", &extra);
        CHECK(extra.at("words") == "à b");
        CHECK(hash(back) == hash(model));
        const Classifier classifier(with_classes(small_stack(kind), 3), Rng(2));
        stir(classifier);
        models::save(folder / "c", classifier);
        CHECK(hash(load_model<Classifier>(folder / "c")) == hash(classifier));
        const MaskedLanguageModel masked(small_stack(kind), Rng(3));
        stir(masked);
        save(folder / "mlm", masked);
        CHECK(hash(load_model<MaskedLanguageModel>(folder / "mlm")) == hash(masked));
    }
    CHECK(contains(error_of([&] { load_model<MaskedLanguageModel>(folder / "lm"); }),
                   "lm: this is a saved language model; a saved masked language model is needed"));
    CHECK(contains(error_of([&] { load_model<Classifier>(folder / "lm"); }),
                   "lm: this is a saved language model; a saved classifier is needed"));
    CHECK(contains(error_of([&] { load_model<LanguageModel>(folder / "c"); }),
                   "c: this is a saved classifier; a saved language model is needed"));
}

TEST_CASE("saved: additional metadata cannot override the model's", "[kit][saved]") {
    const Folder folder;
    const LanguageModel first(small_stack("gpt2"), Rng(1));
    const nn::Training training(nn::parameters(first), {});
    models::save(folder / "first", first, {{"words", "à b"}}, &training);
    nn::checkpoint::Metadata all;
    load_model<LanguageModel>(folder / "first", &all);
    REQUIRE(all.contains("training.steps"));
    Config deeper = first.config;
    deeper.n_layers += 1;
    const LanguageModel second(deeper, Rng(2));
    models::save(folder / "second", second, all);
    const LanguageModel back = load_model<LanguageModel>(folder / "second", &all);
    CHECK(hash(back) == hash(second));
    CHECK(all.at("words") == "à b");
    CHECK_FALSE(all.contains("training.steps"));  // it is not a checkpoint
    models::save(folder / "third", Classifier(with_classes(deeper, 2), Rng(3)), all);
    CHECK(load_model<Classifier>(folder / "third").config.classes == 2);
}

TEST_CASE("saved: counters that cannot be those of a run are refused", "[kit][saved]") {
    const Folder folder;
    const LanguageModel model(small_stack("gpt2"), Rng(1));
    nn::Training training(nn::parameters(model), {});
    models::save(folder / "good", model, {}, &training);
    const nn::checkpoint::SafeTensors good = nn::checkpoint::read(folder / "good");
    std::vector<nn::checkpoint::StateEntry> entries;
    for (const nn::checkpoint::Entry& entry : good.entries())
        entries.push_back({entry.name, good.tensor(entry.name)});
    // The next step would overflow the largest number.
    for (const auto& [name, value] :
         std::vector<std::pair<std::string, std::string>>{{"steps", "9223372036854775807"},
                                                          {"steps", "-1"},
                                                          {"worse", "9223372036854775807"},
                                                          {"worse", "-1"},
                                                          {"best_step", "1"},
                                                          {"best_step", "-1"}}) {
        INFO(name << " " << value);
        nn::checkpoint::Metadata metadata = good.metadata();
        metadata["training." + name] = value;
        nn::checkpoint::write(folder / "bad", entries, metadata);
        CHECK(contains(error_of([&] { models::load_training(folder / "bad", training); }),
                       "cannot be those of"));
    }
    models::load_training(folder / "good", training);
    models::save(folder / "model", model);
    CHECK(error_of([&] { models::load_training(folder / "model", training); }) ==
          folder / "model" +
              ": this is a saved model, but not a checkpoint to resume from: training.steps is missing");
}

TEST_CASE("saved: a Labeller refuses texts without words, and files with inconsistent metadata",
          "[kit][saved]") {
    const Folder folder;
    const auto tokenizer = text::learn_features({"a lovely day", "an awful day"}, {.max_words = 4});
    Config stack = small_stack("bert");
    stack.specials = {};
    stack.vocabulary = tokenizer.size();
    stack.max_length = 4 * text::kIdsPerWord;
    const Labeller l = {Classifier(with_classes(stack, 2), Rng(1)), tokenizer, {"bad", "good"}};
    CHECK(l("a day").size() == 2);
    for (const char* text : {"", " \t", "\r"})
        CHECK(contains(error_of([&] { l.probabilities({"a", text}); }), "[Labeller] text 1 has no words"));
    models::save(folder / "good", l.model, l.metadata());
    tokenizer.save(folder.path);
    CHECK(Labeller::load(folder / "good").labels == l.labels);
    for (const std::string labels : {"bad\n", "good\nbad\n"}) {
        models::save(folder / "other", l.model, {{"classify.labels", labels}});
        CHECK(contains(error_of([&] { Labeller::load(folder / "other"); }),
                       "other: its labels do not fit its model"));
    }
}

// A file of 2 KB must not create a table of sinusoids of a gigabyte; and a model that could not be loaded is
// not saved.
TEST_CASE("saved: as many sinusoids as 16 MiB or the model's numbers, on loading and on saving",
          "[kit][saved]") {
    const Folder folder;
    Config config = {.vocabulary = 9, .max_length = 1 << 20, .n_layers = 1};
    config.block = {.d_model = 4, .n_heads = 1, .d_ff = 4};  // 2^22 numbers
    const LanguageModel largest(config, Rng(1));
    save(folder / "file", largest);
    CHECK(load_model<LanguageModel>(folder / "file").config.max_length == 1 << 20);

    config.max_length += 1;
    const LanguageModel larger(config, Rng(1));
    const auto refused = [](const std::string& error) {
        INFO(error);
        return contains(error, "max_length = 1048577") && contains(error, "larger than the model");
    };
    CHECK(refused(error_of([&] { save(folder / "none", larger); })));
    CHECK_FALSE(std::filesystem::exists(folder / "none"));
    std::string bytes = content(folder / "file");
    bytes.replace(bytes.find("1048576"), 7, "1048577");
    put(folder / "file", bytes);
    CHECK(refused(error_of([&] { load_model<LanguageModel>(folder / "file"); })));

    config.block.positions = nn::Positions::learned;  // learned positions are in the file
    save(folder / "learned", LanguageModel(config, Rng(1)));
    CHECK(load_model<LanguageModel>(folder / "learned").config.max_length == config.max_length);
}
