// A Writer continues texts: with characters, and with the tokens of a folder from Hugging Face.
#include "models/writer.h"

#include "models/text/learn_tokenizer.h"
#include "models/text/tokenizer/steps.h"
#include "tests/catch.h"
#include "tests/models/folder_of_others.h"
#include "tests/packed.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

const std::vector<std::string> kPrompts = {"", "All human beings", "are born",
                                           "f\xc3\xa9"
                                           "e and equal ",
                                           "one two three four five six seven eight nine ten eleven twelve"};

// Without the Writer: all ids at once.
std::string plainly(const Writer& w, const std::string& prompt, const WritingOptions& o, const Rng& rng) {
    Ids ids = w.tokenizer.encode(prompt);
    if (ids.empty())
        ids.push_back(w.model.config.specials.start);
    const auto skip = [&](const Ids& all) {
        return w.tokenizer.decode(all, {.skip_special_tokens = true,
                                        .clean_up_tokenization_spaces = false,
                                        .invalid = text::InvalidUtf8::keep});
    };
    const std::size_t before = skip(ids).size();
    const auto stepper = w.model.start(Tokens(1, std::ssize(ids), ids));
    const Ids more = generate(*stepper, rng, {.sampling = o.sampling, .max_tokens = o.max_tokens})[0];
    ids.insert(ids.end(), more.begin(), more.end());
    return text::tokenizer::replace_invalid_runs(skip(ids).substr(before));
}

}  // namespace

TEST_CASE("writer: a folder's text is that of its model and its tokenizer", "[models][writer]") {
    for (const char* family : {"gpt2", "llama2"}) {
        const Folder folder;
        write_folder(folder, family);
        const Writer w = Writer::load(folder.path);
        CHECK(w.notes.empty());
        for (const std::string& prompt : kPrompts)
            for (const double temperature : {0.0, 1.0}) {
                const WritingOptions o = {.sampling = {.temperature = temperature, .top_k = 40},
                                          .max_tokens = 40};
                std::string streamed;
                const std::string text =
                    w(prompt, o, Rng(2), [&](const std::string& piece) { streamed += piece; });
                INFO(prompt);
                CHECK(text == plainly(w, prompt, o, Rng(2)));
                CHECK(streamed == text);
                const auto start = w.start(w.encode(prompt));
                for (const uint64_t seed : {2u, 3u, 2u})  // one after the other
                    CHECK(w(*start, o, Rng(seed)) == plainly(w, prompt, o, Rng(seed)));
            }
        CHECK(w("All") == w("All", w.usual, Rng(1)));
    }
}

TEST_CASE("writer: opened packed, and in a precision", "[models][writer][packed]") {
    const Folder folder;
    write_folder(folder);
    const auto packed_in = [](const Writer& w) {
        for (const nn::NamedParameter& p : nn::parameters(w.model))
            if (p.is_matrix)
                return is_packed(p.tensor) ? std::optional(p.tensor.memory()->form.precision) : std::nullopt;
        return std::optional<Precision>();
    };
    for (const Precision precision : {Precision::float32, Precision::bf16}) {
        Writer whole = Writer::load(folder.path, {.precision = precision});
        const Writer packed = Writer::load(folder.path, {.packed = true, .precision = precision});
        CHECK(whole.model.config.block.precision == precision);
        CHECK(packed.model.config.block.precision == precision);
        CHECK(!packed_in(whole));
        CHECK(packed_in(packed) == precision);
        if (precision == Precision::float32)
            CHECK(whole("All") == packed("All"));
        tests::pack_weights(whole.model);  // in bf16 this rounds the embedding, too
        CHECK(whole("All") == packed("All"));
    }
    CHECK(packed_in(Writer::load(folder.path, {.packed = true})) == Precision::float32);
    const Writer w = Writer::load(folder.path);
    const auto two = w.model.start(Tokens(2, 1, {1, 2}));
    CHECK(error_of([&] { w(*two, {}, Rng(1)); }) == "[Writer] continues one prompt, not 2");
    const std::string run = folder / "run";
    const auto characters = text::learn_characters({"abcd"});
    save(run, LanguageModel(small_stack("gpt2", characters.size()), Rng(1)));
    characters.save(run);
    CHECK(packed_in(Writer::load(run, {.packed = true, .precision = Precision::bf16})) == Precision::bf16);
    CHECK(!packed_in(Writer::load(run)));
}

TEST_CASE("writer: a text ends before a string, after a token, or with a token", "[models][writer]") {
    const Folder folder;
    write_folder(folder);
    Writer w = Writer::load(folder.path);
    WritingOptions o = {.sampling = {.temperature = 1}, .max_tokens = 60};
    const std::string whole = w("All", o, Rng(3));
    REQUIRE(whole.size() > 50);
    const std::string stop = whole.substr(30, 3);
    o.stop = {"never in the text", stop};
    std::string streamed;
    int64_t asked = 0;
    o.done = [&] { return ++asked < 0; };
    CHECK(w("All", o, Rng(3), [&](const std::string& piece) { streamed += piece; }) ==
          whole.substr(0, whole.find(stop)));
    CHECK(streamed == whole.substr(0, whole.find(stop)));
    CHECK((asked > 3 && asked < 60));  // nothing was drawn for nothing
    o.stop = {};
    asked = 0;
    o.done = [&] { return ++asked == 5; };
    const std::string five = w("All", o, Rng(3));
    CHECK(five == plainly(w, "All", {.sampling = {.temperature = 1}, .max_tokens = 5}, Rng(3)));
    // Of max_tokens and max_length, the one that allows less counts.
    const auto written = [&](int64_t max_tokens, int64_t max_length) {
        return w("All", {.sampling = {.temperature = 1}, .max_tokens = max_tokens, .max_length = max_length},
                 Rng(3));
    };
    const int64_t prompt = std::ssize(w.encode("All"));
    CHECK((written(5, 0) == five && written(5, prompt + 9) == five && written(9, prompt + 5) == five));
    CHECK(written(9, 0) != five);
    // An id of generation_config.json that ends a text, and one that is never drawn.
    const int32_t second = generate(*w.start(w.encode("All")), Rng(3), {.max_tokens = 2})[0][1];
    folder.write(
        "generation_config.json",
        R"({"do_sample":true,"top_k":0,"max_new_tokens":60,"eos_token_id":)" + std::to_string(second) + "}");
    const Writer ending = Writer::load(folder.path);  // its ids replace those of config.json
    CHECK(ending.usual.max_tokens == 60);
    CHECK(ending.model.config.specials.ends == Ids{second});
    CHECK(ending("All", ending.usual, Rng(3)) ==
          plainly(w, "All", {.sampling = {.temperature = 1}, .max_tokens = 1}, Rng(3)));
    folder.write("generation_config.json", R"({"eos_token_id":null})");
    CHECK(Writer::load(folder.path).model.config.specials.ends == Ids{500});
}

