// From text to text, with a saved translator.
#include "models/translator.h"

#include <algorithm>
#include <utility>

#include "models/batch.h"
#include "models/hugging_face/weights.h"
#include "models/text/learn_tokenizer.h"
#include "tests/catch.h"
#include "tests/models/folder_of_others.h"
#include "tests/models/text/parallel_text.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace tests;      // NOLINT

namespace {

// "say X" is "X sagt er", and a name is too rare to be learned; "one two" is "zwei eins".
text::ParallelText lesson() {
    const std::vector<std::string> en = {"one", "two", "three", "four"},
                                   de = {"eins", "zwei", "drei", "vier"};
    std::vector<std::pair<std::string, std::string>> pairs;
    for (std::size_t a = 0; a < 4; ++a)
        for (std::size_t b = 0; b < 4; ++b)
            pairs.emplace_back(en[a] + " " + en[b] + "!", de[b] + " " + de[a] + "!");
    for (char name = 'A'; name <= 'T'; ++name)
        pairs.emplace_back(std::string("say ") + name + "!", std::string(1, name) + " sagt er!");
    return parallel_text(pairs);
}

Translator trained() {
    const text::ParallelText pairs = lesson();
    std::vector<std::string_view> sentences;
    for (const text::SentencePair& pair : pairs.pairs)
        sentences.insert(sentences.end(), {pair.source, pair.target});
    text::Tokenizer tokenizer = text::learn_pieces(sentences, {.merges = 60, .min_count = 3});
    Config config = sized(preset("paper"), {tokenizer.size(), 12, 32, 2, 64, 1});
    config.n_decoder_layers = 2;
    config.block.dropout = {.embeddings = 0, .sublayers = 0};
    Transformer model(config, Rng(1));
    std::vector<Pair> ids;
    for (const text::SentencePair& pair : pairs.pairs) {
        ids.push_back({tokenizer.encode(pair.source), tokenizer.encode(pair.target)});
        ids.back().src.push_back(kEos);
    }
    nn::Adam adam(nn::parameters(model), {.lr = 3e-3});
    const Batch batch = make_batch(ids);
    for (int step = 0; step < 150; ++step) {
        adam.zero_grad();
        teacher_forcing(model, batch, Mode::train(Rng(0))).loss.backward();
        adam.step();
    }
    return {std::move(model), std::move(tokenizer)};
}

std::vector<std::string> texts(const std::vector<Translation>& all) {
    std::vector<std::string> out;
    for (const Translation& translation : all)
        out.push_back(translation.best.at(0).text);
    return out;
}

}  // namespace

