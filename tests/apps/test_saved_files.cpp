// Files of earlier versions (tests/saved) open, and their models compute what they computed then.
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

TEST_CASE("saved files: models of earlier versions open and compute the same", "[apps][saved]") {
    const auto loss = [](const std::string& program, const std::string& command, const std::string& model,
                         const std::string& data) {
        return number_after(run(program, {command, saved(model + ".safetensors"), saved(data)}), "loss ");
    };
    CHECK(loss("translate", "score", "translate", "pairs.tsv") == Approx(2.52774).margin(1e-4));
    CHECK(loss("char_lm", "eval", "char_lm_text", "text.txt") == Approx(2.2941).margin(2e-4));
    CHECK(loss("char_lm", "eval", "char_lm_lines", "names.txt") == Approx(1.8219).margin(2e-4));
    const Words predict = {"predict", saved("classify.safetensors"), "woab ba?"};
    CHECK(number_after(run("classify", predict), "first=") == Approx(0.6946).margin(2e-4));
    const Result wrong = run("classify", predict, {.env = {"PLAINGRAD_ISA=nonsense"}});
    CHECK((wrong.status == 1 && one_line(wrong.err, "classify: [PLAINGRAD_ISA] unknown")));  // not the file
}

TEST_CASE("saved files: a run of an earlier version can be resumed", "[apps][saved]") {
    const Folder folder;
    std::filesystem::copy_file(saved("translate_last.safetensors"), folder / "last.safetensors");
    const Result result = run("translate", {"train", "--resume", folder.path, saved("pairs.tsv"),
                                            "--validation", saved("pairs.tsv")});
    INFO(result.err);
    REQUIRE(result.status == 0);
    CHECK(result.err.find("epoch 6  step 12  loss 2.680") != std::string::npos);
    CHECK(result.err.find("validation 2.527") != std::string::npos);
    const Words score = {"score", folder / "best.safetensors", saved("pairs.tsv")};
    CHECK(number_after(run("translate", score), "loss ") == Approx(2.52774).margin(1e-3));
}
