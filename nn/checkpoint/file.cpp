#include "nn/checkpoint/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>

namespace plaingrad::nn::checkpoint {
namespace {

using autograd::join;

// Refuses pipes: opening one that nobody writes to would never return.
void check_regular(const std::string& path) {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    check_file(!is_directory(status), path, ": this is a directory; a file is needed");
    check_file(!exists(status) || is_regular_file(status), path,
               ": this is a pipe or a device; a file is needed");
}

// The file at the end of a name's symbolic links. It need not exist.
std::string follow_links(const std::string& path) {
    std::error_code error;
    std::filesystem::path file = path;
    for (int links = 0; std::filesystem::is_symlink(file, error); ++links) {
        check_file(links < 40, path, ": its symbolic links lead in a circle");
        file = file.parent_path() / std::filesystem::read_symlink(file, error);  // which may be absolute
    }
    return file.string();
}

// The names of the new files beside `target`. They end with the process and a number, as others may save the
// same file at the same time.
constexpr const char* kAside = ".tmp-";

// Removes new files that killed processes have left. One that is still being written is locked.
void remove_leftovers(const std::filesystem::path& target) {
    const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
    const std::string begin = target.filename().string() + kAside;
    std::error_code error;
    for (const std::string& name : names_in(folder.string(), error)) {
        if (!name.starts_with(begin) || name.find_first_not_of("0123456789-", begin.size()) != name.npos)
            continue;
        const std::string path = in_folder(folder.string(), name);
        const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        struct stat opened = {}, named = {};
        // Before it was locked, its process may have renamed it, and begun a new one under this name.
        if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &opened) == 0 &&
            lstat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino)
            unlink(path.c_str());
        if (file >= 0)
            close(file);
    }
}

// Makes a new file under the first free name, and locks it.
int open_aside(const std::string& target, mode_t mode, std::string& name) {
    for (int i = 0;; ++i) {
        name = join(target, kAside, getpid(), "-", i);
        const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file < 0 && errno == EEXIST)
            continue;
        struct stat now = {};
        if (file < 0 || flock(file, LOCK_EX) != 0 || fstat(file, &now) != 0 || now.st_nlink > 0)
            return file;
        close(file);  // another save has removed it as a leftover, before it was locked
    }
}

int write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        // macOS writes less than 2 GiB at once.
        const ssize_t n = ::write(file, bytes.data(), std::min<std::size_t>(bytes.size(), 1 << 30));
        if (n < 0 && errno != EINTR)
            return -1;
        bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    }
    return 0;
}

int sync(int file) {
#ifdef F_FULLFSYNC  // on macOS, fsync leaves the bytes in the disk's cache
    if (fcntl(file, F_FULLFSYNC) == 0)
        return 0;
#endif
    return fsync(file);
}

// A rename is on the disk once its folder is. Until then a power cut may bring back the old file, which is
// complete. So it is not an error if this fails, for example in a folder that may not be listed.
void sync_folder(const std::string& target) {
    const std::string folder = std::filesystem::path(target).parent_path().string();
    const int opened = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened >= 0) {
        fsync(opened);
        close(opened);
    }
}

}  // namespace

bool exists(const std::string& path) {
    std::error_code error;
    return std::filesystem::status(path, error).type() != std::filesystem::file_type::not_found;
}

bool certainly_exists(const std::string& path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
}

std::string in_folder(const std::string& folder, std::string_view name) {
    return join(folder, folder.empty() || folder.ends_with('/') ? "" : "/", name);
}

std::vector<std::string> names_in(const std::string& folder, std::error_code& error) {
    std::vector<std::string> names;
    const auto shut = [](DIR* opened) { closedir(opened); };
    const std::unique_ptr<DIR, decltype(shut)> opened(opendir(folder.c_str()), shut);  // or errno is set
    while (opened) {
        errno = 0;
        const dirent* const entry = readdir(opened.get());
        if (entry == nullptr)
            break;
        if (const std::string name = entry->d_name; name != "." && name != "..")
            names.push_back(name);
    }
    error.assign(errno, std::generic_category());
    std::sort(names.begin(), names.end());
    return names;
}

// Delegates, so that the destructor runs even if this throws.
InputFile::InputFile(const std::string& path) : InputFile() {
    path_ = path;
    check_regular(path);
    struct stat now = {};
    file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool opened = file_ >= 0 && fstat(file_, &now) == 0;
    check_file(opened, path, ": cannot be opened: ", std::strerror(errno));
    size_ = now.st_size;
    constexpr std::string_view kPointer = "version https://git-lfs";  // of three lines
    if (std::string begin(kPointer); size_ > std::ssize(begin) && size_ < 1000) {
        read_at(0, begin.data(), std::ssize(begin));
        check_file(begin != kPointer, path, ": Git LFS has not fetched this file yet; `git lfs pull` does");
    }
}