TEST_CASE("Translator: a saved translator loads and translates", "[translator]") {
    const Folder folder;
    static const Translator before = trained();
    save(folder.path, before.model);
    before.tokenizer.save(folder.path);
    for (const std::string& path : {folder.path, folder / "model.safetensors"}) {
        const auto t = Translator::load(path);
        CHECK(t("one two!") == "zwei eins!");
        CHECK(t("four three!") == "drei vier!");
        CHECK(t("").empty());
        CHECK(t(" \t ").empty());
    }

    const Translator& t = before;
    SECTION("many lines give the same as each alone, whatever the batch") {
        std::vector<std::string> lines = {"one two!", "", "three!", "say one two three four!", "four four!"};
        std::vector<std::string> alone;
        for (const std::string& line : lines)
            alone.push_back(t(line));
        for (const int64_t batch : {1, 2, 3, 64})
            CHECK(texts(t.translate(lines, {.batch = batch})) == alone);
        CHECK(t.translate(std::vector<std::string>{}).empty());
    }
    SECTION("the n best, in order") {
        const auto best = t.translate({"one two!", "two one!"}, {.beam = 4, .n_best = 3});
        REQUIRE(best.size() == 2);
        for (const Translation& translation : best) {
            REQUIRE(translation.best.size() == 3);
            CHECK(translation.best[1].score > translation.best[2].score);
            CHECK(translation.best[0].text != translation.best[1].text);
        }
        CHECK(best[1].best[0].text == "eins zwei!");
        CHECK_THROWS_AS(t.translate({"one"}, {.beam = 2, .n_best = 3}), autograd::Error);
        CHECK_THROWS_AS(t.translate({"one"}, {.batch = 0}), autograd::Error);
    }
    SECTION("a score is the log probability, divided by the length to the power of alpha") {
        const auto score = [&](double alpha) {
            return t.translate({"one two!"}, {.beam = 1, .alpha = alpha})[0].best[0].score;
        };
        const auto length = static_cast<double>(t.tokenizer.encode("zwei eins!").size() + 1);  // and its end
        CHECK(score(0) < 0);
        CHECK(score(1) == Approx(score(0) / length));
        CHECK(score(2) == Approx(score(0) / (length * length)));
    }
    SECTION("words that were never seen are copied, or marked") {
        const std::vector<std::string> lines = {"say 猫!", "one two!"};
        CHECK(texts(t.translate(lines)) == std::vector<std::string>{"猫 sagt er!", "zwei eins!"});
        CHECK(texts(t.translate(lines, {.copy_unknown = false}))[0] == "<unk> sagt er!");
        const auto all = t.translate(lines);
        CHECK(all[0].unknown == std::vector<std::string>{"猫"});
        CHECK((all[0].pieces > 1 && all[1].unknown.empty()));
        // Nothing that is known: something is written, and nothing is lost on the way.
        const Translation hello = t.translate({"Hello World!"})[0];
        CHECK(hello.unknown.size() + 1 == static_cast<std::size_t>(hello.pieces));  // all but the "!"
        CHECK_FALSE(hello.best[0].text.empty());
    }
    SECTION("alignments: each word with the words that it comes from") {
        const auto aligned = t.translate({"one two!"}, {.align = true});
        const models::Alignment& alignment = aligned[0].best[0].alignment;
        std::vector<int64_t> words;
        for (const auto& [source, target] : alignment) {
            CHECK((source >= 0 && source < 2));
            words.push_back(target);
        }
        CHECK((std::is_sorted(words.begin(), words.end()) && words.front() == 0 && words.back() == 1));
        CHECK(t.translate({"one two!"})[0].best[0].alignment.empty());
        CHECK(models::to_string({{0, 0}, {2, 1}}) == "0-0 2-1");
        // Of several lines, and several translations of each: as of each line alone.
        const std::vector<std::string> lines = {"one two!", "say 猫!", "", "three!"};
        for (const bool align : {false, true}) {  // else only of those with an unknown word
            const TranslationOptions some = {.beam = 4, .n_best = 3, .align = align};
            const auto together = t.translate(lines, some);
            for (std::size_t i = 0; i < lines.size(); ++i) {
                const auto alone = t.translate({lines[i]}, some)[0].best;
                REQUIRE(together[i].best.size() == alone.size());
                for (std::size_t n = 0; n < alone.size(); ++n) {
                    CHECK(together[i].best[n].text == alone[n].text);
                    CHECK(together[i].best[n].alignment == alone[n].alignment);
                }
            }
        }
    }
    SECTION("a line that is too long is cut, and says so") {
        std::string line;
        for (int i = 0; i < 20; ++i)
            line += "one ";
        const Translation cut = t.translate({line})[0];
        CHECK((cut.cut && cut.pieces == 11));
        CHECK_FALSE(t.translate({"one two!"})[0].cut);
        // A model of 12 positions reads 11 pieces and the end.
        for (const std::size_t pieces : {std::size_t{11}, std::size_t{12}}) {
            const std::string exact = line.substr(0, 4 * pieces);
            REQUIRE(t.tokenizer.encode(exact).size() == pieces);
            CHECK(t.translate({exact})[0].cut == (pieces == 12));
        }
    }
}

TEST_CASE("alignment: each word has the source word that its own pieces attend to most", "[translator]") {
    // (B, H, T, S) = (2, 2, 3, 4): sentence 0 attends to nothing; of sentence 1 the two heads together attend
    // most to the positions 2, 0 and 3.
    std::vector<Real> weights(24, 0);
    for (const double w : {0.1, 0.2, 0.4, 0.3, 0.9, 0.1, 0.0, 0.0, 0.2, 0.4, 0.1, 0.3,
                           0.0, 0.3, 0.7, 0.0, 0.5, 0.2, 0.2, 0.1, 0.1, 0.2, 0.1, 0.6})
        weights.push_back(static_cast<Real>(w));
    const Tensor attention = Tensor::from({2, 2, 3, 4}, weights);
    CHECK(align(attention, 1, {0, 1, 2, 3}, {0, 1, 2}) == Alignment{{2, 0}, {0, 1}, {3, 2}});
    // The pieces 1 and 2 of the translation are one word; the positions 2 and 3 of the source are one, too.
    CHECK(align(attention, 1, {0, 1, 2, 2}, {0, 1, 1}) == Alignment{{2, 0}, {0, 1}, {2, 1}});
    CHECK(align(attention, 1, {0, 1, 2}, {0, 1, 2}) ==
          Alignment{{2, 0}, {0, 1}, {1, 2}});  // position 3 is padding
}

