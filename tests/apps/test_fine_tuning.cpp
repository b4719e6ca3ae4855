// classify with a BERT from Hugging Face: it predicts, is trained further, and written back.
#include <cmath>
#include <limits>

#include "models/labeller.h"
#include "tests/apps/run.h"
#include "tests/models/folder_of_others.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

// Told by one word.
std::string moods(int lines) {
    const Words things = {"day", "night", "the day", "a night ."};
    std::string text;
    for (int i = 0; i < lines; ++i)
        text += std::string(i % 2 == 0 ? "glad\tthe lovely " : "sad\tthe awful ") +
                things[static_cast<std::size_t>(i) / 2 % things.size()] + "\n";
    return text;
}

// A masked language model, a classifier, and texts to learn from.
struct Berts : Place {
    Berts() {
        write_bert<models::MaskedLanguageModel>(*this / "masked");
        write_bert<models::Classifier>(*this / "classifier");
        write("texts", moods(40));
    }
};

// Until it has learned them.
const std::string kTuned = "classify train texts --validation texts --lr 0.003 --epochs 12 ";

}  // namespace

TEST_CASE("classify predicts with a folder from Hugging Face", "[apps][classify][hugging_face]") {
    const Berts here;
    models::Labeller l = models::Labeller::load(here / "classifier");
    const auto line_of = [&](const std::string& text) {
        const auto all = l(text);
        std::string line = all[0].name;
        for (const models::Label& label : all) {
            char p[32];
            std::snprintf(p, sizeof p, "%.4f", label.probability);
            line += "\t" + label.name + "=" + p;
        }
        return line + "\n";
    };
    const std::string predict = "classify predict classifier ";
    const Result two = here.must(predict + "'a lovely day' awful");
    CHECK(two.out == line_of("a lovely day") + line_of("awful"));
    REQUIRE(lines_of(two.err).size() == 2);
    CHECK(two.err.starts_with("classifier: BertForSequenceClassification\nclassify: "));  // what it runs on

    std::string input = "a day\tthe night\na day the night\n", wanted = line_of("a day\tthe night");
    wanted += line_of("a day the night");  // a pair, and a text alone
    CHECK(lines_of(wanted)[0] != lines_of(wanted)[1]);
    const Words ends = {" day .", "", " night"};
    for (std::size_t i = 0; i < 600; ++i) {  // more than are answered at once
        const std::string text = std::string(i % 3 == 0 ? "a lovely" : "the awful") + ends[i % 5 % 3];
        input += i % 50 == 7 ? "\n" : text + "\n";
        wanted += i % 50 == 7 ? "\n" : line_of(text);
    }
    CHECK(here.must(predict, {.input = input}).out == wanted);

    // What of a text it leaves out, and of the configuration.
    CHECK_FALSE(contains(here(predict + "'a a a a a a a a a a'").err, "only that far"));
    check_says(here(predict + "'a a a a a a a a a a day' 'a a a a a a a a a a night' a").err,
               {"classify: texts of more than 12 tokens, read only that far: 2\n"});
    std::string config = content(here / "classifier/config.json");
    here.write("classifier/config.json", config.insert(config.find('{') + 1, "\"colour\": \"red\", "));
    check_says(here(predict + "a").err, {"are ignored: \"colour\"\n"});
}

TEST_CASE("classify measures a folder, and shows what it contains", "[apps][classify][hugging_face]") {
    const Berts here;
    const std::string path = here / "classifier", right = models::Labeller::load(path)("a day")[0].name,
                      wrong = right == "sad" ? "glad" : "sad";
    here.write("data", right + "\ta day\n" + wrong + "\ta day\n"), here.write("mad", "mad\ta day\n");
    check_says(here.must("classify eval classifier data").out, {"accuracy 50.0 %: 1 of 2 texts\n"});
    here.refuses({{"classify eval classifier mad", 1,
                   "mad:1: the label 'mad' is not among those that were learned: sad, glad,"}});
    check_says(here.must("classify info classifier").out,
               {": bert\n", "layers: 2, 24 wide, feed-forward 40, 4 heads; at most 12 tokens\n",
                "labels: sad, glad, in between\n"});
    const auto model = models::load_model<models::Classifier>(path);
    using Limits = std::numeric_limits<models::Real>;
    for (const models::Real broken : {Limits::quiet_NaN(), Limits::infinity()}) {
        models::Tensor(nn::parameters(model).back().tensor).mutable_data()[1] = broken;
        save(path, model, models::SavedModel(path).config);
        for (const std::string words :
             {"classify predict classifier 'a day'", "classify eval classifier data"})
            here.refuses({{words, 1, "a probability is not a number; the model's weights are broken"}});
    }
}

