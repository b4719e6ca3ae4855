// generate, run as a user runs it with a folder as from Hugging Face.
#include <array>
#include <cmath>
#include <cstdlib>

#include "apps/kit/text.h"
#include "apps/programs/generate/generate.h"
#include "models/saved.h"
#include "tests/apps/programs.h"
#include "tests/apps/run.h"
#include "tests/catch.h"
#include "tests/models/folder_of_others.h"

using namespace plaingrad;  // NOLINT
using namespace tests;
using models::Writer;

namespace {

Result ran(const Words& arguments, const With& with = {}) { return run("generate", arguments, with); }

void refused(int status, const Words& arguments, const std::string& part, const With& with = {}) {
    const Result r = ran(arguments, with);
    CAPTURE(arguments, r.err);
    CHECK(r.status == status);
    CHECK(r.out.empty());
    const Words lines = lines_of(r.err);
    REQUIRE_FALSE(lines.empty());
    CHECK(lines.back().starts_with("generate: "));
    CHECK(contains(lines.back(), part));
}

// A text for a tiny model to learn.
std::string repeated(const std::string& piece, int n) {
    std::string text;
    for (int i = 0; i < n; ++i)
        text += piece;
    return text;
}

// The sum of -log p of ids[1..], of which number i is predicted from those from `first(i)` on.
template <class First>
double by_hand(const models::LanguageModel& model, const Ids& ids, const First& first) {
    double sum = 0;
    for (int64_t i = 1; i < std::ssize(ids); ++i) {
        const Ids read(ids.begin() + first(i), ids.begin() + i);
        const autograd::Tensor logits = model(models::Tokens(1, std::ssize(read), read), nn::Mode::eval());
        const auto row = tests::row(logits, 0, std::ssize(read) - 1);
        double total = 0;
        for (const models::Real x : row)
            total += std::exp(static_cast<double>(x));
        sum += std::log(total) -
               static_cast<double>(row[static_cast<std::size_t>(ids[static_cast<std::size_t>(i)])]);
    }
    return sum;
}

}  // namespace

TEST_CASE("generate continues a prompt with a folder from Hugging Face", "[apps][generate]") {
    for (const std::string family : {"gpt2", "llama2"}) {
        const Folder folder;
        write_folder(folder, family);
        const Writer w = Writer::load(folder.path);
        const std::string prompt = "All human beings";
        const Result r = ran({folder.path, "--prompt", prompt, "--tokens", "30", "--seed", "4"});
        INFO(r.err);
        CHECK(r.status == 0);
        const models::Rng rng = models::Rng(4).fork("sample");
        models::WritingOptions o = w.usual;
        o.max_tokens = 30;
        CHECK(r.out == prompt + w(prompt, o, rng.fork(0)) + "\n");
        CHECK(contains(r.err, "generate: "));
        CHECK(contains(r.err, "drawing: temperature 0.8, top-k 50, top-p 1, repetition penalty 1\n"));
        CHECK(contains(r.err, " tokens/s"));
        CHECK(lines_of(r.err).size() == 4);
        CHECK(contains(lines_of(r.err)[0], family == "gpt2" ? ": GPT2LMHeadModel" : ": LlamaForCausalLM"));

        // Its weights are packed (autograd/weight.h), which changes no bit; in bf16, other products.
        const Result rounded =
            ran({folder.path, "--prompt", prompt, "--tokens", "30", "--precision", "bf16"});
        CHECK(rounded.status == 0);
        CHECK(contains(rounded.err, ", products in bf16"));

        // Several; what is piped; options.
        const Result two = ran({folder.path, "--tokens", "30", "--seed", "4", "--n", "2", "--threads", "1"},
                               {.input = prompt + "\n"});
        CHECK(two.out == r.out + "---\n" + prompt + w(prompt, o, rng.fork(1)) + "\n");
        const Result three = ran({folder.path, "--prompt", prompt, "--tokens", "2", "--n", "3"});
        CHECK(contains(three.err, "\n6 tokens in "));
        o.sampling = {.temperature = 0, .repetition_penalty = 1.3};
        CHECK(ran({folder.path, "--prompt", prompt, "--tokens", "30", "--temperature", "0",
                   "--repetition-penalty", "1.3"})
                  .out == prompt + w(prompt, o, rng) + "\n");
        o.sampling = {.temperature = 1.5, .top_k = 5};
        const std::string whole = w("", o, rng.fork(0));
        const Words hot = {folder.path, "--prompt", "",  "--tokens", "30", "--temperature",
                           "1.5",       "--top-k",  "5", "--seed",   "4"};
        CHECK(ran(hot).out == whole + "\n");
        Words stopped = hot;
        stopped.insert(stopped.end(), {"--stop", "never in it", "--stop", whole.substr(10, 1)});
        CHECK(ran(stopped).out == whole.substr(0, whole.find(whole.substr(10, 1))) + "\n");
    }
}

