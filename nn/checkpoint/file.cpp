#include "nn/checkpoint/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace plaingrad::nn::checkpoint {
namespace {

using autograd::join;

// Not of a pipe: to open one that nobody writes to would never return.
void check_regular(const std::string& path) {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    check_file(!is_directory(status), path, ": this is a directory; a file is needed");
    check_file(!exists(status) || is_regular_file(status), path,
               ": this is a pipe or a device; a file is needed");
}

// Under the first name that is free: another thread, or a process that was killed, may have left some.
int open_aside(const std::string& target, std::string& name) {
    for (int i = 0;; ++i) {
        name = join(target, ".tmp-", getpid(), "-", i);
        const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
}

int write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        // macOS takes less than 2 GiB at once.
        const ssize_t n = ::write(file, bytes.data(), std::min<std::size_t>(bytes.size(), 1 << 30));
        if (n < 0 && errno != EINTR)
            return -1;
        bytes.remove_prefix(n < 0 ? 0 : static_cast<std::size_t>(n));
    }
    return 0;
}

// A rename is on the disk when its folder is. Until then a power cut may bring back the old file, which is whole:
// so it is no failure if this cannot be done, as in a folder that may not be listed.
void sync_folder(const std::string& target) {
    const std::string folder = std::filesystem::path(target).parent_path().string();
    const int opened = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened >= 0) {
        fsync(opened);
        close(opened);
    }
}

}  // namespace

std::string read_file(const std::string& path) {
    check_regular(path);
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = file.tellg();  // -1 if it is not open
    check_file(size >= 0, path, ": cannot be opened: ", std::strerror(errno));
    std::string bytes(static_cast<std::size_t>(size), '\0');
    file.seekg(0).read(bytes.data(), size);
    check_file(file.gcount() == size, path, ": ended after ", file.gcount(), " of ", size,
               " bytes; is another program writing to it?");
    return bytes;
}

void replace_file(const std::string& path, const std::vector<std::string_view>& pieces) {
    check_regular(path);
    std::error_code is_new;
    const std::filesystem::path existing = std::filesystem::canonical(path, is_new);
    const std::string target = is_new ? path : existing.string();
    std::string aside;
    int file = -1, failed = 0;
    // After a step that failed no other is done, and its reason is what the user is told.
    const auto step = [&](const auto& call) {
        if (failed == 0 && call() < 0)
            failed = errno;
    };
    struct stat old = {};
    if (!is_new) {
        step([&] { return stat(target.c_str(), &old); });
        step([&] { return access(target.c_str(), W_OK); });  // rename would not ask
    }
    step([&] { return file = open_aside(target, aside); });
    for (const std::string_view piece : pieces)
        step([&] { return write_all(file, piece); });
    if (!is_new)
        step([&] { return fchmod(file, old.st_mode & 07777); });
    step([&] { return fsync(file); });
    if (file >= 0 && close(file) < 0 && failed == 0)
        failed = errno;
    step([&] { return rename(aside.c_str(), target.c_str()); });
    if (failed != 0 && file >= 0)
        unlink(aside.c_str());
    check_file(failed == 0, path, ": cannot be written: ", std::strerror(failed),
               "; a file that was there is unchanged");
    sync_folder(target);
}

}  // namespace plaingrad::nn::checkpoint
