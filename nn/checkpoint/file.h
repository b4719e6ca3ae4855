// Whole files: read at once, and replaced so that a crash at any moment leaves the old one or the new one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "autograd/base/check.h"

namespace plaingrad::nn::checkpoint {

// A file that cannot be read or written, is damaged, or does not fit. It is an Error of its own, so that a
// long-running program can continue after one: the fault is in the file, not in the program.
struct FileError : autograd::Error {
    using Error::Error;
};

// As autograd::check, but throws FileError.
template <class... Parts>
void check_file(bool condition, const Parts&... parts) {
    if (!condition) [[unlikely]]
        throw FileError(autograd::join(parts...));
}

// Whether there is something of this name; what cannot be looked at counts as missing.
bool exists(const std::string& path);

// What is called `name` in a folder; "" is the working directory.
std::string in_folder(const std::string& folder, std::string_view name);

// The names in a folder, sorted; if it cannot be read, none, and `error` tells why.
std::vector<std::string> names_in(const std::string& folder, std::error_code& error);

// A file or folder that the system has opened, or -1; closed at the end.
struct Descriptor {
    explicit Descriptor(int opened) : number(opened) {}
    ~Descriptor();
    Descriptor(Descriptor&&) = delete;
    operator int() const { return number; }

    const int number;
};

// A file that is read piece by piece, so that the sizes in its header can be checked against its real size
// before memory is allocated. Throws FileError naming the file and the system's reason; also for directories,
// pipes and devices, and for what does not fit into memory.
class InputFile {
public:
    explicit InputFile(const std::string& path);
    int64_t size() const { return size_; }
    int64_t left() const { return size_ - at_; }    // bytes not read yet
    void append_to(std::string& bytes, int64_t n);  // the next n bytes; requires n <= left()
    // The n bytes from `at` on, which may be read by several threads at once; `left` stays as it is.
    void read_at(int64_t at, char* to, int64_t n) const;

private:
    std::string path_;
    Descriptor file_;  // a stream's read does not fail everywhere when the system's does
    int64_t size_ = 0, at_ = 0;
};

// All bytes of a file.
std::string read_file(const std::string& path);

// Writes all pieces to a new file, PATH.plaingrad-tmp, waits until they are on the disk, and only then
// renames it to `path`, with the permissions of the old file. What a killed process has left there is
// overwritten. Two that replace the same file take turns. If there is a symbolic link to a file, replaces
// that file. Throws FileError naming the file and the system's reason; then the old file is unchanged, and
// the new one is removed.
void replace_file(const std::string& path, const std::vector<std::string_view>& pieces);

// The same for pieces that are made while it writes: piece(0), piece(1), ... Each is read before the next is
// wanted, so one can be in memory at a time. What it throws is passed on; then, too, the old file is
// unchanged.
using Piece = std::function<std::string_view(std::size_t i)>;
void replace_file(const std::string& path, std::size_t pieces, const Piece& piece);

// Does all of replace_file except writing, to find out before hours of training whether the result can be
// saved; for example, whether the name is too long with the suffix of the new file.
void check_can_replace(const std::string& path);

}  // namespace plaingrad::nn::checkpoint
