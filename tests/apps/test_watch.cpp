// A training run on the terminal: the progress line, validations, Ctrl-C.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <sstream>

#include "apps/kit/program.h"
#include "apps/kit/progress.h"
#include "apps/kit/run.h"
#include "apps/kit/text.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT
using autograd::Tensor;

namespace {

using Words = std::vector<std::string>;

// What f writes to standard error while that is `descriptor`.
template <class F>
void with_error_output(int descriptor, const F& f) {
    std::fflush(stderr);
    const int before = dup(STDERR_FILENO);
    dup2(descriptor, STDERR_FILENO);
    struct Restore {
        int to;
        ~Restore() {
            std::fflush(stderr);
            dup2(to, STDERR_FILENO);
            close(to);
        }
    } restore{before};
    f();
}

template <class F>
std::string printed_by(const F& f) {
    std::FILE* const file = std::tmpfile();
    REQUIRE(file != nullptr);
    with_error_output(fileno(file), f);
    std::rewind(file);
    std::string text;
    for (int c = 0; (c = std::fgetc(file)) != EOF;)
        text += static_cast<char>(c);
    std::fclose(file);
    return text;
}

Words lines_of(const std::string& text) {
    Words lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

// The same with a terminal as standard error.
template <class F>
std::string shown_by(const F& f, unsigned short columns = 100) {
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE((master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0));
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    REQUIRE(slave >= 0);
    winsize size{};
    size.ws_col = columns;
    ioctl(slave, TIOCSWINSZ, &size);
    with_error_output(slave, f);
    fcntl(master, F_SETFL, O_NONBLOCK);
    std::string text;
    char part[256];
    for (ssize_t n = 0; (n = read(master, part, sizeof part)) > 0;)
        text.append(part, static_cast<std::size_t>(n));
    close(slave);
    close(master);
    return text;
}

// Trains a parameter of two elements, without a folder; validates every two steps. Returns the steps taken.
std::size_t train(int64_t steps, const std::function<double()>& validation_loss) {
    const nn::Parameter x(Tensor::from({2}, {5, -5}));
    models::Settings none;
    const models::RunFolder folder("p", {}, none);
    models::Run run(folder, {.parameters = {{"x", x}}, .state = {}, .save = {}});
    try {
        kit::train(run,
                   [&](const nn::StepPart&, const nn::Mode&) {
                       return nn::StepLoss{autograd::sum(x.tensor()), 3};
                   },
                   {.steps = steps,
                    .learning_rate = [](int64_t) { return 0.5; },
                    .validate_every = 2,
                    .validation_loss = validation_loss},
                   {.plain_lines_every = 1000});
    } catch (const kit::Interrupted&) {
    }
    return run.losses.size();
}

}  // namespace

TEST_CASE("watch: a line for the first step and the last, and for each validation", "[kit][training]") {
    std::vector<double> losses = {5, 2, 1, 3};
    const Words lines = lines_of(printed_by([&] {
        train(7, [&] {
            const double loss = losses.back();
            losses.pop_back();
            return loss;
        });
    }));
    REQUIRE(lines.size() == 8);
    CHECK(lines[0].starts_with("memory: weights "));
    CHECK(lines[1].starts_with("speed: "));
    CHECK(lines[2].starts_with("step 1/7  loss 0.000000"));
    CHECK(lines[3] == "step 2  validation loss 3.0000");
    CHECK(lines[4] == "step 4  validation loss 1.0000");
    CHECK(lines[5] == "step 6  validation loss 2.0000  (not better)");
    CHECK(lines[6].starts_with("step 7/7  loss "));
    CHECK(lines[7] == "step 7  validation loss 5.0000  (not better)");
}

TEST_CASE("watch: a long line is wrapped on a terminal, and nowhere else", "[kit][training]") {
    std::string words = "eight";
    for (int i = 0; i < 18; ++i)
        words += " columns";
    CHECK(printed_by([&] { kit::say(words); }) == words + "\n");
    const Words lines = lines_of(shown_by([&] { kit::say(words); }));  // of 100 columns
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].size() == 5 + 11 * 8 + 1);  // with its carriage return
}

