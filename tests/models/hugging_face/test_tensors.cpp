// The tensors of a folder: the names and shapes that transformers writes, which of our parameters they are,
// and in which files.
#include "models/hugging_face/weights.h"

#include <filesystem>
#include <set>

#include "models/saved.h"
#include "nn/checkpoint/safetensors.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/hugging_face/with_model.h"

using namespace plaingrad;             // NOLINT
using namespace models::hugging_face;  // NOLINT
using namespace tests;                 // NOLINT

namespace {

using autograd::join;
using Words = std::set<std::string>;

// A small GPT-2's; of other families only the names are asked for.
ConfigJson config(const std::string& family, const std::string& architecture, const std::string& more = "") {
    const Folder folder;
    return read_config(folder.write(
        "config.json", join(R"({"n_embd":12,"n_layer":1,"n_head":2,"n_positions":9,"n_inner":20,)",
                            R"("vocab_size":11,"model_type":")", family, R"(","architectures":[")",
                            architecture, "\"]", more, "}")));
}

// "name (sizes)" of each tensor; those without a name are not read.
void add_to(Words& all, const std::string& name, const std::vector<int64_t>& sizes) {
    if (!name.empty())
        CHECK(all.insert(join(name, " (", nn::checkpoint::to_text(sizes), ")")).second);
}

}  // namespace

TEST_CASE("hugging face tensors: names and shapes as transformers writes them", "[models][hugging_face]") {
    const std::set<std::string> with_older_names = {"gpt2_bare", "bert", "llama_bare"};
    for (const auto& entry : std::filesystem::directory_iterator("tests/golden/hugging_face")) {
        const std::string path = entry.path().string(), name = entry.path().filename().string();
        const models::SavedModel folder(path);
        INFO(name);
        const auto known = [&](const std::string& in_file) {
            return with_older_names.contains(name) ? canonical_name(folder.config, in_file) : in_file;
        };
        Words wanted, written;
        for (const std::string& file : weight_files(path)) {
            const nn::checkpoint::SafeTensors tensors = nn::checkpoint::read(file);
            for (const nn::checkpoint::Entry& e : tensors.entries())
                add_to(wanted, known(e.name), e.shape);
        }
        with_model(folder, [&](const auto& model) {
            for (const auto& e : models::saved_state(nn::all_parameters(model), folder.config))
                add_to(written, e.name, sizes_of(e));
        });
        CHECK(written == wanted);
    }
}

TEST_CASE("hugging face tensors: which parameters are read and written", "[models][hugging_face]") {
    const ConfigJson g = config("gpt2", "GPT2LMHeadModel"), bare = config("gpt2", "GPT2Model");
    const models::LanguageModel gpt2(g, autograd::Rng(1));
    const auto parameters = nn::all_parameters(gpt2);
    const nn::checkpoint::StateDict in = state_dict(g, parameters), out = models::saved_state(parameters, g);
    CHECK(in.size() == out.size() + 1);  // lm_head.weight, which is tied
    CHECK(in.back().name == "lm_head.weight");
    CHECK(in.back().tensor.data() == gpt2.backbone.embedding.tokens.table->data());
    // A tied output layer is nothing that a file without a head would lack.
    CHECK(state_dict(bare, parameters).size() == out.size());
    ConfigJson more = g, less = g;
    more.n_layers = 2;
    less.n_layers = 0;
    const auto error = [](const ConfigJson& c, const models::LanguageModel& model) {
        return error_of([&] { state_dict(c, nn::all_parameters(model)); });
    };
    CHECK(error(more, gpt2) ==
          "[hugging_face] this model is not gpt2: it lacks the parameter backbone.encoder.layers.1.norm1");
    CHECK(error(less, gpt2) ==
          "[hugging_face] this model is not gpt2, which has no parameter "
          "backbone.encoder.layers.0.self_attention.in_proj.weight");
    const ConfigJson untied = config("gpt2", "GPT2Model", R"(,"tie_word_embeddings":false)");
    CHECK(contains(error(bare, {untied, autograd::Rng(1)}), "has no parameter output.table"));
}

TEST_CASE("hugging face tensors: other names in files", "[models][hugging_face]") {
    struct Row {
        ConfigJson config;
        const char *in_file, *name;  // "": it is not read
    };
    const ConfigJson gpt2 = config("gpt2", "GPT2LMHeadModel"), bare_gpt2 = config("gpt2", "GPT2Model"),
                     bert = config("bert", "BertForMaskedLM"), bare_bert = config("bert", "BertModel"),
                     untied = config("bert", "BertForMaskedLM", R"(,"tie_word_embeddings":false)"),
                     classifier = config("bert", "BertForSequenceClassification"),
                     llama = config("llama", "LlamaForCausalLM");
    const Row table[] = {
        {gpt2, "wte.weight", "transformer.wte.weight"},
        {gpt2, "h.0.attn.c_attn.bias", "transformer.h.0.attn.c_attn.bias"},
        {gpt2, "_orig_mod.transformer.wte.weight", "transformer.wte.weight"},
        {gpt2, "lm_head.weight", "lm_head.weight"},
        {gpt2, "h.0.attn.bias", ""},
        {gpt2, "transformer.h.11.attn.masked_bias", ""},
        {bare_gpt2, "transformer.wte.weight", "wte.weight"},
        {bare_gpt2, "wte.weight", "wte.weight"},
        {bare_gpt2, "lm_head.weight", ""},
        {bert, "bert.embeddings.LayerNorm.gamma", "bert.embeddings.LayerNorm.weight"},
        {bert, "embeddings.LayerNorm.beta", "bert.embeddings.LayerNorm.bias"},
        {bert, "embeddings.position_ids", ""},
        {bert, "bert.pooler.dense.weight", ""},
        {bert, "cls.seq_relationship.weight", ""},
        {bert, "cls.predictions.bias", "cls.predictions.bias"},
        {config("bert", "BertForPreTraining"), "cls.predictions.bias", "cls.predictions.bias"},
        {untied, "cls.predictions.bias", ""},
        {bare_bert, "bert.pooler.dense.weight", "pooler.dense.weight"},
        {bare_bert, "cls.predictions.bias", ""},
        {classifier, "bert.pooler.dense.weight", "bert.pooler.dense.weight"},
        {llama, "layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.q_proj.weight"},
        {llama, "model.layers.0.self_attn.rotary_emb.inv_freq", ""}};
    for (const auto& [c, in_file, name] : table) {
        INFO(c.family << ": " << in_file);
        CHECK(canonical_name(c, in_file) == name);
    }
}

