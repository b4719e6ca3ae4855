// fill, and classify with a folder from Hugging Face, run as a user runs them.
#include <algorithm>
#include <filesystem>
#include <set>

#include "apps/kit/model.h"
#include "models/filler.h"
#include "models/labeller.h"
#include "models/text/learn_tokenizer.h"
#include "tests/apps/run.h"
#include "tests/apps/terminal.h"
#include "tests/catch.h"
#include "tests/models/folder_of_others.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

// The program's one line of error, behind what it says about the folder and the model.
void refused(const std::string& program, int status, const Words& arguments, const std::string& part,
             const With& with = {}) {
    const Result r = run(program, arguments, with);
    CAPTURE(arguments, r.err, r.out);
    CHECK(r.status == status);
    const Words lines = lines_of(r.err);
    REQUIRE_FALSE(lines.empty());
    CHECK(lines.size() <= 3);
    CHECK(lines.back().starts_with(program + ": "));
    CHECK(contains(lines.back(), part));
}

std::string rounded(double p) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4f", p);
    return text;
}

}  // namespace

TEST_CASE("classify predicts with a folder from Hugging Face, in a pipe and on the command line",
          "[apps][classify][hugging_face]") {
    const Folder folder;
    write_bert<models::Classifier>(folder);
    models::Labeller l = models::Labeller::load(folder.path);
    const auto line_of = [&](const std::string& text) {
        const auto all = l(text);
        std::string line = all[0].name;
        for (const models::Label& label : all)
            line += "\t" + label.name + "=" + rounded(label.probability);
        return line + "\n";
    };
    const Result two = run("classify", {"predict", folder.path, "a lovely day", "awful"});
    INFO(two.err);
    CHECK(two.status == 0);
    CHECK(two.out == line_of("a lovely day") + line_of("awful"));
    REQUIRE(lines_of(two.err).size() == 2);
    CHECK(lines_of(two.err)[0] == folder.path + ": BertForSequenceClassification");
    CHECK(lines_of(two.err)[1].starts_with("classify: "));  // what it runs on

    std::string input, wanted;
    for (int i = 0; i < 600; ++i) {  // more than are answered at once
        const std::string text =
            std::string(i % 3 == 0 ? "a lovely" : "the awful") + (i % 5 == 0   ? " day ."
                                                                  : i % 5 == 1 ? ""
                                                                               : " night");
        input += i % 50 == 7 ? "\n" : text + "\n";
        wanted += i % 50 == 7 ? "\n" : line_of(text);
    }
    const Result many = run("classify", {"predict", folder.path}, {.input = input});
    CHECK(many.status == 0);
    CHECK(many.out == wanted);

    // A pair, and a text alone.
    const Result pair =
        run("classify", {"predict", folder.path}, {.input = "a day\tthe night\na day the night\n"});
    CHECK(pair.out == line_of("a day\tthe night") + line_of("a day the night"));
    CHECK(lines_of(pair.out)[0] != lines_of(pair.out)[1]);
}

TEST_CASE("classify says what of a folder's texts it leaves out", "[apps][classify][hugging_face]") {
    const Folder folder;
    write_bert<models::Classifier>(folder);
    const std::string ten = "a a a a a a a a a a";
    CHECK_FALSE(contains(run("classify", {"predict", folder.path, ten}).err, "only that far"));
    CHECK(contains(run("classify", {"predict", folder.path, ten + " day", ten + " night", ten}).err,
                   "classify: texts of more than 12 tokens, read only that far: 2\n"));
    std::string config = content(folder / "config.json");
    folder.write("config.json", config.replace(config.find('{'), 1, "{\"colour\": \"red\", "));
    CHECK(contains(run("classify", {"predict", folder.path, ten}).err, "are ignored: \"colour\"\n"));
}

