// generate, run as a user runs it with a folder as from Hugging Face.
#include <array>
#include <cmath>
#include <limits>

#include "apps/kit/text.h"
#include "apps/programs/generate/generate.h"
#include "models/saved.h"
#include "tests/apps/run.h"
#include "tests/models/folder_of_others.h"

using namespace plaingrad;  // NOLINT
using namespace tests;
using models::Writer;

namespace {

// A model, in the folder "model", and a text to learn from.
struct Given : Place {
    explicit Given(const std::string& family = "gpt2") : model(write_folder(*this / "model", family)) {
        write("text.txt", repeated("All human beings are born free and equal. ", 60));
    }
    models::LanguageModel model;
};

constexpr int32_t kNoId = 9999;

// The sum of -log p of ids[1..], of which number i is predicted from those from `first(i)` on.
template <class First>
double by_hand(const models::LanguageModel& model, const Ids& ids, const First& first) {
    double sum = 0;
    for (int64_t i = 1; i < std::ssize(ids); ++i) {
        const Ids read(ids.begin() + first(i), ids.begin() + i);
        Ids said(read.size(), kNoId);  // only the last one counts
        said.back() = ids[static_cast<std::size_t>(i)];
        const int64_t n = std::ssize(read);
        sum += static_cast<double>(
            model.loss(models::Tokens(1, n, read), models::Tokens(1, n, said, kNoId), nn::Mode::eval())
                .item());
    }
    return sum;
}

}  // namespace

TEST_CASE("generate continues a prompt with a folder from Hugging Face", "[apps][generate]") {
    for (const std::string family : {"gpt2", "llama2"}) {
        const Given here(family);
        const Writer w = Writer::load(here / "model");
        const std::string prompt = "All human beings", words = "generate model --tokens 30 --seed 4 ",
                          prompted = words + "--prompt '" + prompt + "' ";
        const Result r = here.must(prompted);
        const models::Rng rng = models::Rng(4).fork("sample");
        models::WritingOptions o = w.usual;
        o.max_tokens = 30;
        CHECK(r.out == prompt + w(prompt, o, rng.fork(0)) + "\n");
        CHECK(r.err.starts_with(family == "gpt2" ? "model: GPT2LMHeadModel\n" : "model: LlamaForCausalLM\n"));
        check_says(r.err, {"generate: ", " tokens/s",
                           "drawing: temperature 0.8, top-k 50, top-p 1, repetition penalty 1\n"});
        CHECK(lines_of(r.err).size() == 4);
        // Its weights are packed (autograd/weight.h), which changes no bit; in bf16, other products.
        check_says(here.must(prompted + "--precision bf16").err, {", products in bf16"});

        // Several; what is piped; options.
        const Result two = here(words + "--n 2 --threads 1", {.input = prompt + "\n"});
        CHECK(two.out == r.out + "---\n" + prompt + w(prompt, o, rng.fork(1)) + "\n");
        check_says(here(prompted + "--tokens 2 --n 3").err, {"\n6 tokens in "});
        o.sampling = {.temperature = 0, .repetition_penalty = 1.3};
        CHECK(here(prompted + "--temperature 0 --repetition-penalty 1.3").out ==
              prompt + w(prompt, o, rng) + "\n");
        o.sampling = {.temperature = 1.5, .top_k = 5};
        const std::string whole = w("", o, rng.fork(0)), letter = whole.substr(10, 1),
                          hot = words + "--prompt '' --temperature 1.5 --top-k 5 ";
        CHECK(here(hot).out == whole + "\n");
        CHECK(here(hot + "--stop 'never in it' --stop '" + letter + "'").out ==
              whole.substr(0, whole.find(letter)) + "\n");
    }
}

TEST_CASE("generate: --stop takes the place of the folder's stop_strings", "[apps][generate]") {
    const Given here;
    const std::string hot = "generate model --prompt '' --tokens 60 --temperature 1.5 ", text = here(hot).out;
    // The text ends before the first letter of it, or before another one.
    Words letters;
    for (const char c : text)
        if (((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) && (letters.empty() || letters[0][0] != c))
            letters.push_back({c});
    REQUIRE(letters.size() > 1);
    here.write("model/generation_config.json",
               autograd::join(R"({"do_sample":true,"stop_strings":[")", letters[0], "\"]}"));
    CHECK(here(hot).out == text.substr(0, text.find(letters[0])) + "\n");
    CHECK(here(hot + "--stop " + letters[1]).out == text.substr(0, text.find(letters[1])) + "\n");
}

