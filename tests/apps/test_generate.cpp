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

Result ran(const Words& arguments, const With& with = {}) { return run("generate", arguments, with); }

// A model, and a text to learn from.
struct Given {
    explicit Given(const std::string& family = "gpt2") : model(write_folder(folder, family)) {}
    Words train(const Words& more = {}) const { return joined({"train", folder.path, text}, more); }

    Folder folder, runs;
    std::string text = runs.write("text.txt", repeated("All human beings are born free and equal. ", 60));
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
        const Given given(family);
        const std::string& path = given.folder.path;
        const Writer w = Writer::load(path);
        const std::string prompt = "All human beings";
        const Words words = {path, "--tokens", "30", "--seed", "4"},
                    prompted = joined(words, {"--prompt", prompt});
        const Result r = must_run("generate", prompted);
        const models::Rng rng = models::Rng(4).fork("sample");
        models::WritingOptions o = w.usual;
        o.max_tokens = 30;
        CHECK(r.out == prompt + w(prompt, o, rng.fork(0)) + "\n");
        CHECK(r.err.starts_with(path + (family == "gpt2" ? ": GPT2LMHeadModel\n" : ": LlamaForCausalLM\n")));
        check_says(r.err, {"generate: ", " tokens/s",
                           "drawing: temperature 0.8, top-k 50, top-p 1, repetition penalty 1\n"});
        CHECK(lines_of(r.err).size() == 4);
        // Its weights are packed (autograd/weight.h), which changes no bit; in bf16, other products.
        check_says(must_run("generate", joined(prompted, {"--precision", "bf16"})).err,
                   {", products in bf16"});

        // Several; what is piped; options.
        const Result two = ran(joined(words, {"--n", "2", "--threads", "1"}), {.input = prompt + "\n"});
        CHECK(two.out == r.out + "---\n" + prompt + w(prompt, o, rng.fork(1)) + "\n");
        check_says(ran({path, "--prompt", prompt, "--tokens", "2", "--n", "3"}).err, {"\n6 tokens in "});
        o.sampling = {.temperature = 0, .repetition_penalty = 1.3};
        CHECK(ran(joined(prompted, {"--temperature", "0", "--repetition-penalty", "1.3"})).out ==
              prompt + w(prompt, o, rng) + "\n");
        o.sampling = {.temperature = 1.5, .top_k = 5};
        const std::string whole = w("", o, rng.fork(0)), letter = whole.substr(10, 1);
        const Words hot = joined(words, {"--prompt", "", "--temperature", "1.5", "--top-k", "5"});
        CHECK(ran(hot).out == whole + "\n");
        CHECK(ran(joined(hot, {"--stop", "never in it", "--stop", letter})).out ==
              whole.substr(0, whole.find(letter)) + "\n");
    }
}

TEST_CASE("generate: --stop takes the place of the folder's stop_strings", "[apps][generate]") {
    const Given given;
    const auto text_with = [&](const Words& more) {
        const Words hot = {given.folder.path, "--prompt", "", "--tokens", "60", "--temperature", "1.5"};
        return ran(joined(hot, more)).out;
    };
    // The text ends before the first letter of it, or before another one.
    const std::string text = text_with({});
    Words letters;
    for (const char c : text)
        if (((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) && (letters.empty() || letters[0][0] != c))
            letters.push_back({c});
    REQUIRE(letters.size() > 1);
    given.folder.write("generation_config.json",
                       autograd::join(R"({"do_sample":true,"stop_strings":[")", letters[0], "\"]}"));
    CHECK(text_with({}) == text.substr(0, text.find(letters[0])) + "\n");
    CHECK(text_with({"--stop", letters[1]}) == text.substr(0, text.find(letters[1])) + "\n");
}

