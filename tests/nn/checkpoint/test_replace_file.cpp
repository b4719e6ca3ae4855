// Saving leaves the old file or the new one, whatever happens in between.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "autograd/storage.h"
#include "nn/checkpoint/file.h"
#include "tests/calls.h"
#include "tests/nn/checkpoint/files.h"

using namespace plaingrad;       // NOLINT
using namespace nn::checkpoint;  // NOLINT
using namespace tests;           // NOLINT

#ifdef PLAINGRAD_ASKS_ABOUT_CALLS
namespace {

// Notes the calls that can fail, and decides about the n-th of these.
struct Watch {
    explicit Watch(int64_t n = -1, Fate fate = {.error = EIO})
        : calls([=, this](std::string_view call, bool can_fail) {
              if (!can_fail)
                  return Fate{};
              noted.append(call).append(" ");
              return count++ == n ? fate : Fate{};
          }) {}
    std::string noted;
    int64_t count = 0;
    const Calls calls;
};

// In two pieces.
void replace_with(const std::string& path, std::string_view bytes) {
    NewFile file(path);
    file.write(bytes.substr(0, 3));
    file.write("");
    file.write(bytes.substr(3));
    file.put_in_place();
}

}  // namespace

TEST_CASE("saving: a failure of any call before the last rename leaves the old file, and nothing else",
          "[nn][checkpoint]") {
    const Folder folder;
    {
        const Watch watch;
        replace_with(folder / "f", "old");
        CHECK(watch.noted == "open write fsync rename open fsync of a folder close close ");
    }
    for (int64_t n = 0; n < 11; ++n) {  // after seven come the calls for the folder, whose failure is none
        const int why = n % 2 == 0 ? ENOSPC : EROFS;
        const Watch watch(n, {.error = why});
        const std::string bytes = "abcdef" + std::to_string(n),
                          error = error_of([&] { replace_with(folder / "f", bytes); });
        INFO(watch.noted);
        CHECK(error == (n >= 7 ? ""
                               : (folder / "f") + ": cannot be written: " + std::strerror(why) +
                                     "; a file that was there is unchanged"));
        CHECK(content(folder / "f") == (n >= 7 ? bytes : "old"));
        CHECK(folder.files() == 1);
        CHECK((n < 10 || watch.noted.starts_with("access open write write fchmod fsync rename open "
                                                 "fsync of a folder close close ")));
    }
}

TEST_CASE("saving, reading: signals and short writes are no failures, and the others are told",
          "[nn][checkpoint]") {
    const Folder folder;
    put(folder / "f", "old");
    for (const Fate& fate : {Fate{.error = EINTR}, {.at_most = 0}, {.at_most = 2}}) {
        const Watch watch(2, fate);
        replace_with(folder / "f", "abcdef");
        CHECK(watch.noted.starts_with("access open write write write fchmod fsync"));
        CHECK(content(folder / "f") == "abcdef");
    }
    for (const auto& [fate, error] :
         {std::pair(Fate{.error = EINTR}, std::string()),
          {{.error = EIO}, ": cannot be read: " + std::string(std::strerror(EIO))},
          {{.at_most = 0}, ": ended after 0 of 6 bytes; is another program writing to it?"}}) {
        const Watch watch(1, fate);
        std::string bytes;
        CHECK(error_of([&] { bytes = read_file(folder / "f"); }) ==
              (error.empty() ? "" : (folder / "f") + error));
        CHECK(bytes == (error.empty() ? "abcdef" : ""));
        CHECK(watch.noted.starts_with(error.empty() ? "open pread pread " : "open pread "));
    }
}

TEST_CASE("saving: a name without a folder is in the current one", "[nn][checkpoint]") {
    const Folder folder;
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path);
    const Watch watch;
    const std::string error = error_of([&] { replace_with("f", "abcdef"); });
    std::filesystem::current_path(before);
    CHECK(error == "");
    CHECK(watch.noted == "open write write fsync rename open fsync of a folder close close ");
    CHECK((content(folder / "f") == "abcdef" && folder.files() == 1));
}

// A file that someone opens before its permissions are set stays open.
TEST_CASE("saving: the new file of a private one is private from its first moment", "[nn][checkpoint]") {
    const Folder folder;
    put(folder / "f", "secret");
    REQUIRE(chmod((folder / "f").c_str(), 0600) == 0);
    const mode_t mask = umask(022);
    mode_t seen = 0;
    {
        const Calls calls([&](std::string_view, bool) {
            for (const auto& entry : std::filesystem::directory_iterator(folder.path))
                seen |= static_cast<mode_t>(entry.status().permissions());
            return Fate{};
        });
        replace_file(folder / "f", "new secret");
    }
    umask(mask);
    CHECK((seen == 0600 && content(folder / "f") == "new secret"));
}
#endif