TEST_CASE("generate takes defaults from generation_config.json", "[apps][generate]") {
    const Given here;
    const auto configured = [&](const std::string& json) {
        here.write("model/generation_config.json", json);
    };
    const auto said = [&](const std::string& more) {
        return here.must("generate model --prompt All " + more).err;
    };
    const std::string not_applied = "chat_template is not applied: the prompt is the text as given\n";
    configured(R"({"do_sample":true,"temperature":0.5,"top_p":0.9,"max_new_tokens":7,"my_key":1})");
    here.write("model/tokenizer_config.json", R"({"chat_template":"{{ messages }}"})");
    check_says(said(""),
               {"drawing: temperature 0.5, top-k 50, top-p 0.9, repetition penalty 1\n", "\n7 tokens in ",
                not_applied, "keys that transformers does not know are ignored: \"my_key\"\n"});
    check_says(said("--top-k 0 --tokens 3"),
               {"drawing: temperature 0.5, top-k 0, top-p 0.9, repetition penalty 1\n", "\n3 tokens in "});
    // Longer than the model's 24 positions.
    const std::string prompt = repeated("human ", 40),
                      long_prompt = "generate model --prompt '" + prompt + "'";
    const Result lengthy = here.must(long_prompt);
    CHECK(lengthy.out.starts_with(prompt));
    check_says(lengthy.err, {"tokens; the model sees the last 24\n"});

    const Result info = here.must("generate info model");
    CHECK(info.out.starts_with("model: gpt2\n"));
    check_says(info.out,
               {"layers: 2, 24 wide, feed-forward 40, 4 heads; at most 24 tokens\n",
                "text: tokens, vocabulary 501\n",
                "writes: temperature 0.5, top-k 50, top-p 0.9, repetition penalty 1, at most 7 tokens\n"});
    check_says(info.err, {not_applied});

    // Without do_sample, and with a length that counts the prompt.
    configured(R"({"temperature":0.5,"max_length":20})");
    const int64_t rest = 20 - std::ssize(Writer::load(here / "model").encode("All"));
    check_says(said(""), {autograd::join("\n", rest, " tokens in "),
                          "has no do_sample: tokens are drawn, where transformers would take"});
    check_says(said("--tokens 30"), {"\n30 tokens in "});
    check_says(here("generate info model").out,
               {"temperature 0.5, top-k 50, top-p 1, repetition penalty 1, at most 20 tokens with the"});
    const Result too_long = here(long_prompt);
    CHECK(too_long.status == 1);
    check_says(too_long.err, {"generate: the prompt has 82 tokens, and max_length allows 20 with what is"});
    configured(R"({"do_sample":false,"max_length":20,"max_new_tokens":9})");
    check_says(said(""), {"\n9 tokens in "});
}

TEST_CASE("generate computes with plain ops, too", "[apps][generate][plain]") {
    const Given here;
    const std::string words = "generate model --prompt 'All human' --tokens 5 --temperature 0";
    CHECK(here.must(words + " --plain").out == here(words).out);
    here.must("generate score model text.txt --plain");
}

TEST_CASE("generate score: each token once, from a window that slides", "[apps][generate]") {
    const Given here;
    const Writer w = Writer::load(here / "model");
    const auto ids_of = [&](const std::string& text) {
        Ids ids = w.tokenizer.encode(text);
        ids.insert(ids.begin(), 500);
        return ids;
    };
    const std::string text = repeated("All human beings are born free. ", 12);
    here.write("a.txt", "\xef\xbb\xbf" + text), here.write("b.txt", "free");
    const Ids ids = ids_of(text), free = ids_of("free");
    const auto n = static_cast<double>(ids.size() - 1), bytes = static_cast<double>(text.size());
    REQUIRE(n > 60);
    for (const int64_t stride : {1, 5, 12, 24}) {
        // Predictions 1 to 24 are of the first window, the next `stride` of the second, and so on.
        const double nats = by_hand(w.model, ids, [&](int64_t i) {
            const int64_t window = i <= 24 ? 0 : (i - 24 + stride - 1) / stride;
            return std::min<int64_t>(24 + window * stride, std::ssize(ids) - 1) - 24;
        });
        const auto windows = generate::windows_of(ids, 24, stride, kNoId);
        const kit::Measured score = kit::measure(kit::objective_of(w.model), windows);
        CHECK(score.nats == Approx(nats / n).epsilon(1e-6));
        CHECK(score.predictions == std::ssize(ids) - 1);
        const std::string out =
            here.must("generate score model a.txt --stride " + std::to_string(stride)).out;
        CHECK(number_after(out, "a.txt: ") == Approx(nats / n).margin(6e-5));
        CHECK(number_after(out, " nats per token = ") == Approx(nats / n / std::log(2.0)).margin(6e-5));
        CHECK(number_after(out, ": perplexity ") == Approx(std::exp(nats / n)).margin(6e-3));
        CHECK(number_after(out, " tokens; ") == Approx(nats / bytes / std::log(2.0)).margin(6e-5));
    }
    const Words lines = lines_of(here("generate score model a.txt b.txt").out);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] + "\n" == here("generate score model a.txt --stride 12").out);
    const double of_free = by_hand(w.model, free, [](int64_t) { return int64_t{0}; });
    CHECK(number_after(lines[1], "b.txt: ") ==
          Approx(of_free / static_cast<double>(free.size() - 1)).margin(6e-5));
    CHECK(lines[1].ends_with(" bits per byte, over 4"));
}

