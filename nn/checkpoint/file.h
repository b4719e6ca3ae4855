// Whole files: read in one piece, and replaced so that a crash at any moment leaves the old one or the new.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/check.h"

namespace plaingrad::nn::checkpoint {

// A file that cannot be read or written, is damaged, or does not fit. It is an Error of its own, because a program that
// runs for long may live on after one: the fault is in the file, not in the program.
struct FileError : autograd::Error {
    using Error::Error;
};

// As autograd::check, but throws FileError.
template <class... Parts>
void check_file(bool condition, const Parts&... parts) {
    if (!condition) [[unlikely]]
        throw FileError(autograd::join(parts...));
}

// Throws FileError naming the file and the system's reason; also for directories, pipes and devices.
std::string read_file(const std::string& path);

// Writes all pieces, one after the other, to a new file beside `path`, waits until the disk has them, and only
// then gives it the name, and the permissions that the old file had. Symbolic links are followed. Throws FileError
// naming the file and the system's reason; then the old file is as it was, and the new one is gone.
void replace_file(const std::string& path, const std::vector<std::string_view>& pieces);

}  // namespace plaingrad::nn::checkpoint