InputFile::~InputFile() { close(file_); }

void InputFile::append_to(std::string& bytes, int64_t n) {
    const std::size_t before = bytes.size();
    try {
        bytes.resize(before + static_cast<std::size_t>(n));
    } catch (const std::exception&) {
        throw FileError(join(path_, ": its ", size_, " bytes do not fit into memory"));
    }
    read_at(at_, bytes.data() + before, n);
    at_ += n;
}

void InputFile::read_at(int64_t at, char* to, int64_t n) const {
    for (const int64_t end = at + n; at < end;) {
        // macOS reads less than 2 GiB at once.
        const ssize_t got =
            ::pread(file_, to, static_cast<std::size_t>(std::min<int64_t>(end - at, 1 << 30)), at);
        if (got < 0 && errno == EINTR)
            continue;
        check_file(got >= 0, path_, ": cannot be read: ", std::strerror(errno));
        check_file(got > 0, path_, ": ended after ", at, " of ", size_,
                   " bytes; is another program writing to it?");
        at += got;
        to += got;
    }
}

std::string read_file(const std::string& path) {
    InputFile file(path);
    std::string bytes;
    file.append_to(bytes, file.size());
    return bytes;
}

namespace {

// `write` writes the new file and returns -1 if it fails. keep: whether the new file then replaces the old
// one.
template <class Write>
void replace_with(const std::string& path, bool keep, const Write& write) {
    check_regular(path);
    const std::string target = follow_links(path);
    remove_leftovers(target);
    std::string aside;
    int file = -1, lock = -1, failed = 0;
    std::exception_ptr thrown;
    // After a step has failed, no other is done, and the error gives its reason.
    const auto step = [&](const auto& call) {
        try {
            if (failed == 0 && !thrown && call() < 0)
                failed = errno;
        } catch (...) {
            thrown = std::current_exception();
        }
    };
    struct stat old = {};
    const bool is_new = stat(target.c_str(), &old) != 0;
    step([&] { return is_new ? 0 : access(target.c_str(), W_OK); });  // rename would not check this
    // A private file's successor is private from the first moment: whoever had opened it could read it later.
    step([&] { return file = open_aside(target, is_new ? 0666 : old.st_mode & 0777, aside); });
    step([&] { return lock = fcntl(file, F_DUPFD_CLOEXEC, 0); });  // holds the lock until the file is renamed
    step([&] { return is_new ? 0 : fchmod(file, old.st_mode & 07777); });  // what umask took away
    step([&] { return write(file); });
    step([&] { return keep ? sync(file) : 0; });
    if (file >= 0 && close(file) < 0 && failed == 0)
        failed = errno;
    step([&] { return keep ? rename(aside.c_str(), target.c_str()) : 0; });
    if ((failed != 0 || thrown || !keep) && file >= 0)
        unlink(aside.c_str());
    if (lock >= 0)
        close(lock);
    if (thrown)
        std::rethrow_exception(thrown);
    check_file(failed == 0, path, ": cannot be written: ", std::strerror(failed),
               "; a file that was there is unchanged");
    if (keep)
        sync_folder(target);
}

}  // namespace

void replace_file(const std::string& path, const std::vector<std::string_view>& pieces) {
    replace_file(path, pieces.size(), [&](std::size_t i) { return pieces[i]; });
}

void replace_file(const std::string& path, std::size_t pieces, const Piece& piece) {
    replace_with(path, true, [&](int file) {
        for (std::size_t i = 0; i < pieces; ++i)
            if (write_all(file, piece(i)) < 0)
                return -1;
        return 0;
    });
}

void append_to_file(const std::string& path, std::string_view bytes, bool from_start) {
    const int how = from_start ? O_TRUNC : O_APPEND;
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0666);
    int failed = file < 0 || write_all(file, bytes) < 0 ? errno : 0;
    if (file >= 0 && close(file) < 0 && failed == 0)
        failed = errno;
    check_file(failed == 0, path, ": cannot be written: ", std::strerror(failed));
}

void check_can_replace(const std::string& path) {
    replace_with(path, false, [](int) { return 0; });
}

}  // namespace plaingrad::nn::checkpoint
