// Prompts on a terminal: editing, history, and what the commands show.
#include "tests/apps/terminal.h"
#include "tests/apps/translator.h"
#include "tests/models/folder_of_others.h"

using namespace plaingrad;  // NOLINT
using namespace tests;

TEST_CASE("prompt: lines are edited, and earlier ones come back", "[apps][prompt]") {
    NEEDS_TERMINAL();
    Talk t("toy_translate", {});
    CHECK(t.modes() != t.usual_modes());
    const std::string thanks = "merci\n", morning = "bonjour\n", backspace = "\x7f", del = "\033[3~";
    for (const auto& [keys, answer] : std::vector<std::pair<std::string, std::string>>{
             {"thank you", thanks},
             {"goox" + backspace + "d morning", morning},
             {kUp + kUp, thanks},                 // two lines up
             {kUp + kUp + kUp + kDown, morning},  // and down again
             {"you" + kHome + "thank ", thanks},
             {"you\033[1~thank \033[4~\x7fu", thanks},                            // Home, End: tmux, Linux
             {"you\x01thank \x05\x7f\x7f\x7fyou", thanks},                        // Ctrl-A, Ctrl-E
             {"no thank\x15thank you", thanks},                                   // Ctrl-U
             {"thank you too" + kLeft + kLeft + kLeft + kLeft + "\x0b", thanks},  // Ctrl-K
             {"thxank you" + kHome + kRight + kRight + del, thanks},
             {"éthank you" + kHome + "\x04", thanks},  // Ctrl-D deletes; whole characters
             {"thank日 you" + kHome + repeated(kRight, 6) + backspace, thanks},
             {kLeft + backspace + kLeft + "thank you", thanks},  // nothing is before the begin
             {"good" + kUp + kDown + " morning", morning},       // what was typed is kept
             {"thank you", thanks},
             {"good morning", morning},
             {"good morning", morning},
             {kUp + kUp, thanks},  // the same line, twice in a row, is remembered once
             {"", "\n"},           // an empty line is not remembered
             {kUp, thanks}}) {
        CAPTURE(keys);
        CHECK(t.answer(keys) == answer);
    }
    t.type("thank you\ngood morning\n");  // pasted
    CHECK((t.says("merci") && t.says("bonjour")));
    t.ends("\x04");  // Ctrl-D
    CHECK(t.modes() == t.usual_modes());
}

TEST_CASE("prompt: a line that is wider than the terminal is shown around the cursor", "[apps][prompt]") {
    NEEDS_TERMINAL();
    Talk t("toy_translate", {"--n", "3"});
    t.answer("hello world");
    check_says(t.answer(":beam 2"), {"\n  <sos>  0.00\n"});  // a tree may be narrower than --n asks for
    t.resize({.rows = 24, .columns = 20});
    const std::string line = "see you soon see you soon see you soon";
    t.type(line + "!");
    REQUIRE(t.says("!"));
    t.type(kHome);
    REQUIRE((t.says("\r> ") && t.says("\033[K")));
    CHECK(t.said() == "\0337see you soon see ");  // 17 characters: a column is left free
    t.type(kEnd);
    REQUIRE((t.says("\r> ") && t.says("\0337")));
    CHECK(t.said() == "oon see you soon!");
    t.resize({.rows = 24, .columns = 80});
    REQUIRE((t.says("\r> " + line + "!") && t.says("\033[K\0338")));
    CHECK(t.is_silent(500));  // drawn once for the new size, and not again
    t.type("\x03");           // Ctrl-C
    CHECK(t.status() == 130);
}

TEST_CASE("prompt: toy_translate shows how it comes to a translation", "[apps][prompt]") {
    NEEDS_TERMINAL();
    Talk t("toy_translate", {});
    check_says(t.said(), {"knows 10 words (:words); commands begin with a colon; :help lists them\r\n"});
    check_says(t.answer(":beam"), {"first type a sentence"});
    CHECK(t.answer("Hello, World!") == "read as: hello world\nbonjour le monde\n");
    const Words next = lines_of(t.answer(":next bonjour le"));
    REQUIRE(next.size() == 5);
    CHECK((next[0].ends_with("  monde") && std::stod(next[0]) > 0.9));
    CHECK(lines_of(t.answer(":next"))[0].ends_with("  bonjour"));
    const std::string tree = t.answer(":beam 2");
    check_says(tree, {"\n  <sos>  0.00\n", "monde <eos>  "});
    // The scores are those of the search itself.
    const Words best = lines_of(run("toy_translate", {"--beam", "2", "--n", "2", "hello world"}).out);
    const std::string after_first = tree.substr(tree.find("   score ") + 9);
    CHECK(std::abs(std::stod(after_first) - number_after(best[best.size() - 2], "  (")) < 0.0006);
    CHECK(std::abs(number_after(after_first, "   score ") - number_after(best.back(), "  (")) < 0.0006);
    CHECK(t.answer(":beam") == t.answer(":beam 5"));
    CHECK(t.answer(":beam") != t.answer(":beam 4"));
    const Words looked = lines_of(t.answer(":attention"));
    REQUIRE(looked.size() == 5);
    CHECK(contains(looked[0], "hello"));
    CHECK((looked[1].starts_with("bonjour") && looked[4].starts_with("  <eos>")));

    CHECK(t.answer("thank yuo zzzz")
              .starts_with("unknown: yuo; did you mean you? :words lists what is known\n"
                           "unknown: zzzz; :words lists what is known\n"));
    CHECK_FALSE(contains(t.answer("thank yuo zzzz"), "unknown"));  // once is enough
    CHECK(t.answer(":words h") == "hello how\n");
    CHECK(t.answer(":words x") == "none\n");
    for (const auto& [command, error] :
         {std::pair(":beam 0", ":beam needs a whole number from 1 to 100: got '0'"),
          {":attention 9", ":attention takes no argument: got 9"},
          {":quit now", ":quit takes no argument: got now"},
          {":bean", "unknown command :bean; did you mean :beam? :help lists them\n"}})
        check_says(t.answer(command), {error});
    const std::string help = "\n" + t.answer(":help");
    for (const std::string command : {":next", ":beam", ":attention", ":words", ":help", ":quit"})
        CHECK(count_of("\n  " + command, help) == 1);
    t.ends(":quit \n");
}