// test_runs.cpp resumes runs of all programs.
TEST_CASE("generate train: a folder that is opened as the first one", "[apps][generate]") {
    const Given here;
    const std::string train =
        "generate train model text.txt --steps 40 --lr 0.01 --context 16 --batch 2 "
        "--validate-every 10 ";
    const auto greedy = [&](const std::string& model) {
        return here("generate " + model + " --prompt 'All human' --tokens 3 --temperature 0").out;
    };
    const Result r = here.must(train + "--save all");
    const double before = number_after(r.err, "held out, before: ");
    CHECK(number_after(r.out, "held out, after: ") < before - 1);
    check_says(r.err, {"saved all/model.safetensors, with the weights of step "});
    CHECK(content(here / "all/tokenizer.json") == content(here / "model/tokenizer.json"));
    CHECK(greedy("all") != greedy("model"));
    check_says(here("generate info all").out, {"training: step 40, loss ", " validations since\n"});

    const Result stopped = here.must(train + "--save parts --stop-after 13");
    CHECK(number_after(stopped.err, "held out, before: ") == before);
    CHECK(stopped.out.empty());                // what was learned is measured at the end
    here.must("generate parts --prompt All");  // the checkpoint opens, too
    check_says(here("generate info parts").out, {"training: step 13, loss "});
    const Result resumed = here("generate train --resume parts");
    CHECK(resumed.out == r.out);
    CHECK_FALSE(contains(resumed.err, "held out, before: "));  // as that is no longer known

    // With the model at another place, and the run's own texts; and, as it has ended, without the best
    // weights. But another tokenizer makes other tokens of the same texts.
    std::filesystem::copy(here / "model", here / "moved");
    CHECK(here("generate train --resume parts moved").out == r.out);
    CHECK(here("generate train --resume parts moved text.txt").out == r.out);
    std::filesystem::remove(here / "parts/best.safetensors");
    CHECK(here("generate train --resume parts").out == r.out);
    std::string tokenizer = content(here / "moved/tokenizer.json");
    const std::size_t merges = tokenizer.find('[', tokenizer.find("\"merges\"")) + 1;
    here.write("moved/tokenizer.json", tokenizer.erase(merges, tokenizer.rfind(']') - merges));
    here.refuses({{"generate train --resume parts moved", 1, "or with another tokenizer"},
                  {"generate train --resume parts gone", 1, "gone: there is no such folder or file"}});

    // Only the last layer and the norm after it.
    const Result part = here.must(train + "--save last --layers 1");
    check_says(part.err, {" parameters learn, the others are frozen\n"});
    CHECK_FALSE(contains(r.err, "frozen"));
    const auto base = Writer::load(here / "model"), with = Writer::load(here / "last");
    const auto a = nn::parameters(base.model), b = nn::parameters(with.model);
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        INFO(a[i].name);
        const bool learns = contains(a[i].name, "layers.1.") || contains(a[i].name, "encoder.norm.");
        CHECK((a[i].tensor.to_vector() != b[i].tensor.to_vector()) == learns);
    }
    CHECK(number_after(part.out, "held out, after: ") < before);
}

