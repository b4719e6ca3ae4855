// Files for tests: a temporary folder, and the content of files.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace plaingrad::tests {

inline std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void put(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// A new folder that exists as long as this object.
class Folder {
public:
    Folder() {
        path = (std::filesystem::temp_directory_path() / "plaingrad_XXXXXX").string();
        if (mkdtemp(path.data()) == nullptr)
            throw std::runtime_error("cannot make a folder like " + path);
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string operator/(const std::string& name) const { return path + "/" + name; }
    // The path of a new file with this content.
    std::string write(const std::string& name, const std::string& bytes) const {
        put(*this / name, bytes);
        return *this / name;
    }
    // How many files there are.
    int64_t files() const {
        return std::distance(std::filesystem::directory_iterator(path),
                             std::filesystem::directory_iterator());
    }

    std::string path;
};

}  // namespace plaingrad::tests
