// Text files as users have them.
#include "models/text/lines.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "autograd/base/check.h"
#include "nn/checkpoint/file.h"
#include "tests/catch.h"
#include "tests/folder.h"

using namespace plaingrad;  // NOLINT
using namespace models::text;
using Lines = std::vector<std::string>;

namespace {

// A file that exists as long as this object.
class File {
public:
    explicit File(const std::string& content) {
        char name[] = "/tmp/plaingrad_lines_XXXXXX";
        const int descriptor = mkstemp(name);
        REQUIRE(descriptor >= 0);
        std::FILE* file = fdopen(descriptor, "wb");
        std::fwrite(content.data(), 1, content.size(), file);
        std::fclose(file);
        path = name;
    }
    ~File() { std::filesystem::remove(path); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    std::string path;
};

Lines read_lines(const std::string& path) { return lines_of(read_file(path), path); }
Lines read_leniently(const std::string& path, int64_t& replaced) {
    return lines_of(read_file(path), path, &replaced);
}
Lines lines(const std::string& content) { return read_lines(File(content).path); }

// The message of the error that reading these bytes raises, after the file's name.
template <class Read>
std::string complaint(const std::string& content, Read read) {
    const File file(content);
    try {
        read(file.path);
    } catch (const autograd::Error& error) {
        const std::string text = error.what();
        CHECK(text.starts_with(file.path));
        CHECK(text.find('\n') == std::string::npos);
        return text.substr(file.path.size());
    }
    return "no error";
}
std::string lines_complaint(const std::string& content) { return complaint(content, read_lines); }

constexpr std::size_t kNone = std::string_view::npos;

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

TEST_CASE("the first byte that is not UTF-8 is found", "[text]") {
    struct Row {
        const char* what;
        std::string text;
        std::size_t at;
    };
    const std::vector<Row> table = {{"nothing", "", kNone},
                                    {"ASCII", "abc", kNone},
                                    {"a NUL is UTF-8", std::string("a\0b", 3), kNone},
                                    {"two, three, four bytes", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", kNone},
                                    {"byte order mark", "\xef\xbb\xbf", kNone},
                                    {"smallest of two", "\xc2\x80", kNone},
                                    {"largest of all", "\xf4\x8f\xbf\xbf", kNone},
                                    {"around the surrogates", "\xed\x9f\xbf\xee\x80\x80", kNone},
                                    {"a continuation alone", "ab\x80", 2},
                                    {"one continuation too many", "\xc3\xa9\xa9", 2},
                                    {"Latin-1", "caf\xe9", 3},
                                    {"Latin-1 before ASCII", "\xe9t\xe9", 0},
                                    {"overlong slash of two", "x\xc0\xaf", 1},
                                    {"overlong of two", "\xc1\xbf", 0},
                                    {"overlong of three", "\xe0\x9f\xbf", 0},
                                    {"overlong of four", "\xf0\x8f\xbf\xbf", 0},
                                    {"first surrogate", "\xed\xa0\x80", 0},
                                    {"last surrogate", "\xed\xbf\xbf", 0},
                                    {"a pair of surrogates (CESU-8)", "ok\xed\xa0\xbd\xed\xb8\x80", 2},
                                    {"beyond U+10FFFF", "\xf4\x90\x80\x80", 0},
                                    {"first byte F5", "\xf5\x80\x80\x80", 0},
                                    {"five bytes", "\xf8\x88\x80\x80\x80", 0},
                                    {"FE, FF", "\xfe\xff", 0},
                                    {"two cut", "a\xc3", 1},
                                    {"three cut after one", "\xe2", 0},
                                    {"three cut after two", "\xe2\x82", 0},
                                    {"four cut after three", "\xf0\x9f\x98", 0},
                                    {"three broken by ASCII", "\xe2\x82x", 0},
                                    {"four broken by ASCII", "\xf0\x9f\x98x", 0},
                                    {"bad last byte of three", "\xe2\x82\xc0", 0},
                                    {"good, then bad", "\xc3\xa9\xf0\x9f\x98\x80\xff", 6}};
    for (const Row& row : table) {
        CAPTURE(row.what);
        CHECK(find_invalid_utf8(row.text) == row.at);
    }
    // A view that ends within a character, whatever follows in memory.
    CHECK(find_invalid_utf8(std::string_view("\xc3\xa9", 1)) == 0);
}

TEST_CASE("a line loses its CR and nothing else", "[text]") {
    CHECK(clean_line("", "f:1").empty());
    CHECK(clean_line("\r", "f:1").empty());
    CHECK(clean_line("a\r", "f:1") == "a");
    CHECK(clean_line("a\r\r", "f:1") == "a\r");
    CHECK(clean_line(" a\rb\t", "f:1") == " a\rb\t");
    CHECK_THROWS_WITH(clean_line("ab\xff", "f:7"),
                      "f:7: byte 3 of this line is not UTF-8; convert the file, e.g. "
                      "with iconv -t UTF-8");
    CHECK_THROWS_WITH(clean_line(std::string("a\0b", 3), "f:8"),
                      "f:8: this line contains a NUL byte; is this a text file?");
}

TEST_CASE("lines are read, whatever their line ends", "[text]") {
    CHECK(lines("a\nb\n") == Lines{"a", "b"});
    CHECK(lines("a\nb") == Lines{"a", "b"});
    CHECK(lines("a\r\nb\r\n") == Lines{"a", "b"});
    CHECK(lines("a\r\nb\r") == Lines{"a", "b"});
    CHECK(lines("\n\na\n\n") == Lines{"", "", "a", ""});
    CHECK(lines("\xef\xbb\xbf"
                "a\n\xef\xbb\xbf"
                "b\n") == Lines{"a",
                                "\xef\xbb\xbf"
                                "b"});  // a byte order mark only at the start
    const std::string large(1 << 20, 'x');
    CHECK(lines(large + "\n" + large) == Lines{large, large});
}

TEST_CASE("a file that cannot be read is an error that says why", "[text]") {
    CHECK(lines_complaint("") == ": the file is empty");
    CHECK(lines_complaint("\n") == ": the file is empty");
    CHECK(lines_complaint("\xef\xbb\xbf\r\n") == ": the file is empty");
    CHECK(lines_complaint("a\nb\nc\xe9\n").starts_with(":3: byte 2 of this line is not UTF-8"));
    CHECK(lines_complaint(std::string("a\n\0\n", 4)).starts_with(":2: this line contains a NUL byte"));
    CHECK(lines_complaint("a\n") == "no error");
    CHECK_THROWS_WITH(read_lines("/nowhere/at all"),
                      "/nowhere/at all: cannot be opened: No such file or directory");
    CHECK_THROWS_WITH(read_lines("/tmp"), "/tmp: this is a folder; a text file is needed");
}

TEST_CASE("bytes that are not UTF-8 are replaced, one by one, and counted", "[text]") {
    const std::string r = "\xef\xbf\xbd";
    struct Row {
        std::string text, valid;
        int64_t replaced;
    };
    const std::vector<Row> table = {
        {"", "", 0},
        {"abc \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "abc \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 0},
        {"caf\xe9", "caf" + r, 1},
        {"\xe9t\xe9", r + "t" + r, 2},
        {"\xff\xfe", r + r, 2},
        {"\xe2\x82x", r + r + "x", 2},          // cut within a character
        {"a\xf0\x9f\x98", "a" + r + r + r, 3},  // the same at the end
        {"\xed\xa0\x80", r + r + r, 3},         // a surrogate
        {"\xc3\xa9\xa9\xc3\xa9", "\xc3\xa9" + r + "\xc3\xa9", 1},
        {std::string("a\0b\x80", 4), std::string("a\0b", 3) + r, 1},
        {r, r, 0}};  // U+FFFD itself is a character
    for (const Row& row : table) {
        CAPTURE(row.text);
        int64_t replaced = 5;
        CHECK(replace_invalid_utf8(row.text, replaced) == row.valid);
        CHECK(replaced == 5 + row.replaced);  // added to the count so far
        CHECK(find_invalid_utf8(row.valid) == kNone);
    }
    int64_t replaced = 0;
    CHECK(replace_invalid_utf8(std::string(300000, '\xff'), replaced).size() == 900000);
    CHECK(replaced == 300000);
}

TEST_CASE("a line is cleaned by one rule, wherever it is read", "[text]") {
    int64_t replaced = 0;
    CHECK(clean_line("a\xff\r", "f:2", &replaced) == "a\xef\xbf\xbd");
    CHECK(clean_line("a\xff\r", "f:2", &replaced, InvalidUtf8::keep) == "a\xff");
    CHECK(replaced == 1);
    for (const InvalidUtf8 rule : {InvalidUtf8::replace, InvalidUtf8::keep}) {
        CHECK_THROWS_WITH(clean_line(std::string("a\0b", 3), "f:3", &replaced, rule),
                          "f:3: this line contains a NUL byte; is this a text file?");
        CHECK_THROWS_WITH(clean_line(std::string(kLongestLine + 1, 'a'), "f:4", &replaced, rule),
                          "f:4: a line of 1048577 bytes; a sentence has at most 1048576");
    }
    CHECK_THROWS_WITH(clean_line(std::string(kLongestLine + 1, 'a'), "f:5"),
                      "f:5: a line of 1048577 bytes; a sentence has at most 1048576");
}

TEST_CASE("lines that are not entirely UTF-8 are read leniently", "[text]") {
    int64_t replaced = 0;
    const auto leniently = [&replaced](const std::string& content) {
        return read_leniently(File(content).path, replaced);
    };
    CHECK(leniently("\xef\xbb\xbf"
                    "a\r\n\nb\xc3\xa9") == Lines{"a", "", "b\xc3\xa9"});
    CHECK(replaced == 0);
    CHECK(leniently("caf\xe9\r\nok\n\xe2\x82\n\x80") ==
          Lines{"caf\xef\xbf\xbd", "ok", "\xef\xbf\xbd\xef\xbf\xbd",
                "\xef\xbf\xbd"});  // a line break ends a character
    CHECK(replaced == 4);
    const auto read = [&replaced](const std::string& path) { return read_leniently(path, replaced); };
    CHECK(complaint("", read) == ": the file is empty");
    CHECK(complaint("\n", read) == ": the file is empty");
    CHECK(complaint(std::string("a\n\0\n", 4), read).starts_with(":2: this line contains a NUL byte"));
    CHECK_THROWS_WITH(read_leniently("/tmp", replaced), "/tmp: this is a folder; a text file is needed");
}

TEST_CASE("a file is read to the last byte, whatever it contains", "[text]") {
    const std::string bytes("\xef\xbb\xbf\r\n\0\xff\x80 x\n\n", 11);
    CHECK(read_file(File(bytes).path) == bytes);
    CHECK(read_file(File("\n").path) == "\n");
    const std::string large(3 << 20, 'y');
    CHECK(read_file(File(large).path) == large);
    CHECK(complaint("", [](const std::string& path) { return read_file(path); }) == ": the file is empty");
    CHECK_THROWS_WITH(read_file("/nowhere/at all"),
                      "/nowhere/at all: cannot be opened: No such file or directory");
    CHECK_THROWS_WITH(read_file("/tmp"), "/tmp: this is a folder; a text file is needed");
    CHECK_THROWS_AS(read_file("/nowhere/at all"), nn::checkpoint::FileError);
}

TEST_CASE("a pipe is read like a file", "[text]") {
    const tests::Folder folder;
    const std::string pipe = folder / "pipe", bytes(3 << 20, 'z');
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    std::thread writer([&] { tests::put(pipe, bytes); });
    const std::string read = read_file(pipe);
    writer.join();
    CHECK(read == bytes);
}

TEST_CASE("a file that opens but cannot be read is an error", "[text]") {
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
                      "words: this file is compressed; unpack it first, e.g. with gunzip, unxz or unzip");
    for (const std::string mark : {"\xff\xfe", "\xfe\xff"})
        CHECK_THROWS_WITH(
            lines_of(mark + "a b", "words"),
            "words: this file is UTF-16; convert it to UTF-8 first, e.g. with iconv -f UTF-16 -t UTF-8");
}

TEST_CASE("a line has text if it has more than white space", "[text]") {
    for (const std::string blank : {"", " ", "\t", "\r", " \t \r"})
        CHECK_FALSE(has_text(blank));
    for (const std::string text : {"a", " a", "\t.\r", "\xc2\xa0"})
        CHECK(has_text(text));
}