TEST_CASE("classify measures a folder from Hugging Face, and shows what it contains",
          "[apps][classify][hugging_face]") {
    const Folder folder;
    write_bert<models::Classifier>(folder);
    const models::Labeller l = models::Labeller::load(folder.path);
    const std::string right = l("a day")[0].name, wrong = right == "sad" ? "glad" : "sad";
    const Result r = run(
        "classify", {"eval", folder.path, folder.write("e.tsv", right + "\ta day\n" + wrong + "\ta day\n")});
    INFO(r.err);
    CHECK(r.status == 0);
    CHECK(contains(r.out, "accuracy 50.0 %: 1 of 2 texts\n"));
    refused("classify", 1, {"eval", folder.path, folder.write("e.tsv", "mad\ta day\n")},
            "e.tsv:1: the label 'mad' is not among those that were learned: sad, glad, in between");
    const Result info = run("classify", {"info", folder.path});
    CHECK(info.status == 0);
    CHECK(contains(info.out, ": bert\n"));
    CHECK(contains(info.out, "layers: 2, 24 wide, feed-forward 40, 4 heads; at most 12 tokens\n"));
    CHECK(contains(info.out, "labels: sad, glad, in between\n"));
}

TEST_CASE("classify says that a model's weights are broken", "[apps][classify][hugging_face]") {
    const Folder folder;
    const models::Classifier model = write_bert<models::Classifier>(folder);
    const std::string data = folder.write("e.tsv", "sad\ta day\nglad\ta night\n");
    for (const models::Real broken :
         {std::numeric_limits<models::Real>::quiet_NaN(), std::numeric_limits<models::Real>::infinity()}) {
        models::Tensor(nn::parameters(model).back().tensor).mutable_data()[1] = broken;
        save(folder.path, model, models::SavedModel(folder.path).config);
        const std::string error = "a probability is not a number; the model's weights are broken";
        refused("classify", 1, {"predict", folder.path, "a day"}, error);
        refused("classify", 1, {"eval", folder.path, data}, error);
    }
}

TEST_CASE("classify refuses folders that it cannot use, and pairs for its own models",
          "[apps][classify][hugging_face]") {
    const Folder masked, own;
    write_bert<models::MaskedLanguageModel>(masked);
    refused("classify", 1, {"predict", masked.path, "a"}, "a classifier is needed: got BertForMaskedLM");
    refused("classify", 1, {"info", masked.path}, "a classifier is needed: got BertForMaskedLM");
    const Folder gpt2;
    write_folder(gpt2);
    const std::string moods = own.write("moods", "a\tx y\na\tx z\nb\tu v\nb\tu w\n");
    refused("classify", 1, {"train", moods, "--from", gpt2.path}, "a BERT is needed: got GPT2LMHeadModel");
    std::string config = content(masked / "config.json");
    const std::size_t at = config.find("\"architectures\"");
    masked.write("config.json", config.erase(at, config.find(']', at) + 2 - at));
    refused("classify", 1, {"predict", masked.path, "a"},
            "got BertForMaskedLM, which is assumed where there is no \"architectures\"");
    std::filesystem::remove(masked / "config.json");
    refused("classify", 1, {"predict", masked.path, "a"},
            "there is no config.json beside it, which says what these tensors are");
    REQUIRE(run("classify", {"train", own.write("d", "a\tx y\na\tx z\nb\tu v\nb\tu w\n"), "--epochs", "1",
                             "--validation", "0", "--save", own / "m"})
                .status == 0);
    CHECK(run("classify", {"predict", own / "m", "x\ty"}).out ==
          run("classify", {"predict", own / "m", "x y"}).out);
}

TEST_CASE("fill prints the words that a model expects", "[apps][fill]") {
    const Folder folder;
    write_bert<models::MaskedLanguageModel>(folder);
    const models::Filler f = models::Filler::load(folder.path);
    const std::string one = "The [MASK] day", two = "The [MASK] day [MASK].";
    const auto of_one = f(one, 5);
    std::string line = f.filled(one, {of_one[0][0].word});
    for (const models::Filling& word : of_one[0])
        line += "\t" + word.word + "=" + rounded(word.probability);
    const Result shown = run("fill", {folder.path, one});
    INFO(shown.err);
    CHECK(shown.status == 0);
    CHECK(shown.out == line + "\n");
    REQUIRE(lines_of(shown.err).size() == 2);
    CHECK(lines_of(shown.err)[0] == folder.path + ": BertForMaskedLM");
    CHECK(lines_of(shown.err)[1].starts_with("fill: "));
    const Result both = run("fill", {folder.path, one, two, "--n", "1"});
    const auto of_two = f(two, 1);
    std::string line_of_two = f.filled(two, {of_two[0][0].word, of_two[1][0].word});
    for (const auto& words : of_two)  // one after the other
        line_of_two += "\t" + words[0].word + "=" + rounded(words[0].probability);
    REQUIRE(lines_of(both.out).size() == 2);
    CHECK(lines_of(both.out)[1] == line_of_two);

    const Result pipe =
        run("fill", {folder.path}, {.input = one + "\n\n" + "The\t[MASK] day" + "\na\x1b [MASK]\n"});
    CHECK(pipe.status == 0);
    const Words lines = lines_of(pipe.out);
    REQUIRE(lines.size() == 4);
    CHECK(lines[0] == line);
    CHECK(lines[1].empty());
    CHECK(lines[2] == line);             // a tab separates only the fields
    CHECK(lines[3].starts_with("a? "));  // nothing that a terminal obeys
    CHECK(run("fill", {folder.path, "--n", "1"}, {.input = two + "\n"}).out == line_of_two + "\n");
    check_lost_output("fill", {folder.path, one});
}