TEST_CASE("saving: transposed matrices are copied one at a time", "[nn][checkpoint]") {
    std::vector<StateEntry> entries;
    for (const char* const name : {"a", "b", "c", "d", "e"})
        entries.push_back({.name = name, .tensor = Tensor::full({300, 70}, 1), .transposed = true});
    const Folder folder;
    autograd::storage_trim();
    const auto before = autograd::storage_statistics();
    write(folder / "f", entries);
    const auto after = autograd::storage_statistics();
    CHECK(after.system_calls - before.system_calls == 1);
    CHECK(after.bytes_in_use == before.bytes_in_use);
    CHECK(read(folder / "f").tensor("e").shape() == autograd::Shape({70, 300}));
}

TEST_CASE("reading: what the system does not let us look at is not said to be missing", "[nn][checkpoint]") {
    const Folder folder;
    CHECK_FALSE((exists(folder / "none") || exists(folder / "none/f")));
    put(folder / "f", "");
    CHECK((exists(folder / "f") && !exists(folder / "f/f")));
    REQUIRE(symlink("loop", (folder / "loop").c_str()) == 0);
    CHECK(error_of([&] { exists(folder / "loop"); }) ==
          (folder / "loop") + ": cannot be looked at: " + std::strerror(ELOOP));
}

TEST_CASE("reading: the names in a folder", "[nn][checkpoint]") {
    CHECK(in_folder("", "name") == "name");
    CHECK(in_folder("/", "name") == "/name");
    CHECK(in_folder("a/b", "name") == "a/b/name");
    CHECK(in_folder("a/b/", "name") == "a/b/name");
    const Folder folder;
    for (const char* const name : {"b", "a", ".hidden"})
        put(folder / name, "");
    std::error_code error;
    CHECK(names_in(folder.path, error) == std::vector<std::string>{".hidden", "a", "b"});
    CHECK_FALSE(error);
    CHECK(names_in(folder / "none", error).empty());
    CHECK(error == std::errc::no_such_file_or_directory);
    CHECK(names_in(folder / "a", error).empty());
    CHECK(error == std::errc::not_a_directory);
}

TEST_CASE("saving: places where a file cannot be written are told, also beforehand", "[nn][checkpoint]") {
    const Folder folder;
    put(folder / "f", "old");
    REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
    const std::string failed = "cannot be written: ", long_name = failed + "File name too long",
                      closed = failed + "Permission denied";
    std::vector<std::pair<std::string, std::string>> places = {
        {folder / "none/f", failed + "No such file or directory"},
        {folder.path, "this is a folder; a file is needed"},
        {folder / "pipe", "this is a pipe or a device"},
        {folder / "f/f", failed + "Not a directory"},
        {folder / std::string(300, 'x'), long_name},
        {folder / std::string(253, 'x'), long_name}};  // with the suffix of the temporary file
    if (geteuid() != 0) {                              // root may write everywhere
        REQUIRE(mkdir((folder / "closed").c_str(), 0500) == 0);
        put(folder / "read-only", "");
        REQUIRE(chmod((folder / "read-only").c_str(), 0400) == 0);
        places.insert(places.end(), {{folder / "closed/f", closed}, {folder / "read-only", closed}});
    }
    const int64_t files = folder.files();
    for (const auto& place : places)
        for (const std::string& error :
             {error_of([&] { write(place.first, {}); }), error_of([&] { check_can_replace(place.first); })}) {
            INFO(place.first << ": " << place.second << "; got " << error);
            CHECK(error.starts_with(place.first + ": " + place.second));
        }
    for (const std::string& name : {std::string("new"), std::string("f"), std::string(200, 'x')})
        CHECK(error_of([&] { check_can_replace(folder / name); }) == "");
    CHECK(contains(error_of([] { write("", {}); }), failed));
    CHECK_THROWS_AS(check_can_replace(folder.path), FileError);
    CHECK((content(folder / "f") == "old" && folder.files() == files));
}