TEST_CASE("generate: --stop takes the place of the stop_strings of generation_config.json",
          "[apps][generate]") {
    const Folder folder;
    write_folder(folder);
    const auto text_with = [&](const Words& more) {
        return ran(joined({folder.path, "--prompt", "", "--tokens", "60", "--temperature", "1.5"}, more)).out;
    };
    // The text ends before the first letter of it, or before another one.
    const std::string text = text_with({});
    Words letters;
    for (const char c : text)
        if (((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) && (letters.empty() || letters[0][0] != c))
            letters.push_back({c});
    REQUIRE(letters.size() > 1);
    folder.write("generation_config.json",
                 autograd::join(R"({"do_sample":true,"stop_strings":[")", letters[0], "\"]}"));
    CHECK(text_with({}) == text.substr(0, text.find(letters[0])) + "\n");
    CHECK(text_with({"--stop", letters[1]}) == text.substr(0, text.find(letters[1])) + "\n");
}

TEST_CASE("generate takes defaults from generation_config.json, and says what it ignores",
          "[apps][generate]") {
    const Folder folder;
    write_folder(folder);
    folder.write("generation_config.json",
                 R"({"do_sample":true,"temperature":0.5,"top_p":0.9,"max_new_tokens":7,"my_key":1})");
    folder.write("tokenizer_config.json", R"({"chat_template":"{{ messages }}"})");
    const Result r = ran({folder.path, "--prompt", "All"});
    CHECK(r.status == 0);
    CHECK(contains(r.err, "drawing: temperature 0.5, top-k 50, top-p 0.9, repetition penalty 1\n"));
    CHECK(contains(r.err, "\n7 tokens in "));
    CHECK(contains(r.err, "keys that transformers does not know are ignored: \"my_key\"\n"));
    CHECK(contains(r.err, "chat_template is not applied: the prompt is the text as given\n"));
    const Result other = ran({folder.path, "--prompt", "All", "--top-k", "0", "--tokens", "3"});
    CHECK(contains(other.err, "drawing: temperature 0.5, top-k 0, top-p 0.9, repetition penalty 1\n"));
    CHECK(contains(other.err, "\n3 tokens in "));
    // Longer than the model's 24 positions.
    const std::string prompt = repeated("human ", 40);
    const Result lengthy = ran({folder.path, "--prompt", prompt});
    CHECK(lengthy.status == 0);
    CHECK(lengthy.out.starts_with(prompt));
    CHECK(contains(lengthy.err, "tokens; the model sees the last 24\n"));

    const Result info = ran({"info", folder.path});
    CHECK(info.status == 0);
    CHECK(info.out.starts_with(folder.path + ": gpt2\n"));
    CHECK(contains(info.out, "layers: 2, 24 wide, feed-forward 40, 4 heads; at most 24 tokens\n"));
    CHECK(contains(info.out, "text: tokens, vocabulary 501\n"));
    CHECK(contains(info.out,
                   "writes: temperature 0.5, top-k 50, top-p 0.9, repetition penalty 1, at most 7 tokens\n"));
    CHECK(contains(info.err, "chat_template is not applied: the prompt is the text as given\n"));

    // Without do_sample, and with a length that counts the prompt.
    folder.write("generation_config.json", R"({"temperature":0.5,"max_length":20})");
    const Ids all = Writer::load(folder.path).encode("All human beings");
    const std::string rest = autograd::join("\n", 20 - std::ssize(all), " tokens in ");
    const Result whole = ran({folder.path, "--prompt", "All human beings"});
    INFO(whole.err);
    CHECK(contains(whole.err, rest));
    CHECK(contains(whole.err, "has no do_sample: tokens are drawn, where transformers would take"));
    CHECK(contains(ran({folder.path, "--prompt", "All", "--tokens", "30"}).err, "\n30 tokens in "));
    CHECK(contains(ran({"info", folder.path}).out,
                   "temperature 0.5, top-k 50, top-p 1, repetition penalty 1, at most 20 tokens with the"));
    const Result too_long = ran({folder.path, "--prompt", prompt});
    CHECK(too_long.status == 1);
    CHECK(
        contains(too_long.err, "generate: the prompt has 82 tokens, and max_length allows 20 with what is"));
    folder.write("generation_config.json", R"({"do_sample":false,"max_length":20,"max_new_tokens":9})");
    CHECK(contains(ran({folder.path, "--prompt", "All human beings"}).err, "\n9 tokens in "));

    folder.write("generation_config.json", R"({"num_beams":4})");
    refused(1, {folder.path, "--prompt", "All"}, "generation_config.json: num_beams must be 1, as");
}