TEST_CASE("fill finds a mask that is normalized, also where that is in lower case", "[apps][fill]") {
    const Folder folder;
    write_bert<models::MaskedLanguageModel>(folder);
    const models::Filler usual = models::Filler::load(folder.path);
    folder.write("tokenizer_config.json",
                 autograd::join(R"({"added_tokens_decoder": {")", usual.tokenizer.id("[MASK]").value(),
                                R"(": {"content": "[MASK]", "normalized": true, "special": true}}})"));
    const models::Filler normalized = models::Filler::load(folder.path);
    CHECK(normalized.mask == "[MASK]");
    CHECK(normalized.filled("the [MASK] day", {"x"}) == "the x day");
    CHECK(normalized("the [MASK] day")[0][0].word == usual("the [MASK] day")[0][0].word);
}

TEST_CASE("fill says what is wrong, in one line", "[apps][fill]") {
    const Folder masked, classifier;
    write_bert<models::MaskedLanguageModel>(masked);
    write_bert<models::Classifier>(classifier);
    refused("fill", 2, {}, "missing: MODEL [TEXT...]");
    refused("fill", 1, {"nowhere", "x"}, "nowhere: there is no such folder or file; `make tiny` trains");
    refused("fill", 1, {classifier.path, "x"}, "a masked language model is needed: got BertForSequence");
    refused("fill", 1, {masked.path, "a day"}, "text 1: there is no [MASK] in this text");
    refused("fill", 1, {masked.path, "a [MASK]", "a a a a a a a a a a a [MASK]"},
            "text 2: there is no [MASK] in the first 12 tokens; the model reads no more");
    refused("fill", 2, {masked.path, ""}, "text 1 is empty");
    const std::string nul = masked.write("nul.txt", std::string("a\0b", 3));
    CHECK(run("fill", {"train", masked.path, nul, "--save", masked / "run"})
              .err.ends_with(nul + ": there is a NUL byte in this file: it is not text\n"));
    // In a pipe, such a line gets an empty one, and the others their answers.
    const Result r = run("fill", {masked.path, "--n", "1"}, {.input = "a [MASK]\na day\na [MASK]\n"});
    CHECK(r.status == 1);
    REQUIRE(lines_of(r.out).size() == 3);
    CHECK(lines_of(r.out)[1].empty());
    CHECK((lines_of(r.out)[2] == lines_of(r.out)[0] && !lines_of(r.out)[0].empty()));
    CHECK(contains(r.err, "fill: standard input:2: there is no [MASK] in this text\n"));
    CHECK(contains(run("fill", {masked.path, "[MASK] a a a a a a a a a a"}).err,
                   "fill: text 1: more than 12 tokens, read only that far\n"));
    masked.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n<mask>\nthe\na\n");
    masked.write("tokenizer_config.json", R"({"mask_token": "<mask>"})");
    CHECK(run("fill", {masked.path, "a <mask>"}).status == 0);
}

