// How the translator reads and writes text: pieces, rare ones, dropout, and whose word a piece is.
#include "apps/programs/translate/data.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/text/parallel_text.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT
using translate::Corpus;
using translate::Cursor;
using translate::ParallelText;
using translate::TextCodec;
using translate::TextOptions;

namespace {

ParallelText low_and_lower() {
    return parallel_text(
        {{"low low lower", "newest newest"}, {"lower low", "newest widest"}, {"low", "widest x"}});
}

TextCodec learn(const ParallelText& text, const TextOptions& options) {
    return TextCodec::learn(text, options, "", "");
}

}  // namespace

TEST_CASE("translate's text: what was learned is read and written again", "[apps][translate]") {
    for (const TextOptions& options :
         {TextOptions{.merges = 5}, TextOptions{.tokenized = true, .merges = 5},
          TextOptions{.pieces = "bytes", .merges = 5}, TextOptions{.merges = 5, .min_count = 2}}) {
        const TextCodec codec = learn(low_and_lower(), options);
        const TextCodec copy = TextCodec::from_metadata(codec.metadata(), "file");
        CHECK(copy.metadata() == codec.metadata());
        CHECK(copy.size() == codec.size());
        for (const char* line : {"low lower newest", "widest low", "wow x"})
            CHECK(copy.encode(line) == codec.encode(line));
        CHECK(codec.decode(codec.encode("low lower newest")) == "low lower newest");
    }
    const TextCodec raw = learn(low_and_lower(), {.merges = 5});
    CHECK(raw.encode("  low \t lower ") == raw.encode("low lower"));  // spaces mean nothing
}

TEST_CASE("translate's text: rare pieces are divided, and what can't be is unknown", "[apps][translate]") {
    const TextCodec all = learn(low_and_lower(), {.merges = 50});
    const TextCodec some = learn(low_and_lower(), {.merges = 50, .min_count = 3});
    CHECK(all.pieces("widest") == std::vector<std::string>{"widest"});
    CHECK(some.pieces("widest").size() > 1);  // it is there twice
    CHECK(some.pieces("newest") == std::vector<std::string>{"newest"});
    CHECK(all.encode("x") != std::vector<int32_t>{models::kUnk});
    CHECK(some.encode("x") == std::vector<int32_t>{models::kUnk});
    CHECK(some.size() < all.size());
    CHECK(some.decode({models::kUnk, models::kUnk}, {"q@@", "r"}) == "qr");
    CHECK(some.decode({models::kUnk}) == "<unk>");
}

TEST_CASE("translate's text: each id belongs to a word", "[apps][translate]") {
    const std::string line = "He said: \"low\" lower.";  // 4 words
    const ParallelText corpus = parallel_text({{line, line}});
    for (const TextOptions& options : {TextOptions{.merges = 0}, TextOptions{.merges = 100},
                                       TextOptions{.pieces = "bytes", .merges = 3}}) {
        const TextCodec codec = learn(corpus, options);
        const std::vector<int64_t> words = codec.words_of(codec.encode(line));
        CHECK(words.size() == codec.encode(line).size());
        CHECK(std::is_sorted(words.begin(), words.end()));
        CHECK((words.front() == 0 && words.back() == 3));
        for (const int64_t word : {0, 1, 2, 3})
            CHECK(std::count(words.begin(), words.end(), word) > 0);
    }
    const TextCodec codec = learn(corpus, {.merges = 100});
    CHECK(codec.words_of(codec.encode("He said:")) == std::vector<int64_t>{0, 1, 1});  // He, said, :
    CHECK(codec.words_of({}).empty());
}

TEST_CASE("translate's text: with dropout each epoch has its own pieces, the same for a seed",
          "[apps][translate]") {
    const ParallelText pairs = low_and_lower();
    const TextCodec codec = learn(pairs, {.tokenized = true, .merges = 50, .dropout = true});
    const Corpus corpus(pairs, codec, 64, translate::TooLong::refuse);
    const auto epochs = [&](double dropout, uint64_t seed) {
        Cursor cursor(corpus, codec, 128, dropout, seed);
        std::vector<std::vector<int32_t>> all;
        for (int epoch = 0; epoch < 8; ++epoch) {
            bool ends = false;
            all.emplace_back();
            while (!ends) {
                const models::Batch batch = cursor.next(ends);
                all.back().insert(all.back().end(), batch.src.ids().begin(), batch.src.ids().end());
            }
            CHECK(std::count(all.back().begin(), all.back().end(), models::kUnk) == 0);
        }
        return all;
    };
    const auto some = epochs(0.5, 1);
    CHECK(some == epochs(0.5, 1));
    CHECK(some != epochs(0.5, 2));
    CHECK((some[0] != some[1] && some[1] != some[2]));
    // A cursor that is moved there has the batches of one that went there.
    Cursor cursor(corpus, codec, 128, 0.5, 1);
    cursor.move(5, 0);
    bool ends = false;
    const models::Batch batch = cursor.next(ends);
    CHECK(std::vector<int32_t>(batch.src.ids().begin(), batch.src.ids().end()) ==
          std::vector<int32_t>(some[5].begin(), some[5].begin() + batch.src.batch() * batch.src.length()));
}

TEST_CASE("translate's text: bytes that are not UTF-8 come back as they were", "[apps][translate]") {
    const Folder folder;
    const std::string file = folder.write("pairs", "caf\xe9 \xff\tk\xfc hl\n");
    const ParallelText kept = translate::read({file}, true), replaced = translate::read({file}, false);
    CHECK((kept.replaced == 0 && replaced.replaced == 3));
    const TextCodec codec = learn(kept, {.pieces = "bytes", .merges = 2});
    CHECK(codec.decode(codec.encode("caf\xe9 \xff")) == "caf\xe9 \xff");
    CHECK(replaced.pairs.at(0).target == "k\xef\xbf\xbd hl");
}