TEST_CASE("generate computes with plain ops, too", "[apps][generate][plain]") {
    const Folder folder;
    write_folder(folder);
    const std::string text = folder.write("text", repeated("All human beings. ", 5));
    const Words words = {folder.path, "--prompt", "All human", "--tokens", "5", "--temperature", "0"};
    const Result plain = ran(joined(words, {"--plain"}));
    INFO(plain.err);
    CHECK(plain.status == 0);
    CHECK(plain.out == ran(words).out);
    CHECK(ran({"score", folder.path, text, "--plain"}).status == 0);
}

TEST_CASE("generate score: each token once, from a window that slides", "[apps][generate]") {
    const Folder folder;
    write_folder(folder);
    const Writer w = Writer::load(folder.path);
    const std::string text = repeated("All human beings are born free. ", 12);
    const std::string file = folder.write("text.txt", "\xef\xbb\xbf" + text),
                      other = folder.write("b.txt", "free");
    Ids ids = {500};
    for (const int32_t id : w.tokenizer.encode(text))
        ids.push_back(id);
    const auto n = static_cast<double>(ids.size() - 1), bytes = static_cast<double>(text.size());
    REQUIRE(n > 60);
    for (const int64_t stride : {1, 5, 12, 24}) {
        // Predictions 1 to 24 are of the first window, the next `stride` of the second, and so on.
        const double nats = by_hand(w.model, ids, [&](int64_t i) {
            if (i <= 24)
                return int64_t{0};
            const int64_t window = (i - 24 + stride - 1) / stride;
            return std::min<int64_t>(24 + window * stride, std::ssize(ids) - 1) - 24;
        });
        const auto windows = generate::windows_of(ids, 24, stride, 9999);  // no id
        const kit::Measured score = kit::measure(kit::objective_of(w.model), windows);
        CHECK(score.nats == Approx(nats / n).epsilon(1e-6));
        CHECK(score.predictions == std::ssize(ids) - 1);
        const Result r = ran({"score", folder.path, file, "--stride", std::to_string(stride)});
        INFO(r.out << r.err);
        CHECK(r.status == 0);
        CHECK(number_after(r.out, file + ": ") == Approx(nats / n).margin(6e-5));
        CHECK(number_after(r.out, " nats per token = ") == Approx(nats / n / std::log(2.0)).margin(6e-5));
        CHECK(number_after(r.out, ": perplexity ") == Approx(std::exp(nats / n)).margin(6e-3));
        CHECK(number_after(r.out, " tokens; ") == Approx(nats / bytes / std::log(2.0)).margin(6e-5));
    }
    const Words lines = lines_of(ran({"score", folder.path, file, other}).out);
    REQUIRE(lines.size() == 2);
    Ids free = {500};
    for (const int32_t id : w.tokenizer.encode("free"))
        free.push_back(id);
    const double of_free = by_hand(w.model, free, [](int64_t) { return int64_t{0}; });
    CHECK(number_after(lines[1], other + ": ") ==
          Approx(of_free / static_cast<double>(free.size() - 1)).margin(6e-5));
    CHECK(lines[0] + "\n" == ran({"score", folder.path, file, "--stride", "12"}).out);
    CHECK(lines[1].ends_with(" bits per byte, over 4"));
    refused(2, {"score", folder.path, file, "--stride", "25"}, "--stride 25: the model takes only 24");
}

