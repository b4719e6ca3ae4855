// The files of folders from Hugging Face: configurations, weights, their index, tokenizers.
#include <filesystem>
#include <map>
#include <set>

#include "models/hugging_face/generation.h"
#include "models/hugging_face/weights.h"
#include "models/saved.h"
#include "models/text/learn_tokenizer.h"
#include "tests/folder.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/json_tree.h"
#include "tests/fuzz/small_models.h"

namespace plaingrad::fuzz {
namespace {

using namespace models;
using tests::content;
using tests::Folder;

using Strings = std::vector<std::string>;

// A folder with this file, which is another one for each name.
const Folder& folder_with(const std::string& name, const std::string& bytes) {
    static std::map<std::string, Folder> all;
    all[name].write(name, bytes);
    return all[name];
}

// What was read can be written, and is read again as the same model's.
void config(const std::string& bytes) {
    const auto read = [](const std::string& text) {
        return hugging_face::read_config(folder_with("config.json", text) / "config.json");
    };
    const hugging_face::ConfigJson c = read(bytes);
    check_config(c);
    const hugging_face::ConfigJson again = read(written(c));
    const auto before = fields_of(c), after = fields_of(again);
    for (std::size_t i = 0; i < before.size(); ++i)
        expect(after[i].second == before[i].second, "written, it is read with another ", before[i].first);
    expect(again.labels == c.labels, "written, it is read with other labels");
}

void generation(const std::string& bytes) {
    static Writer writer = {LanguageModel(small_stack(gpt2()), Rng(1)), text::bytes()};
    writer.usual = {};
    writer.notes.clear();
    hugging_face::read_generation(folder_with("generation_config.json", bytes).path, writer);
}

void index(const std::string& bytes) {
    const Folder& folder = folder_with("model.safetensors.index.json", bytes);
    folder.write("a.safetensors", "");
    hugging_face::weight_files(folder.path);
}

// A folder of a small GPT-2, and the weights that it had at first.
struct SmallGpt2 {
    Folder folder;
    std::string weights;
    SmallGpt2() {
        const LanguageModel model(small_stack(gpt2()), Rng(1));
        save(folder.path, model, hugging_face::config_of(model.config, "gpt2"));
        weights = content(folder / "model.safetensors");
    }
};
const SmallGpt2& small_gpt2() {
    static const SmallGpt2 it;
    return it;
}
// Its weights are these bytes.
void weights(const std::string& bytes) {
    const Folder& folder = small_gpt2().folder;
    folder.write("model.safetensors", bytes);
    const auto model = load_model<LanguageModel>(SavedModel(folder.path));
    const autograd::NoGrad no_grad;
    model(Tokens(1, 2, {1, 2}), Mode::eval());
}

// Stream and `decode` are not compared: they cut runs of bytes that are not UTF-8 in different places.
void use(const text::Tokenizer& tokenizer) {
    const std::vector<int32_t> ids = tokenizer.encode("Ab 12\xc3\xa9 \xff<s>[MASK]");
    text::Tokenizer::Stream stream(tokenizer);
    for (const int32_t id : ids) {
        expect(id >= 0 && id < tokenizer.size(), "an id beyond the vocabulary: ", id);
        stream.add(id);
    }
    stream.finish();
    tokenizer.decode(ids);
    tokenizer.encode_texts({"a b", "c"}, {.dropout = 0.5});
    tokenizer.pieces("a b");
}
void tokenizer(const std::string& bytes) {
    use(text::Tokenizer::open(folder_with("tokenizer.json", bytes).path));
}
void vocab_txt(const std::string& bytes) { use(text::Tokenizer::open(folder_with("vocab.txt", bytes).path)); }
// vocab.json and merges.txt, as one object: {"vocab":{"a":0},"merges":"a b\n"}.
void merges_txt(const std::string& bytes) {
    std::optional<Json> tree = parse_json(bytes);
    Json *const vocabulary = tree ? tree->find("vocab") : nullptr,
                *merges = tree ? tree->find("merges") : nullptr;
    autograd::check(vocabulary != nullptr && merges != nullptr && merges->is_string(), "not two files");
    const Folder& folder = folder_with("vocab.json", to_text(*vocabulary));
    folder.write("merges.txt", merges->string());
    use(text::Tokenizer::open(folder.path));
}

Strings golden(const std::string& of, const std::string& file, const Strings& more = {}) {
    Strings all;
    for (const auto& kind : std::filesystem::directory_iterator("tests/golden/" + of))
        if (std::filesystem::exists(kind.path() / file))
            all.push_back(content((kind.path() / file).string()));
    std::sort(all.begin(), all.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
}
Strings config_seeds() {
    return golden(
        "hugging_face", "config.json",
        {R"({"model_type":"llama","architectures":["LlamaForCausalLM"],"vocab_size":32,"hidden_size":8,)"
         R"("num_hidden_layers":1,"num_attention_heads":2,"num_key_value_heads":1,"eos_token_id":[1,2],)"
         R"("rope_scaling":{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,)"
         R"("high_freq_factor":4.0,"original_max_position_embeddings":64},"bos_token_id":1})",
         written(hugging_face::config_of(small_classifier().config))});
}

void replace_numbers(Json& tree, const std::map<std::string, std::string>& by) {
    if (const auto found = by.find(tree.text); found != by.end())
        tree.text = found->second;
    for (Json& item : tree.items)
        replace_numbers(item, by);
}
// The same tokenizer with few pieces, which is read ten times as fast: the merges of others, and the ids of
// added tokens behind them, change with them.
std::string with_few_pieces(const std::string& bytes) {
    constexpr std::size_t kPieces = 60;
    Json tree = parse_json(bytes).value();
    Json& model = *tree.find("model");
    Json& vocabulary = *model.find("vocab");
    std::set<std::string> known(vocabulary.keys.begin(), vocabulary.keys.begin() + kPieces);
    vocabulary.keys.resize(kPieces);
    vocabulary.items.resize(kPieces);
    if (Json* const merges = model.find("merges"))
        std::erase_if(merges->items, [&](const Json& rule) {
            const std::string left = rule.items[0].string(), right = rule.items[1].string();
            return !known.contains(left) || !known.contains(right) || !known.contains(left + right);
        });
    std::map<std::string, std::string> ids;
    for (Json& token : tree.find("added_tokens")->items)
        if (!known.contains(token.find("content")->string()))
            ids[token.find("id")->text] = std::to_string(kPieces + ids.size());
    replace_numbers(*tree.find("added_tokens"), ids);
    replace_numbers(*tree.find("post_processor"), ids);
    return to_text(tree);
}
Strings tokenizer_seeds() {
    static const Strings all = [] {
        Strings seeds = golden("tokenizers", "tokenizer.json");
        for (std::string& seed : seeds)
            try {
                const std::string few = with_few_pieces(seed);
                tokenizer(few);
                seed = few;
            } catch (const autograd::Error&) {  // a piece for each byte is needed: it stays as it is
            }
        const std::string text = "low lower low";
        for (const text::Tokenizer& learned :
             {text::learn_characters({text}, true), text::learn_words({text}),
              text::learn_pieces({text}, {.lower_case = true, .merges = 3}),
              text::learn_pieces({text}, {.tokenized = true, .merges = 3, .min_count = 2}),
              text::learn_features({text, text, text}, {.first = true}), text::learn_word_piece(text, 20)})
            seeds.push_back(learned.json());
        return seeds;
    }();
    return all;
}

}  // namespace

void add_folders(std::vector<Target>& all) {
    const auto generation_seeds = [] {
        return golden("hugging_face", "generation_config.json",
                      {R"({"do_sample":true,"temperature":0.7,"top_k":5,"top_p":0.9,"eos_token_id":[0]})"});
    };
    const auto index_seeds = [] {
        return Strings{R"({"metadata":{"total_size":8},"weight_map":{"a":"a.safetensors"}})"};
    };
    const auto weights_seeds = [] { return Strings{small_gpt2().weights}; };
    const auto vocab_txt_seeds = [] {
        return Strings{"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n1\n##2\n"};
    };
    const auto merges_txt_seeds = [] {
        return Strings{R"({"vocab":{"a":0,"b":1,"1":2,"2":3,"ab":4,"<|endoftext|>":5},)"
                       R"("merges":"#version: 0.2\na b\n"})"};
    };
    const auto file_error = Refusal::file_error;
    all.push_back({"config", config, config_seeds, Form::json, file_error, kMiB});
    all.push_back({"generation", generation, generation_seeds, Form::json, file_error, kMiB});
    all.push_back({"index", index, index_seeds, Form::json, file_error, kMiB});
    all.push_back({"weights", weights, weights_seeds, Form::safetensors, file_error, kMiB});
    all.push_back({"tokenizer", tokenizer, tokenizer_seeds, Form::json, file_error});
    // The lines of both are read as a text's, which need not come from a file.
    all.push_back({"vocab_txt", vocab_txt, vocab_txt_seeds});
    all.push_back({"merges_txt", merges_txt, merges_txt_seeds, Form::json});
}

}  // namespace plaingrad::fuzz
