// fill, run as a user runs it.
#include <algorithm>
#include <set>

#include "models/filler.h"
#include "models/text/learn_tokenizer.h"
#include "tests/apps/run.h"
#include "tests/apps/terminal.h"
#include "tests/models/folder_of_others.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

Result fill(const Words& arguments, const With& with = {}) { return run("fill", arguments, with); }

// "\tword=0.1234" of the best words for each mask, one after the other.
std::string listed(const std::vector<std::vector<models::Filling>>& masks) {
    std::string text;
    for (const std::vector<models::Filling>& words : masks)
        for (const models::Filling& word : words) {
            char p[32];
            std::snprintf(p, sizeof p, "%.4f", word.probability);
            text += "\t" + word.word + "=" + p;
        }
    return text;
}

Words pieces_of(const models::text::Tokenizer& tokenizer) {
    Words pieces;
    for (int32_t id = 0; id < tokenizer.size(); ++id)
        pieces.push_back(tokenizer.piece(id));
    return pieces;
}

}  // namespace

TEST_CASE("fill prints the words that a model expects", "[apps][fill]") {
    const Folder folder;
    write_bert<models::MaskedLanguageModel>(folder);
    const models::Filler f = models::Filler::load(folder.path);
    const std::string one = "The [MASK] day", two = "The [MASK] day [MASK].";
    const auto of_one = f(one, 5), of_two = f(two, 1);
    const std::string line = f.filled(one, {of_one[0][0].word}) + listed(of_one),
                      line_of_two = f.filled(two, {of_two[0][0].word, of_two[1][0].word}) + listed(of_two);
    const Result shown = must_run("fill", {folder.path, one});
    CHECK(shown.out == line + "\n");
    REQUIRE(lines_of(shown.err).size() == 2);
    CHECK(shown.err.starts_with(folder.path + ": BertForMaskedLM\nfill: "));
    CHECK(fill({folder.path, one, two, "--n", "1"}).out.ends_with("\n" + line_of_two + "\n"));

    const Words pipe =
        lines_of(must_run("fill", {folder.path}, {.input = one + "\n\nThe\t[MASK] day\na\x1b [MASK]\n"}).out);
    REQUIRE(pipe.size() == 4);
    CHECK((pipe[0] == line && pipe[1].empty()));
    CHECK(pipe[2] == line);             // a tab separates only the fields
    CHECK(pipe[3].starts_with("a? "));  // nothing that a terminal obeys
    CHECK(fill({folder.path, "--n", "1"}, {.input = two + "\n"}).out == line_of_two + "\n");
    check_lost_output("fill", {folder.path, one});
}

TEST_CASE("fill finds a mask that is normalized, or has another name", "[apps][fill]") {
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
    folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n<mask>\nthe\na\n");
    folder.write("tokenizer_config.json", R"({"mask_token": "<mask>"})");
    must_run("fill", {folder.path, "a <mask>"});
}

TEST_CASE("fill says what is wrong, in one line", "[apps][fill]") {
    const Folder masked, classifier;
    write_bert<models::MaskedLanguageModel>(masked);
    write_bert<models::Classifier>(classifier);
    const std::string& path = masked.path;
    const std::string nul = masked.write("nul.txt", std::string("a\0b", 3)),
                      lines = masked.write("nl.txt", "\n\r\n \n"),
                      text = masked.write("t", "a day\na night\n"), no = masked / "no",
                      none = masked.write("none.txt", "\xe2\x82\xac\n"),
                      belongs = ": this belongs to a model, or to another run; give another folder";
    check_refusals(
        "fill",
        {{{}, 2, "missing: MODEL [TEXT...]"},
         {{"nowhere", "x"}, 1, "nowhere: there is no such folder or file; `make tiny` trains"},
         {{classifier.path, "x"}, 1, "a masked language model is needed: got BertForSequence"},
         {{path, "a day"}, 1, "text 1: there is no [MASK] in this text"},
         {{path, ""}, 2, "text 1 is empty"},
         {{"train", path, text}, 2, "--save FOLDER is missing"},
         {{"train", path, nul, "--save", no}, 1, nul + ": there is a NUL byte in this file: it is not text"},
         {{"train", path, text, "--save", no, "--context", "13"}, 2, "--context 13: the model takes 3 to 12"},
         {{"train", path, none, "--save", no}, 1, "none.txt: 0 pieces of lines with something to mask; two"},
         {{"train", path, none, none, "--save", no}, 1, "fill: the files: 0 pieces of lines with"},
         {{"new", no, text, "--context", "2"}, 2, "--context needs a whole number from 3 "},
         {{"new", no, lines}, 1, "nl.txt: there is no text"},
         {{"new", path, text}, 1, "config.json" + belongs}});
    const Folder other;
    other.write("tokenizer.json", "{}");
    check_refusals("fill", {{{"new", other.path, text}, 1, "tokenizer.json" + belongs}});
    CHECK_FALSE(std::filesystem::exists(no));
    const Result late = fill({path, "a [MASK]", "a a a a a a a a a a a [MASK]"});
    CHECK((late.status == 1 && lines_of(late.out).size() <= 1));
    check_says(late.err, {"text 2: there is no [MASK] in the first 12 tokens; the model reads no more"});
    // In a pipe, such a line gets an empty one, and the others their answers.
    const Result r = fill({path, "--n", "1"}, {.input = "a [MASK]\na day\na [MASK]\n"});
    CHECK(r.status == 1);
    const Words out = lines_of(r.out);
    REQUIRE(out.size() == 3);
    CHECK((out[1].empty() && out[2] == out[0] && !out[0].empty()));
    check_says(r.err, {"fill: standard input:2: there is no [MASK] in this text\n"});
    check_says(fill({path, "[MASK] a a a a a a a a a a"}).err,
               {"fill: text 1: more than 12 tokens, read only that far\n"});
}

