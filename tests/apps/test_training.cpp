// The training loop and its progress line.
#include "apps/kit/training.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <sstream>

#include "apps/kit/pairs.h"
#include "apps/kit/program.h"
#include "apps/kit/progress.h"
#include "tests/autograd/values.h"
#include "tests/catch.h"
#include "tests/models/small.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

namespace {

using Words = std::vector<std::string>;

// What f writes to standard error, which is `descriptor` meanwhile.
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

// The same, and standard error is a terminal, 100 columns wide.
template <class F>
std::string shown_by(const F& f) {
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE((master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0));
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    REQUIRE(slave >= 0);
    winsize size{};
    size.ws_col = 100;
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

// One number that is trained, with a gradient of 1 everywhere: each step makes it smaller.
struct Tiny {
    nn::Parameter x{Tensor::from({2}, {5, -5})};
    std::vector<nn::NamedParameter> parameters = {{"x", x}};
    std::vector<int64_t> steps;
    std::vector<std::vector<autograd::Real>> weights;  // before each step
    std::vector<uint64_t> streams;

    kit::StepLoss operator()(int64_t step, const nn::Mode& mode) {
        steps.push_back(step);
        weights.push_back(x->to_vector());
        streams.push_back(mode.training ? mode.rng.state() : 0);
        return {autograd::sum(x.tensor()), 3};
    }
    kit::TrainingResult train(const kit::TrainingOptions& options) {
        return kit::train(parameters, std::ref(*this), options);
    }
};

kit::TrainingOptions steps(int64_t n) {
    kit::TrainingOptions options;
    options.steps = n;
    options.learning_rate = [](int64_t) { return 0.5; };
    return options;
}

// Validates every two steps; the losses are given one after the other, and the weights kept.
struct Scripted {
    std::vector<double> losses;
    Tiny tiny = {};
    std::size_t validations = 0;
    std::vector<std::vector<autograd::Real>> seen = {};
    kit::TrainingResult result = {};
    std::string text = {};

    void run(int64_t n, int64_t patience) {
        kit::TrainingOptions options = steps(n);
        options.validate_every = 2;
        options.patience = patience;
        options.plain_lines_every = 1000;
        options.validation_loss = [this] {
            seen.push_back(tiny.x->to_vector());
            return losses.at(validations++);
        };
        text = printed_by([&] { result = tiny.train(options); });
    }
    std::vector<autograd::Real> weights() const { return tiny.x->to_vector(); }
};

}  // namespace

TEST_CASE("training: every step, with its number, its rate and a stream of its own", "[kit][training]") {
    Tiny tiny, other, again;
    kit::TrainingOptions options = steps(5);
    options.learning_rate = [](int64_t step) { return step == 3 ? 0.0 : 0.5; };
    kit::TrainingResult result;
    printed_by([&] { result = tiny.train(options); });
    CHECK(tiny.steps == std::vector<int64_t>{1, 2, 3, 4, 5});
    REQUIRE(result.losses.size() == 5);
    for (std::size_t i = 0; i < 5; ++i)
        CHECK(result.losses[i] == static_cast<double>(tiny.weights[i][0] + tiny.weights[i][1]));
    for (std::size_t i = 1; i < 5; ++i)
        CHECK((tiny.weights[i][0] < tiny.weights[i - 1][0]) == (i != 3));
    CHECK(tiny.x->to_vector()[0] < tiny.weights[4][0]);
    CHECK((result.seconds >= 0 && result.best_step == 0 && result.best_validation == HUGE_VAL));

    for (std::size_t i = 0; i < 5; ++i)
        for (std::size_t j = 0; j < i; ++j)
            CHECK((tiny.streams[i] != 0 && tiny.streams[i] != tiny.streams[j]));
    printed_by([&] { again.train(options); });
    CHECK(again.streams == tiny.streams);
    options.seed = 1;
    printed_by([&] { other.train(options); });
    CHECK(other.streams[0] != tiny.streams[0]);

    // The gradient is clipped. With beta1 = beta2 = 0 and a large eps, Adam's step is lr g / eps: it shows g.
    options = steps(1);
    options.clip = 0.25;
    options.adam = {.beta1 = 0, .beta2 = 0, .eps = 1e3};
    options.learning_rate = [](int64_t) { return 1e3; };
    Tiny clipped;
    printed_by([&] { clipped.train(options); });
    const double step0 = 5 - static_cast<double>(clipped.x->data()[0]);
    const double step1 = -5 - static_cast<double>(clipped.x->data()[1]);
    CHECK(std::sqrt(step0 * step0 + step1 * step1) == Approx(0.25).epsilon(1e-3));
    printed_by([&] { result = Tiny().train(steps(0)); });
    CHECK(result.losses.empty());
}

TEST_CASE("training: the best weights of all validations are kept", "[kit][training]") {
    Scripted s{.losses = {3, 1, 2, 5}};
    s.run(7, 0);
    CHECK(s.validations == 4);  // after steps 2, 4, 6, and the last
    CHECK(s.result.losses.size() == 7);
    CHECK((s.result.best_step == 4 && s.result.best_validation == 1));
    CHECK(same_bits(s.weights(), s.seen[1]));
    CHECK_FALSE(same_bits(s.weights(), s.seen[3]));
    const Words lines = lines_of(s.text);
    REQUIRE(lines.size() == 6);
    CHECK(lines[0].starts_with("step 1/7  loss 0.000000"));
    CHECK(lines[1] == "step 2  validation loss 3.0000");
    CHECK(lines[2] == "step 4  validation loss 1.0000");
    CHECK(lines[3] == "step 6  validation loss 2.0000  (no better)");
    CHECK(lines[4].starts_with("step 7/7  loss "));
    CHECK(lines[5] == "step 7  validation loss 5.0000  (no better)");

    Scripted last{.losses = {3, 2, 1}};  // the last is the best, and step 6 is validated once
    last.run(6, 0);
    CHECK((last.validations == 3 && last.result.best_step == 6));
    CHECK(same_bits(last.weights(), last.seen[2]));
    Scripted infinite{.losses = {HUGE_VAL, HUGE_VAL}};  // none is a best one
    infinite.run(4, 0);
    CHECK((infinite.result.best_step == 0 && same_bits(infinite.weights(), infinite.seen[1])));
}

TEST_CASE("training: ends when so many validations in a row are no better", "[kit][training]") {
    struct Row {
        std::vector<double> losses;
        int64_t patience, steps, best;
    };
    for (const Row& r :
         {Row{{1, 2, 3, 0}, 2, 6, 2}, Row{{1, 2, 0}, 1, 4, 2}, Row{{1, 1, 1}, 2, 6, 2},
          Row{{3, 4, 2, 3, 1, 2, 3, 0}, 2, 14, 10}, Row{{5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, 0, 20, 2}}) {
        Scripted s{.losses = r.losses};
        s.run(20, r.patience);
        INFO("patience " << r.patience << ", ends after " << r.steps);
        CHECK(static_cast<int64_t>(s.result.losses.size()) == r.steps);
        CHECK(s.result.best_step == r.best);
        CHECK(same_bits(s.weights(), s.seen[static_cast<std::size_t>(r.best / 2 - 1)]));
    }
}

TEST_CASE("training: what is not a number ends it, before it reaches a weight", "[kit][training]") {
    Scripted s{.losses = {1, std::nan("")}};
    CHECK(contains(error_of([&] { s.run(9, 0); }), "step 4: the validation loss is not a number"));
    const nn::Parameter x(Tensor::from({2}, {1, 2}));
    for (const autograd::Real bad : {kNan, autograd::Real(HUGE_VAL), -autograd::Real(HUGE_VAL)}) {
        std::string error;
        printed_by([&] {
            error = error_of([&] {
                kit::train(
                    {{"x", x}},
                    [&](int64_t step, const nn::Mode&) {
                        return kit::StepLoss{autograd::sum(x.tensor()) * (step == 3 ? bad : 0), 1};
                    },
                    steps(9));
            });
        });
        CHECK(contains(error, "[train] step 3: the loss is"));
        CHECK(x->to_vector() == std::vector<autograd::Real>{1, 2});
    }
}

TEST_CASE("training: Ctrl-C makes its step the last, and that is validated", "[kit][training]") {
    const pid_t child = fork();  // as a process cannot forget that it was interrupted
    if (child == 0) {
        kit::listen_for_interrupt();
        Tiny tiny;
        kit::TrainingOptions options = steps(20);
        int validations = 0;
        options.validate_every = 2;
        options.validation_loss = [&] {
            if (++validations == 2)
                std::raise(SIGINT);  // after step 4: so step 5 is the last
            return -double(validations);
        };
        kit::TrainingResult first, second;
        printed_by([&] {
            first = tiny.train(options);
            validations = 10;
            second = tiny.train(options);  // interrupted from the start: one step
        });
        const bool right = kit::interrupted() && first.losses.size() == 5 && first.best_step == 5 &&
                           second.losses.size() == 1 && second.best_step == 1 && validations == 11;
        _exit(right ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("progress: plain lines at the first, every so many, and the last", "[kit][training]") {
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

TEST_CASE("progress: on a terminal one line moves, and a note stays above it", "[kit][training]") {
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
    CHECK(ended.ends_with("\033[K\rtwice\033[K\r\nafter\r\n"));  // no line is open, none is ended twice
}

TEST_CASE("teacher forcing: the loss of what follows, and how many that are", "[kit][training]") {
    models::TransformerConfig c = models::TransformerConfig{.src_vocabulary = 12,
                                                            .tgt_vocabulary = 12,
                                                            .max_length = 6,
                                                            .d_model = 8,
                                                            .n_heads = 2,
                                                            .d_ff = 8,
                                                            .n_encoder_layers = 1,
                                                            .n_decoder_layers = 1};
    const models::Transformer model(c, autograd::Rng(1));
    const kit::Batch batch = kit::make_batch({{{4, 5, 6}, {7, 8}}, {{8}, {9, 10, 11, 4}}, {{9}, {}}});
    const auto eval = nn::Mode::eval();
    const kit::StepLoss now = kit::teacher_forcing(model, batch, eval);
    CHECK(now.tokens == 3 + 5 + 1);
    double sum = 0;
    for (const kit::Pair& pair :
         std::vector<kit::Pair>{{{4, 5, 6}, {7, 8}}, {{8}, {9, 10, 11, 4}}, {{9}, {}}}) {
        const kit::StepLoss one = kit::teacher_forcing(model, kit::make_batch({pair}), eval);
        sum += static_cast<double>(one.loss.item()) * static_cast<double>(one.tokens);
    }
    CHECK(static_cast<double>(now.loss.item()) == Approx(sum / 9).epsilon(1e-5));
}

// A small model of sequences, whose batches have unequal numbers of tokens.
TEST_CASE("training: the gradient of several batches is that of one large one", "[kit][training]") {
    models::TransformerConfig config = small("paper");
    config.dropout = {.embeddings = 0, .sublayers = 0, .feed_forward = 0, .attention = 0};
    const std::vector<kit::Pair> pairs = {
        {{4, 5, 6}, {6, 5}}, {{4, 4, 5}, {4}}, {{6, 6, 5, 4}, {4, 5, 6, 6, 6}}};
    const auto trained = [&](int64_t accumulate) {
        const models::Transformer model(config, autograd::Rng(3));
        kit::TrainingOptions options = steps(4);
        options.accumulate = accumulate;
        options.clip = 0.1;
        // So that Adam's step is lr g / eps: with its own eps, rounding would count where a gradient is truly 0.
        options.adam = {.beta1 = 0, .beta2 = 0, .eps = 1e3};
        options.learning_rate = [](int64_t) { return 1e3; };
        std::size_t next = 0;
        kit::TrainingResult result;
        printed_by([&] {
            result = kit::train(
                nn::parameters(model),
                [&](int64_t, const nn::Mode& mode) {
                    std::vector<kit::Pair> batch = pairs;
                    if (accumulate > 1)
                        batch = {pairs[next++ % pairs.size()]};
                    return kit::teacher_forcing(model, kit::make_batch(batch), mode);
                },
                options);
        });
        std::vector<autograd::Real> all(result.losses.begin(), result.losses.end());
        for (const nn::NamedParameter& p : nn::parameters(model)) {
            const std::vector<autograd::Real> values = p.tensor.to_vector();
            all.insert(all.end(), values.begin(), values.end());
        }
        return all;
    };
    const std::vector<autograd::Real> one = trained(1), three = trained(3);
    REQUIRE(one.size() == three.size());
    double largest = 0;
    for (std::size_t i = 0; i < one.size(); ++i)
        largest = std::max(largest, std::abs(static_cast<double>(one[i]) - static_cast<double>(three[i])));
    CHECK(largest < 1e-5);
    CHECK(largest > 0);  // it is not the same computation
}

TEST_CASE("training: an epoch's last batch ends its step, and validation follows", "[kit][training]") {
    Tiny tiny;
    kit::TrainingOptions options = steps(4);
    options.accumulate = 3;
    int64_t batches = 0;
    Words events;
    options.validation_loss = [&] { return events.push_back("validation"), 1.0; };
    options.after_step = [&](int64_t step, bool validated) {
        events.push_back(std::to_string(step) + (validated ? " validated" : ""));
    };
    printed_by([&] {
        kit::train(
            {{"x", tiny.x}},
            [&](int64_t, const nn::Mode&) {
                ++batches;  // epochs of five batches: steps of 3 and 2
                return kit::StepLoss{autograd::sum(autograd::mul(tiny.x, tiny.x)), 1, batches % 5 == 0};
            },
            options);
    });
    CHECK(batches == 10);
    CHECK(events == Words{"1", "validation", "2 validated", "3", "validation", "4 validated"});
}

TEST_CASE("training: goes on from where it stood, to the same bits", "[kit][training][bits]") {
    const auto options = [](int64_t n) {
        kit::TrainingOptions o = steps(n);
        o.validate_every = 2;
        o.restore_best = false;
        o.validation_loss = [] { return 1.0; };
        return o;
    };
    const auto loss_of = [](const Tensor& x) {
        return [x](int64_t, const nn::Mode& mode) {
            const Tensor noise = autograd::dropout(x, autograd::Real(0.5), mode.rng);
            return kit::StepLoss{autograd::sum(autograd::mul(noise, noise)), 2, false};
        };
    };
    Tiny whole, parts;
    kit::Training one({{"x", whole.x}}, {}), first({{"x", parts.x}}, {}), second({{"x", parts.x}}, {});
    printed_by([&] {
        kit::train(one, loss_of(whole.x), options(7));
        kit::train(first, loss_of(parts.x), options(4));
        nn::copy_values(first.adam.state(), second.adam.state());
        second.adam.set_steps(first.adam.steps());
        second.best_validation = first.best_validation;
        second.best_step = first.best_step;
        second.worse = first.worse;
        kit::train(second, loss_of(parts.x), options(7));
    });
    CHECK(same_bits(whole.x->to_vector(), parts.x->to_vector()));
    CHECK((second.adam.steps() == 7 && second.worse == one.worse && second.best_step == 2));
    CHECK(one.worse == 3);
    CHECK(contains(error_of([&] {
                       second.adam.set_steps(-1);
                       return Tensor();
                   }),
                   "[Adam] the number of steps"));
}

TEST_CASE("training: what is not finite is named", "[kit][training]") {
    Tiny good, bad;
    const auto train = [&] {
        kit::train(
            {{"good", good.x}, {"bad", bad.x}},
            [&](int64_t step, const nn::Mode&) {
                const autograd::Real factor = step == 3 ? autograd::Real(HUGE_VAL) : 1;
                return kit::StepLoss{
                    autograd::add(autograd::sum(good.x),
                                  autograd::mul(autograd::sum(bad.x), Tensor::scalar(factor))),
                    1, false};
            },
            steps(5));
        return Tensor();
    };
    std::string error;
    printed_by([&] { error = error_of(train); });
    CHECK(error.starts_with("[train] step 3: "));
    CHECK(contains(error, "first in that of bad"));
}
