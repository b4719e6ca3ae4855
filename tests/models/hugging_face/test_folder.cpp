// Folders from Hugging Face: every model of ours is written and read again with the same bits, from one file
// or several; and a folder that does not fit is refused in one line that says what does not.
#include "models/saved.h"

#include <cstring>
#include <functional>
#include <map>

#include "models/presets.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/folder_of_others.h"
#include "tests/packed.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT
using hugging_face::config_of;
using hugging_face::ConfigJson;
using nn::checkpoint::StateEntry;

namespace {

template <class Model>
bool equal(const Model& a, const Model& b) {
    const auto x = nn::all_parameters(a), y = nn::all_parameters(b);
    bool same = x.size() == y.size();
    for (std::size_t i = 0; same && i < x.size(); ++i)
        same = x[i].name == y[i].name && same_bits(x[i].tensor, y[i].tensor);
    return same;
}

// One of each kind, small: what is special to it is switched on.
Config small_of(const std::string& family) {
    Config c = family == "gpt2" ? gpt2() : family == "bert" ? bert() : llama();
    c.vocabulary = 23;
    c.max_length = 9;
    c.n_layers = 2;
    c.specials = {.start = 1, .ends = {2}, .pad = Tokens::kNoPadding, .never = {}};
    c.block.d_model = 12;
    c.block.n_heads = 2;
    c.block.d_ff = 20;
    if (family == "gpt2" || family == "bert")
        return c;
    c.tied = family == "llama";
    c.block.n_kv_heads = 1;
    c.block.head_dim = 4;  // not 12 / 2
    if (family == "mistral")
        c.block.rotary = {.base = 500, .scaling = nn::RotaryScaling::linear, .factor = 2};
    if (family == "qwen2") {
        c.block.attention_bias = true;
        c.block.attention_out_bias = false;
    }
    return c;
}
const std::vector<std::string> kRotary = {"llama", "mistral", "qwen2"};

template <class Model>
void check_written_and_read(const Model& model, const ConfigJson& config) {
    const tests::Folder folder;
    stir(model);
    save(folder.path, model, config);
    const SavedModel opened(folder.path);
    CHECK(opened.config.notes == std::vector<std::string>{});
    for (const char* of_a_classifier : {"id2label", "problem_type"})
        CHECK(contains(content(folder / "config.json"), of_a_classifier) ==
              (model.config.kind == Kind::classifier));
    const Model again = load_model<Model>(opened);
    CHECK(equal(model, again));
    CHECK(again.config.block.init == model.config.block.init);
    const Tokens ids(2, 3, {4, 5, 6, 7, 8, 9});
    CHECK(same_bits(model(ids, Mode::eval()), again(ids, Mode::eval())));
    // Written again, the files are the same.
    const tests::Folder second;
    save(second.path, again, opened.config);
    for (const std::string name : {"config.json", "model.safetensors"})
        CHECK(content(folder / name) == content(second / name));
}

// A small GPT-2 in a folder, to be spoiled.
struct Spoiled {
    tests::Folder folder;
    LanguageModel model{small_of("gpt2"), Rng(1)};