TEST_CASE("alignment: by the mean over the heads of the last layer but one, at the position that predicts",
          "[translator]") {
    Config config = small("paper");
    config.n_decoder_layers = 3;
    int64_t changes = 0, crossed = 0;
    for (uint64_t seed = 1; seed < 9; ++seed) {
        Transformer model(config, Rng(seed));
        stir(model, seed);
        int64_t last = -1;
        const Sentences sources = {{4, 5, 6, 7, 8, 2}, {9, 4, 2}},
                        translations = {{5, 6, 7, 8}, {10, 9, 8, 7, 6}};
        nn::Probe seen;
        model(padded(sources), padded({{1, 5, 6, 7}, {1, 10, 9, 8, 7}}), Mode::eval(&seen));
        const Tensor mean =
            autograd::mean(seen.of(model.decoder.layers[1].cross_attention), {1});   // (B, T, S)
        const Tensor attention = attention_to_source(model, sources, translations);  // (B, H, T, S)
        for (int64_t b = 0; b < 2; ++b)
            for (int64_t t = 0; t < std::ssize(translations[static_cast<std::size_t>(b)]); ++t) {
                const int64_t length = std::ssize(sources[static_cast<std::size_t>(b)]) - 1;
                const Real* const row = mean.data() + (b * mean.size(1) + t) * mean.size(2);
                const int64_t most = models::most_attended(attention, b, t, length);
                CHECK(most == std::max_element(row, row + length) - row);
                changes += most != std::exchange(last, most);
                std::vector<bool> among(static_cast<std::size_t>(length));
                CHECK(models::most_attended(attention, b, t, length, among) == most);  // none of them: all
                for (int64_t s = 0; s < length; ++s) {
                    among.assign(among.size(), false);
                    among[static_cast<std::size_t>(s)] = true;
                    CHECK(models::most_attended(attention, b, t, length, among) == s);
                }
            }
        // Sorted by the words of the translation, then of the source, each pair once.
        const models::Alignment alignment = models::align(attention, 0, {0, 0, 1, 2, 2}, {0, 1, 1, 2});
        CHECK(alignment.size() >= 3);
        for (std::size_t i = 1; i < alignment.size(); ++i)
            CHECK(std::pair(alignment[i - 1].second, alignment[i - 1].first) <
                  std::pair(alignment[i].second, alignment[i].first));
        crossed += !std::is_sorted(alignment.begin(), alignment.end());
    }
    CHECK(changes > 8);  // or the choice of the position would not matter
    CHECK(crossed > 0);
}

TEST_CASE("alignment: by the only layer, if the decoder has one", "[translator]") {
    Config config = small("paper");
    config.n_decoder_layers = 1;
    const Transformer model(config, Rng(1));
    const Sentences source = {{4, 5, 6, 2}};
    nn::Probe seen;
    model(padded(source), padded({{1, 5, 6}}), Mode::eval(&seen));
    CHECK(same_bits(attention_to_source(model, source, {{5, 6, 7}}),
                    seen.of(model.decoder.layers[0].cross_attention)));
    config.n_decoder_layers = 0;
    CHECK(contains(error_of([&] { attention_to_source(Transformer(config, Rng(1)), source, {{5}}); }),
                   "a decoder without layers attends to nothing"));
}