TEST_CASE("classify refuses folders that it cannot use", "[apps][classify][hugging_face]") {
    const Berts here;
    write_folder(here / "gpt2");
    std::filesystem::create_directory(here / "x");
    const std::string needed = "a classifier is needed: got BertForMaskedLM", train = "classify train texts ";
    here.refuses({{"classify predict masked a", 1, needed},
                  {"classify info masked", 1, needed},
                  {train + "--from gpt2", 1, "a BERT is needed: got GPT2LMHeadModel"},
                  {train + "--from x", 1, "there is no model in this folder: neither"},
                  {train + "--from masked --layers 2", 2, "--layers is decided by the folder given to"},
                  {train + "--from masked --keep-case", 2, "--keep-case is decided by the folder"}});
    std::string config = content(here / "masked/config.json");
    const std::size_t at = config.find("\"architectures\"");
    here.write("masked/config.json", config.erase(at, config.find(']', at) + 2 - at));
    here.refuses({{"classify predict masked a", 1,
                   needed + ", which is assumed where there is no \"architectures\""}});
    std::filesystem::remove(here / "masked/config.json");
    here.refuses({{"classify predict masked a", 1,
                   "there is no config.json beside it, which says what these tensors are"}});
    // Its own models have no pairs: a tab is a space.
    here.must(train + "--epochs 1 --validation 0 --save m");
    CHECK(here("classify predict m 'the\tday'").out == here("classify predict m 'the day'").out);
}

TEST_CASE("classify trains any BERT further, and writes it back", "[apps][classify][fine_tuning]") {
    const Berts here;
    write_bert<models::TextEncoder>(here / "bare");
    for (const std::string from : {"masked", "bare", "classifier"}) {
        const bool has_labels = from == "classifier";
        const std::string out = "of-" + from;
        const Result r = here.must(kTuned + "--from " + from + " --save " + out);
        CHECK(contains(r.out, "accuracy 100.0 %: 40 of 40 texts\n"));
        const models::Labeller l = models::Labeller::load(here / out);
        CHECK(l.labels == (has_labels ? Words{"sad", "glad", "in between"} : Words{"glad", "sad"}));
        CHECK(l("a lovely day")[0].name == "glad");
        CHECK(here("classify eval " + out + " texts").out == r.out);
        CHECK(content(here / out + "/tokenizer.json") == models::text::Tokenizer::open(here / from).json());
        CHECK(contains(content(here / out + "/config.json"), "\"BertForSequenceClassification\""));
        check_says(here("classify info " + out).out, {"training: step 36, loss ", " --lr 0.003"});
        CHECK(contains(r.err, "its classifier has these labels, and is trained further") == has_labels);
    }
    // The same words on the other side: only the types tell the pairs.
    here.write("texts", repeated("glad\tlovely\tawful\nsad\tawful\tlovely\n", 30));
    const Result r = here.must(kTuned + "--from masked --save of-pairs");
    CHECK(contains(r.out, "accuracy 100.0 %: 60 of 60 texts\n"));
    CHECK(here("classify eval of-pairs texts").out == r.out);
}

TEST_CASE("classify --from: the usual settings of a BERT, and others", "[apps][classify][fine_tuning]") {
    const Berts here;
    const std::string train = "classify train texts --from masked ",
                      bert = "--epochs 3 --batch 16 --lr 0.00005 --label-smoothing ";
    const auto losses_with = [&](const std::string& more) {
        return losses(here.must(train + "--validation 0 " + more));
    };
    check_says(here(train + "--check").out,  // of token types, too
               {"ok   padding: changes no bit of the answers\n"});
    const Words usual = losses_with("");
    REQUIRE_FALSE(usual.empty());
    CHECK(usual.back().starts_with("step 9/9  "));  // 16 + 16 + 8 texts, three times
    CHECK(usual == losses_with(bert + "0"));
    CHECK(losses_with("--lr 0.001") != usual);
    CHECK(losses_with(bert + "0.4").at(0) != usual.at(0));

    here.write("texts", "a\tthe day\nb\tthe night\na\ta day\nb\ta night\n");
    const auto settings = [&](const std::string& lr) {
        const std::string to = autograd::join("x", here.files());
        check_says(
            here("classify train texts --from classifier --epochs 1 --validation 0 --save " + to + lr).err,
            {"its classifier has other labels; a new one begins\n"});
        return here("classify info " + to).out;
    };
    check_says(settings(" --lr 0.001"), {" --lr 0.001"});  // the default without --from
    const std::string shown = settings("");
    CHECK((contains(shown, " --epochs 1") && !contains(shown, "--lr")));
}

TEST_CASE("classify --from: a run goes on with the same bits", "[apps][classify][fine_tuning]") {
    const Berts here;
    here.must(kTuned + "--from masked --save whole");
    here.must(kTuned + "--from masked --save parts --stop-after 7");
    CHECK(here("classify predict parts 'a day'").status == 0);  // the checkpoint opens, too
    here.must("classify train --resume parts --stop-after 1");
    std::filesystem::rename(here / "masked", here / "there");
    here.refuses({{"classify train --resume parts", 1, "there is no such folder or file;"}});
    here.must("classify train --resume parts --from there");
    for (const std::string name : {"/model.safetensors", "/config.json"})
        CHECK(content(here / "parts" + name) == content(here / "whole" + name));
    std::string words = kBertWords;
    here.write("there/vocab.txt", words.replace(words.find("lovely\nawful"), 12, "awful\nlovely"));
    here.refuses({{"classify train --resume parts --from there", 1,
                   "or with another tokenizer; it can only continue with the same"}});
}

TEST_CASE("classify --from: a text may name the token that pads", "[apps][classify][fine_tuning]") {
    const Berts here;
    here.write("named", "glad\ta [PAD] day\n" + moods(8));
    // The page of --report shows the first held-out texts.
    for (const std::string validation : {"texts", "named --save m --report m.html"})
        here.must("classify train named --from masked --epochs 1 --validation " + validation);
}
