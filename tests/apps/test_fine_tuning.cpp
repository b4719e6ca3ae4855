// classify train --from: a BERT from Hugging Face is trained further, and written back.
#include <cmath>

#include "models/labeller.h"
#include "tests/apps/programs.h"
#include "tests/apps/run.h"
#include "tests/catch.h"
#include "tests/models/folder_of_others.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

// Told by one word.
std::string moods(int lines, const std::string& more = "") {
    const Words things = {"day", "night", "the day", "a night ."};
    std::string text;
    for (int i = 0; i < lines; ++i)
        text += std::string(i % 2 == 0 ? "glad\tthe lovely " : "sad\tthe awful ") +
                things[static_cast<std::size_t>(i) / 2 % things.size()] + more + "\n";
    return text;
}

Result tuned(const std::string& data, const std::string& from, const Words& more) {
    Words words = {"train", data, "--from", from, "--validation", data, "--lr", "0.003", "--epochs", "12"};
    words.insert(words.end(), more.begin(), more.end());
    return run("classify", words);
}

}  // namespace

TEST_CASE("classify trains any BERT from Hugging Face further, and writes it back",
          "[apps][classify][fine_tuning]") {
    const Folder masked, bare, classifier, all;
    write_bert<models::MaskedLanguageModel>(masked);
    write_bert<models::TextEncoder>(bare);
    write_bert<models::Classifier>(classifier);
    const std::string data = all.write("moods", moods(64));
    for (const Folder* from : {&masked, &bare, &classifier}) {
        const std::string out = all / std::to_string(from == &masked) + std::to_string(from == &bare);
        const Result r = tuned(data, from->path, {"--save", out});
        INFO(r.err << r.out);
        REQUIRE(r.status == 0);
        CHECK(contains(r.out, "accuracy 100.0 %: 64 of 64 texts\n"));
        const models::Labeller l = models::Labeller::load(out);
        CHECK(l.labels == (from == &classifier ? Words{"sad", "glad", "in between"} : Words{"glad", "sad"}));
        CHECK(l("a lovely day")[0].name == "glad");
        CHECK(run("classify", {"eval", out, data}).out == r.out);
        CHECK(content(out + "/tokenizer.json") == models::text::Tokenizer::open(from->path).json());
        CHECK(contains(content(out + "/config.json"), "\"BertForSequenceClassification\""));
        const std::string info = run("classify", {"info", out}).out;
        CHECK(contains(info, "training: step 48, loss "));
        CHECK(contains(info, " --lr 0.003"));
        CHECK(contains(r.err, "its classifier has these labels, and is trained further") ==
              (from == &classifier));
    }
}

TEST_CASE(
    "classify says which of its settings are not the usual ones of a BERT, and if its labels are others",
    "[apps][classify][fine_tuning]") {
    const Folder classifier, all;
    write_bert<models::Classifier>(classifier);
    const std::string data = all.write("data", "a\tthe day\nb\tthe night\na\ta day\nb\ta night\n");
    const auto settings = [&](const std::string& to, const Words& more) {
        Words words = {"train", data,           "--from", classifier.path, "--epochs",
                       "1",     "--validation", "0",      "--save",        to};
        words.insert(words.end(), more.begin(), more.end());
        CHECK(contains(run("classify", words).err, "its classifier has other labels; a new one begins\n"));
        return run("classify", {"info", to}).out;
    };
    // 0.001 is the default without --from.
    CHECK(contains(settings(all / "given", {"--lr", "0.001"}), " --lr 0.001"));
    const std::string usual = settings(all / "usual", {});
    CHECK_FALSE(contains(usual, "--lr"));
    CHECK(contains(usual, " --epochs 1"));
}

TEST_CASE("classify --from: unless given, 3 passes in batches of 16, at a low rate and without smoothing",
          "[apps][classify][fine_tuning]") {
    const Folder masked, all;
    write_bert<models::MaskedLanguageModel>(masked);
    const std::string data = all.write("moods", moods(40));
    const auto losses_with = [&](const Words& more) {
        const Result r =
            run("classify", joined({"train", data, "--from", masked.path, "--validation", "0"}, more));
        INFO(r.err);
        CHECK(r.status == 0);
        return losses(r);
    };
    const Result checked = run("classify", {"train", data, "--from", masked.path, "--check"});
    CHECK(contains(checked.out, "ok   padding: changes no bit of the answers\n"));  // of token types, too
    const Words usual = losses_with({});
    REQUIRE_FALSE(usual.empty());
    CHECK(usual.back().starts_with("step 9/9  "));  // 16 + 16 + 8 texts, three times
    CHECK(usual ==
          losses_with({"--epochs", "3", "--batch", "16", "--lr", "0.00005", "--label-smoothing", "0"}));
    CHECK(losses_with({"--lr", "0.001"}) != usual);
}

TEST_CASE("classify --from takes --label-smoothing, which spreads the target over all labels",
          "[apps][classify][fine_tuning]") {
    const Folder masked, all;
    write_bert<models::MaskedLanguageModel>(masked);
    const std::string data = all.write("moods", moods(16));
    const auto first_loss = [&](const std::string& share) {
        const Result r = tuned(data, masked.path, {"--epochs", "1", "--label-smoothing", share});
        return number_after(losses(r).at(0), "  loss ");
    };
    // Of the same answers: partly the loss of the right label, and partly the mean loss of all labels.
    const double none = first_loss("0"), half = first_loss("0.4"), more = first_loss("0.8");
    CHECK(std::abs(more - none) > 1e-4);
    CHECK(half == Approx((none + more) / 2).margin(1e-5));
}

