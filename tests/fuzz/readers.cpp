#include "tests/fuzz/readers.h"

#include <filesystem>
#include <stdexcept>

#include "models/hugging_face.h"
#include "models/hugging_face/generation.h"
#include "models/hugging_face/stack.h"
#include "models/hugging_face/weights.h"
#include "models/presets.h"
#include "models/text/pretrained_tokenizer.h"
#include "nn/checkpoint/json.h"
#include "tests/folder.h"

namespace plaingrad::fuzz {
namespace {

using namespace models;
using tests::content;
using tests::Folder;
using tests::put;

// One folder for all readers that want files: a process reads many inputs.
const Folder& scratch() {
    static const Folder folder;
    return folder;
}
const std::string& folder_with(const std::string& file, const std::string& bytes) {
    put(scratch() / file, bytes);
    return scratch().path;
}

void json(const std::string& bytes) {
    nn::checkpoint::JsonReader reader(bytes, "f.json");
    reader.skip();
    reader.end();
}

void safetensors(const std::string& bytes) {
    const nn::checkpoint::SafeTensors file(bytes, "f.safetensors");
    for (const nn::checkpoint::Entry& entry : file.entries())
        if (nn::checkpoint::SafeTensors::is_real(entry) && entry.shape.size() <= Shape::kMaxRank)
            file.tensor(entry.name);
}

void config(const std::string& bytes) {
    const hugging_face::Config c =
        hugging_face::read_config(folder_with("config.json", bytes) + "/config.json");
    hugging_face::write_config(scratch() / "written.json", c);
    check_config(hugging_face::stack(c));
}

void generation(const std::string& bytes) {
    hugging_face::read_generation(folder_with("generation_config.json", bytes), 50, {});
}

void index(const std::string& bytes) {
    folder_with("a.safetensors", "");
    hugging_face::weight_files(folder_with("model.safetensors.index.json", bytes));
}

// A folder of a small GPT-2 whose weights are these bytes.
void weights(const std::string& bytes) {
    static const std::string config = [] {
        StackConfig c = gpt2();
        c.vocabulary = 5, c.max_length = 3, c.n_layers = 1;
        c.block.d_model = 4, c.block.n_heads = 2, c.block.d_ff = 6;
        c.specials = {.start = 1, .ends = {2}, .pad = Tokens::kNoPadding, .never = {}};
        const LanguageModel model(c, Rng(1));
        const Folder made;
        save_hugging_face(
            made.path, model,
            hugging_face::config_of(c, hugging_face::Family::gpt2, hugging_face::Head::language_model));
        put(scratch() / "seed.safetensors", content(made / "model.safetensors"));
        return content(made / "config.json");
    }();
    if (bytes.empty())
        return;
    const Folder folder;
    folder.write("config.json", config);
    folder.write("model.safetensors", bytes);
    const auto model = load_hugging_face<LanguageModel>(hugging_face::Folder(folder.path));
    model(Tokens(1, 2, {1, 2}), Mode::eval());
}
std::vector<std::string> weights_seeds() {
    weights("");  // makes the seed
    return {content(scratch() / "seed.safetensors")};
}

void tokenizer_of(const std::string& file, const std::string& bytes) {
    const Folder folder;
    folder.write(file, bytes);
    const auto tokenizer = text::PretrainedTokenizer::open(folder.path);
    const std::vector<int32_t> ids = tokenizer.encode("Ab 12\xc3\xa9 \xff<s>[MASK]");
    text::PretrainedTokenizer::Stream stream(tokenizer);
    for (const int32_t id : ids)
        stream.add(id);
    stream.finish();
    tokenizer.decode(ids);
}
void tokenizer(const std::string& bytes) { tokenizer_of("tokenizer.json", bytes); }
void vocabulary(const std::string& bytes) { tokenizer_of("vocab.txt", bytes); }

std::vector<std::string> golden_tokenizers() {
    std::vector<std::string> all;
    for (const auto& kind : std::filesystem::directory_iterator("tests/golden/tokenizers"))
        if (kind.is_directory())
            all.push_back(content((kind.path() / "tokenizer.json").string()));
    return all;
}

}  // namespace

const std::vector<Reader>& readers() {
    static const std::vector<Reader> all = {
        {"json", json,
         [] {
             return std::vector<std::string>{
                 R"({"n": 768, "eps": -1.5e-05, "a": [true, null, {}], "s": "\u00e9\ud83d\ude00\n"})"};
         }},
        {"safetensors", safetensors, weights_seeds},
        {"config", config,
         [] {
             return std::vector<std::string>{
                 R"({"model_type":"llama","architectures":["LlamaForCausalLM"],"vocab_size":32,)"
                 R"("hidden_size":8,)"
                 R"("num_hidden_layers":1,"num_attention_heads":2,"num_key_value_heads":1,)"
                 R"("eos_token_id":[1,2],)"
                 R"("rope_scaling":{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,)"
                 R"("high_freq_factor":4.0,"original_max_position_embeddings":64},"bos_token_id":1})",
                 R"({"model_type":"bert","architectures":["BertForSequenceClassification"],)"
                 R"("vocab_size":32,)"
                 R"("hidden_size":8,"num_attention_heads":2,"id2label":{"0":"a","1":"b"},"pad_token_id":0})",
                 R"({"model_type":"gpt2","n_embd":8,"n_head":2,"n_layer":1,"vocab_size":32})"};
         }},
        {"generation", generation,
         [] {
             return std::vector<std::string>{
                 R"({"do_sample":true,"temperature":0.7,"top_k":5,"top_p":0.9,"eos_token_id":[0]})"};
         }},
        {"index", index,
         [] {
             return std::vector<std::string>{
                 R"({"metadata":{"total_size":8},"weight_map":{"a":"a.safetensors"}})"};
         }},
        {"weights", weights, weights_seeds},
        {"tokenizer", tokenizer, golden_tokenizers},
        {"vocabulary", vocabulary,
         [] { return std::vector<std::string>{"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n1\n##2\n"}; }},
    };
    return all;
}

bool reads(const Reader& reader, const std::string& bytes) {
    try {
        reader.read(bytes);
        return true;
    } catch (const autograd::Error& error) {
        const std::string text = error.what();
        // The lines of a vocabulary are read as a text's, which need not come from a file.
        if (dynamic_cast<const nn::checkpoint::FileError*>(&error) == nullptr &&
            reader.name != std::string_view("vocabulary"))
            throw std::logic_error("a complaint must be a FileError: " + text);
        if (text.empty() || text.find('\n') != text.npos)
            throw std::logic_error("a complaint must be one line: " + text);
        return false;
    }
}

}  // namespace plaingrad::fuzz
