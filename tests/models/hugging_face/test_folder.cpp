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
#include "tests/nn/checkpoint/files.h"
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
    Config c = sized(family == "gpt2" ? gpt2() : family == "bert" ? bert() : llama(), {23, 9, 12, 2, 20});
    c.specials = {.start = 1, .ends = {2}, .pad = Tokens::kNoPadding, .never = {}};
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

template <class Model>
void check_written_and_read(const Model& model, const ConfigJson& config) {
    const tests::Folder folder, second;
    stir(model);
    save(folder.path, model, config);
    const SavedModel opened(folder.path);
    CHECK(opened.config.notes == std::vector<std::string>{});
    CHECK(opened.config.labels == config.labels);
    for (const char* of_a_classifier : {"id2label", "problem_type"})
        CHECK(contains(content(folder / "config.json"), of_a_classifier) ==
              (model.config.kind == Kind::classifier));
    const Model again = load_model<Model>(opened);
    CHECK(equal(model, again));
    CHECK(again.config.block.init == model.config.block.init);
    CHECK(again.config.pooled_dropout == model.config.pooled_dropout);
    const Tokens ids(2, 3, {4, 5, 6, 7, 8, 9});
    CHECK(same_bits(model(ids, Mode::eval()), again(ids, Mode::eval())));
    // Written again, the files are the same.
    save(second.path, again, opened.config);
    for (const std::string name : {"config.json", "model.safetensors"})
        CHECK(content(folder / name) == content(second / name));
}

// In config.json, which has each key in a line of its own.
void set_key(const tests::Folder& folder, const std::string& key, const std::string& value) {
    std::string json = content(folder / "config.json");
    const std::string begin = "  \"" + key + "\": ";
    REQUIRE(contains(json, begin));
    const std::size_t at = json.find(begin) + begin.size();
    const std::size_t end = std::min(json.find(",\n", at), json.find("\n}", at));
    put(folder / "config.json", json.replace(at, end - at, value));
}

// A small GPT-2 in a folder, to be spoiled.
struct Spoiled {
    tests::Folder folder;
    LanguageModel model{small_of("gpt2"), Rng(1)};