    Spoiled() { save(folder.path, model, config_of(model.config, "gpt2")); }
    std::vector<StateEntry> items() const {
        const nn::checkpoint::SafeTensors file = nn::checkpoint::read(folder / "model.safetensors");
        std::vector<StateEntry> all;
        for (const nn::checkpoint::Entry& entry : file.entries())
            all.push_back({entry.name, file.tensor(entry.name)});
        return all;
    }
    void write(const std::vector<StateEntry>& all) const {
        nn::checkpoint::write(folder / "model.safetensors", all);
    }
    // In config.json, which must have it.
    void replace(const std::string& text, const std::string& by) const {
        std::string json = content(folder / "config.json");
        REQUIRE(contains(json, text));
        put(folder / "config.json", json.replace(json.find(text), text.size(), by));
    }
    // "" if it opens and loads. A complaint is one line that names a file of the folder.
    std::string complaint() const {
        const std::string error = error_of([&] { load_model<LanguageModel>(SavedModel(folder.path)); });
        CHECK((error.empty() || error.starts_with(folder.path)));
        CHECK_FALSE(contains(error, "\n"));
        return error.empty() ? "" : error.substr(folder.path.size() + 1);
    }
};

const char* const kSecondNorm = "transformer.h.1.ln_2.weight";

// The file of these bytes, whose header has other text instead of the 4 bytes at `at`.
std::string longer_header(std::string bytes, std::size_t at, const std::string& text) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof(length));
    length += text.size() - 4;
    std::memcpy(bytes.data(), &length, sizeof(length));
    return bytes.replace(at, 4, text);
}

std::string ones(int n) { return n == 0 ? "" : ",1" + ones(n - 1); }

std::vector<StateEntry> without(std::vector<StateEntry> all, const std::string& name) {
    const std::size_t before = all.size();
    std::erase_if(all, [&](const StateEntry& item) { return item.name == name; });
    CHECK(all.size() + 1 == before);
    return all;
}

}  // namespace