TEST_CASE("prompt: the conversation in apps/README.md is what toy_translate says", "[apps][prompt]") {
    NEEDS_TERMINAL();
    Talk t("toy_translate", {});
    const std::string page = content("apps/README.md"),
                      greeting = "knows 10 words (:words); commands begin with a colon; :help lists them\n";
    const std::size_t begin = page.find("\n" + greeting);
    REQUIRE(begin != page.npos);
    std::string said = greeting;
    int typed = 0;
    for (const std::string& line : lines_of(page.substr(begin, page.find("\n```", begin) - begin)))
        if (line.starts_with("> ")) {
            said += line + "\n" + t.answer(line.substr(2));
            ++typed;
        }
    CHECK(typed == 3);
    CAPTURE(said);
    CHECK(page.substr(begin + 1).starts_with(said + "```"));
}

TEST_CASE("prompt: generate reads the end of a text longer than the context", "[apps][prompt]") {
    NEEDS_TERMINAL();
    const Place here;
    const auto trained = [&](const std::string& text, const std::string& more) {
        here.write("text", text);
        const std::string model = std::to_string(here.files());
        here.must("generate train text --layers 1 --heads 1 --save " + model + more);
        return here / model;
    };
    const std::string model = trained(repeated("abcd efgh\n", 200), " --steps 60 --context 16");
    Talk writer("generate", {model, "--tokens", "6", "--temperature", "0"});
    check_says(writer.answer("ab☃"), {"character 3 of this line is \"☃\", which is not among the 10 "});
    CHECK(writer.answer("abc").starts_with("abcd efgh"));
    CHECK(lines_of(writer.answer(":next"))[0].ends_with("  d"));
    CHECK(lines_of(writer.answer(":next abcd"))[0].ends_with("  ␣"));
    check_says(writer.answer(":beam 1"), {" d ␣ e f g h ↵ "});
    CHECK(lines_of(writer.answer(":attention")).size() == 4);
    check_says(writer.answer("abcd efgh abcd efgh abc"), {"abcd efgh abcd efgh abcd"});
    CHECK(lines_of(writer.answer(":next"))[0].ends_with("  d"));
    CHECK(lines_of(writer.answer(":next abcd efgh abcd efgh"))[0].ends_with("  ↵"));
    check_says(writer.answer(":beam 1"), {" d "});
    CHECK(lines_of(writer.answer(":attention")).size() == 17);  // a row is of the columns' names
    writer.ends(":quit\n");

    // What a model of bytes writes ends before the next prompt.
    const std::string bytes = trained(std::string(600, 'a'), " --bytes --steps 60 --lr 0.02 --d-model 16");
    Talk of_bytes("generate", {bytes, "--tokens", "4", "--temperature", "0"});
    check_says(of_bytes.answer("a"), {"aaaaa\n"});
    of_bytes.ends(":quit\n");

    // A model of a text without a line break has no character to begin with but its own; none is its end.
    Talk no_break("generate", {trained(std::string(600, 'a') + "b", " --steps 1")});
    const Words two = lines_of(no_break.answer(":next"));
    REQUIRE(two.size() == 2);
    for (const std::string& line : two)
        CHECK((line.ends_with("  a") || line.ends_with("  b")));
    no_break.ends(":quit\n");
}

TEST_CASE("prompt: translate run", "[apps][prompt]") {
    NEEDS_TERMINAL();
    const Files f;
    must_run("translate", f.train({"--lower-case", "--steps", "30", "--save", f.run}));
    Talk t("translate", {"run", f.run});
    check_says(t.answer("One Seven."), {"this line: the model has never seen 3 of 8 words or pieces"});
    CHECK(lines_of(t.answer(":next")).size() == 5);
    check_says(t.answer(":beam 2"), {"<sos>"});
    const std::string attention = t.answer(":attention");
    check_says(lines_of(attention)[0], {"<eos>"});
    check_says(t.answer("☃"), {"this line: the model has never seen 1 of 1 words or pieces"});
    CHECK(t.answer(":attention") != attention);  // also of a line that is unknown as a whole
    t.ends("\x04");
}

TEST_CASE("prompt: generate, with a model whose words nobody lists", "[apps][prompt][generate]") {
    NEEDS_TERMINAL();
    const Folder folder;
    write_folder(folder);
    Talk t("generate", {folder.path, "--tokens", "9", "--stop", "x"});
    check_says(t.said(), {"drawing: temperature 0.8, top-k 50"});
    const std::string first = t.answer("All human"), second = t.answer("All human"), speed = "\n9 tokens in ";
    CHECK(first.starts_with("All human"));
    check_says(first, {speed});
    CHECK(first.substr(0, first.find(speed)) != second.substr(0, second.find(speed)));
    CHECK(lines_of(t.answer(":next")).size() == 5);
    CHECK(lines_of(t.answer(":next All human beings are")).size() == 5);
    check_says(t.answer(":beam 2"), {"\n  <sos>  0.00\n"});
    check_says(lines_of(t.answer(":attention"))[0], {"A"});
    check_says(t.answer(":words"), {"unknown command :words; "});
    CHECK_FALSE(contains(t.answer(":help"), ":words"));
    t.ends(":quit\n");
}