TEST_CASE("fill and classify answer what is typed", "[apps][fill][prompt]") {
    if (!Terminal::possible())
        SKIP("an emulator would have to be started in the terminal");
    const Folder masked, classifier;
    write_bert<models::MaskedLanguageModel>(masked);
    write_bert<models::Classifier>(classifier);
    const auto typed = [](Terminal& t, const std::string& line) {
        t.type(line + "\n");
        REQUIRE(t.says("\r\n"));
        REQUIRE(t.says("\r> "));
        return t.said();
    };
    Terminal fill("fill", {masked.path});
    REQUIRE(fill.says("\r> "));
    CHECK(contains(typed(fill, ":attention"), "fill: first type a text"));
    CHECK(contains(typed(fill, "the [MASK]"), "=0."));
    const std::string looked = typed(fill, ":attention");
    CHECK(contains(looked, "[MASK]"));
    CHECK(contains(typed(fill, "no mask"), "fill: this line: there is no [MASK] in this text"));
    CHECK(typed(fill, ":attention") == looked);  // of the last text that was filled
    fill.type("\x04");
    CHECK(fill.status() == 0);
    Terminal labels("classify", {"predict", classifier.path});
    REQUIRE(labels.says("\r> "));
    CHECK(contains(typed(labels, "the day"), "sad=0."));
    labels.type("\x04");
    CHECK(labels.status() == 0);
    Terminal pairs("classify", {"predict", classifier.path});
    REQUIRE(pairs.says("\r> "));
    pairs.type("the day\ta nighx");
    REQUIRE(pairs.says("> the day→a nighx"));
    pairs.type("\x7ft\n");
    CHECK(pairs.says("sad=0."));
    REQUIRE(pairs.says("\r> "));
    CHECK(contains(typed(pairs, ":attention"), "the attention of a pair is not shown"));
    pairs.type("the → day\ta night\n");  // an arrow is no tab
    CHECK(pairs.says("sad=0."));
    pairs.type("\x04");
    CHECK(pairs.status() == 0);
}

TEST_CASE("fill new and train: a BERT from nothing, which learns", "[apps][fill]") {
    const Folder folder;
    std::string text;
    for (int i = 0; i < 80; ++i)
        text += i % 2 == 0 ? "The lamp burns low.\n" : "The Lights burn high!\n";
    const std::string file = folder.write("text.txt", text), fresh = folder / "new",
                      trained = folder / "bert";
    const Result made = run("fill", {"new", fresh, file, "--vocabulary", "48", "--layers", "1", "--d-model",
                                     "16", "--heads", "2", "--context", "12"});
    INFO(made.err);
    REQUIRE(made.status == 0);
    CHECK(contains(made.out, autograd::join(" random parameters, ",
                                            models::text::Tokenizer::open(fresh).size(), " tokens")));
    CHECK(contains(run("fill", {"new", fresh, file}).err,
                   ": this belongs to a model, or to another run; give another folder"));
    const Words train = {"train", fresh, file, "--steps", "200", "--lr", "0.02", "--validate-every", "50"};
    const auto with = [&](Words more) {
        more.insert(more.begin(), train.begin(), train.end());
        return run("fill", more);
    };
    const Result r = with({"--save", trained});
    INFO(r.err << r.out);
    REQUIRE(r.status == 0);
    CHECK(content(trained + "/tokenizer.json") == content(fresh + "/tokenizer.json"));
    const models::Filler before = models::Filler::load(fresh), after = models::Filler::load(trained);
    CHECK(before("the [MASK] burns low.")[0][0].probability < 0.3);
    const models::Filling best = after("the [MASK] burns low.")[0][0];
    CHECK(best.word == "lamp");
    CHECK(best.probability > 0.5);

    // A part of a batch, here a line, may have no mask.
    const Result parts = run("fill", {"train", fresh, file, "--steps", "2", "--batch", "8", "--parts", "8",
                                      "--save", folder / "parts"});
    INFO(parts.err);
    CHECK(parts.status == 0);

    // Stopped and resumed: the same bits.
    const std::string twice = folder / "twice";
    CHECK(contains(with({"--save", twice, "--stop-after", "13"}).err, "continue with --resume " + twice));
    CHECK(run("fill", {twice, "the [MASK]"}).status == 0);  // the checkpoint opens, too
    CHECK(run("fill", {"train", "--resume", twice}).out == r.out);
    CHECK(content(twice + "/model.safetensors") == content(trained + "/model.safetensors"));
    const Result told = run("fill", {"info", twice});
    CHECK(told.status == 0);
    CHECK(contains(told.out, ": bert\n"));
    CHECK(contains(told.out, "training: step 200"));
    CHECK(contains(told.out, "settings: --lr 0.02\n"));
    // With the model at another place, and the run's own texts; but not with other tokens of these.
    const std::string moved = folder / "moved";
    std::filesystem::copy(fresh, moved);
    CHECK(run("fill", {"train", "--resume", twice, moved}).out == r.out);
    std::string json = content(moved + "/tokenizer.json");
    const std::string lower = "\"lowercase\":";
    put(moved + "/tokenizer.json", json.replace(json.find(lower), lower.size() + 4, lower + "false"));
    CHECK(contains(run("fill", {"train", "--resume", twice, moved}).err, "or with another tokenizer"));
    Words asked = {"train", trained, file, "--check"};  // whose first loss is far below a guess
    CHECK(contains(run("fill", asked).out, "ok   first loss: "));
    refused("fill", 2, {"new", folder / "x", file, "--context", "2"},
            "--context needs a whole number from 3 ");
    refused("fill", 1, {"new", folder / "x", folder.write("nl.txt", "\n\r\n \n")},
            "nl.txt: there is no text");
    const std::string strange = folder.write("strange.txt", "\xe2\x82\xac\nthe lamp\nthe lamp\n");
    CHECK(contains(run("fill", {"train", fresh, strange, "--save", folder / "y", "--batch", "1"}).err,
                   "1 piece of lines to learn from, 1 held out\n"));  // in the other there is nothing to mask
    refused("fill", 2, {"train", fresh, file}, "--save FOLDER is missing");
    CHECK(contains(with({"--save", folder / "x", "--context", "13"}).err,
                   "--context 13: the model takes 3 to 12"));
    CHECK(contains(
        run("fill", {"train", fresh, folder.write("one.txt", "the lamp\n"), "--save", folder / "x"}).err,
        "one.txt: 1 piece of lines with something to mask; two are needed"));
    CHECK(contains(run("fill", {"train", fresh, folder / "one.txt", strange, "--context", "3", "--save",
                                folder / "pieces"})
                       .err,
                   "5 pieces of lines to learn from, 1 held out\n"));
    const std::string none = folder.write("none.txt", "\xe2\x82\xac\n");
    CHECK(contains(run("fill", {"train", fresh, none, none, "--save", folder / "x"}).err,
                   "fill: the files: 0 pieces of lines with"));
    // A text may name the token that pads elsewhere.
    const std::string padded = folder.write("padded.txt", text + "the [PAD] burns\n");
    const Result named = run("fill", {"train", fresh, padded, "--steps", "1", "--save", folder / "padded"});
    CHECK((named.status == 0 && contains(named.err, "72 pieces of lines to learn from, 9 held out")));
    const std::string latin = folder.write("latin.txt", text + "the l\xe4mp\xe9\n");
    CHECK(contains(run("fill", {"train", fresh, latin, "--steps", "1", "--save", folder / "latin"}).err,
                   "latin.txt: bytes that are not text, read as U+FFFD: 2\n"));
    CHECK(contains(run("fill", {"new", folder / "l", latin}).err,
                   "latin.txt: bytes that are not text, read as U+FFFD: 2\n"));
    CHECK_FALSE(std::filesystem::exists(folder / "x"));
}

