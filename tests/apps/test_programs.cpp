// What all programs do alike: help, version, lost output; and the wrong command lines of those that need no
// files. How an option is parsed is tested in test_kit.cpp: here each has one value beyond its bounds.
#include "autograd/base/check.h"
#include "autograd/base/real.h"
#include "tests/apps/programs.h"
#include "tests/apps/run.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

// test_kit.cpp has what a help shows of its words and options.
TEST_CASE("every program: its help names its words, options and examples", "[apps]") {
    const Place here;
    for (const auto& [name, parts] : std::vector<std::pair<std::string, Words>>{
             {"reverse_task",
              {"SYMBOL...", "--positions ", "training steps (1200)", "\n  ./apps/reverse_task 5 3 9\n",
               "Exit status: 0"}},
             {"toy_translate",
              {"SENTENCE...", "--pairs en-fr|en-es|FILE",
               "\n  ./apps/toy_translate --pairs en-es \"the cat is black\"\n      el gato es negro\n"}},
             {"tasks",
              {"TASK...", "--preset ours|published", "\n  ./apps/tasks copy add\n",
               "copy: ", "reverse: ", "sort: ", "add: ", "100.00 %", "5000/5000", "999/1000",
               "3900 steps of 128", "here       the same"}},
             {"explain", {"DIGIT DIGIT DIGIT", "--step NAME", "--interactive"}},
             {"fill", {"MODEL [TEXT...]", "  train ", "  new "}},
             {"report", {"RUN...", "--out FILE.html"}},
             {"classify", {"  train ", "  predict ", "  eval "}},
             {"classify train", {"FILE"}},
             {"classify predict", {"MODEL [TEXT...]"}},
             {"classify eval", {"MODEL FILE"}},
             {"generate", {"  train ", "  score ", "  new "}},
             {"generate train", {"FILE..."}},
             {"generate score", {"MODEL FILE..."}},
             {"generate new", {"FOLDER FILE..."}},
             {"translate", {"  train ", "  run ", "  score ", "  learn-bpe "}}}) {
        const Result r = here.must(name + " --help");
        CHECK(r.err.empty());
        CHECK(r.out.starts_with(name + ": "));
        check_says(r.out, joined(parts, {"usage: ./apps/" + name + " ", "--help"}));
        here.refuses({{name + " --nonsense", 2, "unknown option '--nonsense'"}});
        CHECK(lines_of(here(name + " --nonsense").err).size() == 1);
    }
    const std::string help = here("reverse_task --help").out;
    CHECK(here("reverse_task -h").out == help);
    CHECK(here("reverse_task 5 --help --nonsense").out == help);
}

TEST_CASE("a program prints its version, and its help names it as it was called", "[apps][kit]") {
    CHECK(must_run("reverse_task", {"--version"}).out ==
          "reverse_task (plaingrad) " + std::string(autograd::version()) + "\n");
    if (!environment("PLAINGRAD_RUN", "").empty())
        SKIP("an emulator decides how a program is called");
    const Result help = run("reverse_task", {"--help"}, {.called = "plaingrad-reverse_task"});
    check_says(help.out, {"usage: plaingrad-reverse_task [options]", "\n  plaingrad-reverse_task 5 3 9\n"});
    CHECK_FALSE(contains(help.out, "./apps"));
    const Result wrong = run("reverse_task", {"--nothing"}, {.called = "/usr/bin/plaingrad-reverse_task"});
    CHECK(wrong.err.starts_with("plaingrad-reverse_task: unknown option '--nothing'"));
}

TEST_CASE("programs say when their output cannot be written", "[apps]") {
    const std::string french = "--preset blog --epochs 60";
    check_lost_output("reverse_task", {"--help"});
    check_lost_output("reverse_task", {"--steps", "3", "--batch", "8"});
    check_lost_output("toy_translate", words_of(french + " 'thank you'"));
    check_lost_output("explain", {});
    CHECK(run("tasks", {"sort", "--check"}, {.no_reader = true}).status == 128 + SIGPIPE);
    // Where nothing can be said about an error, its status still is.
    CHECK(run("tasks", {"--nonsense"}, {.out = "/dev/full", .err = "/dev/full"}).status == 2);
    // When nobody reads the answers, the program does not read the rest of the questions.
    const With many = {.input = repeated("thank you\n", 2'000'000), .no_reader = true};
    CHECK(run("toy_translate", words_of(french), many).status == 128 + SIGPIPE);
}

TEST_CASE("every program that trains: results depend on the seed, not on the threads", "[apps]") {
    const Place here;
    here.write("pairs", pairs()), here.write("labelled", labels());
    for (const std::string command : {
             "toy_translate --preset blog --epochs 2 --pairs pairs one",
             "tasks sort --steps 4",
             "classify train labelled --validation 20 --epochs 2 --d-model 16",
             "generate train pairs --layers 1 --heads 2 --d-model 16 --context 16 --steps 20 --dropout 0.1",
             "translate train pairs --merges 30 --batch-tokens 256 --context 32 --layers 2 --d-model 32 "
             "--d-ff 64 --steps 4",
         }) {
        INFO(command);
        const auto results = [&](const std::string& more) {
            const std::string to = autograd::join("run", here.files());
            const Result r = here(command + more + " --save " + to);
            CHECK(r.status <= 1);  // 1: it has learned little
            REQUIRE_FALSE(losses(r).empty());
            return (command.starts_with("tasks") ? "" : r.out) +  // which prints seconds
                   without_times(content(here / to + "/log.csv")) + content(here / to + "/model.safetensors");
        };
        const std::string one = results(" --threads 1");
        CHECK((results(" --threads 3") == one));
        CHECK((results(" --seed 2") != one));
    }
}

