// Files: what cannot be read, written, or is of another kind.
#include <filesystem>
#include <fstream>

#include "models/families/one_stack.h"
#include "models/families/transformer.h"
#include "models/filler.h"
#include "models/hugging_face/weights.h"
#include "models/labeller.h"
#include "models/pytorch.h"
#include "models/saved.h"
#include "models/translator.h"
#include "models/writer.h"
#include "nn/checkpoint/json.h"
#include "nn/checkpoint/safetensors.h"
#include "tests/packed.h"
#include "tests/trust/words/calls.h"
#include "tests/trust/words/small.h"

namespace plaingrad::trust::words {
namespace {

using namespace models;          // NOLINT
using namespace nn::checkpoint;  // NOLINT
using nn::checkpoint::Entry;

const Rng kRng(1);

std::string bytes_of(const std::string& header, std::size_t numbers = 4) {
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size());
    return length + header + std::string(numbers, '\0');
}
const char* const kOne = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
const char* const kWhole = R"({"w":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}})";

const std::string kPath = "file.safetensors", kFolder = "folder";
// A file that exists for one call; each call has a process of its own.
struct File {
    explicit File(const std::string& bytes) { std::ofstream(kPath, std::ios::binary) << bytes; }
    ~File() { std::remove(kPath.c_str()); }
};
SafeTensors opened(const std::string& header, std::size_t numbers = 4) {
    const File file(bytes_of(header, numbers));
    return read(kPath);
}
template <class Read>
void with_file(const std::string& bytes, const Read& read) {
    const File file(bytes);
    read();
}
void saved_then(const std::function<void()>& read) {
    save(kFolder, LanguageModel(small(0), kRng));
    read();
    std::filesystem::remove_all(kFolder);
}
void save_packed() {
    LanguageModel model(small(0), kRng);
    tests::pack_weights(model);
    save(kFolder, model);
}
void save_too_wide() {
    Config c = small(0);
    c.max_length = int64_t{1} << 22;
    save(kFolder, LanguageModel(c, kRng));
}
template <class Read>
void json(const std::string& text, const Read& read) {
    read(Json(text, "file"));
}
template <class Value>
void field(const std::string& text) {
    Value value = {};
    Fields{{{"x", text}}, "", "file"}("x", value);
}
void configured(const std::string& field) {
    with_file(R"({"model_type":"plaingrad",)" + field + "}", [] { hugging_face::read_config(kPath); });
}
const Tensor kTensor = Tensor::full({2}, 1);

}  // namespace