static Words pieces_of(const models::text::Tokenizer& tokenizer) {
    Words pieces;
    for (int32_t id = 0; id < tokenizer.size(); ++id)
        pieces.push_back(tokenizer.piece(id));
    return pieces;
}

TEST_CASE("A vocabulary of pieces of words spells every word of its text", "[apps][fill]") {
    const std::string text = "Low lower lowest; né 日本 #a##b x x x";
    const Words five = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    for (const int64_t count : {20, 40, 1000}) {
        int64_t left_out = 0;
        const auto tokenizer = models::text::learn_word_piece(text, count, &left_out);
        const Words pieces = pieces_of(tokenizer);
        CHECK(std::ssize(pieces) <= count);
        CHECK(left_out == 0);
        CHECK(Words(pieces.begin(), pieces.begin() + 5) == five);
        CHECK(std::set<std::string>(pieces.begin(), pieces.end()).size() == pieces.size());
        for (const std::string piece : {"l", "##o", "##w", "n", "##e", "日", "本", "#", ";", "x"})
            CHECK(std::count(pieces.begin(), pieces.end(), piece) == 1);
        CHECK(std::count(pieces.begin(), pieces.end(), "low") == (count > 20 ? 1 : 0));
        const Ids ids = tokenizer.encode(text);
        CHECK(std::count(ids.begin(), ids.end(), 1) == 0);
        CHECK(tokenizer.decode(tokenizer.encode("lower lowest", {.add_special_tokens = false})) ==
              "lower lowest");
    }
}

