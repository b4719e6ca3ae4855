#include "tests/trust/words/torture.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "autograd/base/check.h"
#include "tests/folder.h"

namespace plaingrad::trust::words {
namespace {

using tests::put;
using Make = std::function<void(const std::string&)>;

std::string repeated(const std::string& text, std::size_t times) {
    std::string all;
    all.reserve(text.size() * times);
    for (std::size_t i = 0; i < times; ++i)
        all += text;
    return all;
}

// A file with these bytes; NUL is allowed within.
template <std::size_t N>
Make bytes(const char (&text)[N]) {
    return [all = std::string(text, N - 1)](const std::string& path) { put(path, all); };
}
Make text(const std::string& all) {
    return [all](const std::string& path) { put(path, all); };
}
// The same text in several encodings.
constexpr const char* kLines = "good\tthe cat sat\nbad\tthe dog ran\ngood\ta sun\nbad\ta rain\n";

// A safetensors file: the length of the header, the header, and so many bytes of numbers.
std::string safetensors(uint64_t length, const std::string& header, std::size_t numbers = 4) {
    std::string all(8, '\0');
    std::memcpy(all.data(), &length, 8);
    return all + header + std::string(numbers, '\0');
}
Make safetensors(const std::string& header, std::size_t numbers = 4) {
    return text(safetensors(header.size(), header, numbers));
}

void make_socket(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    autograd::check(path.size() < sizeof address.sun_path, path, ": too long for a socket");
    std::strcpy(address.sun_path, path.c_str());
    const int one = socket(AF_UNIX, SOCK_STREAM, 0);
    autograd::check(bind(one, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, path,
                    ": no socket can be made");
    close(one);
}

std::vector<Torture> of_text() {
    return {
        {"empty", bytes("")},
        {"one byte", bytes("a")},
        {"one line feed", bytes("\n")},
        {"spaces", bytes("   \n  \n \n")},
        {"tabs", bytes("\t\t\n\t\n\t\t\t\n")},
        {"no final line feed", bytes("good\tthe cat sat\nbad\tthe dog ran")},
        {"CRLF", bytes("good\tthe cat sat\r\nbad\tthe dog ran\r\n")},
        {"CR only", bytes("good\tthe cat sat\rbad\tthe dog ran\r")},
        {"no tabs", bytes("the cat sat\nthe dog ran\n")},
        {"many tabs", text(repeated(repeated("word\t", 2000) + "\n", 4))},
        {"a label alone", bytes("good\nbad\n")},
        {"one line", bytes("good\tthe cat sat on the mat\n")},
        {"a million empty lines", text(std::string(1'000'000, '\n'))},
        {"a line of two megabytes", text("good\t" + repeated("the cat sat ", 175'000) + "\n")},
        {"a line of 100 megabytes", text("good\t" + repeated("the cat sat ", 8'750'000) + "\n"), "", true},
        {"a word of 100 kilobytes", text("good\t" + std::string(100'000, 'x') + "\nbad\tthe dog\n")},
        {"numbers", bytes("0 1 2 3\n4 5 6 7\n-1 -2\n")},
        {"no numbers", bytes("nan\tnan inf -inf\n1e999\t-1e999 0x1p4\n")},
        {"formats", bytes("%s%s%n\t%d %x\n${HOME}\t`id`; $(id)\n")},
        {"markup", bytes("<html><script>alert('1 < 2')</script>\t&amp;\n")},
        {"reserved names", bytes("<pad> <sos>\t<eos> <unk>\n[MASK] [CLS]\t<|endoftext|> ##s @@\n")},
    };
}

std::vector<Torture> of_characters() {
    return {
        {"NUL", bytes("\0")},
        {"NUL within", bytes("good\tthe \0cat\nbad\tthe dog\n")},
        {"a mark of byte order", bytes("\xef\xbb\xbf")},
        {"a mark of byte order, and text", text(std::string("\xef\xbb\xbf") + kLines)},
        {"a continuation byte", bytes("good\tthe \x80 cat\nbad\tthe dog\n")},
        {"a cut character", bytes("good\tthe cat\nbad\tthe \xe2\x82")},
        {"bytes FE and FF", bytes("good\t\xfe\xff\nbad\t\xff\xff\n")},
        {"overlong, two bytes", bytes("good\tthe \xc0\xaf cat\nbad\tthe dog\n")},
        {"overlong, three bytes", bytes("good\tthe \xe0\x80\xaf cat\nbad\tthe dog\n")},
        {"overlong, four bytes", bytes("good\tthe \xf0\x80\x80\xaf cat\nbad\tthe dog\n")},
        {"a surrogate", bytes("good\tthe \xed\xa0\x80 cat\nbad\tthe dog\n")},
        {"beyond U+10FFFF", bytes("good\tthe \xf4\x90\x80\x80 cat\nbad\tthe dog\n")},
        {"Latin-1", bytes("good\tun caf\xe9\nbad\tla for\xeat\n")},
        {"UTF-16", bytes("\xff\xfeg\0o\0o\0d\0\t\0c\0a\0t\0\n\0")},
        {"UTF-32", bytes("\xff\xfe\0\0g\0\0\0\t\0\0\0c\0\0\0\n\0\0\0")},
        {"Unicode line separators", bytes("good\tcat\u2028dog\u2029sun\u0085rain\vmoon\fsea\nbad\ta\n")},
        {"combining marks", text("good\tca\u0301t " + repeated("\u0301", 500) + "\nbad\te\u0308\u0327\n")},
        {"right to left", bytes("good\tשלום עולם \u202eabc\u202c\nbad\tمرحبا بالعالم\n")},
        {"emoji", bytes("good\t👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽\nbad\t🇩🇪🇫🇷\n")},
        {"control characters", bytes("good\t\a\b\x01\x02\x7f cat\nbad\t\x1f\xc2\x80\xc2\x9b dog\n")},
        {"escape sequences", bytes("good\t\x1b[31mred\x1b[0m \x1b]0;title\a\nbad\t\x1b[2J\x1b[H\n")},
        {"an escape sequence alone", bytes("\x1b[2Jescaped\n")},
        {"invisible characters", bytes("good\t\u200b\u2060\ufeff\u00ad\nbad\t\u3000\u00a0\n")},
    };
}

std::vector<Torture> of_formats(const std::string& model) {
    const std::string whole = tests::content(model);
    const std::string tensor = R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
    return {
        {"JSON, empty", bytes("{}")},
        {"JSON, cut", bytes("{\"model_type\": \"gpt2\", \"vocab_size\": [1, 2")},
        {"JSON, a list", bytes("[1, 2, 3]")},
        {"JSON, of depth 100,000", text(repeated("[", 100'000))},
        {"JSON, an unknown key", bytes("{\"\x1b[31mred\": NaN}")},
        {"JSON, huge numbers", bytes("{\"model_type\": \"gpt2\", \"vocab_size\": 1e999, \"n_embd\": -1}")},
        {"gzip", bytes("\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\xcb\xcf\x07\0\x21\x65\x73\x8c\x03\0\0\0")},
        {"zip", bytes("PK\x03\x04\x14\0\0\0\x08\0")},
        {"PNG", bytes("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01"), "", false, "picture.safetensors"},
        {"a program", bytes("\x7f"
                            "ELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0")},
        {"pickle", bytes("\x80\x02}q\0X\x05\0\0\0modelq\x01K\x01s.")},
        {"a model, cut in its numbers", text(whole.substr(0, whole.size() - 1))},
        {"a model, cut in its header", text(whole.substr(0, 100))},
        {"a model, cut in its length", text(whole.substr(0, 7))},
        {"a model, and a byte", text(whole + "x")},
        {"safetensors, empty", safetensors("{}", 0)},
        {"safetensors, of another kind", safetensors("{" + tensor + "}")},
        {"safetensors, a header of 2^63 bytes", text(safetensors(uint64_t{1} << 63, "{}"))},
        {"safetensors, a header that is no JSON", safetensors("this is no header")},
        {"safetensors, offsets beyond the end",
         safetensors(R"({"w":{"dtype":"F32","shape":[9],"data_offsets":[0,36]}})")},
        {"safetensors, a shape of 2^64",
         safetensors(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})")},
        {"safetensors, unknown numbers",
         safetensors(R"({"w":{"dtype":"Q4","shape":[1],"data_offsets":[0,4]}})")},
        {"safetensors, a name twice", safetensors("{" + tensor + "," + tensor + "}")},
        {"safetensors, an escape in its metadata",
         safetensors(R"({"__metadata__":{"kind":"\u001b[31m"},)" + tensor + "}")},
    };
}

std::vector<Torture> of_kinds() {
    namespace fs = std::filesystem;
    std::vector<Torture> all = {
        {"missing", nullptr},
        {"a folder", [](const std::string& path) { fs::create_directory(path); }},
        {"in no folder", nullptr, "/no/such/folder/file"},
        {"below a file", nullptr, "/etc/passwd/file"},
        {"a loop of links", [](const std::string& path) { fs::create_symlink(path, path); }},
        {"a link to nothing", [](const std::string& path) { fs::create_symlink(path + ".gone", path); }},
        {"a socket", make_socket},
        {"a named pipe", [](const std::string& path) { mkfifo(path.c_str(), 0600); }},
        {"/dev/null", nullptr, "/dev/null"},
        {"/dev/full", nullptr, "/dev/full"},
        {"no name", nullptr, " "},
        {"a name of 300 letters", nullptr, std::string(300, 'n')},
        {"a name with a line feed", text(kLines), "", false, "two\nlines"},
        {"a name with an escape", text(kLines), "", false, "\x1b[31mred"},
        {"a name that is not UTF-8", text(kLines), "", false, "\xff\xfe"},
        {"a huge file of zeros",
         [](const std::string& path) {
             put(path, "");
             fs::resize_file(path, uintmax_t{1} << 40);
         }},
    };
    if (fs::exists("/proc/self/mem"))  // reading it is an error of the system, for every user
        all.push_back({"unreadable", nullptr, "/proc/self/mem"});
    return all;
}

}  // namespace

std::vector<Torture> torture_files(const std::string& model) {
    std::vector<Torture> all = of_text();
    for (const std::vector<Torture>& more : {of_characters(), of_formats(model), of_kinds()})
        all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace plaingrad::trust::words