TEST_CASE("generate train: several files are one text, a long one is measured in part", "[apps][generate]") {
    const Given here;
    const Writer w = Writer::load(here / "model");
    const auto tokens = [&](const std::string& text) {
        return std::ssize(w.tokenizer.encode(text, {.add_special_tokens = false}));
    };
    const auto measured = [&](const std::string& files) {
        return here.must("generate train model " + files + " --context 16 --steps 1 --batch 2 --save x" +
                         std::to_string(here.files()));
    };
    const Words texts = {repeated("All human beings are born free. ", 20), repeated("They are equal. ", 20)};
    here.write("a", texts[0]), here.write("b", texts[1]);
    const Result two = measured("a b");
    // The end of a text is after each. The last tenth is held out; its first token is not predicted.
    const int64_t all = tokens(texts[0]) + tokens(texts[1]) + 2, learned = all * 9 / 10;
    check_says(two.err, {"\n" + kit::counted(learned, "token") + " to learn from, "});
    check_says(two.out, {", over " + kit::counted(all - learned - 1, "token") + "\n"});

    const std::string piece = "All human beings are born free. ";
    const int64_t one = tokens(repeated(piece, 2)) - tokens(piece);
    for (const auto& [held_out, least, most] :
         {std::array<int64_t, 3>{16'000, 15'900, 16'000}, {18'000, 8'500, 9'500}}) {
        here.write("long", repeated(piece, 10 * held_out / one));
        std::string out = measured("long").out;
        std::erase(out, ',');
        CHECK(number_after(out, " over ") >= static_cast<double>(least));
        CHECK(number_after(out, " over ") <= static_cast<double>(most));
    }
}

TEST_CASE("generate says that a model's weights are broken", "[apps][generate]") {
    const Given here;
    models::Tensor(nn::parameters(here.model).back().tensor).mutable_data()[3] =
        std::numeric_limits<models::Real>::quiet_NaN();
    save(here / "model", here.model, models::SavedModel(here / "model").config);
    here.refuses({{"generate score model text.txt", 1,
                   "text.txt: the model predicts this text with nan nats; its weights"},
                  {"generate train model text.txt --context 16 --save run", 1,
                   "text costs nan nats before training; the model's weights are broken"}});
    CHECK_FALSE(std::filesystem::exists(here / "run"));
}

TEST_CASE("generate train: --check, what became worse, and what is refused", "[apps][generate]") {
    const Given here;
    const std::string train = "generate train model text.txt --context 16 ", to_x = train + "--save x ";
    here.write("short.txt", "All");
    check_says(here(train + "--check --lr 0.001").out, {"ok   the future: "});
    check_says(here(train + "--save worse --lr 1 --steps 2").err,
               {"\nheld out, before: ", "the held-out text is predicted worse than before; "});
    here.refuses(
        {{train, 2, "--save FOLDER is missing"},
         {"generate train model", 2, "an argument is missing: MODEL FILE...; ./apps/generate train --help"},
         {to_x + "--layers 3", 2, "--layers 3: the model has only 2"},
         {to_x + "--context 25", 2, "--context 25: the model takes only 24"},
         {to_x + "--heads 2", 2, "--heads is for a new model; "},
         {"generate train model short.txt --save x", 1,
          "at least 20 are needed, because a tenth is held out"},
         {train + "--save model", 1,
          "model.safetensors: this belongs to a model, or to another run; give another folder"}});
    CHECK_FALSE(std::filesystem::exists(here / "x"));
}

TEST_CASE("generate new: a model of each family, which learns", "[apps][generate]") {
    const Place here;
    here.write("text.txt", repeated("the lamp burns low, the lamp burns high. ", 80));
    const std::string belongs = ": this belongs to a model, or to another run; give another folder";
    for (const std::string family : {"gpt2", "llama"}) {
        const std::string make = "generate new " + family + " text.txt --family " + family;
        const Result made =
            here.must(make + " --vocabulary 270 --layers 1 --d-model 16 --heads 2 --context 16");
        check_says(made.out, {" random parameters, 270 tokens"});
        // Llama has half as many heads of keys and values as of queries.
        check_says(here("generate info " + family).out,
                   {family == "llama" ? ", 2 heads, of keys and values 1; at most 16 tokens\n"
                                      : ", 2 heads; at most 16 tokens\n"});
        here.must("generate train " + family + " text.txt --steps 60 --lr 0.02 --save learned-" + family);
        const auto nats = [&](const std::string& model) {
            return number_after(here("generate score " + model + " text.txt").out, "text.txt: ");
        };
        CHECK(nats(family) == Approx(std::log(270)).margin(0.3));  // of a guess
        CHECK(nats("learned-" + family) < nats(family) / 2);
        here.refuses({{make, 1, belongs}});
    }
    std::filesystem::create_directory(here / "other");  // whose tokenizer the new model would have
    here.write("other/tokenizer.json", "{}");
    here.refuses({{"generate new x", 2, "an argument is missing: FOLDER FILE..."},
                  {"generate new x text.txt --vocabulary 256", 2, "--vocabulary"},
                  {"generate new x text.txt --family bert", 2, "--family"},
                  {"generate new x text.txt --family llama --d-model 4 --heads 4", 2,
                   "--d-model 4 must be a multiple of twice --heads 4, because llama rotates pairs"},
                  {"generate new x text.txt --d-model 10", 2, "--d-model 10 must be a multiple of --heads 4"},
                  {"generate new x text.txt --d-model 65536 --layers 1000", 1, "MiB are available"},
                  {"generate new x none", 1, "none: cannot be opened"},
                  {"generate new other text.txt", 1, "tokenizer.json" + belongs}});
    CHECK_FALSE((std::filesystem::exists(here / "other/config.json") || std::filesystem::exists(here / "x")));
    const auto weights = [&](const std::string& seed) {  // which it decides
        const std::string to = autograd::join("x", here.files());
        here.must("generate new " + to + " text.txt --layers 1 --d-model 16" + seed);
        return content(here / to + "/model.safetensors");
    };
    const std::string usual = weights(""), differs = weights(" --seed 2");
    CHECK(weights(" --seed 1") == usual);
    CHECK((differs.size() == usual.size() && differs != usual));
}

