// classify with a BERT from Hugging Face: it predicts, is trained further, and written back.
#include <cmath>
#include <limits>

#include "models/labeller.h"
#include "tests/apps/run.h"
#include "tests/models/folder_of_others.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

Result classify(const Words& arguments, const With& with = {}) { return run("classify", arguments, with); }

// Told by one word.
std::string moods(int lines) {
    const Words things = {"day", "night", "the day", "a night ."};
    std::string text;
    for (int i = 0; i < lines; ++i)
        text += std::string(i % 2 == 0 ? "glad\tthe lovely " : "sad\tthe awful ") +
                things[static_cast<std::size_t>(i) / 2 % things.size()] + "\n";
    return text;
}

// A masked language model and a classifier, and texts to learn from.
struct Berts {
    Berts() {
        write_bert<models::MaskedLanguageModel>(masked);
        write_bert<models::Classifier>(classifier);
    }
    Words train(const Words& more, const std::string& data = "", const std::string& from = "") const {
        return joined({"train", data.empty() ? texts : data, "--from", from.empty() ? masked.path : from},
                      more);
    }
    // The same until it has learned them.
    Words tuned(const Words& more, const std::string& data = "", const std::string& from = "") const {
        const Words words = {"--validation", data.empty() ? texts : data, "--lr", "0.003", "--epochs", "12"};
        return train(joined(words, more), data, from);
    }
    Folder masked, classifier, all;
    std::string texts = all.write("moods", moods(40));
};

}  // namespace

TEST_CASE("classify predicts with a folder from Hugging Face", "[apps][classify][hugging_face]") {
    const Berts berts;
    const std::string& path = berts.classifier.path;
    models::Labeller l = models::Labeller::load(path);
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
    const Result two = must_run("classify", {"predict", path, "a lovely day", "awful"});
    CHECK(two.out == line_of("a lovely day") + line_of("awful"));
    REQUIRE(lines_of(two.err).size() == 2);
    CHECK(two.err.starts_with(path + ": BertForSequenceClassification\nclassify: "));  // what it runs on

    std::string input = "a day\tthe night\na day the night\n", wanted = line_of("a day\tthe night");
    wanted += line_of("a day the night");  // a pair, and a text alone
    CHECK(lines_of(wanted)[0] != lines_of(wanted)[1]);
    const Words ends = {" day .", "", " night"};
    for (std::size_t i = 0; i < 600; ++i) {  // more than are answered at once
        const std::string text = std::string(i % 3 == 0 ? "a lovely" : "the awful") + ends[i % 5 % 3];
        input += i % 50 == 7 ? "\n" : text + "\n";
        wanted += i % 50 == 7 ? "\n" : line_of(text);
    }
    CHECK(must_run("classify", {"predict", path}, {.input = input}).out == wanted);

    // What of a text it leaves out, and of the configuration.
    const std::string ten = "a a a a a a a a a a";
    CHECK_FALSE(contains(classify({"predict", path, ten}).err, "only that far"));
    check_says(classify({"predict", path, ten + " day", ten + " night", ten}).err,
               {"classify: texts of more than 12 tokens, read only that far: 2\n"});
    std::string config = content(path + "/config.json");
    put(path + "/config.json", config.insert(config.find('{') + 1, "\"colour\": \"red\", "));
    check_says(classify({"predict", path, ten}).err, {"are ignored: \"colour\"\n"});
}

TEST_CASE("classify measures a folder, and shows what it contains", "[apps][classify][hugging_face]") {
    const Berts berts;
    const std::string& path = berts.classifier.path;
    const std::string right = models::Labeller::load(path)("a day")[0].name,
                      wrong = right == "sad" ? "glad" : "sad",
                      data = berts.all.write("e.tsv", right + "\ta day\n" + wrong + "\ta day\n");
    check_says(must_run("classify", {"eval", path, data}).out, {"accuracy 50.0 %: 1 of 2 texts\n"});
    check_refusals("classify",
                   {{{"eval", path, berts.all.write("mad.tsv", "mad\ta day\n")},
                     1,
                     "mad.tsv:1: the label 'mad' is not among those that were learned: sad, glad,"}});
    check_says(must_run("classify", {"info", path}).out,
               {": bert\n", "layers: 2, 24 wide, feed-forward 40, 4 heads; at most 12 tokens\n",
                "labels: sad, glad, in between\n"});
    const auto model = models::load_model<models::Classifier>(path);
    using Limits = std::numeric_limits<models::Real>;
    for (const models::Real broken : {Limits::quiet_NaN(), Limits::infinity()}) {
        models::Tensor(nn::parameters(model).back().tensor).mutable_data()[1] = broken;
        save(path, model, models::SavedModel(path).config);
        for (const Words& words : {Words{"predict", path, "a day"}, Words{"eval", path, data}})
            check_refusals("classify",
                           {{words, 1, "a probability is not a number; the model's weights are broken"}});
    }
}

