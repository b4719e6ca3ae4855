// Text files as users have them, and words with typing errors.
#include "models/text/lines.h"

#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "autograd/base/check.h"
#include "nn/checkpoint/file.h"
#include "tests/catch.h"
#include "tests/folder.h"

using namespace plaingrad;  // NOLINT
using namespace models::text;
using Lines = std::vector<std::string>;

namespace {

constexpr std::size_t kNone = std::string_view::npos;
const std::string kMark = "\xef\xbb\xbf", kBad = "\xef\xbf\xbd";  // a byte order mark, U+FFFD

// The encoding by its definition, also for numbers that are not code points.
std::string encode(uint32_t c, int length) {
    std::string bytes;
    for (int i = length - 1; i > 0; --i, c >>= 6)
        bytes.insert(bytes.begin(), static_cast<char>(0x80 | (c & 0x3f)));
    const uint32_t mark[] = {0, 0, 0xc0, 0xe0, 0xf0};
    bytes.insert(bytes.begin(), static_cast<char>(mark[length] | c));
    return bytes;
}

}  // namespace

TEST_CASE("valid UTF-8 is told from invalid, for every code point in every length", "[text]") {
    const uint32_t room[] = {0, 0x80, 0x800, 0x10000, 0x200000};
    std::size_t wrong = 0, valid = 0;
    for (int length = 1; length <= 4; ++length)
        for (uint32_t c = 0; c < room[length]; ++c) {
            const bool shortest = length == 1 || c >= room[length - 1];
            const bool good = shortest && (c < 0xd800 || c > 0xdfff) && c <= 0x10ffff;
            valid += good ? 1 : 0;
            wrong += find_invalid_utf8("a" + encode(c, length) + "b") == (good ? kNone : 1) ? 0 : 1;
        }
    CHECK(wrong == 0);
    CHECK(valid == 0x110000 - 0x800);
}