TEST_CASE("classify continues the training of a folder with the same bits", "[apps][classify][fine_tuning]") {
    const Folder masked, all;
    write_bert<models::MaskedLanguageModel>(masked);
    const std::string data = all.write("moods", moods(40));
    REQUIRE(tuned(data, masked.path, {"--save", all / "whole"}).status == 0);
    REQUIRE(tuned(data, masked.path, {"--save", all / "parts", "--stop-after", "7"}).status == 0);
    CHECK(run("classify", {"predict", all / "parts", "a day"}).status == 0);  // the checkpoint opens, too
    REQUIRE(run("classify", {"train", "--resume", all / "parts"}).status == 0);
    CHECK(content(all / "parts/model.safetensors") == content(all / "whole/model.safetensors"));
    CHECK(content(all / "parts/config.json") == content(all / "whole/config.json"));
    masked.write("vocab.txt",
                 "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\na\nday\nnight\nawful\nlovely\n##ly\n.\n");
    const Result other = run("classify", {"train", "--resume", all / "parts"});
    CHECK(other.status == 1);
    CHECK(contains(other.err, "or with another tokenizer; it can only continue with the same\n"));
}

TEST_CASE("classify --from: a run goes on if its folder has moved, to the same bits",
          "[apps][classify][fine_tuning]") {
    const Folder masked, all;
    write_bert<models::MaskedLanguageModel>(masked);
    const std::string data = all.write("moods", moods(40)), here = all / "here", there = all / "there";
    std::filesystem::copy(masked.path, here);
    REQUIRE(tuned(data, here, {"--save", all / "whole"}).status == 0);
    REQUIRE(tuned(data, here, {"--save", all / "parts", "--stop-after", "7"}).status == 0);
    std::filesystem::rename(here, there);
    const Result gone = run("classify", {"train", "--resume", all / "parts"});
    CHECK(gone.status == 1);
    CHECK(contains(gone.err, "here: there is no such folder or file;"));
    const Result r = run("classify", {"train", "--resume", all / "parts", "--from", there});
    INFO(r.err);
    REQUIRE(r.status == 0);
    CHECK(content(all / "parts/model.safetensors") == content(all / "whole/model.safetensors"));
}

TEST_CASE("classify learns from pairs of texts, whose types it reads", "[apps][classify][fine_tuning]") {
    const Folder masked, all;
    write_bert<models::MaskedLanguageModel>(masked);
    std::string text;  // the same words on the other side: only the types tell
    for (int i = 0; i < 60; ++i)
        text += i % 2 == 0 ? "glad\tlovely\tawful\n" : "sad\tawful\tlovely\n";
    const std::string data = all.write("pairs", text);
    const Result r = tuned(data, masked.path, {"--save", all / "out"});
    INFO(r.err);
    CHECK(contains(r.out, "accuracy 100.0 %: 60 of 60 texts\n"));
    CHECK(run("classify", {"eval", all / "out", data}).out == r.out);
}

TEST_CASE("classify learns from a text that names the token that pads elsewhere",
          "[apps][classify][fine_tuning]") {
    const Folder masked, all;
    write_bert<models::MaskedLanguageModel>(masked);
    const std::string right = moods(8);
    const std::string data = all.write("right", right),
                      padded = all.write("padded", right + "glad\ta [PAD] day\n");
    const Words rest = {"--from", masked.path, "--epochs", "1", "--validation"};
    const auto trained = [&](const std::string& training, const std::string& validation, const Words& more) {
        Words words = {"train", training};
        words.insert(words.end(), rest.begin(), rest.end());
        words.push_back(validation);
        words.insert(words.end(), more.begin(), more.end());
        return run("classify", words);
    };
    const Result r = trained(padded, data, {});
    INFO(r.err);
    CHECK(r.status == 0);
    // The page of --report shows the first held-out texts.
    const std::string first = all.write("first", "glad\ta [PAD] day\n" + right);
    const Result held_out = trained(data, first, {"--save", all / "m", "--report", all / "m.html"});
    INFO(held_out.err);
    CHECK(held_out.status == 0);
}

TEST_CASE("classify refuses what a folder decides", "[apps][classify][fine_tuning]") {
    const Folder masked, all;
    write_bert<models::MaskedLanguageModel>(masked);
    const std::string data = all.write("moods", moods(8));
    const auto refused = [&](int status, const Words& more, const std::string& part) {
        Words words = {"train", data};
        words.insert(words.end(), more.begin(), more.end());
        const Result r = run("classify", words);
        CAPTURE(more, r.err);
        CHECK(r.status == status);
        CHECK(one_line(r.err, "classify: "));
        CHECK(contains(r.err, part));
    };
    refused(2, {"--from", masked.path, "--layers", "2"}, "--layers is decided by the folder given to --from");
    refused(2, {"--from", masked.path, "--keep-case"}, "--keep-case is decided by the folder");
    refused(1, {"--from", all.path}, "there is no model in this folder: neither model.safetensors nor");
    all.write("config.json", "{}");
    const Result r = tuned(data, masked.path, {"--save", all.path});
    CHECK(r.status == 1);
    CHECK(contains(r.err, "config.json: this belongs to a model, or to another run; give another folder"));
    CHECK(content(all / "config.json") == "{}");
    std::filesystem::remove(all / "config.json");
    all.write("tokenizer_config.json", "mine");
    CHECK(contains(tuned(data, masked.path, {"--save", all.path}).err,
                   "tokenizer_config.json: this belongs to a model"));
    CHECK(content(all / "tokenizer_config.json") == "mine");
}