TEST_CASE("generate: a prompt is what standard input still has", "[apps][generate]") {
    if (!environment("PLAINGRAD_RUN", "").empty())
        SKIP("a shell does not start the emulator");
    const Given here;
    here.write("in", "first line\nsecond");
    const auto shell = [&](const std::string& line) {
        const std::string program = "'" + std::filesystem::absolute(apps()).string() + "/generate' model ";
        return std::system(("cd '" + here.path + "'; { read line; " + program + line).c_str());
    };
    REQUIRE(shell("--tokens 5; } <in >out 2>/dev/null") == 0);
    CHECK(content(here / "out") == here("generate model --tokens 5 --prompt second").out);
    CHECK(shell("<&-; } <in >out 2>&1") != 0);
    check_says(content(here / "out"), {"generate: standard input: cannot be opened: Bad file descriptor\n"});
}

TEST_CASE("generate: wrong command lines and bad data end with one line", "[apps][generate]") {
    const Given here;
    const std::string golden = std::filesystem::absolute("tests/golden/hugging_face").string(),
                      no_prompt = "standard input: there is no prompt; --prompt '' writes",
                      x = "generate model --prompt x ";
    const std::string wide(
        "\xff\xfe"
        "a\0",
        4);
    here.write("nul", std::string("a\0b", 3));
    here.refuses(
        {{x + "--top-p 0", 2, "--top-p"},
         {x + "--repetition-penalty 0", 2, "--repetition-penalty"},
         {x + "--n 0", 2, "--n"},
         {x + "--stop ''", 2, "--stop needs a value: TEXT"},
         {"generate --save x", 2, "unknown option '--save'"},
         {"generate model text.txt", 2, "there are too many arguments: MODEL; given: "},
         {"generate score model", 2, "an argument is missing: MODEL FILE..."},
         {"generate score model text.txt --stride 25", 2, "--stride 25: the model takes only 24"},
         {"generate none --prompt x", 1, "none"},
         {"generate none", 1, "none: there is no such folder or file"},  // nor is there a prompt
         {"generate model", 1, no_prompt},
         {"generate model", 1, no_prompt, {.input = "\n"}},
         {"generate model", 1, "standard input: this file is UTF-16; convert", {.input = wide}},
         {"generate scroe model x", 2, "did you mean score? ./apps/generate --help shows more"},
         {"generate scroe", 1, "scroe: there is no such folder or file; did you mean score? `make tiny`"},
         {"generate '" + golden + "/bert'", 1, "bert/config.json: a language model is needed: got BertFor"},
         {"generate '" + golden + "/gpt2'", 1, "gpt2 has no tokenizer.json"},
         {"generate score model none", 1, "none: cannot be opened"},
         {"generate score model nul", 1,
          "there is a NUL byte in this file: it is not text; --bytes reads any file"},
         {"generate nul", 1, "nul: this file is no model; `generate train --help` says how to learn"}});
    here.must("generate score model nul --bytes");
    for (const char* const nothing : {"\xef\xbb\xbf", "\r\r", "\xef\xbb\xbf\r"}) {
        here.write("empty", nothing);
        here.refuses({{"generate score model empty", 1, "empty: there is no text in this file"}});
    }
    check_lost_output("generate", words_of("model --prompt x --tokens 2000"), here.path);
    const std::string weights = content(here / "model/model.safetensors");
    for (const auto& [file, bytes] :
         {std::pair("model.safetensors", weights.substr(0, weights.size() / 2)), {"config.json", "{"}}) {
        here.write(autograd::join("model/", file), bytes);
        here.refuses({{x, 1, std::string(file) + ": "}});
        here.write("model/model.safetensors", weights);
    }
    std::filesystem::remove(here / "model/config.json");
    here.refuses({{x, 1, "there is no config.json beside it"}});
}