TEST_CASE(
    "Translator: an unknown word is copied from an unknown word of the source, wherever it attends, or "
    "from a known one if there is none",
    "[translator]") {
    const auto tokenizer = text::learn_pieces({"a b c d e f"}, {.merges = 0});
    for (const std::string line : {"a b c 猫 d e f", "a b c d e f"}) {
        int64_t copied = 0, behind_a_word = 0;
        for (uint64_t seed = 1; seed < 30; ++seed) {
            const Transformer model(small("paper", tokenizer.size()), Rng(seed));
            stir(model);
            const auto best = [&](bool copies) {
                return translate(model, tokenizer, {line},
                                 {.beam = 5, .n_best = 5, .copy_unknown = copies})[0]
                    .best;
            };
            const auto marked = best(false), all = best(true);
            REQUIRE((marked.size() == 5 && all.size() == 5));
            for (std::size_t i = 0; i < 5; ++i) {
                const auto before = text::split_words(marked[i].text), words = text::split_words(all[i].text);
                REQUIRE(words.size() == before.size());
                for (std::size_t w = 0; w < words.size(); ++w)
                    if (before[w] != "<unk>") {
                        CHECK(words[w] == before[w]);
                    } else {
                        CHECK((contains(line, "猫") ? words[w] == "猫" : contains(line, words[w])));
                        ++copied;
                        behind_a_word += w > 0 && before[0] != "<unk>";
                    }
            }
        }
        CHECK(copied > 20);
        CHECK(behind_a_word > 5);
    }
}

TEST_CASE("Translator: how long a translation may become depends on its own line, not on others",
          "[translator]") {
    const auto tokenizer = text::learn_pieces({"a b c d e f"}, {.merges = 0});
    const Transformer model(small("paper", tokenizer.size()), Rng(1));
    stir(model);
    model.output.bias->mutable_data()[kEos] = -1000;  // none ends by itself
    const TranslationOptions greedily = {.beam = 1, .copy_unknown = false};
    const std::vector<std::string> lines = {"a", "b c d e f", "a b c"};
    std::vector<std::string> alone;
    for (const std::string& line : lines)
        alone.push_back(translate(model, tokenizer, {line}, greedily)[0].best.at(0).text);
    REQUIRE(text::split_words(alone[0]).size() < text::split_words(alone[1]).size());
    CHECK(texts(translate(model, tokenizer, lines, greedily)) == alone);
}

TEST_CASE("Translator: fewer translations than were asked for, if there are no others", "[translator]") {
    const auto tokenizer = text::learn_pieces({"a"}, {.merges = 0});
    Config config = small("paper", tokenizer.size());
    config.max_length = 1;  // then there are three: nothing, <unk> and "a"
    const Transformer model(config, Rng(1));
    for (const bool align : {false, true}) {
        const Translation t = translate(model, tokenizer, {"a"}, {.beam = 5, .n_best = 5, .align = align})[0];
        CHECK(t.best.size() == 3);
    }
}

TEST_CASE("Translator: files that are not translators", "[translator][saved]") {
    const Folder folder;
    const auto refused = [&](const std::string& path, const std::string& part) {
        const std::string error = error_of([&] { Translator::load(path); });
        INFO(error);
        CHECK(contains(error, path));
        CHECK(contains(error, part));
    };
    refused(folder.path,
            "there is no model in this folder: neither model.safetensors nor model.safetensors.index.json");
    const Folder other;
    other.write("model.gguf", "");
    refused(other.path, "model.gguf: this is a file of llama.cpp");
    const Folder of_others;
    write_folder(of_others);
    refused(of_others.path, "config.json: a translation model is needed: got GPT2LMHeadModel");
    refused(folder / "none", "none");
    const Transformer model(sized({}, {9, 4, 2, 1, 2, 1}), Rng(1));
    save(folder / "model", model);
    refused(folder / "model", "model.safetensors: there is no tokenizer.json beside it");
    text::learn_pieces({"a", "b"}, {.merges = 2}).save(folder / "model");
    refused(folder / "model", "the tokenizer has 6 ids, the model 9");
    folder.write("model/tokenizer.json", "{}");
    CHECK(contains(error_of([&] { Translator::load(folder / "model"); }), "tokenizer.json"));
    save(folder / "language", LanguageModel(model.config, Rng(1)));
    refused(folder / "language", "config.json: a translation model is needed: got a language model");
}

// A checkpoint is opened with the config.json beside it.
TEST_CASE("weights: in a run's folder the model, else the best, else the last", "[translator][saved]") {
    const Folder folder;
    CHECK(hugging_face::weight_files(folder / "any") == std::vector<std::string>{folder / "any"});
    for (const char* name : {"last.safetensors", "best.safetensors", "model.safetensors"}) {
        folder.write(name, "x");
        CHECK(hugging_face::weight_files(folder.path) == std::vector<std::string>{folder / name});
    }
}
