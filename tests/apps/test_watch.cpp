// A training run on the terminal: the progress line, validations, Ctrl-C.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "apps/kit/model.h"
#include "apps/kit/program.h"
#include "apps/kit/run.h"
#include "apps/kit/text.h"
#include "tests/apps/of_two.h"
#include "tests/apps/running.h"
#include "tests/apps/shown.h"
#include "tests/autograd/values.h"

using namespace plaingrad;  // NOLINT
using namespace tests;      // NOLINT
using autograd::Tensor;

TEST_CASE("watch: a line for the first step, the fifth and the last, and for each validation",
          "[kit][training]") {
    const nn::Parameter x(Tensor::from({2}, {5, -5}));
    const models::RunFolder nowhere("p", {});
    std::vector<double> losses = {5, 2, 1, 3};
    const Words lines = lines_of(printed_by([&] {
        kit::Run run(nowhere, {.parameters = {{"x", x}}},
                     {.steps = 7, .learning_rate = [](int64_t) { return 0.5; }, .validate_every = 2}, {});
        while (run.next()) {
            run.learn(kit::Examples(), [&](const kit::Examples&, const nn::Mode&) {
                return nn::StepLoss{autograd::sum(x.tensor()), 3};
            });
            if (run.validates()) {
                run.validated(losses.back());
                losses.pop_back();
            }
        }
        run.finish();
    }));
    REQUIRE(lines.size() == 8);
    CHECK(lines[0].starts_with("memory: weights "));
    CHECK(lines[1].starts_with("step 1/7  loss 0.000000"));
    CHECK(lines[2] == "step 2  validation loss 3.0000");
    CHECK(lines[3] == "step 4  validation loss 1.0000");
    CHECK((lines[4].starts_with("step 5/7  loss ") && contains(lines[4], " left")));
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

// ([apps]: about a process. One forked from several threads runs no handlers under the thread sanitizer.)
TEST_CASE("watch: a second Ctrl-C quits at once, but a terminal that is closed may say so twice",
          "[apps][kit][training]") {
    for (const auto& [signal, expected] : {std::pair(SIGINT, 128 + SIGINT), {SIGHUP, 0}}) {
        const pid_t child = fork();
        if (child == 0) {
            std::signal(signal, SIG_DFL);  // nohup's programs ignore SIGHUP
            kit::listen_for_interrupt();
            close(STDERR_FILENO);  // it says what a second one does
            std::raise(signal);
            std::raise(signal);
            _exit(kit::interrupted() ? 0 : 1);
        }
        int status = -1;
        REQUIRE(waitpid(child, &status, 0) == child);
        INFO("signal " << signal);
        CHECK((WIFEXITED(status) && WEXITSTATUS(status) == expected));
    }
}

TEST_CASE("watch: after a run the signals do again what they usually do", "[kit][training]") {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction before = {}, listening = {}, after = {};
        struct sigaction usual = {};
        usual.sa_handler = SIG_DFL;
        sigaction(signal, &usual, &before);  // nohup, for one, starts programs that ignore SIGHUP
        kit::listen_for_interrupt();
        sigaction(signal, nullptr, &listening);
        CHECK(kit::stop_listening_for_interrupt(nn::alone()) == 0);
        sigaction(signal, &before, &after);
        CHECK(listening.sa_handler != SIG_DFL);
        CHECK(after.sa_handler == SIG_DFL);
    }
}

