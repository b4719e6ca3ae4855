// Files that were saved before (tests/saved) open, and their models compute what they computed then.
#include "tests/apps/run.h"

using namespace plaingrad::tests;  // NOLINT

namespace {

const std::string kFolder = std::filesystem::absolute("tests/saved").string();
std::string saved(const std::string& name) { return kFolder + "/" + name; }

// The number that follows `words` in what a program prints that must end well; later versions may round
// otherwise in the last bits.
double number_of(const std::string& program, const Words& arguments, const std::string& words) {
    const std::string out = must_run(program, arguments).out;
    REQUIRE(contains(out, words));
    return number_after(out, words);
}

}  // namespace

TEST_CASE("saved files: models that were saved before open and compute the same", "[apps][saved]") {
    const auto loss = [](const std::string& program, const std::string& model, const std::string& data) {
        return number_of(program, {"score", saved(model), saved(data)},
                         program == "generate" ? data + ": " : "");
    };
    CHECK(loss("translate", "translate", "pairs.tsv") == Approx(2.5277).margin(2e-4));
    CHECK(loss("generate", "generate_text", "text.txt") == Approx(1.5050).margin(2e-4));
    CHECK(loss("generate", "generate_lines", "names.txt") == Approx(0.7584).margin(2e-4));
    const Words predict = {"predict", saved("classify"), "woab ba?"};
    CHECK(number_of("classify", predict, "first=") == Approx(0.9184).margin(2e-4));
    const Result wrong = run("classify", predict, {.env = {"PLAINGRAD_ISA=nonsense"}});
    CHECK((wrong.status == 1 && one_line(wrong.err, "classify: [PLAINGRAD_ISA] unknown")));  // not the file
}

TEST_CASE("saved files: a run that was saved before can be resumed, with all that it needs",
          "[apps][saved]") {
    const Place here;
    std::filesystem::copy(saved("translate_last"), here / "run");
    std::filesystem::copy(saved("pairs.tsv"), here / "pairs.tsv");
    const std::string resume = "translate train --resume run pairs.tsv --validation pairs.tsv";
    // The models of which its average is made; the tokenizer.
    for (const std::string name : {"epoch-1.safetensors", "best.safetensors", "tokenizer.json"}) {
        const std::string file = "run/" + name, bytes = content(here / file);
        std::filesystem::remove(here / file);
        here.refuses({{resume, 1,
                       name == "tokenizer.json" ? "run/last.safetensors: there is no tokenizer.json beside it"
                                                : file + ": cannot be opened: No such file"}});
        here.write(file, bytes);
    }
    check_says(here.must(resume).err, {"epoch 6  step 12  loss 2.680", "validation 2.527"});
    const Words score = {"score", here / "run/best.safetensors", saved("pairs.tsv")};
    CHECK(number_of("translate", score, "") == Approx(2.5277).margin(1e-3));
}