TEST_CASE("writer: characters", "[models][writer]") {
    Config c = small_stack("gpt2");
    c.vocabulary = text::kFirstFreeId + 4;
    c.specials = {.start = 4, .never = {kPad, kSos, kUnk, kEos}};
    const auto saved = [&](bool lines) {
        const Folder folder;
        const Writer w = {LanguageModel(c, Rng(1)), text::learn_characters({"abc\n"}, lines), lines};
        save(folder / "model", w.model, w.config());
        w.tokenizer.save(folder / "model");
        return Writer::load(folder / "model");
    };
    const Writer text = saved(false), lines = saved(true);
    const WritingOptions o = {.sampling = {.temperature = 2}, .max_tokens = 30, .stop = {"bb"}};
    for (uint64_t seed = 0; seed < 20; ++seed) {
        const std::string written = text("ab", o, Rng(seed));
        CHECK_FALSE(contains(written, "bb"));
        CHECK((contains(text("ab", {.sampling = {.temperature = 2}, .max_tokens = 30}, Rng(seed)), "bb") ||
               written.size() == 30));
    }
    // If a text ends with the beginning of such a string, that is written, too.
    const std::string whole = text("ab", {.sampling = {.temperature = 2}, .max_tokens = 30}, Rng(0));
    CHECK(text("ab", {.sampling = {.temperature = 2}, .max_tokens = 30, .stop = {whole.substr(28) + "a"}},
               Rng(0)) == whole);
    CHECK(lines.encode("ab") == Ids{kSos, 5, 6});
    CHECK(text.encode("") == Ids{4});  // the model's start
    CHECK(contains(error_of([&] { text("abx"); }), "the prompt:1: character 3"));
    CHECK(contains(error_of([&] { lines(std::string(99, 'a')); }),
                   "the prompt has 99 characters; the model takes"));
    CHECK(contains(error_of([&] { text("a", {.stop = {""}}); }), "must not be empty"));
}

TEST_CASE("writer: a line ends where the model's positions end, and a text goes on", "[models][writer]") {
    Config c = small_stack("gpt2");
    c.max_length = 10;
    for (const bool lines : {false, true}) {
        const auto tokenizer = text::learn_characters({"abc"}, lines);
        c.vocabulary = tokenizer.size() + 1;
        c.specials.start = static_cast<int32_t>(tokenizer.size());  // not in the tokenizer
        const WritingOptions endless = {.sampling = {.temperature = 2, .never = {kEos, c.specials.start}},
                                        .max_tokens = 30};
        const Writer w = {LanguageModel(c, Rng(1)), tokenizer, lines};
        // <sos> a b take three positions; the last character that is written takes none.
        CHECK(w("ab", endless).size() == (lines ? 8 : 30));
        if (!lines) {
            REQUIRE(w.encode("") == Ids{c.specials.start});
            CHECK_NOTHROW(w("", {.max_tokens = 3}));
        }
    }
}

TEST_CASE("writer: folders that do not fit together", "[models][writer]") {
    const Folder folder;
    write_folder(folder);
    folder.write("tokenizer.json", content("tests/golden/tokenizers/bert_cased/tokenizer.json"));
    const int64_t ids = text::Tokenizer::open(folder.path).size();
    REQUIRE(ids > 501);
    CHECK(error_of([&] { Writer::load(folder.path); }) ==
          folder.path + ": the tokenizer has " + std::to_string(ids) + " ids, the model 501");
    std::filesystem::remove(folder / "tokenizer.json");
    CHECK(contains(error_of([&] { Writer::load(folder.path); }), folder.path));
    CHECK(contains(error_of([&] { Writer::load(folder / "nothing"); }), "nothing"));
}

TEST_CASE("writer: a tokenizer with token types that the model lacks", "[models][writer][hugging_face]") {
    const Folder folder;
    write_bert<MaskedLanguageModel>(folder);
    std::string json = content("tests/golden/tokenizers/bert_cased/tokenizer.json");
    folder.write("tokenizer.json", json);
    SavedModel opened(folder.path);
    opened.config.vocabulary = 1 << 20;
    CHECK(opened.tokenizer().size() > 15);
    const std::string zero = "\"type_id\":0";
    for (const std::string type : {"2", "3"}) {
        std::string other = json;
        other.replace(json.find(zero), zero.size(), "\"type_id\":" + type);
        folder.write("tokenizer.json", other);
        CHECK(error_of([&] { opened.tokenizer(); }) == folder.path +
                                                           ": the tokenizer gives a text the token type " +
                                                           type + ", the model has 2 from 0 on");
    }
}
