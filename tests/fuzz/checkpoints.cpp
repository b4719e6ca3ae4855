// Files of weights: JSON and the header by themselves, and saved models of each kind.
#include <algorithm>

#include "models/presets.h"
#include "models/saved.h"
#include "nn/checkpoint/json.h"
#include "nn/checkpoint/safetensors.h"
#include "nn/checkpoint/utf8.h"
#include "tests/folder.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/json_tree.h"
#include "tests/fuzz/small_models.h"

namespace plaingrad::fuzz {
namespace {

using namespace models;
using nn::checkpoint::SafeTensors;

// What was read can be written, and is read again as the same. A string, whatever its escapes, is UTF-8.
void json(const std::string& bytes) {
    using Value = nn::checkpoint::Json;
    const Value whole(bytes, "f.json");
    for (const Value& member : whole.kind() == Value::Kind::object ? whole.members() : Value::Items())
        for (const std::string& text :
             {std::string(member.name()), member.kind() == Value::Kind::string ? member.text() : ""})
            expect(nn::checkpoint::find_invalid_utf8(text) == text.npos, "a string that is not UTF-8");
    const std::optional<Json> tree = parse_json(bytes);
    if (!tree)  // it goes down to 100 levels
        return expect(
            std::count(bytes.begin(), bytes.end(), '[') + std::count(bytes.begin(), bytes.end(), '{') >= 100,
            "one reader takes it, and the other one does not");
    const std::optional<Json> again = parse_json(to_text(*tree));
    expect(again && to_text(*again) == to_text(*tree), "written, it is read as something else");
}

void safetensors(const std::string& bytes) {
    static const tests::Folder folder;
    const SafeTensors file = nn::checkpoint::read(folder.write("f.safetensors", bytes));
    int64_t read = 0;
    for (const nn::checkpoint::Entry& entry : file.entries()) {
        expect(file.find(entry.name) == &entry, "an entry is not found by its name");
        if (entry.dtype->convert != nullptr && entry.shape.size() <= Shape::kMaxRank)
            read += file.tensor(entry.name).numel();
    }
    expect(read <= std::ssize(bytes), "more numbers than bytes");
}

// What was loaded computes: a size that the file promised and the weights lack would be read out of bounds.
const Tokens kText(1, 2, {1, 2});
void use(const LanguageModel& model) { model(kText, Mode::eval()); }
void use(const MaskedLanguageModel& model) { model(kText, Mode::eval()); }
void use(const Classifier& model) { model(kText, Mode::eval()); }
void use(const Transformer& model) { model(kText, kText, Mode::eval()); }

// A file with weights beside the configuration of a small model. A configuration that fits its weights may
// still not fit this text.
template <class Model>
void load(const std::string& bytes, Model (*small)()) {
    static const tests::Folder folder;
    static const std::string config =
        folder.write("config.json", written(hugging_face::config_of(small().config)));
    const Model model = load_model<Model>(folder.write("model.safetensors", bytes));
    const autograd::NoGrad no_grad;
    const Config& c = model.config;
    if (c.vocabulary > 2 && c.max_length >= 2 && c.specials.pad != 1 && c.specials.pad != 2)
        use(model);
}

// The names of some tensors say which kind of model it is, so that all four are read. (Looked for in the
// bytes: to read the header for them, too, would take a fifth of the time.)
void checkpoint(const std::string& bytes) {
    const auto has = [&](const char* name) { return bytes.find(name) != bytes.npos; };
    if (has("src_embedding"))
        load(bytes, small_transformer);
    else if (has("pooler"))
        load(bytes, small_classifier);
    else if (has("transform."))
        load(bytes, small_masked_language_model);
    else
        load(bytes, small_language_model);
}

std::vector<std::string> checkpoint_seeds() {
    return {saved(small_language_model()), saved(small_masked_language_model()), saved(small_classifier()),
            saved(small_transformer())};
}

}  // namespace

void add_checkpoints(std::vector<Target>& all) {
    const auto json_seeds = [] {
        return std::vector<std::string>{
            R"({"n": 768, "eps": -1.5e-05, "a": [true, null, {}], "s": "\u00e9\ud83d\ude00\n"})"};
    };
    const auto safetensors_seeds = [] {
        const std::string header =
            R"({"a":{"dtype":"F16","shape":[2,1],"data_offsets":[0,4]},"b":{"dtype":"I64","shape":[],)"
            R"("data_offsets":[4,12]},"__metadata__":{"epoch":"3"}})";
        std::string length(8, '\0');
        length[0] = static_cast<char>(header.size());
        return std::vector<std::string>{checkpoint_seeds()[2], length + header + std::string(12, '\x3c')};
    };
    all.push_back({"json", json, json_seeds, Form::json, Refusal::file_error, kMiB});
    all.push_back(
        {"safetensors", safetensors, safetensors_seeds, Form::safetensors, Refusal::file_error, kMiB});
    // The tables of sinusoids, which are computed, may have 16 MiB for each stack (models/saved.cpp).
    all.push_back({"checkpoint", checkpoint, checkpoint_seeds, Form::safetensors, Refusal::file_error,
                   kMiB + 2 * 16 * kMiB});
}

}  // namespace plaingrad::fuzz