TEST_CASE("bytes that are not UTF-8 are found, and replaced one by one", "[text]") {
    struct Row {
        const char* what;
        std::string text;
        std::size_t at;
        std::string valid;
        int64_t replaced;
    };
    const Row table[] = {
        {"nothing", "", kNone, "", 0},
        {"a NUL is UTF-8", std::string("a\0b", 3), kNone, std::string("a\0b", 3), 0},
        {"one to four bytes", "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", kNone,
         "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 0},
        {"U+FFFD itself", kBad, kNone, kBad, 0},
        {"a continuation alone", "ab\x80", 2, "ab" + kBad, 1},
        {"one too many", "\xc3\xa9\xa9\xc3\xa9", 2, "\xc3\xa9" + kBad + "\xc3\xa9", 1},
        {"Latin-1", "\xe9t\xe9", 0, kBad + "t" + kBad, 2},
        {"a pair of surrogates", "ok\xed\xa0\xbd", 2, "ok" + kBad + kBad + kBad, 3},
        {"first byte F5", "\xf5\x80\x80\x80", 0, kBad + kBad + kBad + kBad, 4},
        {"five bytes", "\xf8\x88\x80\x80\x80", 0, kBad + kBad + kBad + kBad + kBad, 5},
        {"FE, FF", "\xfe\xff", 0, kBad + kBad, 2},
        {"two cut", "a\xc3", 1, "a" + kBad, 1},
        {"three cut after one", "\xe2", 0, kBad, 1},
        {"three cut after two", "\xe2\x82", 0, kBad + kBad, 2},
        {"four cut after three", "\xf0\x9f\x98", 0, kBad + kBad + kBad, 3},
        {"three broken by ASCII", "\xe2\x82x", 0, kBad + kBad + "x", 2},
        {"four broken by ASCII", "\xf0\x9f\x98x", 0, kBad + kBad + kBad + "x", 3},
        {"bad last byte of three", "\xe2\x82\xc0", 0, kBad + kBad + kBad, 3},
        {"good, then bad", "\xc3\xa9\xf0\x9f\x98\x80\xff", 6, "\xc3\xa9\xf0\x9f\x98\x80" + kBad, 1}};
    for (const Row& row : table) {
        CAPTURE(row.what);
        CHECK(find_invalid_utf8(row.text) == row.at);
        int64_t replaced = 5;
        CHECK(replace_invalid_utf8(row.text, replaced) == row.valid);
        CHECK(replaced == 5 + row.replaced);  // added to the count so far
    }
    // A view that ends within a character, whatever follows in memory.
    CHECK(find_invalid_utf8(std::string_view("\xc3\xa9", 1)) == 0);
    int64_t replaced = 0;
    CHECK(replace_invalid_utf8(std::string(300000, '\xff'), replaced).size() == 900000);
    CHECK(replaced == 300000);
}

TEST_CASE("a line is cleaned by one rule, wherever it is read", "[text]") {
    const std::pair<const char*, const char*> table[] = {
        {"", ""}, {"\r", ""}, {"a\r", "a"}, {"a\r\r", "a\r"}, {" a\rb\t", " a\rb\t"}};
    for (const auto& [line, clean] : table)
        CHECK(clean_line(line, "f:1") == clean);
    int64_t replaced = 0;
    CHECK_THROWS_WITH(clean_line("ab\xff", "f:7"),
                      "f:7: byte 3 of this line is not UTF-8; convert the file, e.g. with iconv -t UTF-8");
    CHECK(clean_line("a\xff\r", "f:2", &replaced) == "a" + kBad);
    CHECK(clean_line("a\xff\r", "f:2", &replaced, InvalidUtf8::keep) == "a\xff");
    CHECK(replaced == 1);
    const std::string longest(kLongestLine, 'a');
    for (const InvalidUtf8 rule : {InvalidUtf8::replace, InvalidUtf8::keep})
        for (int64_t* const count : {&replaced, static_cast<int64_t*>(nullptr)}) {
            CHECK(clean_line(longest, "f:3", count, InvalidUtf8::replace) == longest);
            CHECK_THROWS_WITH(clean_line(std::string("a\0b", 3), "f:3", count, rule),
                              "f:3: this line contains a NUL byte; is this a text file?");
            CHECK_THROWS_WITH(clean_line(longest + "a", "f:4", count, rule),
                              "f:4: a line of 1048577 bytes; a sentence has at most 1048576");
        }
}

TEST_CASE("lines of a text, whatever their line ends", "[text]") {
    const std::pair<std::string, Lines> table[] = {{"a\nb\n", {"a", "b"}},
                                                   {"a\nb", {"a", "b"}},
                                                   {"a\r\nb\r\n", {"a", "b"}},
                                                   {"a\r\nb\r", {"a", "b"}},
                                                   {"\n\na\n\n", {"", "", "a", ""}},
                                                   // A byte order mark only at the start.
                                                   {kMark + "a\n" + kMark + "b\n", {"a", kMark + "b"}}};
    for (const auto& [text, lines] : table)
        CHECK(lines_of(text, "f") == lines);
    int64_t replaced = 0;
    CHECK(lines_of("caf\xe9\r\nok\n\xe2\x82\n\x80", "f", &replaced) ==  // a line break ends a character
          Lines{"caf" + kBad, "ok", kBad + kBad, kBad});
    CHECK(replaced == 4);
    const std::pair<std::string, const char*> wrong[] = {
        {"", "f: the file is empty"},
        {"\n", "f: the file is empty"},
        {kMark + "\r\n", "f: the file is empty"},
        {"a\nb\nc\xe9\n", "f:3: byte 2 of this line is not UTF-8"},
        {std::string("a\n\0\n", 4), "f:2: this line contains a NUL byte"},
        {"\x1f\x8b\x08", "f: this file is compressed; unpack it first, e.g. with gunzip, unxz or unzip"},
        {"\xff\xfe"
         "a",
         "f: this file is UTF-16; convert it to UTF-8 first, e.g. with iconv -f UTF-16 -t UTF-8"},
        {"\xfe\xff"
         "a",
         "f: this file is UTF-16"}};
    for (const auto& [text, message] : wrong)
        CHECK_THROWS_WITH(lines_of(text, "f"), tests::beginning(message));
    for (const std::string blank : {"", " ", "\t", "\r", " \t \r"})
        CHECK_FALSE(has_text(blank));
    for (const std::string text : {"a", " a", "\t.\r", "\xc2\xa0"})
        CHECK(has_text(text));
}

TEST_CASE("a file, or a pipe, is read to the last byte, whatever it contains", "[text]") {
    const tests::Folder folder;
    const std::string large(3 << 20, 'y'), pipe = folder / "pipe";
    for (const std::string& bytes :
         {std::string("\xef\xbb\xbf\r\n\0\xff\x80 x\n\n", 11), std::string("\n"), large})
        CHECK(read_file(folder.write("f", bytes)) == bytes);
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    std::thread writer([&] { tests::put(pipe, large); });
    const std::string read = read_file(pipe);
    writer.join();
    CHECK(read == large);

    CHECK_THROWS_WITH(read_file(folder.write("f", "")), folder / "f" + ": the file is empty");
    CHECK_THROWS_WITH(read_file(folder / "none"),
                      folder / "none" + ": cannot be opened: No such file or directory");
    CHECK_THROWS_WITH(read_file(folder.path), folder.path + ": this is a folder; a text file is needed");
    CHECK_THROWS_AS(read_file(folder / "none"), nn::checkpoint::FileError);
    const std::string unreadable = "/proc/self/mem";  // of Linux: opens, and fails at address 0
    if (std::filesystem::exists(unreadable))
        CHECK_THROWS_WITH(read_file(unreadable),
                          unreadable + ": cannot be read to its end: Input/output error");
}

TEST_CASE("a stream that cannot be read is an error with the system's reason, if there is one", "[text]") {
    class Broken : public std::streambuf {
    public:
        Broken(std::string begin, int reason, bool throws) : begin_(begin), reason_(reason), throws_(throws) {
            setg(begin_.data(), begin_.data(), begin_.data() + begin_.size());
        }

    private:
        int_type underflow() override {
            errno = reason_;
            return throws_ ? throw std::ios_base::failure("broken") : traits_type::eof();
        }
        std::string begin_;
        int reason_;
        bool throws_;
    };
    const auto read = [](Broken buffer) {
        std::istream in(&buffer);
        std::string line;
        errno = ENOENT;  // of something else, before
        return next_line(in, line, "words", 1) ? line : "the end";
    };
    for (const std::string begin : {"", "half a li"})
        for (const bool throws : {true, false})
            CHECK_THROWS_WITH(read({begin, EIO, throws}), "words: cannot be read: Input/output error");
    CHECK_THROWS_WITH(read({"", 0, true}), "words: cannot be read");
    CHECK(read({"", 0, false}) == "the end");
    CHECK(read({"the last", EINTR, false}) == "the last");  // a signal came, and it was read again
    CHECK_THROWS_WITH(read({"\x1f\x8b\x08 and so on", 0, false}),
                      tests::beginning("words: this file is compressed;"));
}

TEST_CASE("edit distance: letters added, left out, changed or swapped", "[text]") {
    struct Row {
        const char *a, *b;
        std::size_t distance;
    };
    const Row table[] = {{"", "", 0},
                         {"", "abc", 3},
                         {"abc", "abc", 0},
                         {"abc", "abxc", 1},
                         {"kitten", "sitting", 3},
                         {"ab", "ba", 1},          // swapped
                         {"--seed", "--esed", 1},  // in the middle
                         {"abcd", "badc", 2},      // twice
                         {"abc", "cab", 2},        // these two are no neighbours
                         {"ca", "abc", 3},         // nothing between what was swapped
                         {"aab", "bcd", 3},
                         {"ab", "cdba", 3}};
    for (const auto& [a, b, distance] : table) {
        CAPTURE(a, b);
        CHECK(edit_distance(a, b) == distance);
        CHECK(edit_distance(b, a) == distance);
    }
}