TEST_CASE("A vocabulary that is too small for all characters has the most frequent ones", "[apps][fill]") {
    const std::string text = "xy xy xy xy xz xz q";  // x 6 times, ##y 4, ##z 2, q once
    int64_t left_out = 0;
    CHECK(pieces_of(models::text::learn_word_piece(text, 7, &left_out)) ==
          Words{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "x", "##y"});
    CHECK(left_out == 2);
    models::text::learn_word_piece(text, 9, &left_out);
    CHECK(left_out == 0);
    CHECK(models::text::learn_word_piece(text, 10).piece(9) == "xy");
    const Folder folder;
    const Result made = run("fill", {"new", folder / "m", folder.write("t", text), "--vocabulary", "7"});
    CHECK(made.status == 0);
    CHECK(contains(made.out, " random parameters, 7 tokens\n"));
    CHECK(contains(made.err, "fill: words with one of the 2 rarest characters are read as [UNK]; a larger"));
}

TEST_CASE("fill train: no special token is masked or predicted", "[apps][fill]") {
    const Folder folder;  // [UNK] is behind the words that are first, and a later one is at the end
    write_bert<models::MaskedLanguageModel>(folder,
                                            "[PAD]\n[CLS]\n[SEP]\n[MASK]\nthe\na\nday\nnight\n[UNK]\n");
    const std::string unknown = folder.write("u", "strange words\nno others\n");
    refused("fill", 1, {"train", folder.path, unknown, "--save", folder / "x"},
            "u: 0 pieces of lines with something to mask");
}

TEST_CASE("fill train masks other tokens of a line in each step", "[apps][fill]") {
    const Folder folder, all;
    write_bert<models::MaskedLanguageModel>(folder);
    std::string config = content(folder / "config.json");  // without dropout, only the masks differ
    for (const std::string key : {"\"hidden_dropout_prob\": ", "\"attention_probs_dropout_prob\": "}) {
        const std::size_t at = config.find(key);
        REQUIRE(at != std::string::npos);
        config.replace(at + key.size(), config.find_first_of(",\n}", at) - at - key.size(), "0");
    }
    folder.write("config.json", config);
    const std::string line = "the lovely day the awful night .\n", text = all.write("t", line + line);
    const Result r = run("fill", {"train", folder.path, text, "--batch", "1", "--lr", "0", "--steps", "8",
                                  "--save", all / "run"});
    INFO(r.err);
    REQUIRE(r.status == 0);
    std::set<std::string> losses;
    const Words log = lines_of(content(all / "run/log.csv"));
    REQUIRE(log.size() == 9);
    for (std::size_t i = 1; i < log.size(); ++i)
        losses.insert(fields(log[i], ',').at(1));
    CHECK(losses.size() > 2);
}

TEST_CASE("A run that trains a folder further keeps what belongs to the model before its first step",
          "[apps][hugging_face]") {
    const Folder from, to;
    write_bert<models::MaskedLanguageModel>(from);
    const auto filler = models::Filler::load(from.path);
    kit::Options options({"fill"});
    models::RunSettings settings;
    settings.save = to / "run";
    const models::RunFolder folder("fill", settings, options);
    const models::RunModel model_of_run = kit::run_model_of(filler, "", from.path);
    models::write_text_files(model_of_run.texts, folder.path);
    CHECK(content(to / "run/tokenizer.json") == models::text::Tokenizer::open(from.path).json());
    CHECK(content(to / "run/config.json") == content(from / "config.json"));
    // What is beside a checkpoint is the family's, and the checkpoint has our names.
    models::save_checkpoint(folder.last(), model_of_run.state);
    CHECK(tests::hash(models::load_model<models::MaskedLanguageModel>(to / "run")) ==
          tests::hash(filler.model));
}

TEST_CASE("new says what keeps it from writing into a folder", "[apps][fill]") {
    const Folder folder;
    const std::string text = folder.write("t", "a day a night");
    folder.write("tokenizer.json", "{}");
    refused("fill", 1, {"new", folder.path, text},
            "tokenizer.json: this belongs to a model, or to another run; give another folder");
    folder.write("config.json", "{}");
    refused("fill", 1, {"new", folder.path, text},
            "config.json: this belongs to a model, or to another run; give another folder");
}
