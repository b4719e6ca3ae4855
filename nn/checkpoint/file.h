// Whole files: read at once, and replaced so that a crash at any moment leaves the old one or the new one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "autograd/base/check.h"

namespace plaingrad::nn::checkpoint {

using autograd::join;

// A file that cannot be read or written, is damaged, or does not fit. It is an Error of its own, so that a
// long-running program can continue after one: the fault is in the file, not in the program.
struct FileError : autograd::Error {
    using Error::Error;
};

// As autograd::check, but throws FileError.
template <class... Parts>
void check_file(bool condition, const Parts&... parts) {
    if (!condition) [[unlikely]]
        throw FileError(join(parts...));
}

// Whether there is something of this name. Throws FileError if the system does not say, for example because a
// folder may not be searched.
bool exists(const std::string& path);

// What is called `name` in a folder; "" is the working directory.
std::string in_folder(const std::string& folder, std::string_view name);

// The names in a folder, sorted; if it cannot be read, none, and `error` tells why.
std::vector<std::string> names_in(const std::string& folder, std::error_code& error);

// A file of which parts are read, by several threads at once if they like. The sizes in its header can be
// checked against its real size before memory is allocated. Throws FileError naming the file and the system's
// reason; also for folders, pipes and devices.
class InputFile {
public:
    explicit InputFile(const std::string& path);
    ~InputFile();
    InputFile(InputFile&&) = delete;
    int64_t size() const { return size_; }
    // The n bytes from `at` on.
    std::string read(int64_t at, int64_t n) const;
    void read_to(char* to, int64_t at, int64_t n) const;

private:
    std::string path_;
    int file_ = -1;  // a stream's read does not fail everywhere when the system's does
    int64_t size_ = 0;
};

// All bytes of a file, which may have up to `most`.
std::string read_file(const std::string& path, int64_t most = INT64_MAX);

// A file that is written aside, as PATH.plaingrad-tmp, and takes the place of `path` once it is whole. What a
// killed process has left there is overwritten. (Only one program at a time may replace a file; a run locks
// its folder.) If there is a symbolic link to a file, replaces that file. Throws FileError naming the file
// and the system's reason; the old file is unchanged until the last moment, and without it the new one is
// removed.
class NewFile {
public:
    explicit NewFile(const std::string& path);
    ~NewFile();
    NewFile(NewFile&&) = delete;

    void write(std::string_view bytes);
    // Waits until all is on the disk, and only then renames it, with the permissions of the old file.
    void put_in_place();

private:
    void check_done(bool done) const;

    std::string path_, target_, aside_;
    int file_ = -1, permissions_ = -1;  // those of the old file
};

// All of a new file.
void replace_file(const std::string& path, std::string_view bytes);

// Does all of this except writing, to find out before hours of training whether the result can be saved; for
// example, whether the name is too long with the suffix of the new file.
void check_can_replace(const std::string& path);

}  // namespace plaingrad::nn::checkpoint