TEST_CASE("generate takes defaults from generation_config.json", "[apps][generate]") {
    const Given given;
    const std::string& path = given.folder.path;
    const auto configured = [&](const std::string& json) {
        given.folder.write("generation_config.json", json);
    };
    const auto said = [&](const std::string& prompt, const Words& more = {}) {
        return must_run("generate", joined({path, "--prompt", prompt}, more)).err;
    };
    const std::string not_applied = "chat_template is not applied: the prompt is the text as given\n";
    configured(R"({"do_sample":true,"temperature":0.5,"top_p":0.9,"max_new_tokens":7,"my_key":1})");
    given.folder.write("tokenizer_config.json", R"({"chat_template":"{{ messages }}"})");
    check_says(said("All"),
               {"drawing: temperature 0.5, top-k 50, top-p 0.9, repetition penalty 1\n", "\n7 tokens in ",
                not_applied, "keys that transformers does not know are ignored: \"my_key\"\n"});
    check_says(said("All", {"--top-k", "0", "--tokens", "3"}),
               {"drawing: temperature 0.5, top-k 0, top-p 0.9, repetition penalty 1\n", "\n3 tokens in "});
    // Longer than the model's 24 positions.
    const std::string long_prompt = repeated("human ", 40);
    const Result lengthy = must_run("generate", {path, "--prompt", long_prompt});
    CHECK(lengthy.out.starts_with(long_prompt));
    check_says(lengthy.err, {"tokens; the model sees the last 24\n"});

    const Result info = must_run("generate", {"info", path});
    CHECK(info.out.starts_with(path + ": gpt2\n"));
    check_says(info.out,
               {"layers: 2, 24 wide, feed-forward 40, 4 heads; at most 24 tokens\n",
                "text: tokens, vocabulary 501\n",
                "writes: temperature 0.5, top-k 50, top-p 0.9, repetition penalty 1, at most 7 tokens\n"});
    check_says(info.err, {not_applied});

    // Without do_sample, and with a length that counts the prompt.
    const std::string prompt = "All human beings";
    configured(R"({"temperature":0.5,"max_length":20})");
    const int64_t rest = 20 - std::ssize(Writer::load(path).encode(prompt));
    check_says(said(prompt), {autograd::join("\n", rest, " tokens in "),
                              "has no do_sample: tokens are drawn, where transformers would take"});
    check_says(said("All", {"--tokens", "30"}), {"\n30 tokens in "});
    check_says(ran({"info", path}).out,
               {"temperature 0.5, top-k 50, top-p 1, repetition penalty 1, at most 20 tokens with the"});
    const Result too_long = ran({path, "--prompt", long_prompt});
    CHECK(too_long.status == 1);
    check_says(too_long.err, {"generate: the prompt has 82 tokens, and max_length allows 20 with what is"});
    configured(R"({"do_sample":false,"max_length":20,"max_new_tokens":9})");
    check_says(said(prompt), {"\n9 tokens in "});
}

TEST_CASE("generate computes with plain ops, too", "[apps][generate][plain]") {
    const Given given;
    const Words words = {given.folder.path, "--prompt", "All human", "--tokens", "5", "--temperature", "0"};
    CHECK(must_run("generate", joined(words, {"--plain"})).out == ran(words).out);
    must_run("generate", {"score", given.folder.path, given.text, "--plain"});
}

TEST_CASE("generate score: each token once, from a window that slides", "[apps][generate]") {
    const Given given;
    const std::string& path = given.folder.path;
    const Writer w = Writer::load(path);
    const auto ids_of = [&](const std::string& text) {
        Ids ids = w.tokenizer.encode(text);
        ids.insert(ids.begin(), 500);
        return ids;
    };
    const std::string text = repeated("All human beings are born free. ", 12);
    const std::string file = given.runs.write("a.txt", "\xef\xbb\xbf" + text),
                      other = given.runs.write("b.txt", "free");
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
        const Result r = must_run("generate", {"score", path, file, "--stride", std::to_string(stride)});
        CHECK(number_after(r.out, file + ": ") == Approx(nats / n).margin(6e-5));
        CHECK(number_after(r.out, " nats per token = ") == Approx(nats / n / std::log(2.0)).margin(6e-5));
        CHECK(number_after(r.out, ": perplexity ") == Approx(std::exp(nats / n)).margin(6e-3));
        CHECK(number_after(r.out, " tokens; ") == Approx(nats / bytes / std::log(2.0)).margin(6e-5));
    }
    const Words lines = lines_of(ran({"score", path, file, other}).out);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] + "\n" == ran({"score", path, file, "--stride", "12"}).out);
    const double of_free = by_hand(w.model, free, [](int64_t) { return int64_t{0}; });
    CHECK(number_after(lines[1], other + ": ") ==
          Approx(of_free / static_cast<double>(free.size() - 1)).margin(6e-5));
    CHECK(lines[1].ends_with(" bits per byte, over 4"));
}

