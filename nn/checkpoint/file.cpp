#include "nn/checkpoint/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace plaingrad::nn::checkpoint {

namespace fs = std::filesystem;

namespace {

// Refuses pipes: opening one that nobody writes to would never return.
void check_regular(const std::string& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    check_file(!is_directory(status), path, ": this is a folder; a file is needed");
    check_file(!exists(status) || is_regular_file(status), path,
               ": this is a pipe or a device; a file is needed");
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
    const std::string folder = fs::path(target).parent_path().string();
    const int opened = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fsync(opened);
    close(opened);
}

}  // namespace

bool exists(const std::string& path) {
    std::error_code error;
    const bool found = fs::exists(path, error);
    check_file(!error, path, ": cannot be looked at: ", error.message());
    return found;
}

std::string in_folder(const std::string& folder, std::string_view name) {
    return join(folder, folder.empty() || folder.ends_with('/') ? "" : "/", name);
}

std::vector<std::string> names_in(const std::string& folder, std::error_code& error) {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
        names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

InputFile::InputFile(const std::string& path) : path_(path) {
    check_regular(path);
    file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    check_file(file_ >= 0, path, ": cannot be opened: ", std::strerror(errno));
    struct stat now = {};
    fstat(file_, &now);
    size_ = now.st_size;
    constexpr std::string_view kPointer = "version https://git-lfs";  // of three lines
    check_file(size_ > 1000 || !read(0, std::min<int64_t>(size_, std::ssize(kPointer))).starts_with(kPointer),
               path, ": Git LFS has not fetched this file yet; `git lfs pull` does");
}

InputFile::~InputFile() { close(file_); }

std::string InputFile::read(int64_t at, int64_t n) const {
    std::string bytes(static_cast<std::size_t>(n), '\0');
    read_to(bytes.data(), at, n);
    return bytes;
}

void InputFile::read_to(char* to, int64_t at, int64_t n) const {
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

std::string read_file(const std::string& path, int64_t most) {
    const InputFile file(path);
    check_file(file.size() <= most, path, ": ", file.size(), " bytes are too many; up to ", most,
               " are read");
    return file.read(0, file.size());
}

NewFile::NewFile(const std::string& path) : path_(path) {
    check_regular(path);
    std::error_code is_none, error;
    const std::string real = fs::canonical(path, is_none).string();
    check_file(!is_none || !fs::is_symlink(path, error), path, ": this is a link to ",
               fs::read_symlink(path, error).string(), ", which is not there; remove the link");
    target_ = is_none ? path : real;
    aside_ = target_ + ".plaingrad-tmp";
    struct stat old = {};
    if (stat(target_.c_str(), &old) == 0) {
        check_done(access(target_.c_str(), W_OK) == 0);  // rename would not check this
        permissions_ = old.st_mode & 07777;
    }
    // A private file's successor is private from the first moment: whoever had opened it could read it later.
    file_ = open(aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                 permissions_ < 0 ? 0666 : old.st_mode & 0777);
    check_done(file_ >= 0);
}

NewFile::~NewFile() {
    if (!aside_.empty())
        unlink(aside_.c_str());
    close(file_);
}

void NewFile::check_done(bool done) const {
    check_file(done, path_, ": cannot be written: ", std::strerror(errno),
               "; a file that was there is unchanged");
}

void NewFile::write(std::string_view bytes) {
    while (!bytes.empty()) {
        // macOS writes less than 2 GiB at once.
        const ssize_t n = ::write(file_, bytes.data(), std::min<std::size_t>(bytes.size(), 1 << 30));
        check_done(n >= 0 || errno == EINTR);
        bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    }
}

void NewFile::put_in_place() {
    check_done(permissions_ < 0 ||
               fchmod(file_, static_cast<mode_t>(permissions_)) == 0);  // umask took some away
    check_done(sync(file_) == 0 && rename(aside_.c_str(), target_.c_str()) == 0);
    aside_.clear();
    sync_folder(target_);
}

void replace_file(const std::string& path, std::string_view bytes) {
    NewFile file(path);
    file.write(bytes);
    file.put_in_place();
}

void check_can_replace(const std::string& path) { const NewFile file(path); }

}  // namespace plaingrad::nn::checkpoint
