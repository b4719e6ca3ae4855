// Whole files: read in one piece, and replaced so that a crash at any moment leaves the old one or the new.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/check.h"

namespace plaingrad::nn::checkpoint {

// A file that cannot be read or written, is damaged, or does not fit. It is an Error of its own, because a
// program that runs for long may live on after one: the fault is in the file, not in the program.
struct FileError : autograd::Error {
    using Error::Error;
};

// As autograd::check, but throws FileError.
template <class... Parts>
void check_file(bool condition, const Parts&... parts) {
    if (!condition) [[unlikely]]
        throw FileError(autograd::join(parts...));
}

// A file that is read from its beginning, piece by piece: so that what it says of itself can be held against
// its real size before memory is taken for it. Throws FileError naming the file and the system's reason; also
// for directories, pipes and devices, and for what does not fit into memory.
class InputFile {
public:
    explicit InputFile(const std::string& path);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;
    int64_t size() const { return size_; }
    int64_t left() const { return size_ - at_; }    // bytes that were not read
    void append_to(std::string& bytes, int64_t n);  // the next n bytes; requires n <= left()

private:
    std::string path_;
    int file_ = -1;  // a descriptor: a stream's read does not fail everywhere when the system's does
    int64_t size_ = 0, at_ = 0;
};

// All of it.
std::string read_file(const std::string& path);

// Writes all pieces, one after the other, to a new file beside `path`, waits until the disk has them, and
// only then gives it the name, and the permissions that the old file had. Symbolic links are followed, also
// to a file that does not exist yet. What saves of this file that were killed have left beside it is removed.
// Throws FileError naming the file and the system's reason; then the old file is as it was, and the new one
// is gone.
void replace_file(const std::string& path, const std::vector<std::string_view>& pieces);

// Training may take hours: this does all of the above but writing, and so finds what would keep the result
// from being saved, also a name that is too long with what is behind it meanwhile.
void check_can_replace(const std::string& path);

}  // namespace plaingrad::nn::checkpoint