TEST_CASE("generate train: a folder that is opened as the first one", "[apps][generate]") {
    for (const std::string family : {"gpt2", "llama2"}) {
        const Given given(family);
        const std::string& path = given.folder.path;
        const std::string saved = given.runs / "all", frozen = given.runs / "last",
                          twice = given.runs / "twice", moved = given.runs / "moved";
        const auto train = [&](const std::string& to, const Words& more = {}) {
            const Words words = {"--save",  to,  "--steps",          "40", "--lr", "0.01", "--context", "16",
                                 "--batch", "2", "--validate-every", "10"};
            return must_run("generate", given.train(joined(words, more)));
        };
        const auto greedy = [](const std::string& model) {
            return ran({model, "--prompt", "All human", "--tokens", "3", "--temperature", "0"}).out;
        };
        const Result r = train(saved);
        const double before = number_after(r.err, "held out, before: ");
        CHECK(number_after(r.out, "held out, after: ") < before - 1);
        check_says(r.err, {"saved " + saved + "/model.safetensors, with the weights of step "});
        CHECK(content(saved + "/tokenizer.json") == content(path + "/tokenizer.json"));
        CHECK(greedy(saved) != greedy(path));
        check_says(ran({"info", saved}).out, {"training: step 40, loss ", " validations since\n"});

        // Stopped and resumed: the same bits.
        const Result stopped = train(twice, {"--stop-after", "13"});
        check_says(stopped.err, {"continue with --resume " + twice});
        CHECK(number_after(stopped.err, "held out, before: ") == before);
        CHECK(stopped.out.empty());                        // what was learned is measured at the end
        must_run("generate", {twice, "--prompt", "All"});  // the checkpoint opens, too
        check_says(ran({"info", twice}).out, {"training: step 13, loss "});
        const Result resumed = ran({"train", "--resume", twice});
        CHECK(resumed.out == r.out);
        CHECK_FALSE(contains(resumed.err, "held out, before: "));  // as that is no longer known
        CHECK(content(twice + "/model.safetensors") == content(saved + "/model.safetensors"));

        // With the model at another place, and the run's own texts; and, as it has ended, without the best
        // weights. But another tokenizer makes other tokens of the same texts.
        std::filesystem::copy(path, moved);
        CHECK(ran({"train", "--resume", twice, moved}).out == r.out);
        CHECK(ran({"train", "--resume", twice, moved, given.text}).out == r.out);
        std::filesystem::remove(twice + "/best.safetensors");
        CHECK(ran({"train", "--resume", twice}).out == r.out);
        std::string tokenizer = content(moved + "/tokenizer.json");
        const std::size_t merges = tokenizer.find('[', tokenizer.find("\"merges\"")) + 1;
        put(moved + "/tokenizer.json", tokenizer.erase(merges, tokenizer.rfind(']') - merges));
        check_refusals("generate", {{{"train", "--resume", twice, moved}, 1, "or with another tokenizer"},
                                    {{"train", "--resume", twice, given.runs / "gone"},
                                     1,
                                     "gone: there is no such folder or file"}});

        // Only the last layer and the norm after it.
        const Result part = train(frozen, {"--layers", "1"});
        check_says(part.err, {" parameters learn, the others are frozen\n"});
        CHECK_FALSE(contains(r.err, "frozen"));
        const auto base = Writer::load(path), with = Writer::load(frozen);
        const auto a = nn::parameters(base.model), b = nn::parameters(with.model);
        REQUIRE(a.size() == b.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
            INFO(a[i].name);
            const bool learns = contains(a[i].name, "layers.1.") || contains(a[i].name, "encoder.norm.");
            CHECK((a[i].tensor.to_vector() != b[i].tensor.to_vector()) == learns);
        }
        CHECK(number_after(part.out, "held out, after: ") < before);
    }
}