TEST_CASE("hugging face weights: what is there instead of them", "[models][hugging_face]") {
    // One line, which names the file and says what to do.
    const auto error = [](const Folder& folder) {
        const std::string message = error_of([&] { weight_files(folder.path); });
        CHECK_FALSE(contains(message, "\n"));
        return message;
    };
    const std::pair<const char*, const char*> others[] = {
        {"adapter_model.safetensors", "this is an adapter (LoRA), which only changes another model; merge"},
        {"adapter_config.json", "this is an adapter (LoRA), which only changes another model; merge"},
        {"model-q4.gguf", "this is a file of llama.cpp; take the folder"},
        {"consolidated.00.pth", "this is in torch.save's format; convert it"},
        {"pytorch_model.bin",
         "this is in torch.save's format; convert it in Python, with the class that config.json names: "
         "transformers.CLASS.from_pretrained(FOLDER).save_pretrained(NEW)"},
        {"tf_model.h5", "this is in a format of TensorFlow or Flax; take"},
        {"flax_model.msgpack", "from_flax=True for .msgpack"},
        {"epoch.ckpt", "this is in torch.save's format; convert it"},
        {"model.fp16.safetensors", "this is not called model.safetensors"},
        {"model-00001-of-00002.safetensors", "if it is one of several, download that index, too"}};
    for (const auto& [name, advice] : others)
        for (const bool with_config : {false, true}) {
            const Folder other;
            other.write(name, "");
            other.write(with_config ? "config.json" : "README.md", "{}");
            CHECK(error(other).starts_with((other / name) + ": "));
            CHECK(contains(error(other), advice));
        }
    // A name that ends with .pt may also be that of a Portuguese text.
    const std::string none =
        ": there is no model in this folder: neither model.safetensors nor model.safetensors.index.json";
    const Folder portuguese, cache, dangling;
    std::filesystem::create_directories(portuguese / "folder.pt");
    for (const char* const text : {"", "Bom dia.\n"}) {
        portuguese.write("train.pt", text);
        CHECK(error(portuguese) == portuguese.path + none);
    }
    std::filesystem::create_symlink("train.pt", portuguese / "link");
    CHECK(error(portuguese) == portuguese.path + none);
    std::filesystem::create_directories(cache / "snapshots/0a1b");
    CHECK(error(cache) == cache.path + ": this is a folder of Hugging Face's cache; the model is in " +
                              (cache / "snapshots/0a1b"));
    std::filesystem::create_symlink("../../blobs/77", dangling / "model.safetensors");
    CHECK(error(dangling) ==
          (dangling / "model.safetensors") +
              ": this is a link to \"../../blobs/77\", which is not there; download the model again");
}

TEST_CASE("hugging face weights: one file, or those of an index", "[models][hugging_face]") {
    const Folder folder;
    const std::string index = folder / "model.safetensors.index.json";
    const std::pair<const char*, const char*> wrong[] = {
        {"{}", "weight_map is missing; it must be an object"},
        {R"({"weight_map":{}})", "there is nothing in its \"weight_map\""},
        {R"({"weight_map":{"a":1}})", "weight_map.a must be a string: got 1"},
        {R"({"weight_map":{"a":"m1.safetensors"}})",
         "weight_map.a is in \"m1.safetensors\", which is not in the folder; download it, too"},
        {R"({"weight_map":{"a":"../m.safetensors"}})", "must name a safetensors file of this folder"},
        {R"({"weight_map":{"a":"/m.safetensors"}})", "must name a safetensors file of this folder"},
        {R"({"weight_map":{"a":"m.bin"}})", "must name a safetensors file of this folder"},
        {R"({"weight_map":{"a":""}})", "must name a safetensors file of this folder"}};
    for (const auto& [text, reason] : wrong) {
        put(index, text);
        const std::string message = error_of([&] { weight_files(folder.path); });
        CHECK(message.starts_with(index + ": "));
        CHECK(contains(message, reason));
        CHECK_FALSE(contains(message, "\n"));
    }
    folder.write("m1.safetensors", "");
    folder.write("m2.safetensors", "");
    put(index, R"({"metadata":{"total_size":8},"weight_map":{"a":"m2.safetensors",)"
               R"("b":"m1.safetensors","c":"m2.safetensors"}})");
    CHECK(weight_files(folder.path) ==
          std::vector<std::string>{folder / "m2.safetensors", folder / "m1.safetensors"});
    folder.write("model.safetensors", "");  // comes first, as in transformers
    CHECK(weight_files(folder.path) == std::vector<std::string>{folder / "model.safetensors"});
}