TEST_CASE("hugging face folder: every kind of model, written and read with the same bits",
          "[models][hugging_face]") {
    for (const std::string family : {"gpt2", "llama", "mistral", "qwen2"}) {
        INFO(family);
        const LanguageModel model(small_of(family), Rng(1));
        check_written_and_read(model, config_of(model.config, family));
    }
    Config untied = small_of("gpt2");
    untied.tied = false;
    check_written_and_read(LanguageModel(untied, Rng(1)), config_of(untied, "gpt2"));
    Config biased = small_of("llama");
    biased.block.attention_bias = biased.block.feed_forward_bias = true;
    check_written_and_read(LanguageModel(biased, Rng(1)), config_of(biased, "llama"));
    // A bare stack whose output layer is the embedding.
    ConfigJson stack = config_of(small_of("gpt2"), "gpt2");
    stack.bare = true;
    check_written_and_read(LanguageModel(small_of("gpt2"), Rng(1)), stack);

    const Config bert = small_of("bert");
    check_written_and_read(MaskedLanguageModel(bert, Rng(1)), config_of(bert, "bert"));
    Config loose = bert;
    loose.tied = false;
    const MaskedLanguageModel untied_bert(loose, Rng(1));
    check_written_and_read(untied_bert, config_of(loose, "bert"));
    // The bias of the decoder counts, and not the one that transformers writes in vain.
    const tests::Folder spoiled;
    save(spoiled.path, untied_bert, config_of(loose, "bert"));
    StateDict all = saved_state(nn::all_parameters(untied_bert), config_of(loose, "bert"));
    for (StateEntry& entry : all)
        entry.tensor = entry.name == "cls.predictions.bias" ? Tensor::ones({23}) : entry.tensor;
    nn::checkpoint::write(spoiled / "model.safetensors", all);
    CHECK(equal(load_model<MaskedLanguageModel>(spoiled.path), untied_bert));
    check_written_and_read(TextEncoder(bert, Rng(1)), config_of(bert.as(Kind::encoder), "bert"));
    const Classifier classifier(with_classes(bert, 3, Pooling::pooler, Real(0.25)), Rng(1));
    ConfigJson labelled = config_of(classifier.config, "bert");
    CHECK(labelled.labels == std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"});
    labelled.labels = {"good", "bad\n\"", "ü"};
    check_written_and_read(classifier, labelled);

    const tests::Folder folder;
    save(folder.path, classifier, labelled);
    const ConfigJson read = SavedModel(folder.path).config;
    CHECK(read.labels == labelled.labels);
    CHECK(read.pooled_dropout == Real(0.25));
    CHECK(read.specials.ends == std::vector<int32_t>{2});
}

TEST_CASE("hugging face folder: rates of dropout, and the ids that end a text, are written",
          "[models][hugging_face]") {
    for (const std::vector<int32_t>& ends : {std::vector<int32_t>{}, {2}, {2, 3}}) {
        Config c = small_of("gpt2");
        c.specials.ends = ends;
        c.block.dropout = {.embeddings = Real(0.125), .sublayers = Real(0.25), .attention = Real(0.375)};
        const tests::Folder folder;
        save(folder.path, LanguageModel(c, Rng(1)), config_of(c, "gpt2"));
        const ConfigJson read = SavedModel(folder.path).config;
        CHECK(read.specials.ends == ends);
        CHECK(contains(content(folder / "config.json"), std::string("\"eos_token_id\": ") +
                                                            (ends.empty()       ? "null"
                                                             : ends.size() == 1 ? "2"
                                                                                : "[2,3]") +
                                                            ","));
        CHECK(read.block.dropout.embeddings == Real(0.125));
        CHECK(read.block.dropout.sublayers == Real(0.25));
        CHECK(read.block.dropout.attention == Real(0.375));
    }
    Config bert = small_of("bert"), llama = small_of("llama");
    // BERT has one rate for embeddings and sub-layers.
    bert.block.dropout = {.embeddings = Real(0.25), .sublayers = Real(0.25), .attention = Real(0.375)};
    llama.block.dropout.attention = Real(0.125);
    const tests::Folder of_bert, of_llama;
    save(of_bert.path, MaskedLanguageModel(bert, Rng(1)), config_of(bert, "bert"));
    save(of_llama.path, LanguageModel(llama, Rng(1)), config_of(llama, "llama"));
    const DropoutRates read = SavedModel(of_bert.path).config.block.dropout;
    CHECK((read.embeddings == Real(0.25) && read.sublayers == Real(0.25)));
    CHECK(read.attention == Real(0.375));
    CHECK(SavedModel(of_llama.path).config.block.dropout.attention == Real(0.125));
}

TEST_CASE("hugging face folder: a model without a start token is written without one",
          "[models][hugging_face]") {
    const Spoiled s;
    s.replace("\"bos_token_id\": 1,", "\"bos_token_id\": null,");
    const SavedModel opened(s.folder.path);
    CHECK(opened.config.start == -1);
    const LanguageModel model = load_model<LanguageModel>(opened);
    CHECK(model.config.specials.start == 2);  // here it begins with its end
    const tests::Folder second;
    save(second.path, model, opened.config);
    CHECK(content(second / "config.json") == content(s.folder / "config.json"));
}

TEST_CASE("hugging face folder: the token that pads is written, of every family", "[models][hugging_face]") {
    for (const std::string family : {"gpt2", "llama", "mistral", "qwen2"}) {
        INFO(family);
        const tests::Folder folder, second;
        const LanguageModel model(small_of(family), Rng(1));
        save(folder.path, model, config_of(model.config, family));
        std::string json = content(folder / "config.json");
        const std::string none = "\"pad_token_id\": null", some = "\"pad_token_id\": 3";
        REQUIRE(contains(json, none));
        put(folder / "config.json", json.replace(json.find(none), none.size(), some));
        const SavedModel opened(folder.path);
        save(second.path, load_model<LanguageModel>(opened), opened.config);
        CHECK(content(second / "config.json") == json);
    }
}

TEST_CASE("hugging face folder: a model is of one kind, and of one family", "[models][hugging_face]") {
    const tests::Folder folder;
    const Config bert = small_of("bert");
    const MaskedLanguageModel model(bert, Rng(1));
    const ConfigJson config = config_of(bert, "bert");
    save(folder.path, model, config);
    const SavedModel opened(folder.path);
    CHECK(error_of([&] { load_model<LanguageModel>(opened); }) ==
          (folder / "config.json") + ": a language model is needed: got BertForMaskedLM");
    CHECK(contains(error_of([&] { load_model<Classifier>(opened); }), "a classifier is needed"));
    CHECK(contains(error_of([&] { load_model<TextEncoder>(opened); }), "a text encoder is needed"));

    ConfigJson other = config;
    CHECK(error_of([&] {
              config_of(with_classes(small_of("gpt2"), 2, Pooling::pooler), "gpt2");
          }).starts_with("[hugging_face] gpt2 has no classifier"));
    const Classifier mean(with_classes(bert, 2), Rng(1));
    other.labels = {"a", "b"};
    CHECK(contains(error_of([&] { save(folder.path, mean, other); }),
                   R"(in bert pooling is "pooler": this model has "mean")"));
    other.labels = {"a", "b", "c"};
    CHECK(contains(error_of([&] { save(folder.path, mean, other); }), "classes is 3: this model has 2"));
    Config sinusoids = small_of("gpt2");
    sinusoids.block.positions = nn::Positions::sinusoidal;
    CHECK(error_of([&] { config_of(sinusoids, "gpt2"); }) ==
          R"([hugging_face] in gpt2 positions is "learned": this model has "sinusoidal")");
    // config.json has no keys for them in these families.
    for (const std::string family : {"gpt2", "bert"}) {
        Config grouped = small_of(family), wide = small_of(family);
        grouped.block.n_kv_heads = 1;
        wide.block.head_dim = 4;
        CHECK(contains(error_of([&] { config_of(grouped, family); }), "n_kv_heads is 2: this model has 1"));
        CHECK(contains(error_of([&] { config_of(wide, family); }), "head_dim is 6: this model has 4"));
    }
    for (const std::string& family : kRotary) {
        Config partial = small_of(family);
        partial.block.rotary.width = 2;
        CHECK(contains(error_of([&] { config_of(partial, family); }), "rotary.width is 0: this model has 2"));
    }
    // Mistral has no biases, and Qwen2's are not to be chosen.
    Config biased = small_of("mistral");
    biased.block.attention_bias = true;
    CHECK(contains(error_of([&] {
                       const LanguageModel m(biased, Rng(1));
                       save(folder.path, m, config_of(biased, "mistral"));
                   }),
                   "bias"));
}

TEST_CASE("hugging face folder: weights are not replaced if config.json cannot be",
          "[models][hugging_face]") {
    const Spoiled s;
    const std::string before = content(s.folder / "model.safetensors");
    std::filesystem::remove(s.folder / "config.json");
    std::filesystem::create_directory(s.folder / "config.json");
    const LanguageModel other(s.model.config, Rng(2));
    CHECK(contains(error_of([&] { save(s.folder.path, other, config_of(other.config, "gpt2")); }),
                   "config.json: this is a folder"));
    CHECK(content(s.folder / "model.safetensors") == before);
}

TEST_CASE("hugging face folder: several files with an index", "[models][hugging_face]") {
    const Spoiled s;
    const std::vector<StateEntry> all = s.items();
    std::vector<StateEntry> parts[2];
    std::string map;
    for (std::size_t i = 0; i < all.size(); ++i) {
        parts[i % 2].push_back(all[i]);
        map += (i == 0 ? "\"" : ",\"") + all[i].name + "\":\"" + (i % 2 == 0 ? "a" : "b") + ".safetensors\"";
    }
    std::filesystem::remove(s.folder / "model.safetensors");
    for (int i : {0, 1})
        nn::checkpoint::write(s.folder / (i == 0 ? "a.safetensors" : "b.safetensors"), parts[i]);
    put(s.folder / "model.safetensors.index.json", "{\"weight_map\":{" + map + "}}");
    CHECK(equal(load_model<LanguageModel>(SavedModel(s.folder.path)), s.model));

    const std::string second = content(s.folder / "b.safetensors");
    put(s.folder / "b.safetensors", second.substr(0, second.size() - 1));
    CHECK(contains(s.complaint(), "b.safetensors: "));
    std::filesystem::remove(s.folder / "b.safetensors");
    CHECK(contains(s.complaint(), "\"b.safetensors\", which is not in the folder"));
    std::vector<StateEntry> less = parts[1];
    less.pop_back();
    nn::checkpoint::write(s.folder / "b.safetensors", less);
    const std::string misfit = "model.safetensors.index.json does not fit the model of config.json; ";
    CHECK(contains(s.complaint(), misfit + "missing: " + parts[1].back().name));
    parts[1].push_back(parts[0][0]);  // in both files
    nn::checkpoint::write(s.folder / "b.safetensors", parts[1]);
    CHECK(contains(s.complaint(), misfit + "unexpected: \"" + parts[0][0].name));
    nn::checkpoint::write(s.folder / "a.safetensors", std::vector<StateEntry>(all.begin(), all.end() - 1));
    put(s.folder / "model.safetensors.index.json",  // which lists one file alone
        "{\"weight_map\":{\"" + all[0].name + "\":\"a.safetensors\"}}");
    CHECK(contains(s.complaint(), misfit + "missing: " + all.back().name));
}

TEST_CASE("hugging face folder: what does not fit is refused by name", "[models][hugging_face]") {
    const auto spoil = [](const std::function<void(const Spoiled&)>& change) {
        const Spoiled s;
        change(s);
        return s.complaint();
    };
    CHECK(spoil([](const Spoiled&) {}) == "");
    CHECK(
        spoil([](const Spoiled& s) { s.write(without(s.items(), kSecondNorm)); }) ==
        "model.safetensors does not fit the model of config.json; missing: transformer.h.1.ln_2.weight; are "
        "both of the same model?");
    CHECK(contains(spoil([](const Spoiled& s) {
                       std::vector<StateEntry> all = s.items();
                       all.push_back({"transformer.h.2.ln_1.weight", Tensor::zeros({12})});
                       s.write(all);
                   }),
                   "; unexpected: \"transformer.h.2.ln_1.weight\";"));
    CHECK(contains(spoil([](const Spoiled& s) {
                       std::vector<StateEntry> all = s.items();
                       all.push_back({"two\nlines" + std::string(1000, '.'), Tensor::zeros({12})});
                       s.write(all);
                   }),
                   "; unexpected: \"two\\nlines" + std::string(91, '.') + "\"...; are"));
    CHECK(contains(spoil([](const Spoiled& s) {
                       std::string bytes = content(s.folder / "model.safetensors");
                       const std::size_t at = bytes.find("[12]", bytes.find(kSecondNorm));
                       put(s.folder / "model.safetensors", longer_header(bytes, at, "[12" + ones(8) + "]"));
                   }),
                   "ln_2.weight is (12, 1, 1, 1, 1, and 4 more) and should be (12);"));
    CHECK(contains(spoil([](const Spoiled& s) {
                       std::vector<StateEntry> all = without(s.items(), kSecondNorm);
                       all.push_back({kSecondNorm, Tensor::zeros({13})});
                       s.write(all);
                   }),
                   "; different: transformer.h.1.ln_2.weight is (13) and should be (12);"));
    // The file has both names of a tied weight.
    CHECK(contains(spoil([](const Spoiled& s) {
                       std::vector<StateEntry> all = s.items();
                       all.push_back({"lm_head.weight", Tensor::zeros({23, 12})});
                       s.write(all);
                   }),
                   "lm_head.weight is not transformer.wte.weight, with which it is tied"));
    // Sizes that a file says, but its tensors do not have: nothing is allocated for them.
    const std::string too_few =
        "model.safetensors: the tensors are too few for the sizes in config.json; are both of the same "
        "model?";
    CHECK(contains(
        spoil([](const Spoiled& s) { s.replace("\"vocab_size\": 23", "\"vocab_size\": 2147483647"); }),
        too_few));
    CHECK(contains(spoil([](const Spoiled& s) { s.replace("\"vocab_size\": 23", "\"vocab_size\": 24"); }),
                   "transformer.wte.weight is (23, 12) and should be (24, 12)"));
    CHECK(contains(spoil([](const Spoiled& s) { s.replace("\"n_layer\": 2", "\"n_layer\": 3"); }),
                   "missing: transformer.h.2.ln_1.weight"));
    CHECK(contains(spoil([](const Spoiled& s) { s.replace("\"n_layer\": 2", "\"n_layer\": 10000"); }),
                   too_few));
    CHECK(contains(spoil([](const Spoiled& s) { s.replace("\"n_positions\": 9", "\"n_positions\": 8"); }),
                   "transformer.wpe.weight is (9, 12) and should be (8, 12)"));
    CHECK(contains(spoil([](const Spoiled& s) { std::filesystem::remove(s.folder / "model.safetensors"); }),
                   "there is no model in this folder: neither model.safetensors nor"));
    CHECK(contains(spoil([](const Spoiled& s) { s.replace("\"gpt2\"", "\"gpt_neox\""); }), "gpt_neox"));
    const std::string bytes = content(Spoiled().folder / "model.safetensors");
    for (const std::size_t left : {std::size_t{0}, std::size_t{7}, std::size_t{100}, bytes.size() - 1})
        CHECK(contains(
            spoil([&](const Spoiled& s) { put(s.folder / "model.safetensors", bytes.substr(0, left)); }),
            "model.safetensors: "));
}

TEST_CASE("hugging face folder: tensors that change nothing are ignored", "[models][hugging_face]") {
    const Spoiled s;
    std::vector<StateEntry> all = s.items();
    all.push_back({"transformer.h.0.attn.bias", Tensor::zeros({1, 1, 9, 9})});
    all.push_back({"transformer.h.1.attn.bias", Tensor::zeros({1, 1, 9, 9})});
    s.write(all);
    const SavedModel folder(s.folder.path);
    CHECK(folder.config.notes.empty());
    CHECK(equal(load_model<LanguageModel>(folder), s.model));
}

TEST_CASE("hugging face folder: a table of rotary positions that is larger than the model is refused",
          "[models][hugging_face]") {
    const tests::Folder folder;
    Config c = small_of("llama");
    const LanguageModel model(c, Rng(1));
    save(folder.path, model, config_of(c, "llama"));
    std::string json = content(folder / "config.json");
    const std::string nine = "\"max_position_embeddings\": 9";
    put(folder / "config.json",
        json.replace(json.find(nine), nine.size(), "\"max_position_embeddings\": 2000000000"));
    CHECK(error_of([&] { SavedModel{folder.path}; }) ==
          (folder / "config.json") +
              ": max_length = 2000000000 makes a table of positions that is larger than the model");
}

TEST_CASE("hugging face folder: a window that limits the texts is written as it was",
          "[models][hugging_face]") {
    const tests::Folder folder, second;
    const LanguageModel model(small_of("mistral"), Rng(1));
    save(folder.path, model, config_of(model.config, "mistral"));
    std::string json = content(folder / "config.json");
    for (const auto& [from, to] : std::map<std::string, std::string>{
             {"\"max_position_embeddings\": 9", "\"max_position_embeddings\": 2000"},
             {"\"sliding_window\": null", "\"sliding_window\": 1900"}}) {
        REQUIRE(contains(json, from));
        json.replace(json.find(from), from.size(), to);
    }
    put(folder / "config.json", json);
    const SavedModel opened(folder.path);
    CHECK(opened.config.max_length == 1900);
    save(second.path, load_model<LanguageModel>(opened), opened.config);
    const std::string written = content(second / "config.json");
    CHECK(contains(written, "\"max_position_embeddings\": 2000"));
    CHECK(contains(written, "\"sliding_window\": 1900"));
}

TEST_CASE("hugging face folder: without config.json, what is there instead is named",
          "[models][hugging_face]") {
    const tests::Folder folder;
    const std::string file = folder.write("model.gguf", "GGUF\3\2\1\2"), none = folder / "none";
    const auto error = [](const std::string& path) {
        return error_of([&] { const SavedModel opened(path); });
    };
    CHECK(error(folder.path).starts_with(file + ": this is a file of llama.cpp; take"));
    CHECK(error(file).starts_with(file + ": this is a file of llama.cpp"));
    CHECK(contains(error(none), "none: there is no such folder or file"));
    const Spoiled s;
    std::filesystem::remove(s.folder / "config.json");
    for (const std::string& path : {s.folder.path, s.folder / "model.safetensors"})
        CHECK(error(path) == (s.folder / "model.safetensors") +
                                 ": there is no config.json beside it, which says what these tensors are");
}

TEST_CASE("hugging face folder: weights are packed while others are still to be read",
          "[models][hugging_face][packed]") {
    using autograd::storage_statistics;
    for (const std::string family : {"gpt2", "llama"})
        for (const Precision p : {Precision::float32, Precision::bf16}) {
            INFO(family << " in " << autograd::kPrecisionNames[static_cast<int>(p)]);
            const tests::Folder folder;
            const LanguageModel model(small_of(family), Rng(1));
            save(folder.path, model, config_of(model.config, family));
            const SavedModel opened(folder.path);
            LanguageModel later = load_model<LanguageModel>(opened);
            later.config.block.precision = p;
            tests::pack_weights(later);

            const LanguageModel loaded = load_model<LanguageModel>(opened, {.packed = true, .precision = p});
            CHECK(loaded.config.block.precision == p);
            for (const nn::NamedParameter& parameter : nn::all_parameters(loaded))
                CHECK(is_packed(parameter.tensor) == (parameter.is_matrix || parameter.is_table));
            const Tokens ids(1, 5, {3, 1, 4, 1, 5});
            CHECK(same_bits(loaded(ids, Mode::eval()), later(ids, Mode::eval())));

            // Of a file without its end: what had been packed until then took memory.
            const std::string file = folder / "model.safetensors";
            std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
            const auto memory_calls = [&](bool packed) {
                autograd::storage_trim();
                const int64_t before = storage_statistics().system_calls;
                CHECK(contains(
                    error_of([&] { load_model<LanguageModel>(opened, {.packed = packed, .precision = p}); }),
                    ": ended after "));
                return storage_statistics().system_calls - before;
            };
            CHECK(memory_calls(true) > memory_calls(false) + 4);
        }
}

TEST_CASE("hugging face folder: files of the text are copied, a tokenizer's older ones as tokenizer.json",
          "[models][hugging_face]") {
    const tests::Folder from, to;
    const std::vector<std::string> copied = {"tokenizer_config.json", "special_tokens_map.json",
                                             "generation_config.json", "chat_template.jinja"};
    for (const std::string& name : copied)
        from.write(name, "{}" + std::string(name.size(), ' '));
    from.write("vocab.txt", tests::kBertWords);
    from.write("notes.md", "x");
    write_text_files(read_text_files(from.path), to.path);
    CHECK(to.files() == std::ssize(copied) + 1);
    for (const std::string& name : copied)
        CHECK(content(to / name) == content(from / name));
    const auto same = [](const tests::Folder& a, const tests::Folder& b) {
        const std::string text = "The lovely [MASK], äb.";
        return text::Tokenizer::open(a.path).encode(text) == text::Tokenizer::open(b.path).encode(text);
    };
    CHECK(same(from, to));
    const tests::Folder again;
    write_text_files(read_text_files(to.path), again.path);
    CHECK(content(again / "tokenizer.json") == content(to / "tokenizer.json"));
    to.write("tokenizer.json", "{}");
    CHECK(contains(error_of([&] { read_text_files(to.path); }), "tokenizer.json: "));
}
