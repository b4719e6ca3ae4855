// Files that were saved before (tests/saved) open, and their models compute what they computed then.
#include <array>
#include <cstdlib>

#include "tests/apps/run.h"

using namespace plaingrad::tests;  // NOLINT

namespace {

const std::string kFolder = std::filesystem::absolute("tests/saved").string();
std::string saved(const std::string& name) { return kFolder + "/" + name; }

// The number that follows `words` in what a program printed; later versions may round otherwise in the last
// bits.
double number_after(const Result& result, const std::string& words) {
    INFO(result.out << result.err);
    REQUIRE(result.status == 0);
    const std::size_t at = result.out.find(words);
    REQUIRE(at != std::string::npos);
    return std::strtod(result.out.c_str() + at + words.size(), nullptr);
}

}  // namespace

TEST_CASE("saved files: models that were saved before open and compute the same", "[apps][saved]") {
    const auto loss = [](const std::string& program, const std::string& model, const std::string& data,
                         const std::string& words) {
        return number_after(run(program, {"score", saved(model), saved(data)}), words);
    };
    CHECK(loss("translate", "translate", "pairs.tsv", "") == Approx(2.5277).margin(2e-4));
    CHECK(loss("generate", "generate_text", "text.txt", "text.txt: ") == Approx(1.5050).margin(2e-4));
    CHECK(loss("generate", "generate_lines", "names.txt", "names.txt: ") == Approx(0.7584).margin(2e-4));
    const Words predict = {"predict", saved("classify"), "woab ba?"};
    CHECK(number_after(run("classify", predict), "first=") == Approx(0.9184).margin(2e-4));
    const Result wrong = run("classify", predict, {.env = {"PLAINGRAD_ISA=nonsense"}});
    CHECK((wrong.status == 1 && one_line(wrong.err, "classify: [PLAINGRAD_ISA] unknown")));  // not the file
}

TEST_CASE("saved files: a run that was saved before can be resumed, with all that it needs",
          "[apps][saved]") {
    const Folder folder;
    std::filesystem::copy(saved("translate_last"), folder.path);
    const auto resumed = [&] {
        const std::string data = saved("pairs.tsv");
        return run("translate", {"train", "--resume", folder.path, data, "--validation", data});
    };
    // The models of which its average is made; the tokenizer.
    for (const std::string name : {"epoch-1.safetensors", "best.safetensors", "tokenizer.json"}) {
        const std::string bytes = content(folder / name);
        std::filesystem::remove(folder / name);
        const Result result = resumed();
        CHECK(result.status == 1);
        CHECK(contains(result.err, name == "tokenizer.json"
                                       ? folder / "last.safetensors: there is no tokenizer.json beside it"
                                       : folder / name + ": cannot be opened: No such file"));
        put(folder / name, bytes);
    }
    const Result result = resumed();
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK(contains(result.err, "epoch 6  step 12  loss 2.680"));
    CHECK(contains(result.err, "validation 2.527"));
    const Words score = {"score", folder / "best.safetensors", saved("pairs.tsv")};
    CHECK(number_after(run("translate", score), "") == Approx(2.5277).margin(1e-3));
}

TEST_CASE("saved files: a model without its tokenizer.json is refused in a line that says what to do",
          "[apps][saved]") {
    const Folder folder;
    for (const auto& [program, command, of] :
         {std::array<std::string, 3>{"generate", "score", "generate_text"},
          {"classify", "predict", "classify"},
          {"translate", "run", "translate"}}) {
        const std::string old = folder / program;
        std::filesystem::create_directory(old);
        for (const char* const name : {"/config.json", "/model.safetensors"})
            std::filesystem::copy(saved(of + name), old);
        for (const std::string& path : {old, old + "/model.safetensors"}) {
            const Result r = run(program, {command, path, saved("text.txt")});
            INFO(r.err);
            CHECK((r.status == 1 && r.out.empty() && one_line(r.err, "")));
            CHECK(contains(r.err,
                           "safetensors: there is no tokenizer.json beside it; copy it from the folder "
                           "of its run"));
        }
    }
}
