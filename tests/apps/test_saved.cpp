// Models in files: configurations are restored, and invalid ones are refused by the name of the field.
#include "models/saved.h"

#include <map>
#include <set>
#include <span>

#include "autograd/weight.h"
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

using Fields = std::map<std::string, std::string>;
using Words = std::vector<std::string>;

Fields fields(const Config& config) {
    const auto all = hugging_face::fields_of(config);
    return {all.begin(), all.end()};
}
// A config.json of ours with these fields, as JSON, read.
ConfigJson read(const Fields& fields) {
    const Folder folder;
    std::string json = R"({"model_type":"plaingrad")";
    for (const auto& [name, value] : fields)
        json += ",\"" + name + "\":" + value;
    return hugging_face::read_config(folder.write("config.json", json + "}"));
}

}  // namespace

TEST_CASE("saved: configurations are restored, with the same text", "[kit][saved]") {
    for (const std::string& kind : kStacks) {
        INFO(kind);
        Config config = with_classes(small_stack(kind), 5, Pooling::first);
        config.block.dropout = {.embeddings = Real(0.3),
                                .sublayers = Real(1) / 3,
                                .feed_forward = Real(1e-7),
                                .attention = Real(0.7)};
        std::size_t count = 0;
        const auto counts = [&](const std::string&, const auto&...) { ++count; };
        Config::fields(config, counts);
        CHECK(fields(config).size() == count);  // no two have one name
        const Config back = read(fields(config));
        CHECK(fields(back) == fields(config));
        CHECK(back.block.dropout.sublayers == config.block.dropout.sublayers);
        const Folder folder;
        ConfigJson whole = hugging_face::config_of(config);
        whole.labels = {"a", "\"b\"\n", "ä", "", "e"};
        const ConfigJson again = hugging_face::read_config(folder.write("config.json", written(whole)));
        CHECK((again.family == "plaingrad" && again.labels == whole.labels));
        CHECK(fields(again) == fields(config));
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
            const Fields saved = fields(config);
            const std::string word = saved.at(field).substr(1, saved.at(field).size() - 2);
            INFO(field << ": " << word);
            CHECK((!word.empty() && different.insert(word).second));
            names[field] += word + ' ';
            value = before;
            config = read(saved);
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

TEST_CASE("saved: what another version has saved is refused in a line", "[kit][saved]") {
    const Folder folder;
    const LanguageModel model(small_stack("gpt2"), Rng(1));
    save(folder.path, model);
    const std::string file = folder / "model.safetensors", config = content(folder / "config.json");
    const auto error = [&] { return error_of([&] { load_model<LanguageModel>(folder.path); }); };
    CHECK(error().empty());
    for (const std::string name :
         {"eyes", "eyes\\nears"}) {  // whatever it is called, a complaint is one line
        folder.write("config.json", "{\"" + name + "\": \"blue\"," + config.substr(1));
        CHECK(error().starts_with(folder / "config.json: "));
        CHECK(contains(error(), "is not supported"));
        CHECK((contains(error(), "eyes") && !contains(error(), "\n")));
    }
    folder.write("config.json", config);
    const auto with_version = [&](const std::string& version) {
        nn::checkpoint::write(file, state_dict(model), {{"plaingrad.version", version}});
        return error();
    };
    CHECK(with_version("3").empty());
    CHECK(with_version("4") == file + ": it was saved by a newer version (4; this one reads 3)");
    const std::string older =
        file + ": it was saved by an older version (2; this one reads 3); its model must be trained again";
    CHECK(with_version("2") == older);
    CHECK(error_of([&] { load_weights(file, state_dict(model)); }) == older);
    std::filesystem::remove(folder / "config.json");  // which older versions did not have
    CHECK(error() == older);
    CHECK(with_version("3") ==
          file + ": there is no config.json beside it, which says what these tensors are");
    folder.write("config.json", config);
    nn::checkpoint::write(file, state_dict(model));
    CHECK(error() == file + ": this file holds tensors, but plaingrad has not saved it, as config.json says");
}

TEST_CASE("saved: an invalid configuration is refused, naming the field", "[kit][saved]") {
    const Fields good = fields(small_stack("gpt2"));
    // What a number may be in general, as that n_heads divides d_model, says tests/models/test_config.cpp.
    const std::pair<const char*, const char*> wrong[] = {{"d_model", "\"x\""},
                                                         {"d_model", "12.5"},
                                                         {"d_model", "99999999999999999999"},
                                                         {"n_heads", "5"},
                                                         {"norm", "\"middle\""},
                                                         {"kind", "\"two\\nlines\""},
                                                         {"tied", "1"},
                                                         {"norm_eps", "\"nan\""},
                                                         {"norm_eps", "1e60"},
                                                         {"start", "4294967296"},
                                                         {"ends", "1"}};
    for (const auto& [key, value] : wrong) {
        Fields bad = good;
        bad.at(key) = value;
        const std::string error = error_of([&] { read(bad); });
        INFO(key << " = " << value << ": " << error);
        CHECK((contains(error, "config.json: ") && contains(error, key) && !contains(error, "\n")));
    }
    Fields none = good;
    none.erase("kind");
    CHECK(contains(error_of([&] { read(none); }), "config.json: kind is missing: the kind of model"));
    Fields labels = fields(with_classes(small_stack("gpt2"), 2));
    labels["labels"] = "[\"bad\"]";
    CHECK(contains(error_of([&] { read(labels); }), "\"labels\" are 1, \"classes\" 2"));
}

TEST_CASE("saved: a field that is missing from a file takes its default", "[kit][saved]") {
    const Fields good = fields(small_stack("gpt2")), defaults = fields(Config());
    int64_t differing = 0;
    for (const auto& [key, value] : good) {
        // The default of these fits no model, or not this one.
        if (key == "kind" || key == "vocabulary" || key == "n_heads" || key == "d_model")
            continue;
        INFO(key);
        Fields less = good;
        less.erase(key);
        const Config config = read(less);
        less[key] = defaults.at(key);
        CHECK(fields(config) == less);
        differing += value == defaults.at(key) ? 0 : 1;
    }
    CHECK(differing >= 5);
}

TEST_CASE("saved: a model is restored bit for bit, and only as its own kind", "[kit][saved]") {
    const Folder folder;
    const auto check_restored = [&](const auto& model, const std::string& name) {
        stir(model);
        save(folder / name, model);
        CHECK(hash(load_model<std::decay_t<decltype(model)>>(folder / name)) == hash(model));
    };
    for (const std::string& kind : kStacks) {
        INFO(kind);
        check_restored(LanguageModel(small_stack(kind), Rng(1)), "lm");
        check_restored(Classifier(with_classes(small_stack(kind), 3), Rng(2)), "c");
        check_restored(MaskedLanguageModel(small_stack(kind), Rng(3)), "mlm");
        check_restored(TextEncoder(small_stack(kind), Rng(4)), "encoder");
    }
    CHECK(error_of([&] { load_model<MaskedLanguageModel>(folder / "lm"); }) ==
          folder / "lm/config.json" + ": a masked language model is needed: got a language model");
    CHECK(contains(error_of([&] { load_model<LanguageModel>(folder / "c"); }),
                   "c/config.json: a language model is needed: got a classifier"));
    // A weight of several matrices is packed when the last of them was read.
    save(folder / "t", Transformer(small("paper"), Rng(1)));
    const auto packed = load_model<Transformer>(folder / "t", {.packed = true});
    for (const nn::NamedParameter& p : nn::all_parameters(packed))
        CHECK(autograd::is_packed(p.tensor) == (p.is_matrix || p.is_table));
}

TEST_CASE("saved: a checkpoint opens as the model that it is of", "[kit][saved]") {
    const Folder folder;
    const LanguageModel first(small_stack("gpt2"), Rng(1)), last(first.config, Rng(2));
    save(folder.path, first);
    const nn::Training training(nn::parameters(last), {});
    save_checkpoint(folder / "last.safetensors", state_dict(last), {{"words", "à b"}}, &training);
    CHECK(nn::checkpoint::read(folder / "last.safetensors").metadata().at("words") == "à b");
    CHECK(hash(load_model<LanguageModel>(folder.path)) == hash(first));
    CHECK(hash(load_model<LanguageModel>(folder / "last.safetensors")) == hash(last));
    std::filesystem::remove(folder / "model.safetensors");
    CHECK(hash(load_model<LanguageModel>(folder.path)) == hash(last));
    // Beside the config.json of another family, too.
    const ConfigJson gpt2 = hugging_face::config_of(first.config, "gpt2");
    save(folder.path, first, gpt2);
    save_checkpoint(folder / "last.safetensors", saved_state(nn::all_parameters(last), gpt2), {}, &training);
    CHECK(contains(content(folder / "model.safetensors"), "transformer.wte.weight"));
    CHECK(hash(load_model<LanguageModel>(folder.path)) == hash(first));
    CHECK(hash(load_model<LanguageModel>(folder / "last.safetensors")) == hash(last));
    CHECK(SavedModel(folder / "last.safetensors").config.notes.empty());  // of the optimizer's tensors
}

TEST_CASE("saved: counters that cannot be those of a run are refused", "[kit][saved]") {
    const Folder folder;
    const LanguageModel model(small_stack("gpt2"), Rng(1));
    nn::Training training(nn::parameters(model), {});
    save_checkpoint(folder / "good", state_dict(model), {}, &training);
    const std::string largest = "9223372036854775807";  // the next step would overflow
    for (const auto& [name, value] : {std::pair(std::string("steps"), largest),
                                      {"steps", "-1"},
                                      {"worse", largest},
                                      {"worse", "-1"},
                                      {"best_step", "1"},
                                      {"best_step", "-1"}}) {
        INFO(name << " " << value);
        nn::checkpoint::Metadata metadata = nn::checkpoint::read(folder / "good").metadata();
        metadata["training." + name] = value;
        nn::checkpoint::write(folder / "bad", state_dict(model), metadata);
        CHECK(contains(error_of([&] { models::load_training(folder / "bad", training); }),
                       "cannot be those of"));
    }
    models::load_training(folder / "good", training);
    save_checkpoint(folder / "model", state_dict(model));
    CHECK(error_of([&] { models::load_training(folder / "model", training); }) ==
          folder / "model" +
              ": this is a saved model, but not a checkpoint to resume from: training.steps is missing");
}

TEST_CASE("saved: a Labeller refuses texts without words, and a model without labels", "[kit][saved]") {
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
    save(folder.path, l.model, l.config());
    tokenizer.save(folder.path);
    CHECK(Labeller::load(folder.path).labels == l.labels);
    save(folder.path, l.model);
    CHECK(error_of([&] { Labeller::load(folder.path); }) ==
          folder / "config.json" + ": there are no \"labels\"");
}

// A file of 2 KB must not create a table of sinusoids of a gigabyte; and a model that could not be loaded is
// not built.
TEST_CASE("saved: as many sinusoids as 16 MiB or the model's numbers, new and loaded", "[kit][saved]") {
    const Folder folder;
    Config config = {.vocabulary = 9, .max_length = 1 << 20, .n_layers = 1};
    config.block = {.d_model = 4, .n_heads = 1, .d_ff = 4};  // 2^22 numbers
    const LanguageModel largest(config, Rng(1));
    save(folder / "file", largest);
    CHECK(load_model<LanguageModel>(folder / "file").config.max_length == 1 << 20);

    config.max_length += 1;
    const std::string words = "max_length = 1048577 makes a table of positions that is larger than the model";
    CHECK(error_of([&] { LanguageModel(config, Rng(1)); }) == "[config] " + words);
    std::string json = content(folder / "file/config.json");
    json.replace(json.find("1048576"), 7, "1048577");
    put(folder / "file/config.json", json);
    CHECK(error_of([&] { load_model<LanguageModel>(folder / "file"); }) ==
          folder / "file/config.json" + ": " + words);

    config.block.positions = nn::Positions::learned;  // learned positions are in the file
    save(folder / "learned", LanguageModel(config, Rng(1)));
    CHECK(load_model<LanguageModel>(folder / "learned").config.max_length == config.max_length);
}