TEST_CASE("generate train: several files are one text, a long one is measured in part", "[apps][generate]") {
    const Given given;
    const Writer w = Writer::load(given.folder.path);
    const auto tokens = [&](const std::string& text) {
        return std::ssize(w.tokenizer.encode(text, {.add_special_tokens = false}));
    };
    const auto measured = [&](const Words& files) {
        const Words one = {"--context", "16", "--steps", "1",
                           "--batch",   "2",  "--save",  given.runs / files[0]};
        Words paths = {"train", given.folder.path};
        for (const std::string& name : files)
            paths.push_back(given.runs / (name + ".txt"));
        return must_run("generate", joined(paths, one));
    };
    const Words texts = {repeated("All human beings are born free. ", 20), repeated("They are equal. ", 20)};
    given.runs.write("a.txt", texts[0]);
    given.runs.write("b.txt", texts[1]);
    const Result two = measured({"a", "b"});
    // The end of a text is after each. The last tenth is held out; its first token is not predicted.
    const int64_t all = tokens(texts[0]) + tokens(texts[1]) + 2, learned = all * 9 / 10;
    check_says(two.err, {"\n" + kit::counted(learned, "token") + " to learn from, "});
    check_says(two.out, {", over " + kit::counted(all - learned - 1, "token") + "\n"});

    const std::string piece = "All human beings are born free. ";
    const int64_t one = tokens(repeated(piece, 2)) - tokens(piece);
    for (const auto& [held_out, least, most] :
         {std::array<int64_t, 3>{16'000, 15'900, 16'000}, {18'000, 8'500, 9'500}}) {
        const std::string name = std::to_string(held_out);
        given.runs.write(name + ".txt", repeated(piece, 10 * held_out / one));
        std::string out = measured({name}).out;
        std::erase(out, ',');
        CHECK(number_after(out, " over ") >= static_cast<double>(least));
        CHECK(number_after(out, " over ") <= static_cast<double>(most));
    }
}

TEST_CASE("generate says that a model's weights are broken", "[apps][generate]") {
    const Given given;
    const std::string& path = given.folder.path;
    models::Tensor(nn::parameters(given.model).back().tensor).mutable_data()[3] =
        std::numeric_limits<models::Real>::quiet_NaN();
    save(path, given.model, models::SavedModel(path).config);
    check_refusals("generate", {{{"score", path, given.text},
                                 1,
                                 "text.txt: the model predicts this text with nan nats; its weights"},
                                {given.train({"--context", "16", "--save", given.runs / "run"}), 1,
                                 "text costs nan nats before training; the model's weights are broken"}});
    CHECK_FALSE(std::filesystem::exists(given.runs / "run"));
}

TEST_CASE("generate train: --check, what became worse, and what is refused", "[apps][generate]") {
    const Given given;
    const std::string x = given.runs / "x", short_text = given.runs.write("short.txt", "All");
    check_says(ran(given.train({"--context", "16", "--check", "--lr", "0.001"})).out, {"ok   the future: "});
    check_says(
        ran(given.train({"--context", "16", "--save", given.runs / "worse", "--lr", "1", "--steps", "2"}))
            .err,
        {"\nheld out, before: ", "the held-out text is predicted worse than before; "});
    check_refusals(
        "generate",
        {{given.train(), 2, "--save FOLDER is missing"},
         {{"train", given.folder.path},
          2,
          "an argument is missing: MODEL FILE...; ./apps/generate train --help"},
         {given.train({"--save", x, "--layers", "3"}), 2, "--layers 3: the model has only 2"},
         {given.train({"--save", x, "--context", "25"}), 2, "--context 25: the model takes only 24"},
         {given.train({"--save", x, "--heads", "2"}), 2, "--heads is for a new model; "},
         {{"train", given.folder.path, short_text, "--save", x},
          1,
          "at least 20 are needed, because a tenth is held out"},
         {given.train({"--save", given.folder.path}), 1,
          "model.safetensors: this belongs to a model, or to another run; give another folder"}});
    CHECK_FALSE(std::filesystem::exists(x));
    const Folder other;  // of a model, or of one that was begun
    for (const std::string name : {"tokenizer.json", "vocab.txt", "generation_config.json", "config.json",
                                   "model.safetensors.index.json", "model-00001-of-00002.safetensors"}) {
        other.write(name, "{}");
        const Words to = {"--save", other.path, "--context", "16"};
        check_refusals("generate", {{given.train(to), 1, name + ": this belongs to a"}});
        if (name == "config.json")
            check_refusals("generate",
                           {{joined({"train", given.text}, to), 1, name + ": this belongs to a model"}});
        CHECK(content(other / name) == "{}");
        CHECK_FALSE(std::filesystem::exists(other / "last.safetensors"));
        std::filesystem::remove(other / name);
    }
}

