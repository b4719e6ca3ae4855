// From lines to ids and back: pieces, rare ones, and the word that a piece belongs to.
#include "models/text/codec.h"

#include <algorithm>

#include "tests/catch.h"
#include "tests/models/text/parallel_text.h"

using namespace plaingrad;  // NOLINT
using namespace models;     // NOLINT
using namespace text;       // NOLINT
using namespace tests;      // NOLINT

namespace {

ParallelText low_and_lower() {
    return parallel_text(
        {{"low low lower", "newest newest"}, {"lower low", "newest widest"}, {"low", "widest x"}});
}

Codec learn(const ParallelText& text, const CodecOptions& options) { return Codec::learn(text, options); }

}  // namespace

TEST_CASE("codec: a learned codec is written and read", "[text][codec]") {
    for (const CodecOptions& options :
         {CodecOptions{.merges = 5}, CodecOptions{.tokenized = true, .merges = 5},
          CodecOptions{.pieces = "bytes", .merges = 5}, CodecOptions{.merges = 5, .min_count = 2}}) {
        const Codec codec = learn(low_and_lower(), options);
        const Codec copy = Codec::from_metadata(codec.metadata(), "file");
        CHECK(copy.metadata() == codec.metadata());
        CHECK(copy.size() == codec.size());
        for (const char* line : {"low lower newest", "widest low", "wow x"})
            CHECK(copy.encode(line) == codec.encode(line));
        CHECK(codec.decode(codec.encode("low lower newest")) == "low lower newest");
        CHECK((codec.merges() == 5 && copy.merges() == 5));
    }
    CHECK(CodecOptions().merges == 8000);
    const Codec raw = learn(low_and_lower(), {.merges = 5});
    CHECK(raw.encode("  low \t lower ") == raw.encode("low lower"));  // the number of spaces does not matter
}

TEST_CASE("codec: rare pieces are split, and unknown if they cannot be", "[text][codec]") {
    const Codec all = learn(low_and_lower(), {.merges = 50});
    const Codec some = learn(low_and_lower(), {.merges = 50, .min_count = 3});
    CHECK(all.pieces("widest") == std::vector<std::string>{"widest"});
    CHECK(some.pieces("widest").size() > 1);  // it occurs twice
    CHECK(some.pieces("newest") == std::vector<std::string>{"newest"});
    CHECK(all.encode("x") != std::vector<int32_t>{kUnk});
    CHECK(some.encode("x") == std::vector<int32_t>{kUnk});
    CHECK(some.size() < all.size());
    CHECK(some.decode({kUnk, kUnk}, {"q@@", "r"}) == "qr");
    CHECK(some.decode({kUnk}) == "<unk>");
    // A saved one splits them in the same way, and no others.
    for (const Codec& codec : {all, some})
        for (const char* const word : {"widest", "newest", "lowest", "x"})
            CHECK(Codec::from_metadata(codec.metadata(), "file").pieces(word) == codec.pieces(word));
}

TEST_CASE("codec: bytes use merges that were learned before", "[text][codec]") {
    const ParallelText text = low_and_lower();
    const std::string codes = learn(text, {.pieces = "bytes", .merges = 7}).metadata().at("translate.codes");
    const Codec codec = Codec::learn(text, {.pieces = "bytes", .merges = 3}, codes, "codes");
    CHECK(codec.merges() == 7);
    CHECK(codec.metadata().at("translate.codes") == codes);
    const std::string oldest = codes.substr(codes.find('\n') + 1);  // version 0.1 says no version
    CHECK(Codec::learn(text, {.pieces = "bytes"}, oldest, "codes").merges() == 7);
}

TEST_CASE("codec: lower_case is that of words and of bytes", "[text][codec]") {
    for (const char* const pieces : {"words", "bytes"}) {
        CAPTURE(pieces);
        const Codec lower = learn(low_and_lower(), {.pieces = pieces, .lower_case = true, .merges = 5});
        CHECK(lower.encode("Low LOWER") == lower.encode("low lower"));
        CHECK(lower.decode(lower.encode("Low LOWER")) == "low lower");
        const Codec as_it_is = learn(low_and_lower(), {.pieces = pieces, .merges = 5});
        CHECK(as_it_is.encode("Low LOWER") != as_it_is.encode("low lower"));
    }
    // Also of text that is in tokens already.
    const Codec tokens = learn(low_and_lower(), {.tokenized = true, .lower_case = true, .merges = 5});
    CHECK(tokens.encode("Low LOWER") == tokens.encode("low lower"));
    CHECK(tokens.decode(tokens.encode("Low LOWER")) == "low lower");
}

TEST_CASE("codec: of bytes, every id is written in one line", "[text][codec]") {
    const Codec codec = learn(low_and_lower(), {.pieces = "bytes", .merges = 0});
    REQUIRE(codec.size() == kFirstFreeId + 257);
    for (int byte = 0; byte < 256; ++byte) {
        const std::string text(1, static_cast<char>(byte));
        const bool breaks = text == "\n" || text == "\r" || byte == 0;
        CAPTURE(byte);
        CHECK(codec.decode(codec.encode(text)) == (breaks ? " " : text));
    }
    // The last id is the end of a text, which has no text.
    CHECK(codec.decode({kPad, kSos, kEos, kUnk, static_cast<int32_t>(codec.size() - 1)}).empty());
}

TEST_CASE("codec: each id belongs to a word", "[text][codec]") {
    const std::string line = "He said: \"low\" lower.";  // 4 words
    const ParallelText corpus = parallel_text({{line, line}});
    for (const CodecOptions& options : {CodecOptions{.merges = 0}, CodecOptions{.merges = 100},
                                        CodecOptions{.pieces = "bytes", .merges = 3}}) {
        const Codec codec = learn(corpus, options);
        const std::vector<int64_t> words = codec.words_of(codec.encode(line));
        CHECK(words.size() == codec.encode(line).size());
        CHECK(std::is_sorted(words.begin(), words.end()));
        CHECK((words.front() == 0 && words.back() == 3));
        for (const int64_t word : {0, 1, 2, 3})
            CHECK(std::count(words.begin(), words.end(), word) > 0);
    }
    const Codec codec = learn(corpus, {.merges = 100});
    CHECK(codec.words_of(codec.encode("He said:")) == std::vector<int64_t>{0, 1, 1});  // He, said, :
    CHECK(codec.words_of({}).empty());
}

TEST_CASE("codec: bytes that are not UTF-8 are restored", "[text][codec]") {
    const Codec codec =
        learn(parallel_text({{"caf\xe9 \xff", "k\xfc hl"}}), {.pieces = "bytes", .merges = 2});
    CHECK(codec.decode(codec.encode("caf\xe9 \xff")) == "caf\xe9 \xff");
}

TEST_CASE("codec: pieces are words or bytes, and nothing else", "[text][codec]") {
    const ParallelText text = low_and_lower();
    CHECK_THROWS_AS(learn(text, {.pieces = "syllables"}), autograd::Error);
    nn::checkpoint::Metadata metadata = learn(text, {.merges = 2}).metadata();
    metadata.at("translate.pieces") = "syllables";
    CHECK_THROWS_WITH(Codec::from_metadata(metadata, "file"),
                      "file: pieces are words or bytes: got \"syllables\"");
    metadata.erase("translate.pieces");  // older files lack it: words
    CHECK_FALSE(Codec::from_metadata(metadata, "file").is_bytes());
}