TEST_CASE("watch: Ctrl-C makes its step the last, and says so", "[kit][training]") {
    std::FILE* const said = std::tmpfile();
    REQUIRE(said != nullptr);
    const pid_t child = fork();  // in a child process, as `interrupted` cannot be reset
    if (child == 0) {
        bool right = false;
        with_error_output(fileno(said), [&] {
            int validations = 0;
            const auto validation_loss = [&] {
                if (++validations == 2)
                    std::raise(SIGINT);  // after step 4: so step 5 is the last
                return -double(validations);
            };
            const std::size_t first = train(20, validation_loss);
            validations = 10;
            const std::size_t second = train(20, validation_loss);  // interrupted from the start: one step
            right = kit::interrupted() && first == 5 && second == 1 && validations == 10;
        });
        _exit(right ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    std::rewind(said);
    std::string text;
    for (int c = 0; (c = std::fgetc(said)) != EOF;)
        text += static_cast<char>(c);
    std::fclose(said);
    CHECK(contains(text, "finishing this step; a second Ctrl-C quits at once\n"));
}

TEST_CASE("progress: plain lines for the first step, every so many, and the last", "[kit][training]") {
    const Words lines = lines_of(printed_by([] {
        kit::Progress progress(11, 4);
        for (int64_t step = 1; step <= 11; ++step) {
            progress.update(step, 1.0 / static_cast<double>(step), 100);
            if (step == 5)
                progress.note("a note");
        }
    }));
    REQUIRE(lines.size() == 5);
    CHECK(lines[0].starts_with("step  1/11  loss 1.000000  "));
    CHECK(lines[1].starts_with("step  4/11  loss 0.250000  "));
    CHECK(lines[2] == "a note");
    CHECK(lines[3].starts_with("step  8/11  loss 0.125000  "));
    CHECK(lines[4].starts_with("step 11/11  loss 0.090909  "));
    for (const std::size_t i : {0u, 1u, 3u, 4u})
        CHECK(contains(lines[i], " tokens/s  0 s"));
    CHECK(contains(lines[3], " left"));
    CHECK_FALSE((contains(lines[1], " left") || contains(lines[4], " left")));
}

TEST_CASE("progress: on a terminal one line is redrawn, and a note stays above it", "[kit][training]") {
    const std::string text = shown_by([] {
        kit::Progress progress(2, 1);
        progress.note("before");       // no line to clear
        progress.update(2, 0.5, 100);  // the last one is always drawn
        progress.note("between");
        progress.update(2, 0.25, 100);
    });
    const std::size_t drawn = text.find("step 2/2  loss 0.500000"),
                      again = text.find("step 2/2  loss 0.250000");
    CHECK(text.starts_with("before\r\n\r"));
    REQUIRE((drawn != std::string::npos && again != std::string::npos));
    CHECK(contains(text.substr(drawn, again - drawn), "\033[K\rbetween\033[K\r\n\r"));
    CHECK(text.ends_with("\033[K\r\n"));  // the line is ended
    CHECK(contains(text, "█"));
    const std::string ended = shown_by([] {
        kit::Progress progress(1, 1);
        progress.update(1, 0.5, 100);
        progress.note("twice");
        progress.note("after");
    });
    CHECK(ended.ends_with("\033[K\rtwice\033[K\r\nafter\r\n"));  // no line is ended twice
}

TEST_CASE("progress: the losses of the run so far are a curve, as wide as there is room", "[kit][training]") {
    const auto shown = [](int64_t done, unsigned short columns) {
        return shown_by(
            [done] {
                kit::Progress progress(24, 1, done);
                for (int64_t step = done + 1; step <= 24; ++step) {
                    if (step == 13)
                        usleep(60'000);  // then the line is drawn again
                    progress.update(step, step <= 8 ? 9.0 - static_cast<double>(step) : 1.0, 100);
                }
            },
            columns);
    };
    CHECK(contains(shown(0, 100), "\r█▇▆▅▄▃▂▁▁▁▁▁▁··········· step 13/24"));
    CHECK(contains(shown(0, 100), "\r█▇▆▅▄▃▂▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁ step 24/24"));
    CHECK(contains(shown(6, 100), "\r██▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁ step 24/24"));  // a resumed run
    CHECK(contains(shown(0, 80), "\r█▆▃▁▁▁▁▁▁▁ step 24/24"));
    CHECK(contains(shown(0, 40), "\rstep 24/24"));
    for (const unsigned short columns : std::initializer_list<unsigned short>{20, 40, 80, 120}) {
        std::istringstream drawn(shown(0, columns));
        for (std::string line; std::getline(drawn, line, '\r');)
            CHECK(kit::columns(line.substr(0, line.find("\033[K"))) < columns);
    }
}

TEST_CASE("loading: a line for a large model, on a terminal, that goes away at the end or with an error",
          "[kit]") {
    const auto read = [](const std::vector<int64_t>& moments, int64_t all) {
        return [=] {
            const std::function<void(int64_t, int64_t)> progress = kit::loading("a\033model");
            for (const int64_t done : moments)
                if (progress)
                    progress(done, all);
        };
    };
    const int64_t large = 20'000'000;
    CHECK(printed_by(read({0, large}, large)).empty());  // no terminal
    CHECK(shown_by(read({0, 5'000'000, 9'999'999}, 9'999'999)).empty());
    const std::string line = "\ra?model: 0 of 20 million numbers\033[K", gone = "\r\033[K";
    CHECK(shown_by(read({0, large}, large)) == line + gone);
    CHECK(shown_by(read({0}, large)) == line + gone);                    // as after an error: it is destroyed
    CHECK(shown_by(read({0, 6'000'000, large}, large)) == line + gone);  // drawn too soon after the first
    CHECK(shown_by(read({10'000'000}, 10'000'000)).empty());             // read at once
}