TEST_CASE("generate new: a model of each family, which learns", "[apps][generate]") {
    const Folder folder;
    const std::string text =
                          folder.write("text.txt", repeated("the lamp burns low, the lamp burns high. ", 80)),
                      x = folder / "x";
    const std::string belongs = ": this belongs to a model, or to another run; give another folder";
    for (const std::string family : {"gpt2", "llama"}) {
        const std::string fresh = folder / ("new-" + family), trained = folder / family;
        const Result made =
            must_run("generate", {"new", fresh, text, "--family", family, "--vocabulary", "270", "--layers",
                                  "1", "--d-model", "16", "--heads", "2", "--context", "16"});
        check_says(made.out, {" random parameters, 270 tokens"});
        // Llama has half as many heads of keys and values as of queries.
        check_says(ran({"info", fresh}).out,
                   {family == "llama" ? ", 2 heads, of keys and values 1; at most 16 tokens\n"
                                      : ", 2 heads; at most 16 tokens\n"});
        must_run("generate", {"train", fresh, text, "--steps", "60", "--lr", "0.02", "--save", trained});
        const auto nats = [&](const std::string& model) {
            return number_after(ran({"score", model, text}).out, text + ": ");
        };
        CHECK(nats(fresh) == Approx(std::log(270)).margin(0.3));  // of a guess
        CHECK(nats(trained) < nats(fresh) / 2);
        check_refusals("generate", {{{"new", fresh, text}, 1, belongs}});
    }
    const auto new_x = [&](const Words& more) { return joined({"new", x, text}, more); };
    const Folder other;  // whose tokenizer the new model would have
    other.write("tokenizer.json", "{}");
    check_refusals("generate",
                   {{{"new", x}, 2, "an argument is missing: FOLDER FILE..."},
                    {new_x({"--vocabulary", "256"}), 2, "--vocabulary"},
                    {new_x({"--family", "bert"}), 2, "--family"},
                    {new_x({"--family", "llama", "--d-model", "4", "--heads", "4"}), 2,
                     "--d-model 4 must be a multiple of twice --heads 4, because llama rotates pairs"},
                    {new_x({"--d-model", "10"}), 2, "--d-model 10 must be a multiple of --heads 4"},
                    {new_x({"--d-model", "65536", "--layers", "1000"}), 1, "MiB are available"},
                    {{"new", x, folder / "none"}, 1, "none: cannot be opened"},
                    {{"new", other.path, text}, 1, "tokenizer.json" + belongs}});
    CHECK_FALSE(std::filesystem::exists(other / "config.json"));
    CHECK_FALSE(std::filesystem::exists(x));
    for (const std::string program : {"generate", "fill"}) {  // the seed decides the weights
        const auto weights = [&](const std::string& name, const Words& more) {
            const std::string to = folder / (program + name);
            must_run(program, joined({"new", to, text, "--layers", "1", "--d-model", "16"}, more));
            return content(to + "/model.safetensors");
        };
        const std::string usual = weights("usual", {}), differs = weights("other", {"--seed", "2"});
        CHECK(weights("again", {"--seed", "1"}) == usual);
        CHECK((differs.size() == usual.size() && differs != usual));
    }
}