TEST_CASE("classify refuses folders that it cannot use", "[apps][classify][hugging_face]") {
    const Berts berts;
    const Folder gpt2;
    write_folder(gpt2);
    const std::string& masked = berts.masked.path;
    const std::string needed = "a classifier is needed: got BertForMaskedLM", all = berts.all.path;
    check_refusals("classify",
                   {{{"predict", masked, "a"}, 1, needed},
                    {{"info", masked}, 1, needed},
                    {berts.train({}, "", gpt2.path), 1, "a BERT is needed: got GPT2LMHeadModel"},
                    {berts.train({}, "", all), 1, "there is no model in this folder: neither"},
                    {berts.train({"--layers", "2"}), 2, "--layers is decided by the folder given to"},
                    {berts.train({"--keep-case"}), 2, "--keep-case is decided by the folder"}});
    for (const std::string name : {"config.json", "tokenizer_config.json"}) {
        berts.all.write(name, "{}");
        check_refusals("classify", {{berts.train({"--save", all}), 1, name + ": this belongs to a model"}});
        CHECK(content(all + "/" + name) == "{}");
        std::filesystem::remove(all + "/" + name);
    }
    std::string config = content(masked + "/config.json");
    const std::size_t at = config.find("\"architectures\"");
    put(masked + "/config.json", config.erase(at, config.find(']', at) + 2 - at));
    check_refusals(
        "classify",
        {{{"predict", masked, "a"}, 1, needed + ", which is assumed where there is no \"architectures\""}});
    std::filesystem::remove(masked + "/config.json");
    check_refusals("classify", {{{"predict", masked, "a"},
                                 1,
                                 "there is no config.json beside it, which says what these tensors are"}});
    // Its own models have no pairs: a tab is a space.
    must_run("classify", {"train", berts.texts, "--epochs", "1", "--validation", "0", "--save", all + "/m"});
    CHECK(classify({"predict", all + "/m", "the\tday"}).out ==
          classify({"predict", all + "/m", "the day"}).out);
}

TEST_CASE("classify trains any BERT further, and writes it back", "[apps][classify][fine_tuning]") {
    const Berts berts;
    const Folder bare;
    write_bert<models::TextEncoder>(bare);
    for (const Folder* from : {&berts.masked, &bare, &berts.classifier}) {
        const bool has_labels = from == &berts.classifier;
        const std::string out = berts.all / std::filesystem::path(from->path).filename();
        const Result r = must_run("classify", berts.tuned({"--save", out}, "", from->path));
        CHECK(contains(r.out, "accuracy 100.0 %: 40 of 40 texts\n"));
        const models::Labeller l = models::Labeller::load(out);
        CHECK(l.labels == (has_labels ? Words{"sad", "glad", "in between"} : Words{"glad", "sad"}));
        CHECK(l("a lovely day")[0].name == "glad");
        CHECK(classify({"eval", out, berts.texts}).out == r.out);
        CHECK(content(out + "/tokenizer.json") == models::text::Tokenizer::open(from->path).json());
        CHECK(contains(content(out + "/config.json"), "\"BertForSequenceClassification\""));
        check_says(classify({"info", out}).out, {"training: step 36, loss ", " --lr 0.003"});
        CHECK(contains(r.err, "its classifier has these labels, and is trained further") == has_labels);
    }
    // The same words on the other side: only the types tell the pairs.
    const std::string pairs =
        berts.all.write("pairs", repeated("glad\tlovely\tawful\nsad\tawful\tlovely\n", 30));
    const Result r = must_run("classify", berts.tuned({"--save", berts.all / "of_pairs"}, pairs));
    CHECK(contains(r.out, "accuracy 100.0 %: 60 of 60 texts\n"));
    CHECK(classify({"eval", berts.all / "of_pairs", pairs}).out == r.out);
}

