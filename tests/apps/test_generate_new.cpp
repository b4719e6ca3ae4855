// generate train with texts alone, run as a user runs it: a new model of characters, bytes or lines; and what
// --config means.
#include <cmath>
#include <set>

#include "apps/programs/generate/generate.h"
#include "models/families/one_stack.h"
#include "models/hugging_face/config.h"
#include "models/saved.h"
#include "tests/apps/run.h"

using namespace plaingrad;  // NOLINT
using namespace tests;
using models::Config;

namespace {

// Learns in a moment, in every build.
const std::string kSmall = " --layers 1 --heads 2 --d-model 16 --context 16 --batch 8 --lr 0.01 --steps 80 ";
const std::string kTrain = "generate train text.txt" + kSmall;

// A text to learn from.
struct Given : Place {
    explicit Given(const std::string& text) { write("text.txt", text); }
    double score(const std::string& file) const {
        return number_after((*this)("generate score run " + file + " --stride 16").out, file + ": ");
    }
};

const std::string kOnce = repeated("once upon a time, ", 30);

// Nats per token of what is held out.
double held_out(const Result& r) { return number_after(r.out, "held out, after: "); }

}  // namespace

TEST_CASE("generate without a model learns a built-in text, and continues it", "[.][slow][apps][generate]") {
    const Result r = must_run("generate", {});
    CHECK(held_out(r) < 1.3);
    CHECK(r.out.size() > 400);
    CHECK(contains(r.out, "Wind "));
}

TEST_CASE("generate train: a new model learns a text, continues it, and is measured", "[apps][generate]") {
    const std::string line = "der Bär\nißt 1 €!\n", text = repeated(line, 40);
    const Given here("\xef\xbb\xbf" + text);
    const Result r = here.must(kTrain + "--save run");
    check_says(r.err, {"612 tokens to learn from, 68 held out; vocabulary 17\n",
                       "saved run/model.safetensors, with the weights of step 80\n"});
    CHECK(held_out(r) < 0.3);
    CHECK(lines_of(r.out).size() == 1);  // no sample
    check_says(here("generate info run").out, {"settings: --preset tiny --layers 1 --heads 2 --d-model 16 "});

    // 5 + 60 characters, over four times the context.
    const std::string written = repeated(line, 3) + "der Bär\nißt 1 \n";
    for (const std::string surely : {"--temperature 0", "--top-k 1 --seed 5", "--top-p 0.000001"})
        CHECK(here("generate run --prompt 'der B' --tokens 60 " + surely).out == written);
    const auto begins = [&](const std::string& more) { return here("generate run --prompt '' " + more).out; };
    CHECK(begins("--tokens 0") == "\n");
    CHECK(begins("--tokens 7 --temperature 0") == "der Bär\n");
    const std::string hot = "--tokens 50 --temperature 3 ", drawn = begins(hot + "--seed 3");
    CHECK(begins(hot + "--seed 3 --threads 2") == drawn);
    CHECK(begins(hot + "--seed 4") != drawn);
    CHECK(begins("--tokens 50 --temperature 2 --seed 3") != drawn);
    // Whatever is drawn is a known character, and the text has no end.
    const std::string long_text = begins("--temperature 1e9 --top-k 0 --tokens 300");
    CHECK((long_text.size() >= 301 && !contains(long_text, "<")));

    // The held-out part, given as a file of its own, has the same loss, but for its first character.
    here.write("last.txt", text.substr(text.size() - 4 * 21));
    check_says(here("generate score run last.txt --stride 16").out, {" over 68 tokens; "});
    CHECK(here.score("last.txt") == Approx(held_out(r)).margin(0.3));
    // Unknown characters are counted and left out.
    here.write("a.txt", "der Bär"), here.write("b.txt", "dQer BérQ");
    here.write("none.txt", "QQ"), here.write("empty.txt", "");
    check_says(here("generate score run a.txt").out, {" over 7 tokens"});
    const Result other = here("generate score run b.txt");
    check_says(other.out, {" over 6 tokens"});
    check_says(other.err, {"b.txt: characters that the model does not know, left out: 3\n"});
    here.refuses({{"generate score run none.txt", 1, "none.txt: there is no text in this file"},
                  {"generate score run empty.txt", 1, "the file is empty"},
                  {"generate run --prompt a\xff", 1, "the prompt:1: byte 2 of this line is not UTF-8"},
                  {"generate run --prompt 'der Q'", 1,
                   "the prompt:1: character 5 of this line is \"Q\", which is not "}});

    // It can be trained further, as a folder from Hugging Face.
    const Result further = here.must("generate train run text.txt --lr 0.01 --save more");
    CHECK(held_out(further) < held_out(r));
    check_says(here("generate more --prompt 'der B' --tokens 3").out, {"der Bär\n"});
}