TEST_CASE("generate train: a folder that is opened as the first one", "[apps][generate]") {
    for (const std::string family : {"gpt2", "llama2"}) {
        const Folder folder, runs;
        write_folder(folder, family);
        const std::string file =
            runs.write("text.txt", repeated("All human beings are born free and equal. ", 60));
        const std::string saved = runs / "all", frozen = runs / "last";
        const auto train = [&](const std::string& to, const Words& more = {}) {
            Words words = {"train", folder.path, file, "--save",  to,  "--steps",          "40", "--lr",
                           "0.01",  "--context", "16", "--batch", "2", "--validate-every", "10"};
            words.insert(words.end(), more.begin(), more.end());
            return ran(words);
        };
        const Result r = train(saved);
        INFO(r.out << r.err);
        REQUIRE(r.status == 0);
        const double before = number_after(r.err, "held out, before: "),
                     after = number_after(r.out, "held out, after: ");
        CHECK(after < before - 1);
        CHECK(contains(r.err, "saved " + saved + "/model.safetensors, with the weights of step "));
        CHECK(content(saved + "/tokenizer.json") == content(folder / "tokenizer.json"));
        CHECK(ran({saved, "--prompt", "All human", "--tokens", "3", "--temperature", "0"}).out !=
              ran({folder.path, "--prompt", "All human", "--tokens", "3", "--temperature", "0"}).out);
        CHECK(contains(ran({"info", saved}).out, "training: step 40, loss "));
        CHECK(contains(ran({"info", saved}).out, " validations since\n"));

        // Stopped and resumed: the same bits.
        const std::string twice = runs / "twice";
        const Result stopped = train(twice, {"--stop-after", "13"});
        CHECK(contains(stopped.err, "continue with --resume " + twice));
        CHECK(number_after(stopped.err, "held out, before: ") == before);
        CHECK(stopped.out.empty());                          // what was learned is measured at the end
        CHECK(ran({twice, "--prompt", "All"}).status == 0);  // the checkpoint opens, too
        CHECK(contains(ran({"info", twice}).out, "training: step 13, loss "));
        const Result resumed = ran({"train", "--resume", twice});
        CHECK(resumed.out == r.out);
        CHECK_FALSE(contains(resumed.err, "held out, before: "));  // as that is no longer known
        CHECK(content(twice + "/model.safetensors") == content(saved + "/model.safetensors"));

        // With the model at another place, and the run's own texts.
        const std::string moved = runs / "moved";
        std::filesystem::copy(folder.path, moved);
        CHECK(ran({"train", "--resume", twice, moved}).out == r.out);
        CHECK(ran({"train", "--resume", twice, moved, file}).out == r.out);
        refused(1, {"train", "--resume", twice, runs / "gone"}, "gone: there is no such folder or file");
        // Another tokenizer makes other tokens of the same texts.
        std::string tokenizer = content(moved + "/tokenizer.json");
        tokenizer.erase(tokenizer.find('[', tokenizer.find("\"merges\"")) + 1,
                        tokenizer.rfind(']') - tokenizer.find('[', tokenizer.find("\"merges\"")) - 1);
        put(moved + "/tokenizer.json", tokenizer);
        refused(1, {"train", "--resume", twice, moved}, "or with another tokenizer");

        // Ended, and without the best weights: those of the model.
        std::filesystem::remove(twice + "/best.safetensors");
        const Result again = ran({"train", "--resume", twice});
        INFO(again.err);
        CHECK(again.out == r.out);

        // Only the last layer and the norm after it.
        const Result part = train(frozen, {"--layers", "1"});
        INFO(part.err);
        REQUIRE(part.status == 0);
        CHECK(contains(part.err, " parameters learn, the others are frozen\n"));
        CHECK_FALSE(contains(r.err, "frozen"));
        const auto base = Writer::load(folder.path), with = Writer::load(frozen);
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

TEST_CASE("generate train: several files are one text, with the end of a text after each",
          "[apps][generate]") {
    const Folder folder, runs;
    write_folder(folder);
    const Writer w = Writer::load(folder.path);
    const Words texts = {repeated("All human beings are born free. ", 20), repeated("They are equal. ", 20)};
    int64_t all = 0;
    Words files;
    for (const std::string& text : texts) {
        files.push_back(runs.write(std::to_string(files.size()), text));
        all += std::ssize(w.tokenizer.encode(text, {.add_special_tokens = false})) + 1;
    }
    const Result r = ran({"train", folder.path, files[0], files[1], "--context", "16", "--steps", "1",
                          "--batch", "2", "--save", runs / "run"});
    INFO(r.out << r.err);
    REQUIRE(r.status == 0);
    // The last tenth is held out; its first token is not predicted.
    const int64_t learned = all * 9 / 10;
    CHECK(contains(r.err, "\n" + kit::counted(learned, "token") + " to learn from, "));
    CHECK(contains(r.out, ", over " + kit::counted(all - learned - 1, "token") + "\n"));
}

TEST_CASE("generate new, fill new: the seed decides the weights", "[apps][generate][fill]") {
    for (const std::string program : {"generate", "fill"}) {
        INFO(program);
        const Folder folder;
        const std::string text = folder.write("text.txt", "the lamp burns low");
        const auto weights = [&](const std::string& name, const Words& more) {
            const Words made = {"new", folder / name, text, "--layers", "1", "--d-model", "16"};
            const Result r = run(program, joined(made, more));
            INFO(r.err);
            REQUIRE(r.status == 0);
            return content(folder / name + "/model.safetensors");
        };
        const std::string usual = weights("usual", {}), other = weights("other", {"--seed", "2"});
        CHECK(weights("again", {"--seed", "1"}) == usual);
        CHECK(other.size() == usual.size());
        CHECK(other != usual);
    }
}

TEST_CASE("generate train: of a long text that is held out, a part is measured", "[apps][generate]") {
    const Folder folder, runs;
    write_folder(folder);
    const Writer w = Writer::load(folder.path);
    const std::string piece = "All human beings are born free. ";
    const auto tokens = [&](int n) {
        return std::ssize(w.tokenizer.encode(repeated(piece, n), {.add_special_tokens = false}));
    };
    const int64_t one = tokens(2) - tokens(1);
    // One token after the text, and one that is not predicted.
    for (const auto& [held_out, least, most] :
         {std::array<int64_t, 3>{16'000, 15'900, 16'000}, {18'000, 8'500, 9'500}}) {
        CAPTURE(held_out);
        const std::string file =
            runs.write("text.txt", repeated(piece, static_cast<int>(10 * held_out / one)));
        const Result r = ran({"train", folder.path, file, "--context", "16", "--steps", "1", "--batch", "2",
                              "--save", runs / std::to_string(held_out)});
        REQUIRE(r.status == 0);
        std::string out = r.out;
        std::erase(out, ',');
        const double measured = number_after(out, " over ");
        CHECK(measured >= static_cast<double>(least));
        CHECK(measured <= static_cast<double>(most));
    }
}

TEST_CASE("generate says that a model's weights are broken", "[apps][generate]") {
    const Folder folder;
    const models::LanguageModel model = write_folder(folder);
    models::Tensor(nn::parameters(model).back().tensor).mutable_data()[3] =
        std::numeric_limits<models::Real>::quiet_NaN();
    save(folder.path, model, models::SavedModel(folder.path).config);
    const std::string file = folder.write("text.txt", repeated("All human beings are born free. ", 60));
    refused(1, {"score", folder.path, file},
            "text.txt: the model predicts this text with nan nats; its weights");
    const Result r = ran({"train", folder.path, file, "--context", "16", "--save", folder / "run"});
    CHECK(r.status == 1);
    CHECK(contains(r.err, "text costs nan nats before training; the model's weights are broken\n"));
    CHECK_FALSE(std::filesystem::exists(folder / "run"));
}

TEST_CASE("generate train: --check, and what is refused", "[apps][generate]") {
    const Folder folder, runs;
    write_folder(folder);
    const std::string file =
        runs.write("text.txt", repeated("All human beings are born free and equal. ", 60));
    const Result r = ran({"train", folder.path, file, "--context", "16", "--check", "--lr", "0.001"});
    INFO(r.out << r.err);
    CHECK(contains(r.out, "ok   the future: "));
    refused(2, {"train", folder.path, file}, "--save FOLDER is missing");
    refused(2, {"train", folder.path}, "an argument is missing: MODEL FILE...; ./apps/generate train --help");
    // What became worse is said.
    const Result worse = ran({"train", folder.path, file, "--context", "16", "--save", runs / "worse", "--lr",
                              "1", "--steps", "2"});
    CHECK(contains(worse.err, "\nheld out, before: "));
    CHECK(contains(worse.err, "the held-out text is predicted worse than before; "));
    refused(2, {"train", folder.path, file, "--save", runs / "x", "--layers", "3"},
            "--layers 3: the model has only 2");
    refused(2, {"train", folder.path, file, "--save", runs / "x", "--context", "25"},
            "--context 25: the model takes only 24");
    refused(1, {"train", folder.path, runs.write("short.txt", "All"), "--save", runs / "x"},
            "at least 20 are needed, because a tenth is held out");
    refused(1, {"train", folder.path, file, "--save", folder.path},
            "model.safetensors: this belongs to a model, or to another run; give another folder");
    CHECK_FALSE(std::filesystem::exists(runs / "x"));
    const Folder other;  // of a model, or of one that was begun
    for (const std::string name : {"tokenizer.json", "vocab.txt", "generation_config.json",
                                   "model.safetensors.index.json", "model-00001-of-00002.safetensors"}) {
        other.write(name, "{}");
        refused(1, {"train", folder.path, file, "--save", other.path, "--context", "16"},
                name + ": this belongs to a");
        CHECK(content(other / name) == "{}");
        CHECK_FALSE(std::filesystem::exists(other / "last.safetensors"));
        std::filesystem::remove(other / name);
    }
    other.write("config.json", "{}");
    refused(1, {"train", file, "--steps", "1", "--save", other.path}, "config.json: this belongs to a model");
    CHECK_FALSE(std::filesystem::exists(other / "last.safetensors"));
}

TEST_CASE("generate new: a model of each family, which learns", "[apps][generate]") {
    const Folder folder;
    const std::string text =
        folder.write("text.txt", repeated("the lamp burns low, the lamp burns high. ", 80));
    for (const std::string family : {"gpt2", "llama"}) {
        INFO(family);
        const std::string fresh = folder / ("new-" + family), trained = folder / family;
        const Result made = ran({"new", fresh, text, "--family", family, "--vocabulary", "270", "--layers",
                                 "1", "--d-model", "16", "--heads", "2", "--context", "16"});
        INFO(made.err);
        REQUIRE(made.status == 0);
        CHECK(contains(made.out, " random parameters, 270 tokens"));
        // Llama has half as many heads of keys and values as of queries.
        CHECK(contains(ran({"info", fresh}).out, family == "llama"
                                                     ? ", 2 heads, of keys and values 1; at most 16 tokens\n"
                                                     : ", 2 heads; at most 16 tokens\n"));
        REQUIRE(ran({"train", fresh, text, "--steps", "60", "--lr", "0.02", "--save", trained}).status == 0);
        const auto nats = [&](const std::string& model) {
            return number_after(ran({"score", model, text}).out, text + ": ");
        };
        const double before = nats(fresh), after = nats(trained);
        CHECK(before == Approx(std::log(270)).margin(0.3));  // of a guess
        CHECK(after < before / 2);
        refused(1, {"new", fresh, text}, ": this belongs to a model, or to another run; give another folder");
    }
    refused(2, {"new", folder / "x"}, "an argument is missing: FOLDER FILE...");
    refused(2, {"new", folder / "x", text, "--vocabulary", "256"}, "--vocabulary");
    refused(2, {"new", folder / "x", text, "--family", "bert"}, "--family");
    refused(2, {"new", folder / "x", text, "--family", "llama", "--d-model", "4", "--heads", "4"},
            "--d-model 4 must be a multiple of twice --heads 4, because llama rotates pairs");
    refused(1, {"new", folder / "x", folder / "none"}, "none: cannot be opened");
    refused(2, {"new", folder / "x", text, "--d-model", "10"},
            "--d-model 10 must be a multiple of --heads 4");
    refused(1, {"new", folder / "x", text, "--d-model", "65536", "--layers", "1000"}, "MiB are available");
    const Folder other;  // whose tokenizer the new model would have
    other.write("tokenizer.json", "{}");
    refused(1, {"new", other.path, text}, "tokenizer.json: this belongs to a model, or to another run; give");
    CHECK_FALSE(std::filesystem::exists(other / "config.json"));
    CHECK_FALSE(std::filesystem::exists(folder / "x"));
}

TEST_CASE("generate: a prompt is what standard input still has", "[apps][generate]") {
    if (!environment("PLAINGRAD_RUN", "").empty())
        return;  // a shell does not start the emulator
    const Folder folder;
    write_folder(folder);
    const std::string in = folder.write("in", "first line\nsecond"), out = folder / "out",
                      program = std::filesystem::absolute(apps()).string() + "/generate";
    REQUIRE(std::system(autograd::join("{ read line; ", program, " ", folder.path, " --tokens 5; } <", in,
                                       " >", out, " 2>/dev/null")
                            .c_str()) == 0);
    CHECK(content(out) == ran({folder.path, "--tokens", "5", "--prompt", "second"}).out);
    CHECK(std::system(autograd::join(program, " ", folder.path, " <&- >", out, " 2>&1").c_str()) != 0);
    CHECK(contains(content(out), "generate: standard input: cannot be opened: Bad file descriptor\n"));
}

TEST_CASE("generate: wrong command lines and bad data end with one line", "[apps][generate]") {
    const Folder folder;
    write_folder(folder);
    refused(2, {folder.path, "--prompt", "x", "--top-p", "0"}, "--top-p");
    refused(2, {folder.path, "--prompt", "x", "--repetition-penalty", "0"}, "--repetition-penalty");
    refused(2, {folder.path, "--prompt", "x", "--n", "0"}, "--n");
    refused(2, {folder.path, "--prompt", "x", "--stop", ""}, "--stop needs a value: TEXT");
    refused(2, {"score", folder.path}, "an argument is missing: MODEL FILE...");
    refused(1, {folder / "none", "--prompt", "x"}, "none");
    refused(1, {folder / "none"}, "none: there is no such folder or file");  // nor is there a prompt
    const Result empty = run("generate", {folder.path}, {.input = "\n"});
    CHECK(empty.status == 1);
    CHECK(contains(empty.err,
                   "generate: standard input: there is no prompt; --prompt '' writes without one\n"));
    const Result wide = run("generate", {folder.path},
                            {.input = std::string("\xff\xfe"
                                                  "a\0",
                                                  4)});
    CHECK((wide.status == 1 && contains(wide.err, "generate: standard input: this file is UTF-16; convert")));
    refused(2, {"scroe", folder.path, "x"}, "did you mean score? ./apps/generate --help shows more");
    refused(1, {"scroe"}, "scroe: there is no such folder or file; did you mean score? `make tiny`");
    refused(1, {"tests/golden/hugging_face/bert", "--prompt", "x"},
            "bert/config.json: a language model is needed: got BertForMaskedLM");
    refused(1, {"tests/golden/hugging_face/gpt2", "--prompt", "x"}, "gpt2 has no tokenizer.json");
    refused(1, {folder.path}, "standard input: there is no prompt; --prompt '' writes without one");
    refused(1, {"score", folder.path, folder / "none.txt"}, "none.txt: cannot be opened");
    refused(1, {"score", folder.path, folder.write("nul.txt", std::string("a\0b", 3))},
            "there is a NUL byte in this file: it is not text; --bytes reads any file");
    refused(1, {folder / "nul.txt"},
            "nul.txt: this file is no model; `generate train --help` says how to learn");
    CHECK(ran({"score", folder.path, folder / "nul.txt", "--bytes"}).status == 0);
    for (const char* const nothing : {"\xef\xbb\xbf", "\r\r", "\xef\xbb\xbf\r"})
        refused(1, {"score", folder.path, folder.write("none.txt", nothing)},
                "none.txt: there is no text in this file");
    const std::string config = content(folder / "config.json"),
                      weights = content(folder / "model.safetensors");
    std::filesystem::remove(folder / "config.json");
    refused(1, {folder.path, "--prompt", "x"}, "config.json");
    folder.write("config.json", "{");
    refused(1, {folder.path, "--prompt", "x"}, "config.json: ");
    folder.write("config.json", config);
    folder.write("model.safetensors", weights.substr(0, weights.size() / 2));
    refused(1, {folder.path, "--prompt", "x"}, "model.safetensors: ");
    folder.write("model.safetensors", weights);
    check_lost_output("generate", {folder.path, "--prompt", "x", "--tokens", "2000"});
}