TEST_CASE("plan: the memory that a run needs", "[kit][training]") {
    const auto of = [](int64_t mib) {
        return Tensor::zeros({(mib << 20) / int64_t{sizeof(autograd::Real)}});
    };
    const nn::Parameter x(of(16));
    const std::vector<nn::NamedParameter> parameters = {{"x", x}};
    const models::RunFolder nowhere("p", {});
    kit::RunPlan plan;
    const auto printed = [&] { return printed_by([&] { kit::print_memory(nowhere, parameters, plan); }); };
    CHECK(printed() == "memory: weights 16 MiB, gradients 16, optimizer 32, activations about 0: 64 MiB\n");
    plan.report_model.parameters = {{"x", x}, {"frozen", of(4)}};  // a weight, and no more
    CHECK(printed() == "memory: weights 20 MiB, gradients 16, optimizer 32, activations about 0: 68 MiB\n");
    plan.report_model.parameters.clear();
    plan.activations = 1e6;
    CHECK(contains(printed(), ", activations about 1: 65 MiB\n"));
    plan.activations = 1e18;
    CHECK_THROWS_AS(printed(), autograd::Error);
    OfTwo team;
    plan.activations = 3e6;
    const models::RunFolder shared("p", {.parts = 3}, static_cast<nn::Team&>(team));
    const std::string each = printed_by([&] { kit::print_memory(shared, parameters, plan); });
    CHECK(each.starts_with("memory of each process: weights 16 MiB"));
    CHECK(contains(each, ", sums over parts 16, activations about 1: 81 MiB\n"));
}

TEST_CASE("plan: a model must fit into memory", "[kit]") {
    CHECK_NOTHROW(kit::check_memory(1000, 2));
    const std::string error = error_of([] { kit::check_memory(5e17, 2); });
    CHECK(contains(error,
                   "memory: at least 953,674,316,406 MiB for 500,000,000,000,000,000 parameters, but only "));
    CHECK(contains(error, " MiB are available; a smaller model needs less"));
}

TEST_CASE("progress: plain lines for the first step, the first estimate, each hundredth, and the last",
          "[kit][training]") {
    const Words lines = lines_of(printed_by([] {
        kit::Progress progress(250);
        for (int64_t step = 1; step <= 250; ++step) {
            progress.update(step, 1.0 / static_cast<double>(step), 100);
            if (step == 5)
                progress.note("a note");
        }
    }));
    REQUIRE(lines.size() == 6);
    const Words starts = {
        "step   1/250  loss 1.000000  ", "step   5/250  loss 0.200000  ", "a note",
        "step 100/250  loss 0.010000  ", "step 200/250  loss 0.005000  ", "step 250/250  loss 0.004000  "};
    for (std::size_t i = 0; i < 6; ++i) {
        CHECK(lines[i].starts_with(starts[i]));
        CHECK(contains(lines[i], " tokens/s  0 s") == (i != 2));
        CHECK(contains(lines[i], " left") == (i == 1 || i == 3 || i == 4));
    }
    CHECK(lines[2] == starts[2]);
    const Words resumed = lines_of(printed_by([] {  // a line for its first step, too
        kit::Progress progress(20, 13);
        for (int64_t step = 14; step <= 17; ++step)
            progress.update(step, 1, 100);
    }));
    CHECK((resumed.size() == 1 && resumed[0].starts_with("step 14/20  ")));
}

TEST_CASE("progress: the rest takes as long as the steps so far", "[kit][training]") {
    const int64_t steps = 1'000'000'000'000, tokens = 1'000'000;
    // A run that is resumed counts its own steps: those before took no time of it.
    for (const int64_t done : {int64_t{0}, int64_t{1'000'000'000}}) {
        const Words lines = lines_of(printed_by([=] {
            kit::Progress progress(done + steps, done);
            for (int64_t step = 1; step <= 10; ++step)
                progress.update(done + step, 1, tokens);
        }));
        const std::string last = lines.back();
        CAPTURE(last);
        REQUIRE(contains(last, " left"));
        const std::size_t left = last.find(" s, ") + 4;
        CHECK(seconds_of(last.substr(left)) * std::stod(last.substr(last.find("loss ") + 13)) ==
              Approx(1e12 * 1e6).epsilon(0.1));  // at the speed that is shown
    }
}

TEST_CASE("progress: on a terminal one line is redrawn, and a note stays above it", "[kit][training]") {
    const std::string text = shown_by([] {
        kit::Progress progress(2);
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
        kit::Progress progress(1);
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
                kit::Progress progress(24, done);
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
