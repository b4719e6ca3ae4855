// What the programs share: options, new models, texts on a terminal, errors.
#include <filesystem>
#include <functional>
#include <sstream>

#include "apps/kit/options.h"
#include "apps/kit/program.h"
#include "apps/kit/text_training.h"
#include "autograd/base/check.h"
#include "autograd/base/parallel.h"
#include "autograd/kernels/kernels.h"
#include "tests/apps/run.h"
#include "tests/apps/shown.h"
#include "tests/folder.h"

using namespace plaingrad;  // NOLINT
using kit::parse_integer;
using kit::parse_real;
using kit::UsageError;
using tests::Words;

namespace {

void parse(kit::Options& options, Words words, const std::string& called = "./apps/program") {
    words.insert(words.begin(), called);
    options.parse(static_cast<int>(words.size()), tests::pointers(words).data());
}

// The message of what f throws; "" if it throws nothing.
template <class F>
std::string error_of(const F& f) {
    try {
        f();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

// One option of each kind.
struct Everything {
    int64_t steps = 800, seed = 1;
    double rate = 0.25;
    std::string file = "none", colour = "red";
    bool fast = false;
    Words rest;

    // Parses these words; returns the error's text, or "".
    std::string operator()(const Words& words, bool with_rest = true) {
        kit::Options options({"program", "does something"});
        options.add("--steps", "N", "how many", steps, {.min = 1});
        options.add("--rate", "X", "how fast", rate, {.min = -1, .max = 1});
        options.add("--file", "FILE", "from where", file);
        options.add("--fast", "does less", fast);
        options.add("--colour", "what it looks like", colour, {"red", "green"});
        options.add_common(seed);
        if (with_rest)
            options.rest("WORD...", "words", rest);
        return error_of([&] { parse(options, words); });
    }
};

std::string refused(const Words& words, bool with_rest = true) { return Everything()(words, with_rest); }

// What --help prints on a terminal of so many columns, or in a pipe.
std::string help_of(kit::Options& options, unsigned short columns = 0) {
    const auto ask = [&] { CHECK_THROWS_AS(parse(options, {"--help"}, "p"), kit::Ended); };
    std::string help =
        columns > 0 ? tests::shown_by(ask, columns, STDOUT_FILENO) : tests::printed_by(ask, STDOUT_FILENO);
    std::erase(help, '\r');
    return help;
}

// What run_command does with these words: "name(words)" and the seed, or the usage error. Only the commands
// take words.
std::string commanded(Words words) {
    std::string called;
    const auto command = [&called](const std::string& name) {
        return kit::Command{name, "does something", [=, &called](kit::Options& options) {
                                Words rest;
                                int64_t seed = 1;
                                options.add("--seed", "N", "of chance", seed);
                                if (!name.empty())
                                    options.rest("WORD...", "words", rest);
                                options.parse();
                                called =
                                    autograd::join(name, "(", models::listed(rest, " "), ") seed ", seed);
                            }};
    };
    words.insert(words.begin(), "./apps/program");
    const std::string error = error_of([&] {
        kit::run_command("program", static_cast<int>(words.size()), tests::pointers(words).data(),
                         {command(""), command("train"), command("sample")});
    });
    return error.empty() ? called : error;
}

}  // namespace

TEST_CASE("whole numbers are parsed within their bounds", "[kit]") {
    CHECK(parse_integer("n", "0") == 0);
    CHECK(parse_integer("n", "007") == 7);
    CHECK(parse_integer("n", "-3", {-3, 5}) == -3);
    CHECK(parse_integer("n", "5", {-3, 5}) == 5);
    CHECK(parse_integer("n", "9223372036854775807") == INT64_MAX);
    CHECK_THROWS_WITH(parse_integer("n", "-4", {-3, 5}), "n needs a whole number from -3 to 5: got '-4'");
    CHECK_THROWS_WITH(parse_integer("n", "6", {-3, 5}), "n needs a whole number from -3 to 5: got '6'");
    CHECK_THROWS_WITH(parse_integer("n", "-1"), "n needs a whole number of at least 0: got '-1'");
    CHECK_THROWS_WITH(parse_integer("n", "9223372036854775808"),
                      "n needs a whole number from 0 to 9223372036854775807: got '9223372036854775808'");
    for (const char* bad : {"", " ", "x", "1x", " 1", "1 ", "+1", "1.0", "1e3", "0x10", "--1", "1,000"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS(parse_integer("n", bad), UsageError);
    }
    CHECK_THROWS_AS(parse_integer("n", std::string("1\0", 2)), UsageError);
}

TEST_CASE("numbers are parsed within their bounds", "[kit]") {
    CHECK(parse_real("x", "0") == 0);
    CHECK(parse_real("x", "1e-3") == 1e-3);
    CHECK(parse_real("x", ".5", {0, 0.5}) == 0.5);
    CHECK(parse_real("x", "-2", {-2, 1}) == -2);
    CHECK_THROWS_WITH(parse_real("x", "1.01", {0, 1}), "x needs a number from 0 to 1: got '1.01'");
    CHECK_THROWS_WITH(parse_real("x", "-1e-9"), "x needs a number of at least 0: got '-1e-9'");
    for (const char* bad :
         {"", "x", "1x", "1 ", " 1", "nan", "-nan", "inf", "0x1", "1e999", "1,5", "0.5.5"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS(parse_real("x", bad), UsageError);
    }
    CHECK_THROWS_AS(parse_real("x", std::string("1\0", 2)), UsageError);
}

TEST_CASE("options set their variables", "[kit]") {
    Everything none;
    CHECK(none({}).empty());
    CHECK((none.steps == 800 && none.file == "none" && !none.fast && none.rest.empty()));

    Everything all;
    CHECK(all({"a", "--steps", "5", "--rate=-0.5", "--file", "--fast", "b", "--colour=green", "--seed", "9"})
              .empty());
    CHECK((all.steps == 5 && all.rate == -0.5 && all.colour == "green" && all.seed == 9));
    CHECK((all.file == "--fast" && !all.fast));  // a value may look like an option
    CHECK(all.rest == Words{"a", "b"});

    Everything twice;
    CHECK(twice({"--fast", "--rate", "-1", "--steps=1", "--file=a=b", "--steps", "2"}).empty());
    CHECK((twice.fast && twice.file == "a=b"));
    CHECK(twice.rate == -1);  // a value may be a negative number
    CHECK(twice.steps == 2);  // the last one counts

    const int before = autograd::thread_count();
    CHECK(refused({"--threads", "3"}).empty());
    CHECK(autograd::thread_count() == 3);
    autograd::set_thread_count(before);
}

TEST_CASE("everything that is not an option is a word, also negative numbers", "[kit]") {
    Everything words;
    CHECK(words({"-1", "-", "-12", "x", "", "--", "--steps", "-x", "--"}).empty());
    CHECK(words.rest == Words{"-1", "-", "-12", "x", "", "--steps", "-x", "--"});
    CHECK(words.steps == 800);
    CHECK(refused({"word"}, false) ==
          "unexpected argument 'word'; ./apps/program --help shows what is possible");
    CHECK(refused({"-1"}, false) == "unexpected argument '-1'; ./apps/program --help shows what is possible");
}

TEST_CASE("a wrong option is an error that says what is wrong", "[kit]") {
    const std::string lists = " ./apps/program --help lists them";
    for (const auto& [words, error] : std::vector<std::pair<Words, std::string>>{
             {{"--step", "5"}, "unknown option '--step'; did you mean --steps?" + lists},
             {{"--tseps=5"}, "unknown option '--tseps'; did you mean --steps?" + lists},
             {{"--sonnets=5"}, "unknown option '--sonnets';" + lists},
             {{"-s"}, "unknown option '-s';" + lists},
             {{"-1x"}, "unknown option '-1x';" + lists},
             {{"--steps"}, "--steps needs a value: N"},
             {{"--steps="}, "--steps needs a value: N"},
             {{"--steps", ""}, "--steps needs a value: N"},
             {{"--steps", "0"}, "--steps needs a whole number of at least 1: got '0'"},
             {{"--rate", "2"}, "--rate needs a number from -1 to 1: got '2'"},
             {{"--file="}, "--file needs a value: FILE"},
             {{"--fast=1"}, "--fast takes no value"},
             {{"--colour", "blue"}, "--colour must be one of red|green: got 'blue'"},
             {{"--threads", "0"}, "--threads needs a whole number from 1 to 1024: got '0'"}})
        CHECK(refused(words) == error);
}

TEST_CASE("the first word names the command", "[kit]") {
    CHECK(commanded({}) == "() seed 1");
    CHECK(commanded({"--seed", "2"}) == "() seed 2");
    CHECK(commanded({"train"}) == "train() seed 1");
    CHECK(commanded({"sample", "--seed", "2", "train"}) == "sample(train) seed 2");
    CHECK(commanded({"--seed", "2", "train"}) ==
          "unexpected argument 'train'; ./apps/program --help shows what is possible");
    const std::string error = " there are train, sample; ./apps/program --help shows more";
    CHECK(commanded({"trian"}) == "unknown command 'trian'; did you mean train?" + error);
    CHECK(commanded({"train "}) == "unknown command 'train '; did you mean train?" + error);
    CHECK(commanded({"tra"}) == "unknown command 'tra'; did you mean train?" + error);
    CHECK(commanded({""}) == "unknown command '';" + error);
}

TEST_CASE("the help shows commands, words and options in columns", "[kit]") {
    int64_t steps = 7;
    kit::Options plain({"p", "does something"});
    plain.add("--steps", "N", "how many", steps);
    CHECK(help_of(plain) ==
          "p: does something\n\nusage: ./apps/p [options]\n\n"
          "  --steps N  how many (7)\n"
          "  --help     print this help\n"
          "  --version  print the version of plaingrad\n");

    std::vector<std::string> files;
    kit::Options all({"translate run",
                      "does something",
                      0,
                      nullptr,
                      {{"train", "learns from FILE", {}}, {"interactively", "asks", {}}}});
    all.add("--steps", "N", "how many", steps);
    all.rest("FILE...", "to read", files);
    CHECK(help_of(all) ==
          "translate run: does something\n\nusage: ./apps/translate run [options] [FILE...]\n"
          "       ./apps/translate run COMMAND --help\n\n"
          "  train          learns from FILE\n"
          "  interactively  asks\n\n"
          "  FILE...        to read\n"
          "  --steps N      how many (7)\n"
          "  --help         print this help\n"
          "  --version      print the version of plaingrad\n\n"
          "examples:\n"
          "  echo 'A man is riding a bicycle.' | ./apps/translate run run\n      translates a sentence\n\n"
          "In alignments, words are separated by spaces and numbered from 0.\n\n"
          "On a terminal, type a sentence or a command. Commands begin with a colon and\n"
          "show how the model came to its answer; :help lists them.\n");
}

TEST_CASE("the help is as wide as the terminal, but at least 40 columns", "[kit]") {
    const auto begin = [](std::size_t letters, unsigned short columns) {
        kit::Options options({"p", std::string(letters, 'a') + " xyz"});
        const std::string help = help_of(options, columns);
        return help.substr(0, help.find("\n\n"));
    };
    const auto text = [](std::size_t letters) { return "p: " + std::string(letters, 'a'); };
    CHECK(begin(33, 20) == text(33) + " xyz");
    CHECK(begin(34, 20) == text(34) + "\nxyz");
    CHECK(begin(53, 60) == text(53) + " xyz");
    CHECK(begin(54, 60) == text(54) + "\nxyz");
}

TEST_CASE("the options of learning from texts are named and explained", "[kit]") {
    kit::TextTraining training;
    models::RunSettings run;
    kit::Options options({"p", "does something"});
    kit::add_text_training(options, training, "rows");
    kit::add_report_options(options, run);
    for (const std::string row :
         {"--batch N           rows per step (12)", "--steps N           training steps (2000)",
          "--lr X              highest learning rate (0.003)",
          "--validate-every N  steps between validations (250)",
          "--plot              draw the curve of the loss at the end"})
        CHECK(tests::contains(help_of(options), "\n  " + row + "\n"));
    parse(options, {"--plot"});
    CHECK(run.plot);
}

TEST_CASE("learning from texts: the rate rises over a tenth of the steps, and falls", "[kit]") {
    // The schedule counts steps from 0, as nanoGPT's does: the rate is highest one step later.
    for (const auto& [steps, rise] : {std::pair<int64_t, int64_t>{200, 21}, {1000, 101}, {5000, 101}}) {
        CAPTURE(steps);
        const auto rate = kit::run_options({.steps = steps, .lr = 0.5}, {}).learning_rate;
        CHECK(rate(1) == Approx(0.5 / static_cast<double>(rise)));
        CHECK(rate(rise - 1) < 0.5);
        CHECK(rate(rise) == Approx(0.5));
        CHECK(rate(rise + 1) < 0.5);
        CHECK(rate((rise + steps + 1) / 2) == Approx(0.275).epsilon(0.01));  // half way down
        CHECK(rate(steps) == Approx(0.05).epsilon(0.01));
    }
}

namespace {

// A run's settings, of every kind of row.
struct Run {
    std::string preset = "small", save, resume, name, text = "usual", validation;
    int64_t steps = 5, width = 8, now = 0;
    double rate = 0.1;
    bool fast = false;
    Words files;

    kit::Options options() {
        kit::Options options({"program", "trains"});
        options.rest("FILE...", "to learn from", files, {.min = 1}).may_change();
        options.preset("--preset", "what is not given", preset, {"small", "large"},
                       [this](const kit::Options&) {
                           const std::string chosen = preset;
                           *this = Run();
                           preset = chosen;
                           if (chosen == "large")
                               width = 64, rate = 0.3;
                       });
        options.add("--steps", "N", "steps", steps).may_change();
        options.add("--width", "N", "width", width);
        options.add("--rate", "X", "rate", rate);
        options.add("--fast", "less", fast);
        options.add("--text", "TEXT", "a text", text).allow_empty();
        options.add("--save", "FOLDER", "where to", save).new_run();
        options.add("--resume", "FOLDER", "from where", resume).this_call();
        options.add("--stop-after", "N", "this call", now).this_call();
        options.add("--validation", "FILE", "to measure by", validation)
            .may_change()
            .reads([](const std::string& given) { return given[0] == '/' ? given : "/here/" + given; });
        return options;
    }
};

Run resumed(const Words& words, const std::string& lines) {
    Run again;
    kit::Options same = again.options();
    parse(same, words);
    same.resume(lines, "file");
    return again;
}

}  // namespace

TEST_CASE("a preset sets what is not given, wherever it is on the command line", "[kit]") {
    for (const Words& words :
         {Words{"--preset", "large", "--width", "3", "a"}, Words{"a", "--width", "3", "--preset=large"}}) {
        Run run;
        kit::Options options = run.options();
        parse(options, words);
        CHECK((run.width == 3 && run.rate == 0.3 && run.steps == 5 && run.preset == "large"));
        CHECK(options.changed() == "--preset large --width 3");
        CHECK((options.was_given("--width") && !options.was_given("--rate")));
    }
}

TEST_CASE("the settings of a run are saved, and restored when it is resumed", "[kit]") {
    Run run;
    kit::Options options = run.options();
    parse(options, {"--preset", "large", "--rate", "0.12345678901234567", "--fast", "--text=", "/a/b,c", "d",
                    "--save", "x", "--stop-after", "2", "--validation", "a=b"});
    CHECK((run.text.empty() && run.save == "x" && run.validation == "/here/a=b"));
    const std::string kept = options.kept(), d = std::filesystem::absolute("d").string();
    CHECK(kept ==
          "--preset=large\n--steps=5\n--width=64\n--rate=0.12345678901234566\n--fast\n--text=\n"
          "--validation=/here/a=b\n--\n/a/b,c\n" +
              d + "\n");
    const Run same = resumed({"--resume", "r", "--steps", "9", "--stop-after", "1"}, kept);
    CHECK((same.preset == "large" && same.rate == run.rate && same.fast && same.text.empty() &&
           same.width == 64));
    CHECK((same.files == Words{"/a/b,c", d} && same.validation == run.validation));
    CHECK((same.steps == 9 && same.now == 1 && same.resume == "r" && same.save.empty()));
    CHECK(resumed({"--resume", "r", "/moved"}, kept).files == Words{"/moved", d});
    // An option that is missing from an older file has the preset's value.
    const Run older = resumed({"--resume", "r"}, "--preset=large\n--\n/a\n");
    CHECK((older.width == 64 && older.steps == 5 && older.files == Words{"/a"}));

    const auto error = [](const Words& words, const std::string& lines) {
        return error_of([&] { resumed(words, lines); });
    };
    CHECK(error({"--resume", "r", "--width", "1"}, kept) ==
          "--resume continues the run with its settings: --width cannot be given again; these can: --steps, "
          "--resume, --stop-after, --validation");
    CHECK(error({"--save=r", "/a"}, kept).find("--save cannot be given again") != std::string::npos);
    CHECK(error({"--resume=r"}, "--steps=x\n--\n/a\n") ==
          "file: --steps needs a whole number of at least 0: got 'x'");
    for (const std::string unknown : {"--stepz=1", "--help", "--version"})
        CHECK(error({"--resume=r"}, unknown + "\n--\n/a\n").starts_with("file: unknown option '--"));
    parse(options, {"a\nb"});
    CHECK_THROWS_AS(options.kept(), autograd::Error);
}

TEST_CASE("a run from a folder and files resumes with both, or with a folder that has moved", "[kit]") {
    const auto files = [](Words given, const std::string& kept) {
        given.insert(given.begin(), "--resume=r");
        return resumed(given, kept).files;
    };
    CHECK(files({}, "--\n/gpt2\n/a\n/b\n") == Words{"/gpt2", "/a", "/b"});
    CHECK(files({"/moved"}, "--\n/gpt2\n/a\n/b\n") == Words{"/moved", "/a", "/b"});
    CHECK(files({"/moved", "/c"}, "--\n/gpt2\n/a\n/b\n") == Words{"/moved", "/c", "/b"});
    CHECK(files({}, "--\n/a\n") == Words{"/a"});  // files alone
    CHECK(files({"/moved"}, "--\n/a\n") == Words{"/moved"});
    CHECK_THROWS_WITH(files({}, "--\n"),
                      "file: an argument is missing: FILE...; ./apps/program --help shows more");
}

TEST_CASE("words that a run keeps cannot be given again", "[kit]") {
    Words names;
    kit::Options settings({"p", "learns"});
    settings.rest("NAME...", "what to learn", names).kept();
    settings.resume("--\na\n-b\n", "file");
    CHECK((names == Words{"a", "-b"} && settings.kept() == "--\na\n-b\n"));
    parse(settings, {"a"});
    CHECK_THROWS_WITH(settings.resume("--\na\n", "file"),
                      "--resume continues the run with its own NAME...: got a");
}

TEST_CASE("the help of a program that resumes: presets, and what may be given again", "[kit]") {
    Run run;
    kit::Options options = run.options();
    const std::string help = help_of(options);
    CHECK(tests::contains(help,
                          "\n  --preset small        the values above\n"
                          "  --preset large        --width 64 --rate 0.3\n"));
    std::string words = help;
    std::replace(words.begin(), words.end(), '\n', ' ');
    CHECK(tests::contains(
        words,
        " may be given again: --steps, --resume, --stop-after, --validation, and files that have moved."));
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
        INFO(line);
        CHECK(line.size() <= 80);
    }
}

TEST_CASE("durations have two parts, and large numbers are grouped", "[kit]") {
    for (const auto& [seconds, text] : {std::pair(0.4, "0 s"),
                                        {99.4, "99 s"},
                                        {99.5, "1:40 min"},
                                        {754, "12:34 min"},
                                        {6000, "1:40 h"},
                                        {7500, "2:05 h"}})
        CHECK(kit::duration(seconds) == text);
    for (const auto& [number, text] : {std::pair(int64_t{0}, "0"),
                                       {999, "999"},
                                       {1000, "1,000"},
                                       {85012, "85,012"},
                                       {999999, "999,999"},
                                       {1000000, "1,000,000"},
                                       {INT64_MAX, "9,223,372,036,854,775,807"}})
        CHECK(kit::grouped(number) == text);
}

TEST_CASE("columns of a text, without its escape sequences", "[kit]") {
    CHECK(kit::columns("\033[1mété\033[0m!") == 4);
    CHECK(kit::columns("a\033[1") == 1);
    CHECK(kit::columns("\033") == 0);
    CHECK(kit::right("\033[1mé\033[0m", 3) == "  \033[1mé\033[0m");
    CHECK(kit::right("long", 3) == "long");
}

TEST_CASE("lines that are too long are wrapped, and columns stay columns", "[kit]") {
    using Lines = std::vector<std::string>;
    CHECK(kit::wrapped("one two  three\n\n  four five", 8) ==
          Lines{"one two", "three", "", "  four", "  five"});
    CHECK(kit::wrapped("here   3 layers, 3 heads", 17) == Lines{"here   3 layers,", "       3 heads"});
    CHECK(kit::wrapped("  here   3 layers", 12) == Lines{"  here 3", "  layers"});  // too far to the right
    CHECK(kit::wrapped("a  longer b", 6) == Lines{"a", "longer", "b"});
    CHECK(kit::wrapped(std::string(9, ' '), 8).size() == 1);
    CHECK(kit::wrapped("fits  as it is ", 15) == Lines{"fits  as it is "});
}

TEST_CASE("a text from a file cannot make a terminal obey", "[kit]") {
    CHECK(kit::as_line("\x1b[31mred\n\t\x7f") == "?[31mred???");
    // C1, from which some terminals take escape sequences, too; and what only has such bytes in it.
    CHECK(kit::as_line("\xc2\x9b[31m \xc2\x85") == "\xc2\xbf[31m \xc2\xbf");
    CHECK(kit::as_line("\xc2\xa0 é ă \xe2\x80\x9b \xc3\x9b") == "\xc2\xa0 é ă \xe2\x80\x9b \xc3\x9b");
    CHECK(kit::as_line("\x9b") == "\x9b");  // no character
}

TEST_CASE("errors become exit statuses, and messages are one line, and short", "[kit]") {
    const auto ended = [](const std::function<int()>& body) {
        int status = -1;
        const std::string said = tests::printed_by([&] { status = kit::run("p", "", body); });
        return std::pair(status, said);
    };
    const auto thrown = [&](const auto& error) { return ended([&]() -> int { throw error; }); };
    CHECK(ended([] { return 0; }) == std::pair(0, std::string()));
    CHECK(ended([] { return 7; }) == std::pair(7, std::string()));
    CHECK(thrown(UsageError("usage")) == std::pair(2, std::string("p: usage\n")));
    CHECK(thrown(autograd::Error("two\nlines\033[1m")) == std::pair(1, std::string("p: two?lines?[1m\n")));
    CHECK(thrown(kit::Ended{130, "interrupted"}) == std::pair(130, std::string("p: interrupted\n")));
    CHECK(thrown(kit::Ended{3}) == std::pair(3, std::string()));
    CHECK(thrown(std::bad_alloc()) ==
          std::pair(1, std::string("p: out of memory; a smaller input, model or batch needs less\n")));
    const auto [status, said] = thrown(autograd::Error(std::string(1 << 20, 'a') + "; the fix"));
    CHECK((status == 1 && said.starts_with("p: aaa") && said.ends_with("aaa; the fix\n")));
    CHECK(said.size() < 1000);
}

// A program with the baseline's kernels alone: these, and what picks a set, come before the library.
TEST_CASE("a set of kernels that the processor has and the build lacks is told", "[apps][kit][dispatch]") {
    const std::string best = autograd::kernels::available()[0];
    if (best == "baseline")
        SKIP("this processor has no other set");
    const std::string library = tests::environment("PLAINGRAD_LIB", "build/libplaingrad.a"),
                      built = library.substr(0, library.rfind('/') + 1), kernels = "autograd/kernels/";
    const tests::Folder folder;
    const std::string source = folder.write("a.cpp", R"(#include "apps/kit/program.h"
using namespace plaingrad::kit;
int main() { return run("a", nullptr, [] { return announce("a", 3), 0; }); }
)"),
                      program = folder / "a";
    REQUIRE(std::system(autograd::join(tests::environment("PLAINGRAD_COMPILE", "c++ -std=c++20 -pthread -I."),
                                       " '", source, "' ", kernels, "dispatch.cpp ", kernels, "scratch.cpp ",
                                       built, "obj/", kernels, "unit_baseline.o ", built, "libkit.a ",
                                       library, " -o '", program, "'")
                            .c_str()) == 0);
    const std::string lacks = "this build has no " + best + " kernels: make ISA=all\n";
    const auto said = [&](const char* isa) {
        return tests::run(program, {}, {.env = {std::string("PLAINGRAD_ISA=") + isa, "PLAINGRAD_THREADS=1"}})
            .err;
    };
    CHECK(said("") == "a: baseline, 1 thread, 3 parameters; " + lacks);
    CHECK(said(best.c_str()) == "a: [PLAINGRAD_ISA] " + lacks);
    CHECK(autograd::kernels::missing() == nullptr);  // the tests have all
}