TEST_CASE("generate train: several files are one text, measured as a whole at the end", "[apps][generate]") {
    const Given here(repeated("ab", 50));
    here.write("b", repeated("cd", 50));
    check_says(here.must("generate train text.txt b" + kSmall + "--steps 2").err,
               {"180 tokens to learn from, 20 held out; vocabulary 8\n"});
    // While it trains, it measures only a part of so much.
    here.write("text.txt", repeated("abcdefghij", 17'000));
    const Result r = here.must(kTrain + "--steps 1");
    check_says(r.err, {", over 8,"});
    CHECK(lines_of(r.out)[0].ends_with(", over 16,999 tokens"));
}

TEST_CASE("generate train --config modern: resumed it has the same bits", "[apps][generate]") {
    const Given here(kOnce);
    const std::string modern = kTrain + "--config modern --heads 4 --dropout 0.1 --save ";
    const Result r = here.must(modern + "whole");
    CHECK(held_out(r) < 1);
    here.must(modern + "parts --stop-after 30");
    check_says(here("generate info parts").out, {"--config modern"});
    CHECK(here("generate train --resume parts --threads 3").out == r.out);
    CHECK(content(here / "parts/model.safetensors") == content(here / "whole/model.safetensors"));

    CHECK(models::Writer::load(here / "whole").model.config.block.n_kv_heads == 1);
    std::string bytes = content(here / "parts/last.safetensors");
    here.write("parts/last.safetensors", bytes.replace(bytes.find("--config=modern"), 15, "--config=modarn"));
    here.refuses({{"generate train --resume parts", 1,
                   "parts/last.safetensors: --config must begin with 2017, gpt2 or modern: got 'modarn"}});
}

TEST_CASE("generate train: rows as long as the context are learned wherever they begin", "[apps][generate]") {
    // 80 steps of 8 pieces are less than a round of this text. The held-out part begins within a row.
    const Result r = Given(repeated("aaaaaaabbbbbbbb\n", 1000)).must(kTrain);
    CHECK(held_out(r) < number_after(losses(r).back(), "loss ") + 0.2);
}

TEST_CASE("generate: without a prompt, a text begins as a line does", "[apps][generate]") {
    const auto read_at_first = [&](const std::string& text) {
        const models::Writer w = generate::new_model({}, {{"text", repeated(text, 40)}});
        return w.tokenizer.decode(w.encode(""));
    };
    CHECK(read_at_first("a\tb\n") == "\n");  // a tab is a smaller character
    CHECK(read_at_first("ba") == "a");
}

TEST_CASE("generate train learns bytes", "[apps][generate]") {
    const Given here(repeated(std::string("\0\xff\r\n\x80z", 6), 60));
    here.refuses({{kTrain, 1, "text.txt: there is a NUL byte in this file: it is not text"}});
    check_says(here.must(kTrain + "--bytes --save run").out, {", over 35 tokens\n"});
    // What is no UTF-8 is written as U+FFFD.
    const std::string written("\0\xef\xbf\xbd\r\n\xef\xbf\xbdz", 10);
    CHECK(here("generate run --prompt z --tokens 12 --temperature 0").out == "z" + written + written + "\n");
    here.write("other.txt", "never seen");
    here.must("generate score run other.txt");
    const std::string one = "generate run --prompt ab --tokens 1 --seed 3";
    CHECK(here(one + " --n 2").out.starts_with(here(one).out + "---\nab"));
    // Later files are read as bytes without being told so.
    CHECK(here("generate score run text.txt").out == here("generate score run text.txt --bytes").out);
    check_says(here.must("generate train run text.txt --steps 1 --save further").err,
               {"324 tokens to learn from, 36 held out; "});
}

TEST_CASE("generate train --lines learns lines, and invents new ones", "[apps][generate]") {
    std::string text;
    for (const char* first : {"ba", "ki", "lo", "mu", "ne"})
        for (const char* second : {"ra", "ti", "so", "du", "fe"})
            if (std::string(first) + second != "muti")
                text += std::string(first) + second + "\r\n\n";
    const Given here(text);
    const Result r = here.must(kTrain + "--lines --steps 150 --save run");
    check_says(r.err, {"22 lines to learn from, 2 held out; vocabulary 19\n"});
    check_says(r.out, {", over 10 tokens\n"});  // 4 characters and the end, twice

    const Words drawn = lines_of(here.must("generate run --n 40 --temperature 1.2").out);
    REQUIRE(drawn.size() == 40);
    const auto of_drawn = [&](const auto& is) { return std::count_if(drawn.begin(), drawn.end(), is); };
    CHECK(of_drawn([&](const std::string& line) { return !contains("\n" + text, "\n" + line + "\r\n"); }) >
          0);
    CHECK(of_drawn([](const std::string& line) { return line.size() == 4; }) > 30);
    CHECK(std::set<std::string>(drawn.begin(), drawn.end()).size() > 10);
    for (const std::string& line : lines_of(here("generate run --prompt ki --n 3").out))
        CHECK(line.starts_with("ki"));

    // Each line is a text, however many are read at once.
    const Result measured = here("generate score run text.txt");
    check_says(measured.out, {", over 120 tokens; "});
    const models::Writer w = models::Writer::load(here / "run");
    double sum = 0;
    for (const std::string& line : lines_of(text))
        if (line.size() > 1) {
            std::vector<int32_t> ids = w.tokenizer.encode(line.substr(0, 4));
            const models::Tokens read(1, 5, ids);
            ids.erase(ids.begin());
            ids.push_back(models::kEos);
            const models::Tokens said(1, 5, ids);
            sum += 5 * static_cast<double>(w.model.loss(read, said, nn::Mode::eval()).item());
        }
    CHECK(number_after(measured.out, "text.txt: ") == Approx(sum / 120).margin(6e-5));
    CHECK(lines_of(measured.err).size() == 1);
    const std::string info = here("generate info run").out;
    CHECK(info.starts_with("run: language model\nlayers: 1, 16 wide, feed-forward "));
    check_says(info, {autograd::join("\nparameters: ", kit::grouped(nn::parameter_count(w.model)),
                                     ", products in float32\n")});
    // Longer than the context: read in pieces.
    here.write("text.txt", text + repeated("ra", 8) + "\n");
    check_says(here("generate score run text.txt").out, {", over 137 tokens; "});
    here.must("generate train run text.txt --steps 1 --save further");
    here.write("text.txt", repeated(repeated("word ", 300) + "\n", 20));
    here.refuses({{"generate run --prompt " + repeated("ra", 20), 1,
                   "the prompt has 40 characters; the model takes 15"},
                  {kTrain + "--lines", 1, "the longest has 1500 characters; --context 1501 allows it"}});
}

TEST_CASE("generate train --lines: the longest line fits, and a tenth is held out", "[apps][generate]") {
    const auto held_out_of = [](int64_t lines) {
        std::string text;
        for (int64_t i = 0; i < lines; ++i)
            text += std::to_string(i) + "\n";
        const std::vector<kit::File> files = {{"text", text + std::string(30, '1')}};
        generate::TrainSettings s;
        s.lines = true, s.layers = 1, s.context = 16;
        const models::Writer w = generate::new_model(s, files);
        CHECK(w.model.config.max_length == 31);  // with <sos>
        const generate::Corpus corpus = generate::corpus_of(w, files, 16);
        CHECK(std::ssize(corpus.training) + std::ssize(corpus.held_out) == lines + 1);
        return std::ssize(corpus.held_out);
    };
    CHECK(held_out_of(8999) == 900);
    CHECK(held_out_of(10'049) == 1000);
}

TEST_CASE("generate train --lines selects the preset for names", "[apps][generate]") {
    // Short lines are known by heart, though some begin alike.
    const Given here(repeated("ann\nbo\ncy\ndan\neve\nflo\ngus\nhal\n", 20));
    check_says(here.must("generate train text.txt --lines --check").out, {"ok   one batch by heart: loss "});
    const auto first_loss = [&](const std::string& preset) {
        return losses(here.must("generate train text.txt --lines --steps 1" + preset)).at(0);
    };
    const std::string usual = first_loss("");
    CHECK(usual == first_loss(" --preset names"));
    CHECK(usual != first_loss(" --preset tiny"));
}

TEST_CASE("generate train keeps the best model, and stops when its patience ends", "[apps][generate]") {
    // What the model learns from the first part is wrong for the last, so the loss there rises after a while.
    const Given here(repeated("abcd", 90) + repeated("dcba", 10));
    const Result r =
        here.must(kTrain + "--steps 5000 --validate-every 5 --patience 4 --save run --report page.html");
    check_says(content(here / "page.html"), {R"(["generate",0,[)"});  // written however the run ends
    check_says(r.err, {"(not better)"});
    CHECK_FALSE(contains(r.err, "step 5000"));
    here.write("last.txt", repeated("dcba", 10));
    CHECK(here.score("last.txt") == Approx(held_out(r)).margin(0.1));
    // `info` names it, and no terminal takes a word of a checkpoint for a command.
    const auto best = static_cast<std::size_t>(number_after(r.err, "with the weights of step "));
    const std::string last = "run/last.safetensors",
                      loss = fields(lines_of(content(here / "run/log.csv")).at(best), ',').at(2);
    std::string bytes = content(here / last);
    REQUIRE(contains(bytes, "validation loss"));
    here.write(last, bytes.replace(bytes.find("validation loss"), 6, "\\u001b"));
    check_says(here.must("generate info run").out,
               {autograd::join("best validation: loss ", std::stod(loss), " at step ", best,
                               "; 4 validations since\n"),
                autograd::join("\nlast validation: step ", best + 20, "  ?tion loss ")});
}

// test_runs.cpp interrupts runs that are saved.
TEST_CASE("generate train says when it is interrupted that nothing is saved", "[apps][generate]") {
    const Given here(kOnce);
    Words words = words_of(kTrain + "--steps 100000000");
    words.erase(words.begin());
    Running training("generate", words, {.folder = here.path});
    REQUIRE(training.says("step         1/"));
    training.interrupt();
    const Result r = training.wait();
    CHECK((r.status == 130 && r.out.empty()));
    CHECK(r.err.ends_with("stopped; nothing was saved: there was no --save FOLDER\ngenerate: interrupted\n"));
}

TEST_CASE("generate train says what is wrong with a text or a command line", "[apps][generate]") {
    const Given here("");
    const std::string train = kTrain + "--save run ";
    for (const auto& [text, says, more] :
         {std::tuple(std::string(), ": the file is empty", ""),
          {"\xef\xbb\xbf", ": this text consists of one character only", ""},
          {repeated("a", 100), ": this text consists of one character only", ""},
          {"short", ": a text of 5 tokens; at least 20 are needed", ""},
          {"a\nb\nc", ": a text of 3 lines; at least 20 are needed", "--lines"},
          {"good\nba\xff\n", ":2: byte 3 of this line is not UTF-8", ""},
          {"good\nba\xff\n", ":2: byte 3 of this line is not UTF-8", "--lines"}}) {
        here.write("text.txt", text);
        here.refuses({{train + more, 1, std::string("text.txt") + says}});
    }
    here.write("text.txt", kOnce);
    const std::string new_model = "a new model needs --layers and --context above 0",
                      config = "--config must begin with 2017, gpt2 or modern: got '",
                      command = "generate train text.txt ";
    here.refuses(
        {{"generate train none.txt --save run", 1, "none.txt: cannot be opened: "},
         {kTrain + "--save text.txt", 1, "this folder cannot be made"},
         {command + "--context 600", 1, "; --context 600 needs more, because a tenth is held out"},
         {"generate train", 2, "an argument is missing: FILE..."},
         {command + "--preset large", 2, "--preset must be one of tiny|small|names|further: got 'large'"},
         {command + "--heads 3", 2, "--d-model 128 must be a multiple of --heads 3"},
         {command + "--config 2016", 2, config + "2016'"},
         {command + "--config modern2", 2, config + "modern2'"},
         {command + "--config +rotary", 2, config + "+rotary'"},
         {command + "--config 2017+rotery", 2,
          "--config 2017+rotery: there is no change 'rotery'; did you mean rotary? there are pre-norm, "},
         {command + "--config modern+", 2, "--config modern+: there is no change ''; there are "},
         {command + "--config modern --d-model 12", 2,
          "--config modern: rotary positions turn pairs of numbers, so --d-model / --heads must be even: got "
          "12 / 4"},
         {command + "--dropout 1", 2, "--dropout needs a number from 0 to 0.99: got '1'"},
         {command + "--context 0", 2, new_model},
         {command + "--layers 0", 2, new_model},
         {command + "--steps 0", 2, "--steps needs "}});
    CHECK_FALSE(std::filesystem::exists(here / "run"));
}

TEST_CASE("generate train --config: the paper's layer, today's, and each change", "[apps][generate]") {
    const auto config_of = [](const std::string& name) { return generate::named_config(name, 48, 8); };
    const Config paper = config_of("2017");
    CHECK(paper.block.norm == models::NormPlacement::post);
    CHECK(paper.block.norm_kind == nn::NormKind::layer);
    CHECK(paper.block.positions == nn::Positions::sinusoidal);
    CHECK(paper.block.activation == nn::Activation::relu);
    CHECK((paper.block.scale_embeddings && paper.block.attention_bias && paper.tied));
    CHECK_FALSE((paper.final_norm || paper.block.gated));
    CHECK((paper.block.n_kv_heads == 0 && paper.block.d_ff == 192));

    // Each change, made by hand in the paper's configuration.
    const std::pair<const char*, void (*)(Config&)> changes[] = {
        {"pre-norm", [](Config& c) { c.final_norm = true, c.block.norm = models::NormPlacement::pre; }},
        {"rms-norm", [](Config& c) { c.block.norm_kind = nn::NormKind::rms; }},
        {"rotary", [](Config& c) { c.block.positions = nn::Positions::rotary; }},
        {"gelu", [](Config& c) { c.block.activation = nn::Activation::gelu; }},
        {"swiglu",
         [](Config& c) {
             c.block.activation = nn::Activation::silu, c.block.gated = true;
             c.block.d_ff = 128;  // 2/3 of 192
         }},
        {"grouped", [](Config& c) { c.block.n_kv_heads = 2, c.block.d_ff = 232; }},  // 9.5/2 · 48 = 228
        {"no-bias", [](Config& c) {
             c.block.attention_bias = c.block.feed_forward_bias = c.block.norm_bias = c.block.output_bias =
                 false;
         }}};
    const auto text_of = [](const Config& c) { return models::hugging_face::fields_of(c); };
    Config all = paper;
    for (const auto& [name, change] : changes) {
        INFO(name);
        Config one = paper;
        change(one);
        CHECK(text_of(one) != text_of(paper));
        CHECK(text_of(config_of("2017+" + std::string(name))) == text_of(one));
        if (std::string(name) != "gelu")
            change(all);
    }
    all.block.d_ff = 152;  // 9.5/3 · 48
    CHECK(text_of(config_of("modern")) == text_of(all));
    CHECK(text_of(config_of("2017+pre-norm+rms-norm+rotary+swiglu+grouped+no-bias")) == text_of(all));
    all.block.activation = nn::Activation::gelu;
    CHECK(text_of(config_of("modern+gelu")) == text_of(all));

    // Four heads share if the number of heads allows it, else two, else none.
    for (const auto& [heads, kv_heads] : {std::pair(12, 3), std::pair(6, 3), std::pair(3, 3)})
        CHECK(generate::named_config("2017+grouped", 48, heads).block.n_kv_heads == kv_heads);
}

TEST_CASE("generate train: configurations have equally many parameters", "[apps][generate]") {
    for (const int64_t heads : {4, 6, 8}) {
        const auto count = [&](const std::string& config) {
            Config c = generate::named_config(config, 48 * heads, heads);
            c.vocabulary = 100, c.max_length = 64, c.n_layers = 4;
            c.specials = {};
            return static_cast<double>(nn::parameter_count(models::LanguageModel(c, models::Rng(1))));
        };
        for (const char* const config : {"modern", "2017+swiglu", "2017+grouped", "2017+no-bias", "gpt2"}) {
            CAPTURE(heads, config);
            CHECK(count(config) == Approx(count("2017")).epsilon(0.01));
        }
    }
}