TEST_CASE("saving: the permissions stay, and links lead to the file", "[nn][checkpoint]") {
    const Folder folder;
    const auto mode = [](const std::string& path) {
        struct stat status = {};
        REQUIRE(lstat(path.c_str(), &status) == 0);
        return status.st_mode & 07777;
    };
    const mode_t mask = umask(027);
    write(folder / "f", {});
    umask(mask);
    CHECK(mode(folder / "f") == 0640);
    for (const mode_t given : {0600u, 0664u, 0755u}) {
        REQUIRE(chmod((folder / "f").c_str(), given) == 0);
        write(folder / "f", {{"x", Tensor(1)}});
        CHECK(mode(folder / "f") == given);
    }
    REQUIRE(mkdir((folder / "links").c_str(), 0700) == 0);
    for (const std::string& to : {std::string("../f"), folder / "f"}) {
        const std::string link = folder / "links/to" + std::to_string(to.size());
        REQUIRE(symlink(to.c_str(), link.c_str()) == 0);
        write(link, {{to, Tensor(2)}});
        CHECK(std::filesystem::is_symlink(link));
        CHECK((read(folder / "f").entries().size() == 1 && read(folder / "f").find(to) != nullptr));
        CHECK((mode(folder / "f") == 0755 && folder.files() == 2));
    }
    // One to nowhere may be to a disk that is not there: it is neither followed nor replaced.
    REQUIRE(symlink("none", (folder / "links/lost").c_str()) == 0);
    const std::string lost = folder / "links/lost";
    for (const std::string& error :
         {error_of([&] { write(lost, {}); }), error_of([&] { check_can_replace(lost); })})
        CHECK(error == lost + ": this is a link to none, which is not there; remove the link");
    CHECK((std::filesystem::is_symlink(lost) && folder.files() == 2));
}

TEST_CASE("saving: what a killed process has left is overwritten", "[nn][checkpoint]") {
    const auto next_descriptor = [] {
        const int free = open("/dev/null", O_RDONLY);
        close(free);
        return free;
    };
    const int before = next_descriptor();
    const Folder folder;
    put(folder / "f.plaingrad-tmp", std::string(10000, 'x'));
    write(folder / "f", {{"x", Tensor(3)}});
    CHECK(read(folder / "f").tensor("x").item() == 3);
    CHECK(folder.files() == 1);
    CHECK(next_descriptor() == before);  // all are closed
}

TEST_CASE("safetensors: sizes are checked against the file before memory is allocated", "[nn][checkpoint]") {
    const Folder folder;
    const std::string path = folder / "large";
    for (const std::string& begin :
         {std::string(), file_of("{}")}) {  // only zeros, or a header without tensors
        put(path, begin);
        std::filesystem::resize_file(path, uintmax_t(1) << 40);  // takes no space on the disk
        CHECK_THROWS_AS(read(path), FileError);
    }
    CHECK(contains(error_of([&] { read(path); }), "something was added to it"));
    // A file may have these bytes, but no header needs them.
    put(path, raw(uint64_t(100'000'001)));
    std::filesystem::resize_file(path, 200'000'000);
    CHECK(contains(error_of([&] { read(path); }), "this is no safetensors file"));
}

TEST_CASE("saving: what cannot be a safetensors file is refused, and no file is touched",
          "[nn][checkpoint]") {
    const Folder folder;
    const std::string path = folder / "f";
    put(path, "old");
    const Tensor x = Tensor(1);
    const auto error = [&](const std::vector<StateEntry>& items, const Metadata& metadata = {}) {
        const std::string text = error_of([&] { write(path, items, metadata); });
        CHECK(text.starts_with(path + ": "));
        CHECK(content(path) == "old");
        CHECK(folder.files() == 1);
        return text;
    };
    for (const std::string name : {"x", "__metadata__"})
        CHECK(contains(error({{"x", x}, {"y", x}, {name, x}}),
                       "there is something else with the name \"" + name + "\" of a tensor"));
    CHECK(contains(error({{"\xff", x}}), "names and metadata must be UTF-8"));
    CHECK(contains(error({}, {{"\xff", ""}}), "names and metadata must be UTF-8"));
    CHECK(contains(error({}, {{"", "\xc3"}}), "names and metadata must be UTF-8"));
    for (const bool transposed : {false, true})
        CHECK(contains(error_of([&] {
                           write(path, {{"x", Tensor(), transposed}});
                       }),
                       "tensor \"x\" is empty, or packed"));
    CHECK((content(path) == "old" && folder.files() == 1));
}

TEST_CASE("saving: a header of the maximum length", "[nn][checkpoint][slow]") {
    const Folder folder;
    const std::string value(100'000'000 - std::string(R"({"__metadata__":{"k":""}})").size(), 'x');
    write(folder / "f", {}, {{"k", value}});
    CHECK(read(folder / "f").metadata().at("k") == value);
    CHECK(contains(error_of([&] {
                       write(folder / "f", {}, {{"k", value + "x"}});
                   }),
                   "names and metadata must be UTF-8, and of up to 100000000 bytes: got 100000008"));
}