// The commands are those lines below "examples:" that are indented least.
TEST_CASE("the examples of a help work as pasted, and print what it says", "[apps]") {
    if (!fast_build() || !environment("PLAINGRAD_RUN", "").empty())
        SKIP("a slow build takes too long, and a shell starts no emulator");
    for (const std::string program : {"classify", "toy_translate"}) {
        const std::string help = must_run(program, {"--help"}).out;
        const Folder folder;
        std::filesystem::create_directory_symlink(std::filesystem::absolute(apps()), folder / "apps");
        std::string script = "set -e; cd '" + folder.path + "'; exec 2>err >out </dev/null\n";
        for (const std::string& line : lines_of(help.substr(help.find("\nexamples:"))))
            if (line.starts_with("  ") && line[2] != ' ' && !contains(line, "--preset chapter"))  // too long
                script += line + "\n";
        CAPTURE(script, help);
        CHECK(std::system(("sh '" + folder.write("examples.sh", script) + "'").c_str()) == 0);
        std::string printed = lines_of(content(folder / "out")).back();
        std::replace(printed.begin(), printed.end(), '\t', ' ');
        CHECK(contains(help, (program == "classify" ? ": " : "      ") + printed + "\n"));
    }
}

TEST_CASE("wrong command lines end with one line", "[apps]") {
    const std::string one_to_max = "from 1 to 1000000000";
    Place().refuses({
        {"reverse_task 5 16", 2, "a symbol needs a whole number from 0 to 15: got '16'"},
        {"reverse_task " + repeated("7 ", 13), 2, "there are too many arguments: SYMBOL...; given: 7, 7"},
        {"reverse_task --steps 0", 2, "--steps needs a whole number of at least 1: got '0'"},
        {"reverse_task --batch=0", 2, "--batch needs a whole number from 1 to 1048576: got '0'"},
        {"reverse_task --lr 2", 2, "--lr needs a number from 0 to 1: got '2'"},
        {"reverse_task --seed -1", 2, "--seed needs a whole number of at least 0: got '-1'"},
        {"reverse_task --threads 1025", 2, "--threads needs a whole number from 1 to 1024: got '1025'"},
        {"reverse_task --layers 101", 2, "--layers needs a whole number from 1 to 100"},
        {"reverse_task --preset x", 2, "--preset must be one of paper|article|notebook|blog|blog-scratch|"},
        {"reverse_task --positions x", 2, "--positions must be one of sinusoidal|learned: got 'x'"},
        {"reverse_task --heads 3", 2, "--d-model 64 must be a multiple of --heads 3"},
        {"reverse_task --d-model 30", 2, "--d-model 30 must be a multiple of --heads 4"},
        {"toy_translate --pairs ''", 2, "--pairs needs a value: en-fr|en-es|FILE"},  // not the built-in ones
        {"toy_translate --preset big", 2, "--preset must be one of paper|article|notebook|blog|"},
        {"toy_translate --epochs 0", 2, "--epochs needs a whole number " + one_to_max + ": got '0'"},
        {"toy_translate --lr two", 2, "--lr needs a number from 0 to 1: got 'two'"},
        {"toy_translate --beam 0", 2, "--beam needs a whole number from 1 to 1000: got '0'"},
        {"toy_translate --n 0", 2, "--n needs a whole number from 1 to 1000: got '0'"},
        {"toy_translate --n 4", 2, "--n 4 must not be larger than --beam 3"},
        {"toy_translate --n=2 --beam=1", 2, "--n 2 must not be larger than --beam 1"},
        {"toy_translate --alpha -0.5", 2, "--alpha needs a number from 0 to 10: got '-0.5'"},
        {"tasks multiply", 2, "unknown task 'multiply'; there are copy, reverse, sort, add"},
        {"tasks copy '' --steps 1", 2, "unknown task ''; there are copy, reverse, sort, add"},
        {"tasks --preset mine", 2, "--preset must be one of ours|published: got 'mine'"},
        {"tasks --steps -1", 2, "--steps needs a whole number from 0 to 1000000000: got '-1'"},
        {"explain 1 2", 2, "three digits are needed: got 2"},
        {"explain 1 2 3 4", 2, "three digits are needed: got 4"},
        {"explain 1 2 10", 2, "a digit needs a whole number from 0 to 9: got '10'"},
        {"explain --step atention", 2,
         "unknown step 'atention'; did you mean attention? there are model, tokens, "},
        {"explain --interactive", 2,
         "explain: --interactive turns pages by key: standard input and output must be a terminal"},
        {"report", 2, "an argument is missing: RUN..."},
    });
}

TEST_CASE("a wrong environment ends with one line", "[apps]") {
    for (const auto& [variable, says] :
         {std::pair("PLAINGRAD_ISA=nonsense", "unknown instruction set 'nonsense'; this processor can run "),
          {"PLAINGRAD_THREADS=0", "a whole number from 1 to 1024 is expected: got '0'"},
          {"PLAINGRAD_THREADS=x", "a whole number from 1 to 1024 is expected: got 'x'"},
          {"PLAINGRAD_THREADS=2000", "got '2000'"}})
        Place().refuses({{"reverse_task --steps 3", 1, says, {.env = {variable}}}});
}

// tests/models/test_one_page.cpp compares its numbers.
TEST_CASE("one page: it learns to reverse sequences that it has never seen", "[apps][one_page]") {
    const Result r = must_run("one_page", {});
    CHECK(count_of(" right\n", r.out) == 10);
    CHECK_FALSE(contains(r.out, "wrong"));
    check_says(r.out, {"9 8 2 4 2 9 -> 9 2 4 2 8 9  right\n"});
}