TEST_CASE("generate: a prompt is what standard input still has", "[apps][generate]") {
    if (!environment("PLAINGRAD_RUN", "").empty())
        SKIP("a shell does not start the emulator");
    const Given given;
    const std::string in = given.runs.write("in", "first line\nsecond"), out = given.runs / "out",
                      program = "'" + std::filesystem::absolute(apps()).string() + "/generate' '" +
                                given.folder.path + "'";
    const auto shell = [](const std::string& line) { return std::system(line.c_str()); };
    REQUIRE(shell("{ read line; " + program + " --tokens 5; } <'" + in + "' >'" + out + "' 2>/dev/null") ==
            0);
    CHECK(content(out) == ran({given.folder.path, "--tokens", "5", "--prompt", "second"}).out);
    CHECK(shell(program + " <&- >'" + out + "' 2>&1") != 0);
    check_says(content(out), {"generate: standard input: cannot be opened: Bad file descriptor\n"});
}

TEST_CASE("generate: wrong command lines and bad data end with one line", "[apps][generate]") {
    const Given given;
    const std::string path = given.folder.path,
                      no_prompt = "standard input: there is no prompt; --prompt '' writes",
                      nul = given.runs.write("nul.txt", std::string("a\0b", 3)), none = given.runs / "none";
    const std::string wide(
        "\xff\xfe"
        "a\0",
        4);
    const auto x = [&](const Words& more) { return joined({path, "--prompt", "x"}, more); };
    check_refusals(
        "generate",
        {{x({"--top-p", "0"}), 2, "--top-p"},
         {x({"--repetition-penalty", "0"}), 2, "--repetition-penalty"},
         {x({"--n", "0"}), 2, "--n"},
         {x({"--stop", ""}), 2, "--stop needs a value: TEXT"},
         {{"--save", "x"}, 2, "unknown option '--save'"},
         {{path, given.text}, 2, "there are too many arguments: MODEL; given: "},
         {{"score", path}, 2, "an argument is missing: MODEL FILE..."},
         {{"score", path, given.text, "--stride", "25"}, 2, "--stride 25: the model takes only 24"},
         {{none, "--prompt", "x"}, 1, "none"},
         {{none}, 1, "none: there is no such folder or file"},  // nor is there a prompt
         {{path}, 1, no_prompt},
         {{path}, 1, no_prompt, {.input = "\n"}},
         {{path}, 1, "standard input: this file is UTF-16; convert", {.input = wide}},
         {{"scroe", path, "x"}, 2, "did you mean score? ./apps/generate --help shows more"},
         {{"scroe"}, 1, "scroe: there is no such folder or file; did you mean score? `make tiny`"},
         {{"tests/golden/hugging_face/bert", "--prompt", "x"},
          1,
          "bert/config.json: a language model is needed: got BertForMaskedLM"},
         {{"tests/golden/hugging_face/gpt2", "--prompt", "x"}, 1, "gpt2 has no tokenizer.json"},
         {{"score", path, none}, 1, "none: cannot be opened"},
         {{"score", path, nul},
          1,
          "there is a NUL byte in this file: it is not text; --bytes reads any file"},
         {{nul}, 1, "nul.txt: this file is no model; `generate train --help` says how to learn"}});
    must_run("generate", {"score", path, nul, "--bytes"});
    for (const char* const nothing : {"\xef\xbb\xbf", "\r\r", "\xef\xbb\xbf\r"})
        check_refusals("generate", {{{"score", path, given.runs.write("empty.txt", nothing)},
                                     1,
                                     "empty.txt: there is no text in this file"}});
    check_lost_output("generate", x({"--tokens", "2000"}));
    const std::string weights = content(path + "/model.safetensors");
    put(path + "/model.safetensors", weights.substr(0, weights.size() / 2));
    check_refusals("generate", {{x({}), 1, "model.safetensors: "}});
    put(path + "/model.safetensors", weights);
    put(path + "/config.json", "{");
    check_refusals("generate", {{x({}), 1, "config.json: "}});
    std::filesystem::remove(path + "/config.json");
    check_refusals("generate", {{x({}), 1, "there is no config.json beside it"}});
}