TEST_CASE("fill and classify answer what is typed", "[apps][fill][prompt]") {
    NEEDS_TERMINAL();
    const Folder masked, classifier;
    write_bert<models::MaskedLanguageModel>(masked);
    write_bert<models::Classifier>(classifier);
    Talk fill("fill", {masked.path});
    check_says(fill.answer(":attention"), {"fill: first type a text"});
    check_says(fill.answer("the [MASK]"), {"=0."});
    const std::string looked = fill.answer(":attention");
    check_says(looked, {"[MASK]"});
    check_says(fill.answer("no mask"), {"fill: this line: there is no [MASK] in this text"});
    CHECK(fill.answer(":attention") == looked);  // of the last text that was filled
    fill.ends("\x04");
    Talk labels("classify", {"predict", classifier.path});
    check_says(labels.answer("the day"), {"sad=0."});
    check_says(labels.answer(":attention"), {"the", "day"});
    check_says(labels.answer(":beam"), {"unknown command :beam"});
    CHECK_FALSE(contains(labels.answer(":help"), ":beam"));
    labels.type("the day\ta nighx");
    REQUIRE(labels.says("> the day→a nighx"));
    check_says(labels.answer("\x7ft"), {"sad=0."});
    check_says(labels.answer(":attention"), {"the attention of a pair is not shown"});
    check_says(labels.answer("the → day\ta night"), {"sad=0."});  // an arrow is no tab
    labels.ends("\x04");
}