Calls calls_of_files() {
    return {
        CALL(with_file("", [] { nn::checkpoint::read(kPath); })),
        CALL(with_file("short", [] { nn::checkpoint::read(kPath); })),
        CALL(with_file(std::string(8, '\xff'), [] { nn::checkpoint::read(kPath); })),
        CALL(opened("")),
        CALL(opened("nonsense")),
        CALL(opened("{}", 4)),
        CALL(opened(kOne, 3)),
        CALL(opened(kOne, 5)),
        CALL(opened(R"({"w":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})")),
        CALL(opened(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})")),
        CALL(opened(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})")),
        CALL(opened(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})")),
        CALL(opened(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})")),
        CALL(opened(R"({"w":{"dtype":"F32","shape":[1]}})")),
        CALL(opened(R"({"w":[]})")),
        CALL(opened(R"({"__metadata__":{"a":1}})", 0)),
        CALL(opened(kOne).tensor("v")),
        CALL(opened(kWhole).tensor("w")),
        CALL(opened(R"({"w":{"dtype":"F32","shape":[1,1,1,1,1],"data_offsets":[0,4]}})").tensor("w")),
        CALL(nn::checkpoint::read("/no/such/file")),
        CALL(nn::checkpoint::read("/")),
        CALL(nn::checkpoint::read("")),
        CALL(nn::checkpoint::write("/no/such/folder/file", {{"w", kTensor}})),
        CALL(nn::checkpoint::write("/dev/full", {{"w", kTensor}})),
        CALL(nn::checkpoint::write("", {{"w", kTensor}})),
        CALL(nn::checkpoint::write("/tmp", {{"w", kTensor}})),
        CALL(nn::checkpoint::write(kPath, {{"w", kTensor}, {"w", kTensor}})),
        CALL(nn::checkpoint::write(kPath, {{"w", Tensor()}})),
        CALL(nn::checkpoint::write(kPath, {{"__metadata__", kTensor}})),
        CALL(nn::checkpoint::write(kPath, {{"\xff", kTensor}})),
        CALL(nn::checkpoint::write(kPath, {{"w", kTensor}}, {{"a", "\xff"}})),
        CALL(nn::checkpoint::write(kPath, {{"w", kTensor}}, {{"\xff", "a"}})),
        CALL(json("", [](const Json&) {})),
        CALL(json("nonsense", [](const Json&) {})),
        CALL(json("[1,]", [](const Json&) {})),
        CALL(json("{\"a\":1,\"a\":2}", [](const Json&) {})),
        CALL(json("{} x", [](const Json&) {})),
        CALL(json("\"a\n\"", [](const Json&) {})),
        CALL(json("\"\\ud800\"", [](const Json&) {})),
        CALL(json("\"\\x\"", [](const Json&) {})),
        CALL(json("\"\xff\"", [](const Json&) {})),
        CALL(json("1.5", [](const Json& j) { j.integer(); })),
        CALL(json("99999999999999999999", [](const Json& j) { j.integer(); })),
        CALL(json("-1", [](const Json& j) { j.count(); })),
        CALL(json("1e999", [](const Json& j) { j.real(); })),
        CALL(json("NaN", [](const Json&) {})),
        CALL(json("1", [](const Json& j) { j.boolean(); })),
        CALL(json(std::string(200, '['), [](const Json&) {})),
        CALL(json("1", [](const Json& j) { j["a"]; })),
        CALL(json("{\"a\":{}}", [](const Json& j) { j["a"]["b"].text(); })),
        CALL(json("{\"a\":[]}", [](const Json& j) { j["a"].nonempty_text(); })),
        CALL(json("{\"a\":[\"\"]}", [](const Json& j) { j["a"].items()[0].nonempty_text(); })),
        CALL(json("{\"a\":{\"b\":1}}", [](const Json& j) { j["a"], j.check_all_used(); })),
        CALL(Json::open("/no/such/file")),
        CALL(field<int64_t>("x")),
        CALL(field<int64_t>("")),
        CALL(field<int64_t>("99999999999999999999")),
        CALL(field<double>("1,5")),
        CALL(field<std::vector<int64_t>>("1 x")),
        CALL(configured(R"("vocabulary":0)")),
        CALL(configured(R"("kind":"language model","vocabulary":0)")),
        CALL(configured(R"("vocabulary":"x")")),
        CALL(configured(R"("nosuch":1)")),
        CALL(configured(R"("norm":"sideways")")),
        CALL(configured(R"("kind":"language model","vocabulary":9,"d_model":-4)")),
        CALL(hugging_face::weight_files("/proc")),
        CALL(load_model<LanguageModel>("/no/such/file")),
        CALL(with_file("", [] { load_model<LanguageModel>(kPath); })),
        CALL(with_file(bytes_of(kOne), [] { load_model<LanguageModel>(kPath); })),
        CALL(saved_then([] { load_model<Transformer>(kFolder); })),
        CALL(saved_then([] { load_model<Classifier>(kFolder); })),
        CALL(saved_then([] { Writer::load(kFolder); })),
        CALL(saved_then([] { Translator::load(kFolder); })),
        CALL(saved_then([] { Labeller::load(kFolder); })),
        CALL(saved_then([] { Filler::load(kFolder); })),
        CALL(saved_then([] { load_pytorch(kFolder + "/model.safetensors", nn::Linear(2, 2, kRng)); })),
        CALL(saved_then([] {
            nn::Training training(nn::parameters(LanguageModel(small(0), kRng)), {});
            load_training(kFolder + "/model.safetensors", training);
        })),
        CALL(Writer::load("/no/such/file")),
        CALL(Translator::load("/no/such/file")),
        CALL(Labeller::load("/no/such/file")),
        CALL(Filler::load("/no/such/folder")),
        CALL(Labeller::based_on("/no/such/folder", {"a", "b"}, {.rng = kRng})),
        CALL(save("/dev/full", LanguageModel(small(0), kRng))),
        CALL(save_packed()),
        CALL(save_too_wide()),
    };
}

}  // namespace plaingrad::trust::words