TEST_CASE("classify --from: the usual settings of a BERT, and others", "[apps][classify][fine_tuning]") {
    const Berts berts;
    const auto losses_with = [&](const Words& more) {
        return losses(must_run("classify", berts.train(joined({"--validation", "0"}, more))));
    };
    check_says(classify(berts.train({"--check"})).out,  // of token types, too
               {"ok   padding: changes no bit of the answers\n"});
    const Words usual = losses_with({}), bert = {"--epochs", "3", "--batch", "16", "--lr", "0.00005"};
    REQUIRE_FALSE(usual.empty());
    CHECK(usual.back().starts_with("step 9/9  "));  // 16 + 16 + 8 texts, three times
    CHECK(usual == losses_with(joined(bert, {"--label-smoothing", "0"})));
    CHECK(losses_with({"--lr", "0.001"}) != usual);
    // The loss with smoothing is partly that of the right label, and partly the mean loss of all labels.
    const auto first_loss = [&](const std::string& share) {
        return number_after(losses_with(joined(bert, {"--label-smoothing", share})).at(0), "  loss ");
    };
    const double none = first_loss("0"), half = first_loss("0.4"), more = first_loss("0.8");
    CHECK(std::abs(more - none) > 1e-4);
    CHECK(half == Approx((none + more) / 2).margin(1e-5));

    const std::string data = berts.all.write("ab", "a\tthe day\nb\tthe night\na\ta day\nb\ta night\n");
    const auto settings = [&](const std::string& to, const Words& words) {
        const Words one = {"--epochs", "1", "--validation", "0", "--save", to};
        check_says(classify(berts.train(joined(one, words), data, berts.classifier.path)).err,
                   {"its classifier has other labels; a new one begins\n"});
        return classify({"info", to}).out;
    };
    check_says(settings(berts.all / "given", {"--lr", "0.001"}),
               {" --lr 0.001"});  // the default without --from
    const std::string shown = settings(berts.all / "usual", {});
    CHECK((contains(shown, " --epochs 1") && !contains(shown, "--lr")));
}

TEST_CASE("classify --from: a run goes on with the same bits", "[apps][classify][fine_tuning]") {
    const Berts berts;
    const std::string whole = berts.all / "whole", parts = berts.all / "parts", there = berts.all / "there";
    must_run("classify", berts.tuned({"--save", whole}));
    const auto begin = [&] { must_run("classify", berts.tuned({"--save", parts, "--stop-after", "7"})); };
    const auto check_same = [&](const Words& more) {
        must_run("classify", joined({"train", "--resume", parts}, more));
        for (const std::string name : {"/model.safetensors", "/config.json"})
            CHECK(content(parts + name) == content(whole + name));
    };
    begin();
    CHECK(classify({"predict", parts, "a day"}).status == 0);  // the checkpoint opens, too
    check_same({});
    std::filesystem::remove_all(parts);
    begin();
    std::filesystem::rename(berts.masked.path, there);
    check_refusals("classify", {{{"train", "--resume", parts}, 1, "there is no such folder or file;"}});
    check_same({"--from", there});
    std::string words = kBertWords;
    put(there + "/vocab.txt", words.replace(words.find("lovely\nawful"), 12, "awful\nlovely"));
    check_refusals("classify", {{{"train", "--resume", parts, "--from", there},
                                 1,
                                 "or with another tokenizer; it can only continue with the same"}});
}

TEST_CASE("classify --from: a text may name the token that pads", "[apps][classify][fine_tuning]") {
    const Berts berts;
    const std::string named = berts.all.write("named", "glad\ta [PAD] day\n" + moods(8));
    must_run("classify", berts.train({"--epochs", "1", "--validation", berts.texts}, named));
    // The page of --report shows the first held-out texts.
    must_run("classify", berts.train({"--epochs", "1", "--validation", named, "--save", berts.all / "m",
                                      "--report", berts.all / "m.html"}));
}