    Spoiled() { save(folder.path, model, config_of(model.config, "gpt2")); }
    std::vector<StateEntry> items() const { return items_of(folder / "model.safetensors"); }
    void write(const std::vector<StateEntry>& all) const {
        nn::checkpoint::write(folder / "model.safetensors", all);
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

std::vector<StateEntry> without(std::vector<StateEntry> all, const std::string& name) {
    const std::size_t before = all.size();
    std::erase_if(all, [&](const StateEntry& item) { return item.name == name; });
    CHECK(all.size() + 1 == before);
    return all;
}

}  // namespace

TEST_CASE("hugging face folder: every kind of model, written and read with the same bits",
          "[models][hugging_face]") {
    const auto check = [](const std::string& family, const std::function<void(Config&)>& change) {
        INFO(family);
        Config c = small_of(family);
        change(c);
        check_written_and_read(LanguageModel(c, Rng(1)), config_of(c, family));
    };
    for (const std::string family : {"gpt2", "llama", "mistral", "qwen2"})
        check(family, [](Config&) {});
    check("gpt2", [](Config& c) { c.tied = false; });
    check("llama", [](Config& c) { c.block.attention_bias = c.block.feed_forward_bias = true; });
    // A bare stack whose output layer is the embedding.
    ConfigJson stack = config_of(small_of("gpt2"), "gpt2");
    stack.bare = true;
    check_written_and_read(LanguageModel(small_of("gpt2"), Rng(1)), stack);

    const Config bert = small_of("bert");
    check_written_and_read(MaskedLanguageModel(bert, Rng(1)), config_of(bert, "bert"));
    check_written_and_read(TextEncoder(bert, Rng(1)), config_of(bert.as(Kind::encoder), "bert"));
    const Classifier classifier(with_classes(bert, 3, Pooling::pooler, Real(0.25)), Rng(1));
    ConfigJson labelled = config_of(classifier.config, "bert");
    CHECK(labelled.labels == std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"});
    labelled.labels = {"good", "bad\n\"", "ü"};
    check_written_and_read(classifier, labelled);
    Config loose = bert;
    loose.tied = false;
    const MaskedLanguageModel untied(loose, Rng(1));
    check_written_and_read(untied, config_of(loose, "bert"));
    // The bias of the decoder counts, and not the one that transformers writes in vain.
    const tests::Folder spoiled;
    save(spoiled.path, untied, config_of(loose, "bert"));
    StateDict all = saved_state(nn::all_parameters(untied), config_of(loose, "bert"));
    for (StateEntry& entry : all)
        entry.tensor = entry.name == "cls.predictions.bias" ? Tensor::ones({23}) : entry.tensor;
    nn::checkpoint::write(spoiled / "model.safetensors", all);
    CHECK(equal(load_model<MaskedLanguageModel>(spoiled.path), untied));
}

TEST_CASE("hugging face folder: what config.json says is written as it was", "[models][hugging_face]") {
    using Keys = std::map<std::string, std::string>;
    const std::pair<const char*, Keys> table[] = {
        {"gpt2", {{"bos_token_id", "null"}}},
        {"gpt2", {{"eos_token_id", "null"}}},
        {"gpt2", {{"eos_token_id", "[2,3]"}}},
        {"gpt2", {{"embd_pdrop", "0.125"}, {"resid_pdrop", "0.25"}, {"attn_pdrop", "0.375"}}},
        {"bert", {{"hidden_dropout_prob", "0.25"}, {"attention_probs_dropout_prob", "0.375"}}},
        {"llama", {{"attention_dropout", "0.125"}}},
        {"mistral", {{"max_position_embeddings", "2000"}, {"sliding_window", "1900"}}},  // a shorter window
        {"gpt2 bert llama mistral qwen2", {{"pad_token_id", "3"}}}};
    const auto check = [](const auto& model, const std::string& family, const Keys& keys) {
        const tests::Folder folder, second;
        save(folder.path, model, config_of(model.config, family));
        for (const auto& [key, value] : keys)
            set_key(folder, key, value);
        const SavedModel opened(folder.path);
        const auto again = load_model<std::decay_t<decltype(model)>>(opened);
        save(second.path, again, opened.config);
        CHECK(content(second / "config.json") == content(folder / "config.json"));
        return again.config;
    };
    for (const auto& [families, keys] : table)
        for (const std::string& family : text::split_words(families)) {
            INFO(family << ", " << keys.begin()->first);
            const Config small = small_of(family);
            const Config c = small.kind == Kind::masked
                                 ? check(MaskedLanguageModel(small, Rng(1)), family, keys)
                                 : check(LanguageModel(small, Rng(1)), family, keys);
            if (keys.contains("bos_token_id"))
                CHECK(c.specials.start == 2);  // here it begins with its end
            CHECK(c.max_length == (keys.contains("sliding_window") ? 1900 : 9));
        }
}

TEST_CASE("hugging face folder: a model is of one kind, and of one family", "[models][hugging_face]") {
    const Config bert = small_of("bert");
    const tests::Folder folder;
    save(folder.path, MaskedLanguageModel(bert, Rng(1)), config_of(bert, "bert"));
    const SavedModel opened(folder.path);
    CHECK(error_of([&] { load_model<LanguageModel>(opened); }) ==
          (folder / "config.json") + ": a language model is needed: got BertForMaskedLM");
    CHECK(contains(error_of([&] { load_model<Classifier>(opened); }), "a classifier is needed"));
    CHECK(contains(error_of([&] { load_model<TextEncoder>(opened); }), "a text encoder is needed"));

    const Classifier mean(with_classes(bert, 2), Rng(1));
    ConfigJson other = config_of(bert, "bert");
    for (const auto& [labels, reason] : std::map<std::vector<std::string>, const char*>{
             {{"a", "b"}, R"(in bert pooling is "pooler": this model has "mean")"},
             {{"a", "b", "c"}, "classes is 3: this model has 2"}}) {
        other.labels = labels;
        CHECK(contains(error_of([&] { save(folder.path, mean, other); }), reason));
    }
    struct Row {
        const char* family;
        void (*change)(Config&);
        const char* reason;
    };
    const auto grouped = [](Config& c) { c.block.n_kv_heads = 1; };
    const auto wide = [](Config& c) { c.block.head_dim = 4; };
    const auto partial = [](Config& c) { c.block.rotary.width = 2; };
    const Row table[] = {
        {"gpt2", [](Config& c) { c = with_classes(c, 2, Pooling::pooler); }, "gpt2 has no classifier"},
        {"gpt2", [](Config& c) { c.block.positions = nn::Positions::sinusoidal; },
         R"([hugging_face] in gpt2 positions is "learned": this model has "sinusoidal")"},
        {"gpt2", [](Config& c) { c.block.scale_embeddings = true; }, "scale_embeddings is false: this"},
        {"bert", [](Config& c) { c.token_types = 0; }, "type_vocab_size must be a whole number from"},
        // config.json has no keys for them in these families.
        {"gpt2", grouped, "n_kv_heads is 2: this model has 1"},
        {"bert", grouped, "n_kv_heads is 2: this model has 1"},
        {"gpt2", wide, "head_dim is 6: this model has 4"},
        {"bert", wide, "head_dim is 6: this model has 4"},
        {"llama", partial, "rotary.width is 0: this model has 2"},
        {"mistral", partial, "rotary.width is 0: this model has 2"},
        {"qwen2", partial, "rotary.width is 0: this model has 2"},
        {"mistral", [](Config& c) { c.block.attention_bias = true; }, "bias"}};
    for (const Row& row : table) {
        Config c = small_of(row.family);
        row.change(c);
        INFO(row.family << ": " << row.reason);
        CHECK(contains(error_of([&] { config_of(c, row.family); }), row.reason));
    }
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
    const std::string files[] = {"a.safetensors", "b.safetensors"};
    std::vector<StateEntry> parts[2];
    std::string map;
    for (std::size_t i = 0; i < all.size(); ++i) {
        parts[i % 2].push_back(all[i]);
        map += (i == 0 ? "\"" : ",\"") + all[i].name + "\":\"" + files[i % 2] + "\"";
    }
    std::filesystem::remove(s.folder / "model.safetensors");
    for (const std::size_t i : {0u, 1u})
        nn::checkpoint::write(s.folder / files[i], parts[i]);
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

TEST_CASE("hugging face folder: tensors that do not fit are refused by name", "[models][hugging_face]") {
    const Spoiled s;
    const std::vector<StateEntry> all = s.items();
    CHECK(s.complaint() == "");
    s.write(without(all, kSecondNorm));
    CHECK(s.complaint() ==
          "model.safetensors does not fit the model of config.json; missing: transformer.h.1.ln_2.weight; "
          "are both of the same model?");
    const auto added = [&](const StateEntry& entry, const std::vector<StateEntry>& to) {
        std::vector<StateEntry> more = to;
        more.push_back(entry);
        s.write(more);
        return s.complaint();
    };
    CHECK(contains(added({"transformer.h.2.ln_1.weight", Tensor::zeros({12})}, all),
                   "; unexpected: \"transformer.h.2.ln_1.weight\";"));
    CHECK(contains(added({"two\nlines" + std::string(1000, '.'), Tensor::zeros({12})}, all),
                   "; unexpected: \"two\\nlines" + std::string(91, '.') + "\"...; are"));
    CHECK(contains(added({kSecondNorm, Tensor::zeros({13})}, without(all, kSecondNorm)),
                   "; different: transformer.h.1.ln_2.weight is (13) and should be (12);"));
    // The file has both names of a tied weight.
    CHECK(contains(added({"lm_head.weight", Tensor::zeros({23, 12})}, all),
                   "lm_head.weight is not transformer.wte.weight, with which it is tied"));
    // Tensors that change nothing are ignored.
    CHECK(added({"transformer.h.1.attn.bias", Tensor::zeros({1, 1, 9, 9})}, all) == "");
    CHECK(SavedModel(s.folder.path).config.notes.empty());

    s.write(all);
    const std::string bytes = content(s.folder / "model.safetensors");
    const std::size_t at = bytes.find("[12]", bytes.find(kSecondNorm));
    put(s.folder / "model.safetensors", longer_header(bytes, at, "[12,1,1,1,1,1,1,1,1]"));
    CHECK(contains(s.complaint(), "ln_2.weight is (12, 1, 1, 1, 1, and 4 more) and should be (12);"));
    for (const std::size_t left : {std::size_t{0}, std::size_t{7}, std::size_t{100}, bytes.size() - 1}) {
        put(s.folder / "model.safetensors", bytes.substr(0, left));
        CHECK(contains(s.complaint(), "model.safetensors: "));
    }
    std::filesystem::remove(s.folder / "model.safetensors");
    CHECK(contains(s.complaint(), "there is no model in this folder: neither model.safetensors nor"));
}

TEST_CASE("hugging face folder: a configuration of another model is refused", "[models][hugging_face]") {
    // Sizes that a file says, but its tensors do not have: nothing is allocated for them.
    const std::string too_few =
        "model.safetensors: the tensors are too few for the sizes in config.json; are both of the same "
        "model?";
    struct Row {
        std::string key, value, reason;
    };
    const Row table[] = {{"vocab_size", "2147483647", too_few},
                         {"vocab_size", "24", "transformer.wte.weight is (23, 12) and should be (24, 12)"},
                         {"n_layer", "3", "missing: transformer.h.2.ln_1.weight"},
                         {"n_layer", "10000", too_few},
                         {"n_positions", "8", "transformer.wpe.weight is (9, 12) and should be (8, 12)"},
                         {"model_type", "\"gpt_neox\"", "gpt_neox"}};
    for (const auto& [key, value, reason] : table) {
        const Spoiled s;
        set_key(s.folder, key, value);
        CHECK(contains(s.complaint(), reason));
    }
    // A table of rotary positions that is larger than the model.
    const tests::Folder folder;
    const LanguageModel model(small_of("llama"), Rng(1));
    save(folder.path, model, config_of(model.config, "llama"));
    set_key(folder, "max_position_embeddings", "2000000000");
    CHECK(error_of([&] { SavedModel{folder.path}; }) ==
          (folder / "config.json") +
              ": max_length = 2000000000 makes a table of positions that is larger than the model");
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