TEST_CASE("fill new and train: a BERT from nothing learns, and resumes", "[apps][fill]") {
    const Folder folder;
    const std::string text = repeated("The lamp burns low.\nThe Lights burn high!\n", 40),
                      file = folder.write("text.txt", text), fresh = folder / "new",
                      trained = folder / "bert", twice = folder / "twice", moved = folder / "moved";
    const Result made = must_run("fill", {"new", fresh, file, "--vocabulary", "48", "--layers", "1",
                                          "--d-model", "16", "--heads", "2", "--context", "12"});
    check_says(made.out, {autograd::join(" random parameters, ", models::text::Tokenizer::open(fresh).size(),
                                         " tokens")});
    const auto train = [&](const Words& more) {
        const Words words = {"train", fresh, file, "--steps", "200", "--lr", "0.02", "--validate-every",
                             "50"};
        return must_run("fill", joined(words, more));
    };
    const Result r = train({"--save", trained});
    CHECK(content(trained + "/tokenizer.json") == content(fresh + "/tokenizer.json"));
    const models::Filler before = models::Filler::load(fresh), after = models::Filler::load(trained);
    CHECK(before("the [MASK] burns low.")[0][0].probability < 0.3);
    const models::Filling best = after("the [MASK] burns low.")[0][0];
    CHECK((best.word == "lamp" && best.probability > 0.5));
    // Its first loss is far below a guess.
    check_says(fill({"train", trained, file, "--check"}).out, {"ok   first loss: "});

    check_says(train({"--save", twice, "--stop-after", "13"}).err, {"continue with --resume " + twice});
    must_run("fill", {twice, "the [MASK]"});  // the checkpoint opens, too
    CHECK(fill({"train", "--resume", twice}).out == r.out);
    CHECK(content(twice + "/model.safetensors") == content(trained + "/model.safetensors"));
    check_says(must_run("fill", {"info", twice}).out,
               {": bert\n", "training: step 200", "settings: --lr 0.02\n"});
    // With the model at another place, and the run's own texts; but not with other tokens of these.
    std::filesystem::copy(fresh, moved);
    CHECK(fill({"train", "--resume", twice, moved}).out == r.out);
    std::string json = content(moved + "/tokenizer.json");
    const std::string lower = "\"lowercase\":";
    put(moved + "/tokenizer.json", json.replace(json.find(lower), lower.size() + 4, lower + "false"));
    check_refusals("fill", {{{"train", "--resume", twice, moved}, 1, "or with another tokenizer"}});

    // A part of a batch, here a line, may have no mask; of a text's lines, some may have nothing to mask; a
    // text may name the token that pads elsewhere, or have bytes that are no text.
    const std::string one = folder.write("one.txt", "the lamp\n"),
                      strange = folder.write("strange.txt", "\xe2\x82\xac\nthe lamp\nthe lamp\n"),
                      padded = folder.write("padded.txt", text + "the [PAD] burns\n"),
                      latin = folder.write("latin.txt", text + "the l\xe4mp\xe9\n"),
                      replaced = "latin.txt: bytes that are not text, read as U+FFFD: 2\n";
    int64_t runs = 0;
    for (const auto& [words, says] : std::vector<std::pair<Words, std::string>>{
             {{file, "--batch", "8", "--parts", "8"}, ""},
             {{strange, "--batch", "1"}, "1 piece of lines to learn from, 1 held out\n"},
             {{one, strange, "--context", "3"}, "5 pieces of lines to learn from, 1 held out\n"},
             {{padded}, "72 pieces of lines to learn from, 9 held out"},
             {{latin}, replaced}}) {
        const Words few = {"--steps", "2", "--save", folder / autograd::join("few", ++runs)};
        check_says(must_run("fill", joined({"train", fresh}, joined(words, few))).err, {says});
    }
    check_refusals("fill", {{{"train", fresh, one, "--save", folder / "x"},
                             1,
                             "one.txt: 1 piece of lines with something to mask; two are needed"}});
    check_says(fill({"new", folder / "l", latin}).err, {replaced});
}

TEST_CASE("A vocabulary of pieces of words spells every word of its text", "[apps][fill]") {
    const std::string text = "Low lower lowest; né 日本 #a##b x x x";
    for (const int64_t count : {20, 40, 1000}) {
        int64_t left_out = 0;
        const auto tokenizer = models::text::learn_word_piece(text, count, &left_out);
        const Words pieces = pieces_of(tokenizer);
        CHECK(std::ssize(pieces) <= count);
        CHECK(left_out == 0);
        CHECK(Words(pieces.begin(), pieces.begin() + 5) ==
              Words{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"});
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
    const Result made = must_run("fill", {"new", folder / "m", folder.write("t", text), "--vocabulary", "7"});
    check_says(made.out, {" random parameters, 7 tokens\n"});
    check_says(made.err, {"fill: words with one of the 2 rarest characters are read as [UNK]; a larger"});
}

TEST_CASE("fill train masks no special token, and other tokens of a line in each step", "[apps][fill]") {
    const Folder strange, folder,
        all;  // [UNK] is behind the words that are first, and a later one is at the end
    write_bert<models::MaskedLanguageModel>(strange,
                                            "[PAD]\n[CLS]\n[SEP]\n[MASK]\nthe\na\nday\nnight\n[UNK]\n");
    const std::string unknown = all.write("u", "strange words\nno others\n");
    check_refusals("fill", {{{"train", strange.path, unknown, "--save", all / "x"},
                             1,
                             "u: 0 pieces of lines with something to mask"}});
    write_bert<models::MaskedLanguageModel>(folder);
    std::string config = content(folder / "config.json");  // without dropout, only the masks differ
    for (const std::string key : {"\"hidden_dropout_prob\": ", "\"attention_probs_dropout_prob\": "}) {
        const std::size_t at = config.find(key);
        REQUIRE(at != std::string::npos);
        config.replace(at + key.size(), config.find_first_of(",\n}", at) - at - key.size(), "0");
    }
    folder.write("config.json", config);
    const std::string text = all.write("t", repeated("the lovely day the awful night .\n", 2));
    must_run("fill", {"train", folder.path, text, "--batch", "1", "--lr", "0", "--steps", "8", "--save",
                      all / "run"});
    std::set<std::string> losses;
    const Words log = lines_of(content(all / "run/log.csv"));
    REQUIRE(log.size() == 9);
    for (std::size_t i = 1; i < log.size(); ++i)
        losses.insert(fields(log[i], ',').at(1));
    CHECK(losses.size() > 2);
}
