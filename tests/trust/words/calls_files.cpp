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

std::string bytes_of(const std::string& header, std::size_t numbers = 4) {
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size());
    return length + header + std::string(numbers, '\0');
}
const char* const kOne = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
const std::string kPath = "file.safetensors", kFolder = "folder";
// A file that exists for one call; each call has a process of its own.
template <class Read>
auto with_file(const std::string& bytes, const Read& read) {
    std::ofstream(kPath, std::ios::binary) << bytes;
    return read();
}
SafeTensors opened(const std::string& header, std::size_t numbers = 4) {
    return with_file(bytes_of(header, numbers), [] { return nn::checkpoint::read(kPath); });
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
template <class Read>
void json(const std::string& text, const Read& read) {
    read(Json(text, "file"));
}
void field(const std::string& text) {
    double value = 0;
    Fields{{{"x", text}}, "", "file"}("x", value);
}
void configured(const std::string& field) {
    with_file(R"({"model_type":"plaingrad",)" + field + "}", [] { hugging_face::read_config(kPath); });
}

}  // namespace

Calls calls_of_files() {
    return {
        CALL(with_file("", [] { nn::checkpoint::read(kPath); })),
        CALL(opened("")),
        CALL(opened("nonsense")),
        CALL(opened("{}", 4)),
        CALL(opened(kOne, 3)),
        CALL(opened(R"({"w":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})")),
        CALL(opened(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})")),
        CALL(opened(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})")),
        CALL(opened(R"({"w":{"dtype":"F32","shape":[1]}})")),
        CALL(opened(R"({"w":[]})")),
        CALL(opened(R"({"__metadata__":{"a":1}})", 0)),
        CALL(opened(kOne).tensor("v")),
        CALL(opened(R"({"w":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}})").tensor("w")),
        CALL(opened(R"({"w":{"dtype":"F32","shape":[1,1,1,1,1],"data_offsets":[0,4]}})").tensor("w")),
        CALL(nn::checkpoint::read("/")),
        CALL(nn::checkpoint::read("")),
        CALL(nn::checkpoint::write("/no/such/folder/file", {{"w", t({2})}})),
        CALL(nn::checkpoint::write("/dev/full", {{"w", t({2})}})),
        CALL(nn::checkpoint::write("", {{"w", t({2})}})),
        CALL(nn::checkpoint::write("/tmp", {{"w", t({2})}})),
        CALL(nn::checkpoint::write(kPath, {{"w", t({2})}, {"w", t({2})}})),
        CALL(nn::checkpoint::write(kPath, {{"w", Tensor()}})),
        CALL(nn::checkpoint::write(kPath, {{"__metadata__", t({2})}})),
        CALL(nn::checkpoint::write(kPath, {{"\xff", t({2})}})),
        CALL(json("nonsense", [](const Json&) {})),
        CALL(json("[1,]", [](const Json&) {})),
        CALL(json("{\"a\":1,\"a\":2}", [](const Json&) {})),
        CALL(json("{} x", [](const Json&) {})),
        CALL(json("\"a\n\"", [](const Json&) {})),
        CALL(json("\"\\ud800\"", [](const Json&) {})),
        CALL(json("\"\\x\"", [](const Json&) {})),
        CALL(json("\"\xff\"", [](const Json&) {})),
        CALL(json("1.5", [](const Json& j) { j.integer(); })),
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
        CALL(field("1,5")),
        CALL(configured(R"("vocabulary":0)")),
        CALL(configured(R"("kind":"language model","vocabulary":0)")),
        CALL(configured(R"("vocabulary":"x")")),
        CALL(configured(R"("nosuch":1)")),
        CALL(configured(R"("norm":"sideways")")),
        CALL(configured(R"("kind":"language model","vocabulary":9,"d_model":-4)")),
        CALL(hugging_face::weight_files("/proc")),
        CALL(load_model<LanguageModel>("/no/such/file")),
        CALL(with_file(bytes_of(kOne), [] { load_model<LanguageModel>(kPath); })),
        CALL(saved_then([] { load_model<Transformer>(kFolder); })),
        CALL(saved_then([] { load_model<Classifier>(kFolder); })),
        CALL(saved_then([] { Writer::load(kFolder); })),
        CALL(saved_then([] { Filler::load(kFolder); })),
        CALL(saved_then([] { load_pytorch(kFolder + "/model.safetensors", nn::Linear(2, 2, kRng)); })),
        CALL(saved_then([] {
            nn::Training training(nn::parameters(LanguageModel(small(0), kRng)), {});
            load_training(kFolder + "/model.safetensors", training);
        })),
        CALL(Filler::load("/no/such/folder")),
        CALL(save("/dev/full", LanguageModel(small(0), kRng))),
        CALL(save_packed()),
    };
}

}  // namespace plaingrad::trust::words
