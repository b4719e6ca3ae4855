// A program on a terminal of its own, as a user sees it.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "tests/apps/run.h"

namespace plaingrad::tests {

inline const std::string kUp = "\033[A", kDown = "\033[B", kRight = "\033[C", kLeft = "\033[D",
                         kHome = "\033[H", kEnd = "\033[F";

struct TerminalSize {
    unsigned short rows = 24, columns = 80;
};

// Leaves a test case where the programs run in an emulator, which has no terminal.
#define NEEDS_TERMINAL()                           \
    if (!environment("PLAINGRAD_RUN", "").empty()) \
    SKIP("an emulator would have to be started in the terminal")

class Terminal {
public:
    Terminal(const std::string& program, const Words& arguments, TerminalSize size = {},
             const Words& env = {}) {
        master_ = posix_openpt(O_RDWR | O_NOCTTY);
        REQUIRE(grantpt(master_) == 0);
        REQUIRE(unlockpt(master_) == 0);
        const std::string name = ptsname(master_);
        slave_ = open(name.c_str(), O_RDWR | O_NOCTTY);
        set_size(size);
        usual_modes_ = modes();
        Words words = arguments, variables = env;
        words.insert(words.begin(), program.starts_with('/') ? program : apps() + "/" + program);
        for (const std::string usual : {"TERM=xterm", "NO_COLOR=1"})
            if (!names(variables, usual))
                variables.push_back(usual);
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);  // the terminal that a new session opens first controls it
        posix_spawn_file_actions_addopen(&files, 0, name.c_str(), O_RDWR, 0);
        posix_spawn_file_actions_adddup2(&files, 0, 1);
        posix_spawn_file_actions_adddup2(&files, 0, 2);
        pid_ = spawn(words, words[0], variables, files, true);
        posix_spawn_file_actions_destroy(&files);
    }
    ~Terminal() {
        if (pid_ > 0)
            kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
        close(master_), close(slave_);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    void type(const std::string& keys) const { REQUIRE(write(master_, keys.data(), keys.size()) > 0); }
    void signal(int signal) const { kill(pid_, signal); }
    void resize(TerminalSize size) { set_size(size); }  // which tells the program, by SIGWINCH

    // Waits until the output since the last `says` has this text, and returns what came up to its end.
    bool says(const std::string& text) {
        const auto end = [&] { return output_.find(text, read_); };
        while (end() == std::string::npos)
            if (!more())
                return false;
        said_ = output_.substr(read_, end() - read_);
        read_ = end() + text.size();
        return true;
    }
    const std::string& said() const { return said_; }  // before the text that the last `says` waited for
    // Whether the program writes nothing for so many milliseconds.
    bool is_silent(int milliseconds) const {
        pollfd output = {master_, POLLIN, 0};
        return poll(&output, 1, milliseconds) == 0;
    }
    // Waits until the page that was drawn last, down to its last line (turn_pages), has this text.
    bool draws(const std::string& text) {
        while (!contains(screen(), text) || !contains(screen(), "q quits"))
            if (!more())
                return false;
        return true;
    }
    std::string screen() const {
        const std::size_t last = output_.rfind("\033[2J");
        return output_.substr(last == std::string::npos ? output_.size() : last);
    }
    int status() {
        while (more()) {
        }
        return status_of(std::exchange(pid_, -1));
    }
    tcflag_t usual_modes() const { return usual_modes_; }  // before the program began
    tcflag_t modes() const {
        termios now{};
        tcgetattr(slave_, &now);
        return now.c_lflag & (ICANON | ECHO | ISIG | IEXTEN);
    }

private:
    void set_size(TerminalSize size) const {
        winsize window{};
        window.ws_row = size.rows, window.ws_col = size.columns;
        ioctl(master_, TIOCSWINSZ, &window);
    }
    // Reads what the program has written since; false after its end, or if nothing comes for a minute.
    bool more() {
        pollfd output = {master_, POLLIN, 0};
        for (int i = 0; i < 1200; ++i) {
            const bool over = has_ended(pid_);
            if (poll(&output, 1, over ? 0 : 50) == 1) {
                char bytes[4096];
                const ssize_t n = read(master_, bytes, sizeof bytes);
                output_.append(bytes, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
                return n > 0;
            }
            if (over)
                return false;
        }
        return false;
    }

    int master_ = -1, slave_ = -1;
    pid_t pid_ = -1;
    tcflag_t usual_modes_ = 0;
    std::string output_, said_;
    std::size_t read_ = 0;
};

// A program at its prompt.
struct Talk : Terminal {
    Talk(const std::string& program, const Words& arguments) : Terminal(program, arguments) {
        REQUIRE(says("\r> "));
    }
    // Types a line, and returns what is shown until the next prompt; the line itself, which is drawn key by
    // key, apart.
    std::string answer(const std::string& keys) {
        type(keys + "\n");
        REQUIRE(says("\r\n"));  // the end of the line that was typed
        REQUIRE(says("\r> "));
        std::string text = said();
        std::erase(text, '\r');
        return text;
    }
    void ends(const std::string& keys) {
        type(keys);
        CHECK(status() == 0);
    }
};

}  // namespace plaingrad::tests
